// `@` in a note: while a name is typed, those that fit stand at the cursor; arrows and Enter, or a click, write it out.
// A first name that two have is written with the last. Without script the list says whom one can call.
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
      item.hidden = at >= 0 && !item.dataset.name.toLowerCase().split(/\s+/).some((part) => part.startsWith(word));
    }
    list.setAttribute("role", "listbox");
    const open = at >= 0 && shown(list).length > 0;
    list.toggleAttribute("data-open", open);
    if (open) place(area, list);
    mark(list, at >= 0 && word ? shown(list)[0] : null);
  }

  function close(list) {
    at = -1;
    list.removeAttribute("data-open");
    for (const item of list.children) item.hidden = false;
    mark(list, null);
  }

  // Where the `@` stands: a copy of the text is laid out just as the field is.
  const LAID_OUT = ["font", "letterSpacing", "lineHeight", "padding", "border", "boxSizing", "textIndent", "direction", "tabSize"];
  function place(area, list) {
    const style = getComputedStyle(area);
    const copy = document.createElement("div");
    for (const name of LAID_OUT) copy.style[name] = style[name];
    Object.assign(copy.style, { position: "fixed", visibility: "hidden", inlineSize: `${area.clientWidth}px`, whiteSpace: "pre-wrap", overflowWrap: "break-word" });
    copy.textContent = area.value.slice(0, at - 1);
    const sign = document.createElement("span");
    sign.textContent = "@";
    copy.append(sign);
    document.body.append(copy);
    const box = area.getBoundingClientRect();
    const left = Math.min(box.left + sign.offsetLeft, document.documentElement.clientWidth - list.offsetWidth - 8);
    const line = box.top + sign.offsetTop - area.scrollTop;
    copy.remove();
    // Above the line, where nothing is written yet.
    Object.assign(list.style, { left: `${Math.max(8, left)}px`, bottom: `${window.innerHeight - line + 2}px` });
  }

  function write(area, item) {
    const first = (item) => item.dataset.name.trim().split(/\s+/)[0].toLowerCase();
    const alone = [...item.parentElement.children].filter((one) => first(one) === first(item)).length === 1;
    const name = item.dataset.name.trim();
    area.setRangeText(`${alone ? name.split(/\s+/)[0] : name} `, at, area.selectionStart, "end");
    close(item.parentElement);
    area.focus();
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  document.addEventListener("input", (event) => { if (event.target.matches?.(".composer__body")) narrow(event.target); });
  // On the way down: Escape closes the names, and not what one writes.
  document.addEventListener("keydown", (event) => {
    const area = event.target;
    const list = area.matches?.(".composer__body") && at >= 0 && listOf(area);
    if (!list) return;
    const items = shown(list);
    const now = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
    if (event.key === "Escape") {
      event.preventDefault();
      close(list);
    } else if ((event.key === "Enter" || event.key === "Tab") && now >= 0 && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      write(area, items[now]);
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && items.length) {
      event.preventDefault();
      mark(list, items[(now + (event.key === "ArrowDown" ? 1 : items.length - 1) + items.length) % items.length]);
    }
  }, true);
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
