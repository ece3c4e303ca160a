// <print-page><button>: prints the conversation, and so does Ctrl or ⌘ P: every message is unfolded, and the frames of those
// that nobody looked at are waited for. The browser's own menu cannot wait; it prints the frames that are there. How it looks
// on paper is print.css, which needs no script.
(() => {
  "use strict";
  const SLOW = 4000;
  const shown = new WeakSet();
  let unfolded = [];

  document.addEventListener("load", (event) => { if (event.target.matches?.("iframe")) shown.add(event.target); }, true);

  function unfold() {
    for (const fold of document.querySelectorAll("#timeline details.msgfold:not([open])")) {
      fold.open = true;
      unfolded.push(fold);
    }
  }

  const coming = (frame) => new Promise((done) => {
    frame.addEventListener("load", done, { once: true });
    frame.loading = "eager";
  });

  async function print() {
    unfold();
    const late = [...document.querySelectorAll("#timeline iframe")].filter((frame) => !shown.has(frame));
    const enough = new Promise((done) => { setTimeout(done, late.length ? SLOW : 0); });
    await Promise.race([Promise.all(late.map(coming)), enough]);
    // The heights of frames are set when they are drawn.
    await new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });
    window.print();
  }

  window.addEventListener("beforeprint", unfold);
  window.addEventListener("afterprint", () => {
    for (const fold of unfolded) fold.open = false;
    unfolded = [];
  });
  document.addEventListener("keydown", (event) => {
    const isPrint = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "p";
    if (!isPrint || !document.getElementById("timeline")) return;
    event.preventDefault();
    print();
  });

  class PrintPage extends HTMLElement {
    connectedCallback() { this.addEventListener("click", this); }
    handleEvent(event) {
      if (!event.target.closest("button")) return;
      const menu = this.closest("details.menu[open]");
      if (menu) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
      print();
    }
  }
  customElements.define("print-page", PrintPage);
})();
