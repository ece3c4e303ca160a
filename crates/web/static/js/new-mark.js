// A long conversation opens where it is new to the reader, not at its top. Without script a link in its head leads there.
// Only when it is opened: what comes while somebody reads moves nothing.
(() => {
  "use strict";
  const open = () => {
    const mark = document.getElementById("new");
    if (!mark || location.hash) return;
    const part = mark.closest(".app__scroll");
    const inner = part && part.scrollHeight > part.clientHeight + 1 && getComputedStyle(part).overflowY !== "visible";
    const end = inner ? part.getBoundingClientRect().bottom : window.innerHeight;
    // In sight already, with something under it.
    if (mark.getBoundingClientRect().bottom + 80 < end) return;
    mark.scrollIntoView({ block: "start" });
  };
  document.addEventListener("page:shown", (event) => { if (event.detail.elsewhere && !event.detail.back) open(); });
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", open) : open();
})();
