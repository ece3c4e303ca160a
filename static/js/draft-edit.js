// <draft-edit data-action>: keeps what is typed into a draft, a second after a pause and when the page is left, so that
// looking at the next draft loses nothing. The form carries on without it: approving sends what stands in the box.
(() => {
  "use strict";
  const PAUSE = 1000;
  class DraftEdit extends HTMLElement {
    #timer = 0;
    #saved = "";
    #saving = null;

    connectedCallback() {
      const box = this.#box;
      if (!box) return;
      this.#saved = box.value;
      this.addEventListener("input", this.#typed);
      // A form that is sent brings the text itself.
      box.form?.addEventListener("submit", this.#sent);
      addEventListener("pagehide", this.#leave);
    }

    disconnectedCallback() {
      clearTimeout(this.#timer);
      removeEventListener("pagehide", this.#leave);
      this.#leave();
    }

    get #box() { return this.querySelector("textarea"); }
    get #version() { return this.#box?.form?.elements.namedItem("version"); }

    // While there are words that only this page has, an update of the page leaves the box alone.
    #typed = () => {
      this.#box.dataset.dirty = "";
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#save(), PAUSE);
    };
    #sent = () => {
      clearTimeout(this.#timer);
      this.#saved = this.#box.value;
      delete this.#box.dataset.dirty;
    };
    #leave = () => {
      const text = this.#box?.value ?? this.#saved;
      if (text === this.#saved || !text.trim()) return;
      navigator.sendBeacon(this.dataset.action, this.#form(text));
    };

    #form(text) {
      return new URLSearchParams({ body: text, version: this.#version?.value ?? "", quiet: "1" });
    }

    async #save() {
      const text = this.#box?.value;
      if (text === undefined || text === this.#saved || !text.trim()) return;
      if (this.#saving) { await this.#saving; return this.#save(); }
      const sending = fetch(this.dataset.action, { method: "POST", body: this.#form(text), redirect: "error" });
      this.#saving = sending.then(async (answer) => {
        if (answer.ok) {
          const kept = await answer.json();
          this.#saved = text;
          if (this.#box.value === text) delete this.#box.dataset.dirty;
          if (this.#version) this.#version.value = kept.version;
          this.#tell(kept.told);
        } else if (answer.status === 409) {
          this.#tell("A colleague changed this draft too. Approve or open Changes to see both.");
        } else {
          this.#tell("Not saved yet");
        }
      }).catch(() => this.#tell("Not saved yet"));
      await this.#saving;
      this.#saving = null;
    }

    #tell(text) {
      const told = document.getElementById("kept");
      if (told) told.textContent = text;
    }
  }
  customElements.define("draft-edit", DraftEdit);
})();
