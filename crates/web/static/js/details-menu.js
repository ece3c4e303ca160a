// Menus are <details class="menu">, and lists of choices in a dialog are [data-choices-of]. Whichever is open has the
// keyboard, and no single key does anything else meanwhile: letters narrow it where it has a field (data-filter) and go to
// the line that begins with them where it has none, digits take a numbered line, arrows move, Enter takes, Escape closes
// and gives the focus back. A panel that does not fit is moved into the window.
(() => {
  "use strict";
  const rookery = (window.rookery ??= {});
  const EDGE = 8;

  const openMenu = () => document.querySelector("details.menu[open]");
  const panelOf = (menu) => menu.querySelector(":scope > .menu__panel, :scope > form.menu__panel");
  const panel = () => document.querySelector("dialog[open] [data-choices-of]")
    ?? (openMenu() ? panelOf(openMenu()) : document.activeElement?.closest("[data-choices-of]"));
  const lines = (box) => [...box.querySelectorAll(".menu__item")].filter((line) => line.checkVisibility() && !line.disabled);
  const fieldOf = (box) => box.querySelector("[data-filter]");
  const fold = (text) => text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/\s+/g, " ").trim();
  const isTyping = (target) => target.matches?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

  /** Whether something stands before the page that has the keyboard. */
  rookery.isCovered = () => !!document.querySelector("details.menu[open], dialog[open], :popover-open");

  function close(menu) {
    const summary = menu.querySelector("summary");
    const had = menu.contains(document.activeElement) || document.activeElement === document.body;
    menu.open = false;
    if (had) summary.focus();
  }

  // Every line with all the words; the first of them is what Enter takes.
  function narrow(box) {
    const words = fold(fieldOf(box)?.value ?? "").split(" ");
    let first = null;
    for (const line of box.querySelectorAll(".menu__item")) {
      const text = fold(line.textContent);
      const fits = words.every((word) => text.includes(word));
      // In the style, which a page that is brought up to date leaves alone.
      line.style.display = fits ? "" : "none";
      line.toggleAttribute("data-first", fits && !first && words[0] !== "");
      if (fits && words[0] !== "") first ??= line;
    }
    for (const rule of box.querySelectorAll(".menu__line")) rule.style.display = words[0] ? "none" : "";
    const said = box.querySelector("[data-filtered]");
    if (said) said.textContent = words[0] && !first ? "Nothing found" : "";
  }

  function place(box) {
    box.style.translate = "";
    const { left, right } = box.getBoundingClientRect();
    const room = document.documentElement.clientWidth - EDGE;
    const by = left < EDGE ? EDGE - left : right > room ? Math.max(room - right, EDGE - left) : 0;
    if (by) box.style.translate = `${by}px`;
  }

  document.addEventListener("toggle", (event) => {
    const menu = event.target;
    const box = menu.matches?.("details.menu") && panelOf(menu);
    if (!box) return;
    if (menu.open) {
      for (const other of document.querySelectorAll("details.menu[open]")) if (!other.contains(menu) && other !== menu) other.open = false;
      place(box);
    } else if (fieldOf(box)) {
      // Not when it is opened: whoever types fast has begun by then.
      fieldOf(box).value = "";
      narrow(box);
    }
  }, true);
  document.addEventListener("click", (event) => {
    const inside = event.target.closest("details.menu");
    for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== inside && !menu.contains(inside)) menu.open = false;
  });
  document.addEventListener("live:refreshed", () => {
    const box = panel();
    if (box && fieldOf(box)) narrow(box);
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("[data-filter]")) narrow(event.target.closest(".menu__panel, [data-choices-of]"));
  });

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.altKey) return;
    const box = panel();
    if (!box) return;
    const { key, target } = event;
    const field = fieldOf(box);
    if (event.ctrlKey || event.metaKey) {
      // What is typed is sent as it is, whatever is found for it.
      if (key === "Enter" && target === field && field.name) target.form.requestSubmit();
      return;
    }
    const take = (line) => {
      event.preventDefault();
      line?.click();
    };
    if (key === "Escape") {
      // A dialog closes itself.
      if (!openMenu()) return;
      event.preventDefault();
      close(openMenu());
    } else if (key === "ArrowDown" || key === "ArrowUp") {
      if (isTyping(target) && target !== field) return;
      event.preventDefault();
      const all = lines(box);
      const at = all.indexOf(document.activeElement);
      const step = key === "ArrowDown" ? 1 : -1;
      if (at + step < 0 && field) field.focus();
      else all[at < 0 ? (step > 0 ? 0 : all.length - 1) : (at + step + all.length) % all.length]?.focus();
    } else if (key === "Enter" && target === field) {
      const first = field.value.trim() && box.querySelector("[data-first]");
      // A field with a name of its own sends what is new.
      if (first || !field.name) take(first);
    } else if (key === "Enter" && target.matches?.(".offer input")) {
      // The first button of the form would save, and lose the ticks.
      take(target.closest(".offer").querySelector("[name=offer]"));
    } else if (key.length === 1 && key !== " " && !isTyping(target)) {
      const numbered = box.querySelector("[data-numbered]");
      if (/[1-9]/.test(key) && numbered) return take(lines(numbered)[Number(key) - 1]);
      // What is typed next goes where it narrows the list.
      if (field) return field.focus();
      event.preventDefault();
      const all = lines(box);
      const at = all.indexOf(document.activeElement);
      const next = [...all.slice(at + 1), ...all.slice(0, at + 1)].find((line) => fold(line.textContent).startsWith(fold(key)));
      next?.focus();
    }
  });
})();
