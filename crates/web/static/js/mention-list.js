// `@` in a note: the names below the text are narrowed while one is typed; arrows and Enter, or a click, write it out.
// Without script the list says whom one can call.
(() => {
  "use strict";
  let at = -1;

  const listOf = (area) => area.form?.querySelector("[data-mentions]");
  const shown = (list) => [...list.children].filter((item) => !item.hidden);
  const mark = (list, item) => {
    for (const other of list.children) other.setAttribute("aria-selected", String(other === item));
    item?.scrollIntoView({ block: "nearest" });
  };

  function narrow(area) {
    const list = listOf(area);
    if (!list) return;
    const before = area.value.slice(0, area.selectionStart);
    const typed = /(?:^|[\s(])@([\p{L}\p{N}'-]*)$/u.exec(before);
    at = typed ? area.selectionStart - typed[1].length : -1;
    const word = typed ? typed[1].toLowerCase() : "";
    for (const item of list.children) {
      item.setAttribute("role", "option");
      item.hidden = at >= 0 && !item.textContent.toLowerCase().split(/\s+/).some((part) => part.startsWith(word));
    }
    list.setAttribute("role", "listbox");
    list.toggleAttribute("data-open", at >= 0 && shown(list).length > 0);
    mark(list, at >= 0 && word ? shown(list)[0] : null);
  }

  function write(area, item) {
    const first = item.textContent.trim().split(/\s+/)[0];
    area.setRangeText(`${first} `, at, area.selectionStart, "end");
    at = -1;
    area.focus();
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  document.addEventListener("input", (event) => { if (event.target.matches?.(".composer__body")) narrow(event.target); });
  document.addEventListener("keydown", (event) => {
    const area = event.target;
    const list = area.matches?.(".composer__body") && at >= 0 && listOf(area);
    if (!list) return;
    const items = shown(list);
    const now = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
    if (event.key === "Escape") at = -1;
    else if ((event.key === "Enter" || event.key === "Tab") && now >= 0 && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      write(area, items[now]);
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && items.length) {
      event.preventDefault();
      mark(list, items[(now + (event.key === "ArrowDown" ? 1 : items.length - 1) + items.length) % items.length]);
    }
  });
  document.addEventListener("mousedown", (event) => {
    const item = event.target.closest?.("[data-mentions] > li");
    const area = item?.closest("form")?.elements.body;
    if (!area) return;
    event.preventDefault();
    if (at < 0) {
      const gap = /(^|\s)$/.test(area.value.slice(0, area.selectionStart)) ? "" : " ";
      area.setRangeText(`${gap}@`, area.selectionStart, area.selectionEnd, "end");
      at = area.selectionStart;
    }
    write(area, item);
  });
})();
