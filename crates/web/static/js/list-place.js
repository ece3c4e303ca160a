// Keeps the place in a list: coming back to it, from a conversation or by the Back button, shows the same rows, and the
// focus is on the row it was on. When that row has left the list, the row that came in its place has it.
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

  let cursor = null;
  const isSeen = (element) => element.checkVisibility();
  const note = (row) => {
    const list = row.closest("#list");
    if (list) cursor = { list: list.dataset.list, id: row.id, at: [...row.parentElement.children].indexOf(row) };
  };
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest?.("#list .item");
    if (row) note(row);
  });
  // A window that is not in front tells nothing of the focus that its keys move.
  document.addEventListener("submit", () => {
    const row = document.activeElement?.closest?.("#list .item");
    if (row) note(row);
  }, true);
  document.addEventListener("page:focus", (event) => {
    const list = document.getElementById("list");
    const open = list?.querySelector(".item.is-selected");
    if (open) note(open);
    const now = document.activeElement;
    // What was opened is read now: its keys scroll it, and not the list.
    if (document.querySelector("#pane[data-conversation]")) {
      if (event.detail.elsewhere && now?.closest?.("#list")) now.blur();
      return;
    }
    const lost = !now || now === document.body || !isSeen(now) || !!now.closest("#list");
    if (!lost || !list || !isSeen(list) || !cursor || cursor.list !== list.dataset.list) return;
    const rows = [...list.querySelectorAll(".item")];
    const row = rows.find((one) => one.id === cursor.id) ?? rows[Math.min(cursor.at, rows.length - 1)];
    if (!row) return;
    event.preventDefault();
    row.querySelector("a[href]").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  });

  // A list that is shown already does not come again with a conversation that is opened from it: the page says what it has,
  // and which row is the open one is changed here.
  document.addEventListener("page:leaving", ({ detail: { path, headers } }) => {
    const list = document.querySelector("#list[data-page]");
    const rows = [...(list?.querySelectorAll(".item:not(.is-gone)") ?? [])];
    const at = rows.findIndex((row) => `/conversations/${row.id}` === path);
    if (at < 0) return;
    headers["x-list"] = list.dataset.page;
    headers["x-around"] = `${rows[at - 1]?.id ?? "-"} ${rows[at + 1]?.id ?? "-"}`;
  });
  document.addEventListener("list:kept", ({ detail: { list, open } }) => {
    for (const row of list.querySelectorAll(".item")) {
      const isOpen = row.id === open;
      row.classList.toggle("is-selected", isOpen);
      const link = row.querySelector(".item__body");
      if (isOpen) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      if (!isOpen) continue;
      row.classList.remove("is-unread");
      row.querySelector(".item__who > .sr-only")?.remove();
    }
    const title = list.querySelector("h1#list-title");
    if (!title) return;
    const smaller = document.createElement("h2");
    for (const { name, value } of title.attributes) smaller.setAttribute(name, value);
    smaller.append(...title.childNodes);
    title.replaceWith(smaller);
  });

  // A page that was morphed in.
  document.addEventListener("page:shown", (event) => { if (event.detail.elsewhere) restore(); });
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", restore) : restore();
})();
