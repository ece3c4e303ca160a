// Single keys. A key does nothing of its own: it activates the element of the page that says `data-key="e"`, so the markup
// stays the one definition, and the palette and the help read the same.
//   data-key="e"           one key              data-key="g m"      two keys, one after the other
//   data-key="mod+enter"   with Ctrl or ⌘; also while somebody types in its form
//   data-key="escape"      leaves what is innermost; also while somebody writes a message
//   data-command="Words"   what the palette calls it, if not by its own words; also lists an element without a key
// Keys are ignored in fields, with Alt, while a menu or a dialog is open, and when the person has switched them off
// (data-keys="off" on <html>). They act on what is open: on the conversation one reads, else on the row with the focus.
// Rows that are picked come before both.
(() => {
  "use strict";
  const rookery = (window.rookery ??= {});
  const SECOND_KEY = 1500;
  const ROWS = ".item, [data-row]";
  let first = "";
  let forget = 0;
  // The key whose link is being followed.
  let led = "";

  const off = () => document.documentElement.dataset.keys === "off";

  function isTyping(target) {
    if (!(target instanceof Element)) return false;
    const field = target.closest("input, textarea, select, [contenteditable]");
    return !!field && !/^(checkbox|radio|button|submit|reset|range)$/.test(field.type ?? "text");
  }

  const isUsable = (element) =>
    !element.closest("[hidden], [inert], dialog:not([open])") && !element.disabled && element.ariaDisabled !== "true";
  const isSeen = (element) => element.checkVisibility?.({ visibilityProperty: true }) ?? true;

  const openRow = () => document.querySelector(`:is(${ROWS}):is(.is-selected, [aria-current])`);
  const isReading = () => !!document.querySelector("#pane[data-conversation]");

  const focusedRow = () => document.activeElement?.closest?.(ROWS) ?? null;

  // The row that keys are about: the one that is read; else the one with the focus, or the one that stands open.
  function currentRow() {
    return isReading() ? openRow() ?? focusedRow() : focusedRow() ?? openRow();
  }

  const isPicked = () => !!document.querySelector(".item .check:checked, .bulk__all :checked");

  // Whether what is done now is done to rows of the list: to picked ones, or to one with the focus that does not stand open.
  function isAboutRows() {
    const row = isReading() ? null : focusedRow();
    return isPicked() || (!!row && !row.matches(".is-selected"));
  }
  const isOfRows = (element) => !!element.closest(".bulk");

  // Of several elements with one key, the row's own comes first; what another row has is not meant, nor the tool bar of
  // picked rows when none is. Then what takes back what was just done, then what the page is about, then what stands
  // around it. One that is seen goes before one that is folded away.
  function find(key) {
    const row = currentRow();
    const all = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].filter(isUsable);
    const own = all.filter((element) => row?.contains(element));
    const ofRows = isAboutRows() ? all.filter(isOfRows) : [];
    const others = all.filter((element) => !element.closest(ROWS) && !isOfRows(element));
    const [told, main] = ["#toasts", "#main"].map((part) => others.filter((element) => element.closest(part)));
    const meant = [own, ofRows, told, main, others].find((some) => some.length) ?? [];
    return meant.find(isSeen) ?? meant[0];
  }

  function run(element) {
    if (element.matches("summary")) {
      const details = element.parentElement;
      details.open = !details.open;
      const inside = "[autofocus], input:not([type=hidden]), button, a[href], select, textarea";
      const next = details.open && [...details.querySelectorAll(inside)].find((one) => one !== element && isSeen(one));
      (next || element).focus();
    } else if (element.matches("textarea")) {
      // One writes on where the words end.
      element.focus();
      element.setSelectionRange(element.value.length, element.value.length);
    } else if (element.matches("select, input:not([type=checkbox], [type=radio], [type=submit])")) {
      element.focus();
      element.select?.();
    } else {
      led = element.matches("a[data-key]:not([data-dialog])") ? element.dataset.key : "";
      element.click();
    }
  }

  document.addEventListener("click", (event) => { if (event.isTrusted) led = ""; }, true);
  // A link whose key means a text on the page behind it leads into the text.
  document.addEventListener("page:focus", (event) => {
    const field = led && document.querySelector(`textarea[data-key="${CSS.escape(led)}"]`);
    led = "";
    if (!field || !isUsable(field)) return;
    event.preventDefault();
    run(field);
  });

  // What Escape leaves: picked rows are let go first, then what was opened last, which stands last.
  function leaving() {
    const all = [...document.querySelectorAll('[data-key="escape"]')].filter(isUsable);
    return (isPicked() ? all.find(isOfRows) : null) ?? all.filter((element) => !isOfRows(element)).at(-1);
  }

  // Where one reads, J and K lead to the next conversation: there they are links of the page.
  function step(by) {
    if (isReading()) return false;
    const rows = [...document.querySelectorAll(ROWS)].filter(isSeen);
    const open = rows.findIndex((row) => row.matches(".is-selected, [aria-current]") || row.querySelector("[aria-current]"));
    const at = currentRow() ? rows.indexOf(currentRow()) : open;
    const next = at < 0 ? rows[by > 0 ? 0 : rows.length - 1] : rows[at + by];
    const link = next?.querySelector("a[href]") ?? next;
    link?.focus();
    link?.scrollIntoView({ block: "nearest" });
    return !!next;
  }

  // What there is to do here, for the palette and the help: each once, in the order of the page.
  rookery.commands = () => {
    const row = currentRow();
    const aboutRows = isAboutRows();
    const seen = new Map();
    for (const element of document.querySelectorAll("[data-key], [data-command], .side__link[href]")) {
      const foreign = element.closest(ROWS);
      // What only a script does is not there where the script cannot do it.
      if (!isUsable(element) || element.closest(":not(:defined)") || (foreign && foreign !== row) || (isOfRows(element) && !aboutRows)) continue;
      const label = words(element);
      // The same twice is listed once, and a key that does something else here is not taught.
      const asked = element.dataset.key ?? "";
      const meant = asked && !asked.startsWith("mod+") ? find(asked) : element;
      const key = meant === element ? asked : "";
      const name = `${key}|${label}`;
      if (!label || (meant && meant !== element && words(meant) === label) || (seen.has(name) && !foreign)) continue;
      seen.set(name, { element, label, key, goes: key.startsWith("g ") || !!element.closest(".side, .settings-nav") });
    }
    return [...seen.values()];
  };
  rookery.run = run;
  rookery.caps = (key) => key.split(" ").flatMap((part) => part.split("+")).map(cap);

  function words(element) {
    const given = element.dataset.command || element.ariaLabel;
    if (given) return given;
    const copy = element.cloneNode(true);
    copy.querySelectorAll(".kbd, .count, .badge, .chip, .avatar, svg").forEach((part) => part.remove());
    return (copy.textContent || element.placeholder || element.value || "").replace(/\s+/g, " ").trim();
  }

  function cap(key) {
    const apple = /Mac|iPhone|iPad/.test(navigator.platform);
    return { mod: apple ? "⌘" : "Ctrl", enter: "↵", escape: "Esc" }[key] ?? key.toUpperCase();
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey || event.metaKey) {
      if (key === "k" && !event.shiftKey) {
        event.preventDefault();
        rookery.openPalette?.();
      } else if (key === "Enter") {
        const form = event.target.closest?.("form");
        const own = form && [...form.querySelectorAll('[data-key="mod+enter"]')].find(isUsable);
        const element = own ?? (isTyping(event.target) || rookery.isCovered() ? null : find("mod+enter"));
        if (!element) return;
        event.preventDefault();
        run(element);
      }
      return;
    }
    if (rookery.isCovered()) return;
    if (off()) return;
    if (key === "Escape" && (!isTyping(event.target) || event.target.matches(".composer :is(textarea, [contenteditable])"))) {
      const element = leaving();
      if (!element) return;
      event.preventDefault();
      run(element);
      return;
    }
    if (key === "Escape" && event.target.matches("textarea[data-key]")) {
      // A key led into it; this one leads out again.
      event.preventDefault();
      event.target.blur();
      return;
    }
    if (isTyping(event.target)) return;
    const both = first && `${first} ${key}`;
    first = "";
    clearTimeout(forget);
    if (both && find(both)) {
      event.preventDefault();
      run(find(both));
    } else if (key === "?") {
      event.preventDefault();
      rookery.openHelp?.();
    } else if (!event.repeat && key.length === 1 && find(key)) {
      event.preventDefault();
      run(find(key));
    } else if (key === "j" || key === "k") {
      if (step(key === "j" ? 1 : -1)) event.preventDefault();
    } else if (document.querySelector(`[data-key^="${CSS.escape(key)} "]`)) {
      first = key;
      forget = setTimeout(() => (first = ""), SECOND_KEY);
    }
  });
})();
