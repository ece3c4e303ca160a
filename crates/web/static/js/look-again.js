// <look-again data-topic>: stands on a page while something is about to happen that no stream tells of. It asks for the
// regions of its topic anew, a little later each time, until the server leaves it out, or so many times (data-times).
(() => {
  "use strict";
  const FIRST = 700, LAST = 5000;
  class LookAgain extends HTMLElement {
    #timer = 0;
    #wait = FIRST;
    #looks = 0;

    connectedCallback() { this.#soon(); }
    disconnectedCallback() { clearTimeout(this.#timer); }

    #soon() {
      if (this.#looks >= Number(this.dataset.times || Infinity)) return;
      this.#looks += 1;
      this.#timer = setTimeout(() => {
        document.dispatchEvent(new CustomEvent("rookery:refresh", { detail: { topics: [this.dataset.topic] } }));
        this.#wait = Math.min(LAST, this.#wait * 1.5);
        this.#soon();
      }, this.#wait);
    }
  }
  customElements.define("look-again", LookAgain);
})();
