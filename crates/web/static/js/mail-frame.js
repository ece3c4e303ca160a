// <mail-frame>: makes the frame of a mail as high as the mail, so that the page scrolls and not the frame, and draws a mail
// that is wider than the page smaller. Without script the frame has a fixed height and scrolls by itself. The mail runs no
// script; we only measure it from outside.
(() => {
  "use strict";
  const HIGHEST = 12000; // a mail that says it is higher scrolls in its frame
  const SMALLEST = 0.4;

  class MailFrame extends HTMLElement {
    connectedCallback() {
      this.frame = this.querySelector("iframe");
      if (!this.frame) return;
      this.onload = () => this.measure();
      this.frame.addEventListener("load", this.onload);
      this.measure();
    }

    disconnectedCallback() {
      this.watch?.disconnect();
      this.frame?.removeEventListener("load", this.onload);
    }

    measure() {
      let page = null;
      try {
        page = this.frame.contentDocument;
      } catch {
        return; // another origin: it keeps its fixed height
      }
      if (!page || !page.body || page.location.href === "about:blank") return;
      // What is laid out for a desk is shown whole, as long as one can read it.
      const narrow = () => {
        const { frame } = this;
        frame.style.zoom = "";
        frame.style.inlineSize = "";
        const room = this.clientWidth;
        const wide = page.documentElement.scrollWidth;
        if (!room || wide <= room + 1) return;
        const zoom = Math.max(SMALLEST, room / wide);
        frame.style.inlineSize = `${room / zoom}px`;
        frame.style.zoom = String(zoom);
      };
      const fit = () => {
        narrow();
        const height = Math.min(HIGHEST, Math.ceil(page.documentElement.getBoundingClientRect().height));
        if (height > 0 && height !== this.height) {
          this.height = height;
          // No style attribute: the policy of our pages refuses it, the property is allowed.
          this.frame.style.blockSize = `${height}px`;
        }
      };
      this.watch?.disconnect();
      this.watch = new ResizeObserver(fit);
      this.watch.observe(page.documentElement);
      fit();
    }
  }

  customElements.define("mail-frame", MailFrame);
})();
