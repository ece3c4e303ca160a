// Keeps the place in a list: coming back to it, from a conversation or by the Back button, shows the same rows.
(() => {
  const key = (list) => `place:${list.dataset.list}:${new URLSearchParams(location.search).get("before") ?? ""}`;
  const scroller = (list) => {
    const own = list.querySelector(".list__scroll");
    return own && own.scrollHeight > own.clientHeight + 1 ? own : document.scrollingElement;
  };
  let waiting = 0;
  document.addEventListener("scroll", () => {
    const list = document.getElementById("list");
    if (!list || waiting) return;
    waiting = setTimeout(() => {
      waiting = 0;
      sessionStorage.setItem(key(list), String(Math.round(scroller(list).scrollTop)));
    }, 100);
  }, { capture: true, passive: true });
  const restore = () => {
    const list = document.getElementById("list");
    if (!list || list.offsetParent === null) return;
    const kept = Number(sessionStorage.getItem(key(list)));
    if (kept) scroller(list).scrollTop = kept;
    list.querySelector(".item.is-selected")?.scrollIntoView({ block: "nearest" });
  };
  // A page that was morphed in.
  document.addEventListener("page:shown", (event) => { if (event.detail.elsewhere) restore(); });
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", restore) : restore();
})();
