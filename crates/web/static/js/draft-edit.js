// <draft-edit data-action>: keeps what is typed into an agent's draft, a second after a pause and when the page is left.
// Until the service has confirmed it, a copy stays in this browser and is offered back. The form carries on without it:
// approving sends what stands in the box. data-unsaved: the box has words that a colleague's crossed.
(() => {
  "use strict";
  const { copies, clock, ask, refusal } = window.rookery;
  const PAUSE = 1000, AGAIN = 5000;
  class DraftEdit extends HTMLElement {
    #timer = 0;
    #saved = "";
    #saving = null;
    // The form is on its way; nothing else is sent before it is answered.
    #sending = false;
    // A colleague changed the draft too, and the person has not chosen.
    #crossed = false;
    #waits = false;
    #ends = null;

    connectedCallback() {
      this.#ends = new AbortController();
      const on = (target, name, act, capture = false) => target.addEventListener(name, act, { signal: this.#ends.signal, capture });
      on(this, "input", (event) => { if (event.target === this.#box) this.#typed(); });
      on(document, "submit", (event) => this.#submits(event), true);
      on(document, "page:answered", (event) => this.#answered(event.detail.form));
      on(document, "page:refused", (event) => { if (event.detail.form === this.#form) this.#failed(); });
      on(document, "page:shown", () => { if (this.#box?.dataset.dirty === undefined) this.#begin(); });
      // The page that comes next was made before this save: it needs the copy, whatever is confirmed meanwhile.
      on(window, "pagehide", () => this.#leave(true));
      this.#begin();
    }

    disconnectedCallback() {
      clearTimeout(this.#timer);
      this.#ends.abort();
      this.#leave();
    }

    get #box() { return this.querySelector("textarea"); }
    get #form() { return this.#box?.form; }
    get #version() { return this.#form?.elements.namedItem("version"); }
    get #name() { return `edit ${this.dataset.action}`; }
    get unsaved() { return this.#box?.dataset.dirty !== undefined; }

    #begin() {
      const box = this.#box;
      if (!box) return;
      this.#sending = false;
      this.#saved = box.value;
      this.#crossed = this.dataset.unsaved !== undefined;
      if (this.#crossed) {
        this.#saved = null;
        return this.#keep();
      }
      const kept = copies.get(this.#name);
      if (!kept?.body?.trim() || kept.body === box.value) return copies.drop(this.#name);
      ask(this, `Not saved: what you wrote at ${clock(kept.at)}.`, [
        ["Bring it back", () => { box.value = kept.body; this.#typed(); box.focus(); }],
        ["Throw it away", () => copies.drop(this.#name)],
      ], kept.body);
    }

    // While there are words that only this page has, an update of the page leaves the box alone.
    #keep() {
      this.#box.dataset.dirty = "";
      return copies.put(this.#name, { body: this.#box.value });
    }

    #typed() {
      this.#keep();
      this.#again(PAUSE);
    }

    #again(pause) {
      clearTimeout(this.#timer);
      if (this.isConnected) this.#timer = setTimeout(() => this.flush(), pause);
    }

    // The form brings the text itself. A save that is still under way goes first: else the two would cross.
    #submits(event) {
      const form = this.#form;
      if (!form || event.target !== form) return;
      clearTimeout(this.#timer);
      if (!this.#saving) {
        if (this.#box.value !== this.#saved) this.#keep();
        this.#sending = true;
        return;
      }
      event.preventDefault();
      event.stopImmediatePropagation();
      if (this.#waits) return;
      this.#waits = true;
      const { submitter } = event;
      this.#saving.finally(() => {
        this.#waits = false;
        if (form.isConnected) form.requestSubmit(submitter);
      });
    }

    // A page came back: the service has the words, or the page itself brings them again.
    #answered(form) {
      const about = this.dataset.action.replace(/[^/]*$/, "");
      if (!this.#box || !form?.action || !new URL(form.action).pathname.startsWith(about)) return;
      clearTimeout(this.#timer);
      this.#saved = this.#box.value;
      delete this.#box.dataset.dirty;
      copies.drop(this.#name);
    }

    #failed(sentence = "Not saved yet; kept in this browser. Trying again…") {
      this.#sending = false;
      if (this.#box.value === this.#saved) return;
      this.#keep();
      this.#tell(sentence);
      this.#again(AGAIN);
    }

    #leave(ends = false) {
      const text = this.#box?.value ?? this.#saved;
      if (text !== this.#saved && !this.#crossed && text?.trim()) this.#post(text, ends);
    }

    async flush() {
      while (this.#saving) await this.#saving;
      const text = this.#box?.value;
      if (text === undefined || text === this.#saved || !text.trim() || this.#sending || this.#crossed) return;
      clearTimeout(this.#timer);
      this.#saving = this.#post(text).finally(() => { this.#saving = null; });
      await this.#saving;
    }

    async #post(text, ends = false) {
      const mark = copies.put(this.#name, { body: text });
      const [box, version, name] = [this.#box, this.#version, this.#name];
      const body = new URLSearchParams({ body: text, version: version?.value ?? "", quiet: "1" });
      let answer = null;
      // A browser carries no more than 64 KB past the end of a page.
      try { answer = await fetch(this.dataset.action, { method: "POST", body, redirect: "manual", keepalive: String(body).length < 60000 }); } catch { /* told below */ }
      if (answer?.ok) {
        const kept = await answer.json();
        if (!ends) copies.settle(name, mark);
        this.#saved = text;
        if (box.value === text) delete box.dataset.dirty;
        if (version) version.value = kept.version;
        return this.#tell(kept.told);
      }
      if (!this.isConnected || this.#sending) return;
      if (answer?.status === 409) {
        this.#crossed = true;
        this.#tell("Not saved");
        const see = this.#form.querySelector("button[value=changes]");
        ask(this, "A colleague changed this draft too. Your words are kept in this browser.", see ? [["See both", () => this.#form.requestSubmit(see)]] : []);
      } else if (answer?.type === "opaqueredirect") {
        this.#failed("You are signed out. What you wrote is kept in this browser.");
      } else if (answer?.status >= 400 && answer.status < 500 && answer.status !== 429) {
        const sentence = refusal(new DOMParser().parseFromString(await answer.text(), "text/html"));
        this.#tell(`Not saved; kept in this browser. ${sentence}`);
      } else {
        this.#failed();
      }
    }

    #tell(text) {
      const told = document.getElementById("kept");
      if (told) told.textContent = text;
    }
  }
  customElements.define("draft-edit", DraftEdit);
})();
