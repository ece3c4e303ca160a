// <copy-text data-of="id"><button><span>Copy</span></button></copy-text>: copies the text of an element, or with data-path the
// address of a page of ours. It exists only where something can be copied; without it the text selects as a whole at one
// click. What happened is said in the button and aloud; a menu that it is in closes then. Where the button is
// not seen, a toast says it.
(() => {
  "use strict";
  const SAID = 2000;
  class CopyText extends HTMLElement {
    #timer = 0;
    #own = null;

    connectedCallback() { this.addEventListener("click", this); }
    disconnectedCallback() { clearTimeout(this.#timer); }

    // On the element itself: the button may be another one after the page was brought up to date.
    handleEvent(event) {
      const button = event.target.closest("button");
      if (button) this.#copy(button);
    }

    async #copy(button) {
      const label = button.querySelector("span");
      const source = document.getElementById(this.dataset.of ?? "");
      const text = this.dataset.path ? new URL(this.dataset.path, location.href).href : source?.textContent;
      if (!label || text === undefined) return;
      this.#own ??= label.textContent;
      let said = "Copied";
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        if (source) getSelection()?.selectAllChildren(source);
        said = source ? "Press Ctrl+C" : "Could not copy";
      }
      // The palette runs it while its menu is closed.
      if (!label.checkVisibility()) return window.rookery?.toast?.(`${said}.`);
      label.setAttribute("role", "status");
      label.textContent = said;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        label.textContent = this.#own;
        const menu = this.closest("details.menu[open]");
        if (!menu) return;
        const had = menu.contains(document.activeElement);
        menu.open = false;
        if (had) menu.querySelector("summary").focus();
      }, SAID);
    }
  }
  if (navigator.clipboard) customElements.define("copy-text", CopyText);
})();
