// The documents to ask for, in a dialog or on a page of their own: buttons that only change the form are answered in place with
// the form as it is then, so Enter in a row is at the next one at once. Without script the same buttons answer with a page.
(() => {
  "use strict";
  const OUT = "You’ve been signed out. Sign in in another tab, then try again: what you typed stays here.";
  const ROW = /^(name|hint|optional)-\d+$/;
  const valueOf = (field) => (field.type === "checkbox" ? (field.checked ? field.value : null) : field.value);

  class AskedDocuments extends HTMLElement {
    connectedCallback() {
      this.ends = new AbortController();
      // On the way down: the form would be sent, and the link followed, else.
      const on = (name, act) => this.addEventListener(name, act, { capture: true, signal: this.ends.signal });
      on("submit", (event) => this.submitted(event));
      on("click", (event) => this.clicked(event));
      on("keydown", (event) => this.pressed(event));
    }

    disconnectedCallback() { this.ends.abort(); }

    clicked(event) {
      const dialog = this.closest("dialog");
      if (!dialog || !event.target.closest("[data-cancel]")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      dialog.close();
    }

    // Enter under a list's name saves the list. A day is in no row, so Enter adds none there.
    pressed(event) {
      if (event.key !== "Enter" || event.isComposing || !["list-name", "due"].includes(event.target.name)) return;
      event.preventDefault();
      if (event.target.name === "list-name") event.target.form.requestSubmit(this.querySelector("button[value=save]"));
    }

    async submitted(event) {
      const { submitter, target: form } = event;
      if (submitter?.value === "ask") return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (this.busy) return;
      // Nobody has to be asked for a row that is there already.
      const empty = submitter?.value === "next" && [...form.querySelectorAll("[name^='name-']")].find((field) => !field.value.trim());
      if (empty) return empty.focus();
      this.busy = true;
      const sent = new FormData(form, submitter);
      const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(sent), headers: { accept: "text/html" } }).catch(() => null);
      const page = new DOMParser().parseFromString((await answer?.text().catch(() => "")) ?? "", "text/html");
      this.busy = false;
      const part = page.querySelector("asked-documents");
      if (!part) return this.lost(answer, page);
      const isMoved = submitter?.name === "remove" || ["fill", "delete"].includes(submitter?.value);
      this.keep(form, sent, part, isMoved);
      this.replaceChildren(...document.adoptNode(part).childNodes);
      document.dispatchEvent(new CustomEvent("rookery:added", { detail: { part: this } }));
      this.querySelector("[autofocus]")?.focus();
    }

    // What was typed while the answer was on its way is in it too, unless its row is another one now.
    keep(form, sent, part, isMoved) {
      for (const field of form.elements) {
        if (!field.name || field.matches("button, [type=hidden]") || (isMoved && ROW.test(field.name))) continue;
        const fresh = valueOf(field) !== sent.get(field.name) && part.querySelector(`[name="${field.name}"]`);
        if (!fresh) continue;
        if (field.type === "checkbox") fresh.checked = field.checked;
        else if (field.type !== "select-one" || [...fresh.options].some((option) => option.value === field.value)) fresh.value = field.value;
      }
    }

    lost(answer, page) {
      const line = this.querySelector("[data-lost]"), words = line.querySelector("span");
      this.offline ??= words.textContent;
      const isOut = answer && new URL(answer.url).pathname.startsWith("/sign-in");
      words.textContent = isOut ? OUT : window.rookery.refusal(page) || this.offline;
      line.hidden = false;
      line.scrollIntoView({ block: "nearest" });
    }
  }

  customElements.define("asked-documents", AskedDocuments);
})();
