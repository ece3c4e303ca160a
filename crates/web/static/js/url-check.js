// <url-check data-check="path">: looks at the address in its field while somebody types, by the form that its button sends,
// and shows what the server said of it beside the field. Nothing is made by it.
(() => {
  "use strict";
  const PAUSE = 600;
  class UrlCheck extends HTMLElement {
    #timer = 0;
    #asked = 0;

    connectedCallback() {
      this.addEventListener("input", () => {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#check(), PAUSE);
      });
    }
    disconnectedCallback() { clearTimeout(this.#timer); }

    async #check() {
      const field = this.querySelector("input");
      const state = this.querySelector("[role=status]");
      const turn = ++this.#asked;
      // A few letters are no address yet; an empty field asks for nothing.
      if (!state || !/^[a-z]+:\/\/.+/i.test(field.value)) return;
      try {
        const body = new URLSearchParams({ url: field.value });
        const answer = await fetch(this.dataset.check, { method: "POST", body, headers: { accept: "text/html" } });
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(state.id);
        if (!fresh || turn !== this.#asked) return;
        state.replaceChildren(...fresh.childNodes);
        field.toggleAttribute("aria-invalid", Boolean(state.querySelector(".bad-text")));
        if (field.hasAttribute("aria-invalid")) field.setAttribute("aria-invalid", "true");
      } catch {
        // The form says it when it is sent.
      }
    }
  }
  customElements.define("url-check", UrlCheck);
})();
