// A long conversation opens where it is new to the reader, or at its newest message when all was read and folded. Without
// script a link in its head leads to what is new. Only when it is opened: what comes while somebody reads moves nothing.
// A message that the address names is unfolded.
(() => {
  "use strict";
  const open = () => {
    const named = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = named && named.querySelector(":scope > .msgfold:not([open])");
    if (folded) folded.open = true;
    if (named) return;
    const isRead = document.querySelector("#timeline .msgfold:not([open])");
    const mark = document.getElementById("new") ?? (isRead && [...document.querySelectorAll("#timeline .msgfold[open]")].at(-1));
    if (!mark) return;
    const part = mark.closest(".app__scroll");
    const inner = part && part.scrollHeight > part.clientHeight + 1 && getComputedStyle(part).overflowY !== "visible";
    const end = inner ? part.getBoundingClientRect().bottom : window.innerHeight;
    // In sight already, with something under it.
    const box = mark.getBoundingClientRect();
    if (Math.min(box.bottom, box.top + 80) + 80 < end) return;
    mark.scrollIntoView({ block: "start" });
  };
  document.addEventListener("page:shown", (event) => { if (event.detail.elsewhere && !event.detail.back) open(); });
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", open) : open();
})();
