// Keeps what somebody writes. It is saved a second after a pause and when the page is left; until the service has said
// that it has it, a copy stays in this browser and is offered back. Two windows never overwrite each other unasked.
// Without script, the form has a button that saves.
(() => {
  "use strict";
  const PAUSE = 1000, AGAIN = 5000, OLD = 14 * 24 * 3600 * 1000;
  const FIELDS = ["to", "cc", "bcc", "subject", "body", "documents"];
  const random = () => [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const clock = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const store = {
    get(key) { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } },
    put(key, value) { try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* full or forbidden: the service still has it */ } },
    drop(key) { try { localStorage.removeItem(key); } catch { /* nothing there */ } },
  };

  class DraftKeeper extends HTMLElement {
    connectedCallback() {
      this.timer = 0;
      this.onShown = () => this.begin();
      this.onLeave = () => this.leave();
      this.onHidden = () => { if (document.hidden) this.leave(); };
      this.addEventListener("input", () => this.changed());
      this.addEventListener("change", () => this.changed());
      this.addEventListener("submit", (event) => this.submitted(event));
      this.addEventListener("click", (event) => this.clicked(event));
      document.addEventListener("page:shown", this.onShown);
      document.addEventListener("page:leaving", this.onLeave);
      window.addEventListener("pagehide", this.onLeave);
      document.addEventListener("visibilitychange", this.onHidden);
      this.begin();
    }

    disconnectedCallback() {
      this.leave();
      clearTimeout(this.timer);
      document.removeEventListener("page:shown", this.onShown);
      document.removeEventListener("page:leaving", this.onLeave);
      window.removeEventListener("pagehide", this.onLeave);
      document.removeEventListener("visibilitychange", this.onHidden);
    }

    field(name) { return this.form?.elements[name]; }
    value(name) { const field = this.field(name); return field && "value" in field ? field.value : ""; }

    // A form that the page brought: a new one, or the same after a visit.
    begin() {
      this.form = this.querySelector("form");
      if (!this.form || this.value("page")) return;
      this.page = random();
      this.count = 0;
      this.dirty = false;
      this.gone = false;
      this.saving = null;
      clearTimeout(this.timer);
      this.field("page").value = this.page;
      this.querySelectorAll("[data-needs-draft]").forEach((button) => { button.hidden = true; });
      this.key = `draft ${new URL(this.form.action).pathname} ${this.value("kind")}`;
      this.offer();
    }

    words() { return Object.fromEntries(FIELDS.map((name) => [name, this.value(name)])); }

    changed() {
      if (!this.form) return;
      this.dirty = true;
      this.form.dataset.dirty = "";
      this.keepHere();
      this.say("dirty", "");
      clearTimeout(this.timer);
      if (!this.gone) this.timer = setTimeout(() => this.save(), PAUSE);
    }

    keepHere() {
      store.put(this.key, { ...this.words(), draft: this.value("draft"), version: Number(this.value("version")), at: Date.now() });
    }

    stamp(data) {
      this.count += 1;
      data.set("page", this.page);
      data.set("save", String(this.count));
      data.delete("file");
      return data;
    }

    async save() {
      clearTimeout(this.timer);
      if (!this.dirty || this.gone) return;
      if (this.saving) return void (this.again = true);
      this.dirty = false;
      const data = this.stamp(new FormData(this.form));
      data.set("quiet", "1");
      const body = new URLSearchParams(data);
      // A browser carries no more than 64 KB past the end of a page.
      this.saving = fetch(this.form.action, { method: "POST", body, redirect: "manual", keepalive: String(body).length < 60000 });
      let answer = null;
      try { answer = await this.saving; } catch { /* told below */ }
      this.saving = null;
      if (answer?.status === 204) this.heard(answer);
      else if (answer?.status === 409) this.crossed(answer, await answer.text());
      else if (answer?.status === 410) this.wasSent();
      else this.failed(answer?.type === "opaqueredirect" ? "You are signed out. What you wrote is kept in this browser." : "Not saved yet; kept in this browser. Trying again…");
      if (this.again) { this.again = false; this.changed(); }
    }

    heard(answer) {
      this.field("draft").value = answer.headers.get("x-draft");
      this.field("version").value = answer.headers.get("x-draft-version");
      this.querySelectorAll("[data-needs-draft]").forEach((button) => { button.hidden = false; });
      this.form.querySelector("input[name=mine]")?.remove();
      if (this.dirty) return this.keepHere();
      store.drop(this.key);
      delete this.form.dataset.dirty;
      this.say("saved", `Saved ${answer.headers.get("x-draft-saved")}`);
    }

    failed(sentence) {
      this.dirty = true;
      this.say("failed", sentence);
      this.timer = setTimeout(() => this.save(), AGAIN);
    }

    // Another window wrote on: nothing is overwritten before the person has chosen.
    crossed(answer, theirs) {
      this.gone = true;
      this.dirty = true;
      const draft = answer.headers.get("x-draft"), version = answer.headers.get("x-draft-version");
      const go = (mine) => {
        this.field("draft").value = draft;
        this.field("version").value = version;
        if (!mine) this.field("body").value = theirs;
        else this.form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "mine", value: "1" }));
        this.gone = false;
        this.changed();
        this.field("body").focus();
      };
      // Only the beginning of what is here: this window wrote it as it was left, or the other one had no more.
      if (this.value("body").startsWith(theirs.trimEnd())) return go(true);
      this.ask("You wrote on in another window.", [["Keep what is here", () => go(true)], ["Take the other words", () => go(false)]], theirs);
    }

    wasSent() {
      this.gone = true;
      this.ask("This was sent or thrown away in another window.", [["Keep what is here as a new draft", () => {
        store.put(this.key, { ...this.words(), draft: "", version: 0, at: Date.now() });
        location.assign(location.pathname + location.search);
      }]]);
    }

    // What this browser has and the service never confirmed.
    offer() {
      const kept = store.get(this.key);
      if (!kept) return;
      const same = FIELDS.every((name) => !this.field(name) || (kept[name] ?? "") === this.value(name));
      const server = Number(this.value("version"));
      const other = kept.draft !== this.value("draft");
      // The service has these words and more, or what was kept became something else.
      const inside = server > kept.version && this.value("body").includes((kept.body || "").trim());
      if (same || Date.now() - kept.at > OLD || !(kept.body || "").trim() || (!other && inside) || (other && kept.version > 0)) {
        return store.drop(this.key);
      }
      this.ask(`Not saved: what you wrote at ${clock(kept.at)}.`, [
        ["Bring it back", () => {
          FIELDS.forEach((name) => { if (this.field(name)) this.field(name).value = kept[name] ?? ""; });
          // Under its own id: if it was sent after all, it is not sent again.
          if (other && kept.draft && server === 0) {
            this.field("draft").value = kept.draft;
            this.field("version").value = kept.version;
          }
          this.changed();
          this.field("body").focus();
        }],
        ["Throw it away", () => store.drop(this.key)],
      ], kept.body);
    }

    submitted(event) {
      clearTimeout(this.timer);
      this.count += 1;
      this.field("save").value = String(this.count);
      if (this.dirty) this.keepHere();
      this.dirty = false;
      this.gone = event.submitter?.value === "discard";
      if (this.gone) store.drop(this.key);
    }

    leave() {
      if (!this.form || !this.dirty || this.gone) return;
      const data = this.stamp(new FormData(this.form));
      data.set("quiet", "1");
      if (navigator.sendBeacon(this.form.action, new URLSearchParams(data))) this.dirty = false;
    }

    clicked(event) {
      const opens = event.target.closest("[data-unfolds]")?.dataset.unfolds;
      const part = opens && this.querySelector(`#${opens}`);
      if (!part || opens === "attach") return;
      part.open = !part.open;
      if (part.open) part.querySelector("textarea, input")?.focus();
    }

    say(state, words) {
      const place = this.querySelector("[data-saved]");
      if (!place) return;
      place.dataset.state = state;
      if (words || state !== "dirty") place.textContent = words;
    }

    ask(sentence, choices, words) {
      this.querySelector(".composer__asks")?.remove();
      const box = document.createElement("div");
      box.className = "composer__blank composer__asks";
      box.setAttribute("role", "alert");
      const text = document.createElement("span");
      text.textContent = sentence;
      box.append(text);
      if (words) {
        const shown = document.createElement("details");
        shown.className = "composer__copy";
        const summary = document.createElement("summary");
        summary.textContent = "Show them";
        const body = document.createElement("p");
        body.textContent = words;
        shown.append(summary, body);
        box.append(shown);
      }
      for (const [label, act] of choices) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "btn btn--small";
        button.textContent = label;
        button.addEventListener("click", () => { box.remove(); act(); });
        box.append(button);
      }
      this.form.prepend(box);
    }
  }

  customElements.define("draft-keeper", DraftKeeper);
})();
