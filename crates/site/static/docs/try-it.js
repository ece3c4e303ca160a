// <try-it data-method data-path data-id data-body data-open>: sends one call to the API of this very service with the reader's own test key.
// Without script it stays hidden, and the line for curl beside it does the same. The key is kept for this tab only, goes to
// this service only, and has to be a test key: nothing on this page can reach live mail.
(() => {
  "use strict";
  const KEPT = "rookery-test-key";
  const kept = () => { try { return sessionStorage.getItem(KEPT) || ""; } catch { return ""; } };
  const keep = (key) => { try { sessionStorage.setItem(KEPT, key); } catch { /* it is asked for again */ } };
  let count = 0;

  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  class TryIt extends HTMLElement {
    #key; #fields = []; #body; #out; #button;

    connectedCallback() {
      if (this.#out) return;
      // Every form of a page has the key that was given to one of them.
      this.addEventListener("toggle", () => { this.#key.value ||= kept(); }, true);
      this.hidden = false;
      const form = make("form", { className: "docs-try" });
      this.#key = this.#field(form, "Test key", { type: "password", autocomplete: "off", spellcheck: false, placeholder: "rk_test_…", value: kept(), required: true });
      for (const name of this.dataset.path.match(/\{(\w+)\}/g) || []) {
        const field = this.#field(form, name.slice(1, -1), { placeholder: this.dataset.id || "", required: true });
        this.#fields.push([name, field]);
      }
      if (this.dataset.method !== "GET") {
        this.#body = this.#field(form, "Body", { value: this.#pretty(this.dataset.body || "{}"), rows: 6, spellcheck: false }, "textarea");
      } else if ("query" in this.dataset) {
        this.#fields.push(["?", this.#field(form, "Query", { placeholder: "limit=5", spellcheck: false })]);
      }
      this.#button = make("button", { className: "btn btn--primary", type: "submit", textContent: "Send to the sandbox" });
      this.#out = make("pre", { className: "docs-try__answer", tabIndex: 0, hidden: true });
      this.#out.setAttribute("role", "status");
      this.#out.setAttribute("aria-label", "The answer");
      form.append(this.#button, this.#out);
      form.addEventListener("submit", (event) => { event.preventDefault(); this.#send(); });
      const open = "open" in this.dataset;
      this.append(make("details", { className: "docs-try__fold", open }, make("summary", { textContent: "Try it with your test key" }), form));
    }

    #field(form, label, properties, kind = "input") {
      const id = `try-${++count}`;
      const field = make(kind, { id, className: kind === "input" ? "input" : "input docs-try__body", ...properties });
      form.append(make("label", { htmlFor: id, className: "field__label", textContent: label }), field);
      return field;
    }

    #pretty(text) { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } }

    #say(text) { this.#out.hidden = false; this.#out.textContent = text; }

    async #send() {
      const key = this.#key.value.trim();
      if (!key.startsWith("rk_test_")) {
        this.#say("Use a test key (rk_test_…). This page takes no other, so nothing here can touch live mail.");
        this.#key.focus();
        return;
      }
      keep(key);
      let path = this.dataset.path, query = "";
      for (const [name, field] of this.#fields) {
        if (name === "?") query = field.value.trim().replace(/^\?/, "");
        else path = path.replace(name, encodeURIComponent(field.value.trim()));
      }
      const asked = { method: this.dataset.method, headers: { Authorization: `Bearer ${key}` }, credentials: "omit", redirect: "error" };
      if (this.#body) {
        asked.headers["Content-Type"] = "application/json";
        asked.body = this.#body.value;
      }
      this.#button.disabled = true;
      try {
        const answer = await fetch(`/api/v1${path}${query ? `?${query}` : ""}`, asked);
        this.#say(`${answer.status} ${answer.statusText}\n${this.#pretty(await answer.text())}`);
      } catch {
        this.#say("The service did not answer. Look at your connection and try again.");
      } finally {
        this.#button.disabled = false;
      }
    }
  }
  customElements.define("try-it", TryIt);
})();
