// On a phone the composer that was opened by a click fills the screen (sheet.css). This script keeps the focus out of what is
// behind it, ends it where the keyboard begins, and when it is closed gives back the focus and the place in the conversation.
// Closing it is a link, and so is the browser's Back. Without script the composer is part of the page.
(() => {
  "use strict";
  const PHONE = matchMedia("(max-width: 720px)");
  const view = window.visualViewport;
  // What is written in the sheet: reply, note or forward; nothing while there is no sheet.
  let kind = "";
  let closed = false;
  let place = 0;

  const form = () => (PHONE.matches ? document.querySelector(".dock--sheet > draft-keeper > form") : null);

  function cover() {
    for (const node of document.querySelectorAll("[data-behind]")) {
      node.inert = false;
      delete node.dataset.behind;
    }
    const sheet = form();
    const dock = document.getElementById("composer");
    const marks = { role: "dialog", "aria-modal": "true", "aria-label": sheet?.getAttribute("aria-label") };
    for (const [name, value] of Object.entries(marks)) {
      if (sheet) dock.setAttribute(name, value);
      else dock?.removeAttribute(name);
    }
    for (let node = sheet && dock; node && node !== document.body; node = node.parentElement) {
      for (const beside of node.parentElement.children) {
        // What is said stays above it, and so does a question.
        if (beside === node || beside.matches("#toasts, dialog, script")) continue;
        beside.inert = true;
        beside.dataset.behind = "";
      }
    }
    fit();
  }

  // The keyboard of some phones lies over the page.
  function fit() {
    if (!kind) return;
    const isZoomed = !view || view.scale > 1.01;
    const above = isZoomed ? 0 : view.offsetTop;
    const below = isZoomed ? 0 : Math.max(0, window.innerHeight - view.height - view.offsetTop);
    for (const [name, room] of Object.entries({ "--above": above, "--below": below })) {
      document.documentElement.style.setProperty(name, `${Math.round(room)}px`);
    }
  }

  document.addEventListener("page:leaving", () => { if (!kind) place = window.scrollY; });
  document.addEventListener("page:focus", (event) => {
    const was = kind;
    kind = form()?.elements.kind.value ?? "";
    closed = was !== "" && !kind && !event.detail.elsewhere;
    cover();
    const at = document.activeElement;
    if (!closed || (at && at !== document.body && at.checkVisibility())) return;
    const opener = [`begin-${was}`, "begin-reply"].map((id) => document.getElementById(id)).find((one) => one?.checkVisibility());
    if (!opener) return;
    event.preventDefault();
    opener.focus({ preventScroll: true });
  });
  document.addEventListener("page:shown", () => { if (closed) window.scrollTo(0, place); });
  // The page was brought up to date, as if nothing covered it.
  document.addEventListener("live:refreshed", cover);
  document.addEventListener("click", (event) => {
    const unfold = event.target.closest?.("[data-unfolds-lines]");
    if (!unfold) return;
    const lines = unfold.parentElement;
    unfold.setAttribute("aria-expanded", "true");
    lines.dataset.open = "";
    lines.querySelector("select, summary")?.focus();
  });
  view?.addEventListener("resize", fit);
  view?.addEventListener("scroll", fit);
  const begin = () => {
    kind = form()?.elements.kind.value ?? "";
    cover();
  };
  PHONE.addEventListener("change", begin);
  begin();
})();
