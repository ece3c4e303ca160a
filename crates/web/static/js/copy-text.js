// <copy-text data-of="id"><button>: copies the text of an element. Without script the text selects as a whole at one click,
// so the button is shown only where it can do something. What happened is said in the button and aloud.
(() => {
  "use strict";
  class CopyText extends HTMLElement {
    #timer = 0;

    connectedCallback() {
      const button = this.querySelector("button");
      if (!button || !navigator.clipboard) return;
      this.classList.add("is-ready");
      button.addEventListener("click", () => this.#copy(button));
    }

    disconnectedCallback() { clearTimeout(this.#timer); }

    async #copy(button) {
      const label = button.querySelector("span");
      const source = document.getElementById(this.dataset.of);
      if (!label || !source) return;
      let said = "Copied";
      try {
        await navigator.clipboard.writeText(source.textContent);
      } catch {
        getSelection()?.selectAllChildren(source);
        said = "Press Ctrl+C";
      }
      label.setAttribute("role", "status");
      label.textContent = said;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => { label.textContent = "Copy"; }, 2000);
    }
  }
  customElements.define("copy-text", CopyText);
})();
