// The contact stands beside the conversation where there is room; a button folds it away, and this browser remembers it.
(() => {
  "use strict";
  const KEPT = "contact";
  const root = document.documentElement;
  // A browser may refuse to keep anything.
  const kept = (act) => { try { return act(localStorage); } catch { return null; } };
  if (kept((store) => store.getItem(KEPT)) === "folded") root.dataset.contact = "folded";
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.('[data-folds="contact"]')) return;
    const folded = root.dataset.contact !== "folded";
    if (folded) root.dataset.contact = "folded";
    else delete root.dataset.contact;
    kept((store) => store.setItem(KEPT, folded ? "folded" : "shown"));
  });
})();
