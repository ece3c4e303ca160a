// <undo-clock data-sends-at data-now data-window>: counts down what is left of a message's undo time. Both times are the
// server's; only the time that passes here is added, so a wrong clock in the browser changes nothing. At the end it asks
// for the page's true state instead of guessing it. It says nothing aloud: what is announced stands in the toast, once.
(() => {
  "use strict";
  const SOON = 1500, MOST = 6;
  class UndoClock extends HTMLElement {
    static observedAttributes = ["data-sends-at", "data-now"];
    #timer = 0;
    #began = 0;
    // How often the page was asked for anew since the time was over.
    #asked = 0;

    connectedCallback() { this.#start(); }
    disconnectedCallback() { clearTimeout(this.#timer); }
    attributeChangedCallback() { if (this.isConnected) this.#start(); }

    #start() {
      clearTimeout(this.#timer);
      this.#began = performance.now();
      this.#tick();
    }

    #tick() {
      const whole = Date.parse(this.dataset.sendsAt) - Date.parse(this.dataset.now);
      const left = Math.max(0, whole - (performance.now() - this.#began));
      const seconds = Math.ceil(left / 1000);
      const time = this.querySelector("time");
      const text = written(seconds);
      if (time && time.textContent !== text) time.textContent = text;
      const gone = 100 - Math.min(100, (100 * seconds) / Number(this.dataset.window || 600));
      this.querySelector("circle:last-child")?.setAttribute("stroke-dashoffset", String(Math.round(gone)));
      if (left > 0) {
        this.#timer = setTimeout(() => this.#tick(), (left % 1000) + 20);
      } else if (this.#asked < MOST) {
        // It leaves now. A little later the server knows more. If it left while the page was on its way here, the stream
        // was not there yet to say so.
        const topics = [whole > 0 ? "outgoing" : "*"];
        this.#timer = setTimeout(() => {
          document.dispatchEvent(new CustomEvent("rookery:refresh", { detail: { topics } }));
        }, SOON * 2 ** this.#asked++);
      }
    }
  }

  function written(seconds) {
    const two = (number) => String(number).padStart(2, "0");
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
  }

  customElements.define("undo-clock", UndoClock);
})();
