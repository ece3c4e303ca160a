// The documents to ask for, in a dialog or on a page of their own: buttons that only change the form are answered in place with
// the form as it is then, so Enter in a row is at the next one at once. Without script the same buttons answer with a page.
(() => {
  "use strict";

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

    // Enter under a list's name saves the list.
    pressed(event) {
      if (event.key !== "Enter" || event.isComposing || event.target.name !== "list-name") return;
      event.preventDefault();
      event.target.form.requestSubmit(this.querySelector("button[value=save]"));
    }

    async submitted(event) {
      const { submitter, target: form } = event;
      if (submitter?.value === "ask") return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (this.busy) return;
      this.busy = true;
      const body = new URLSearchParams(new FormData(form, submitter));
      const text = await fetch(form.action, { method: "POST", body, headers: { accept: "text/html" } }).then((answer) => answer.text()).catch(() => "");
      this.busy = false;
      const part = new DOMParser().parseFromString(text, "text/html").querySelector("asked-documents");
      if (!part) return void (this.querySelector("[data-lost]").hidden = false);
      this.replaceChildren(...document.adoptNode(part).childNodes);
      document.dispatchEvent(new CustomEvent("rookery:added", { detail: { part: this } }));
      this.querySelector("[autofocus]")?.focus();
    }
  }

  customElements.define("asked-documents", AskedDocuments);
})();
