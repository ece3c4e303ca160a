// The palette (Ctrl or ⌘ K) and the help (?). Both list what the page's own markup offers (see key-map.js): what can be done
// here first, then where to go, then search, and the conversations that the search finds. The palette teaches the key of
// every line.
(() => {
  "use strict";
  const { rookery } = window;
  const { make, icon } = rookery;
  const MOST = 60;
  // Conversations that are shown, and how long somebody stops typing before they are looked for.
  const MOST_FOUND = 6;
  const PAUSE = 250;

  rookery.openPalette = () => {
    if (closeOpen("palette")) return;
    const commands = rookery.commands();
    const list = make("div", { class: "palette__list", id: "palette-list", role: "listbox", "aria-label": "Commands" });
    const input = make("input", {
      type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list",
      "aria-label": "Search or run a command", placeholder: "Search or run…", autocomplete: "off", spellcheck: "false",
      enterkeyhint: "go",
    });
    const subject = document.querySelector("[data-palette-on]")?.textContent.trim();
    const on = subject && make("span", { class: "palette__on" }, make("span", { class: "clip" }, subject));
    const box = make("div", { class: "palette__box" }, icon("search"), input, on);
    const status = make("p", { class: "sr-only", role: "status" });
    const foot = make("div", { class: "palette__foot", "aria-hidden": "true" },
      make("span", {}, kbd("↑"), kbd("↓"), "choose"), make("span", {}, kbd("↵"), "run"),
      make("span", {}, kbd("Esc"), "close"), make("span", { class: "push" }, kbd("?"), "all keys"));
    const dialog = make("dialog", { class: "palette", "data-dialog": "palette", "aria-label": "Command palette" }, box, list, status, foot);
    let lines = [];
    let chosen = 0;
    let found = { wanted: "", conversations: [] };
    let waiting;
    let asking;

    const draw = () => {
      const wanted = input.value.trim();
      lines = [];
      list.replaceChildren();
      const ranked = commands
        .map((command) => ({ ...command, score: score(command.label, wanted) }))
        .filter((command) => command.score > 0);
      if (wanted) ranked.sort((a, b) => b.score - a.score);
      const here = ranked.filter((command) => !command.goes);
      const there = ranked.filter((command) => command.goes);
      group(list, lines, subject ? "On this conversation" : "On this page", here.slice(0, MOST), wanted);
      group(list, lines, "Go to", there.slice(0, MOST), wanted);
      const find = wanted && { label: `Find “${wanted}” in all mail`, key: "/", icon: "search", href: `/search?q=${encodeURIComponent(wanted)}` };
      group(list, lines, "Search", find ? [find] : [], "");
      // Last, so that what is chosen stays where it is when they come.
      group(list, lines, "Conversations", wanted && wanted === found.wanted ? found.conversations : [], wanted);
      choose(wanted === found.wanted ? chosen : 0);
      status.textContent = lines.length === 1 ? "1 command" : `${lines.length} commands`;
    };
    const choose = (at) => {
      lines[chosen]?.item.setAttribute("aria-selected", "false");
      chosen = lines.length ? (at + lines.length) % lines.length : 0;
      const line = lines[chosen];
      line?.item.setAttribute("aria-selected", "true");
      line?.item.scrollIntoView({ block: "nearest" });
      line ? input.setAttribute("aria-activedescendant", line.item.id) : input.removeAttribute("aria-activedescendant");
    };
    const go = () => {
      const line = lines[chosen];
      if (!line) return;
      dialog.close();
      line.command.href ? location.assign(line.command.href) : rookery.run(line.command.element);
    };

    const look = async () => {
      const wanted = input.value.trim();
      asking = new AbortController();
      const conversations = await conversationsWith(wanted, asking.signal);
      if (!dialog.isConnected || wanted !== input.value.trim()) return;
      found = { wanted, conversations };
      draw();
    };
    const stop = () => {
      clearTimeout(waiting);
      asking?.abort();
    };
    dialog.addEventListener("close", stop);
    input.addEventListener("input", () => {
      stop();
      chosen = 0;
      draw();
      if (input.value.trim().length > 1) waiting = setTimeout(look, PAUSE);
    });
    dialog.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      const steps = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in steps) choose(chosen + steps[event.key]);
      else if (event.key === "Home" && !input.value) choose(0);
      else if (event.key === "Enter") go();
      else if (event.key === "?" && !input.value) { dialog.close(); rookery.openHelp(); }
      else return;
      event.preventDefault();
    });
    list.addEventListener("click", (event) => {
      const at = lines.findIndex((line) => line.item.contains(event.target));
      if (at < 0) return;
      choose(at);
      go();
    });
    show(dialog);
    draw();
    input.focus();
  };

  rookery.openHelp = () => {
    if (closeOpen("help")) return;
    const keyed = rookery.commands().filter((command) => command.key);
    const moving = [["J", "Next in the list"], ["K", "Previous in the list"], ["↵", "Open"]].map(([key, label]) => ({ label, caps: [key] }));
    const palette = { label: "Search or run anything", caps: rookery.caps("mod+k") };
    const help = { label: "These keys", caps: ["?"] };
    const seen = new Set();
    const once = (commands) => commands.filter((command) => !seen.has(command.key) && seen.add(command.key));
    const parts = [
      ["Everywhere", [palette, help, { label: "Close what is open", caps: ["Esc"] }]],
      ["In the list", document.querySelector(".item, [data-row]") ? moving : []],
      ["Here", once(keyed.filter((command) => !command.goes))],
      ["Go to", once(keyed.filter((command) => command.goes))],
    ];
    const sections = parts.filter(([, commands]) => commands.length).map(([name, commands]) =>
      make("section", {}, make("h3", {}, name), make("dl", {}, ...commands.map((command) =>
        make("div", {}, make("dt", {}, ...(command.caps ?? rookery.caps(command.key)).map(kbd)), make("dd", {}, command.label))))));
    const close = make("button", { class: "btn btn--quiet btn--icon", type: "button", "aria-label": "Close", autofocus: "" }, icon("x"));
    const isOff = document.documentElement.dataset.keys === "off";
    const note = make("p", { class: "help__note" }, isOff ? "Single keys are switched off in " : "Single keys can be switched off in ",
      make("a", { href: "/profile#keys" }, "your profile"), isOff ? ". Those with Ctrl or ⌘ still work." : ".");
    const dialog = make("dialog", { class: "help", "data-dialog": "help", "aria-labelledby": "help-title" },
      make("header", { class: "help__head" }, make("h2", { id: "help-title" }, "Keys"), close),
      make("div", { class: "help__parts" }, ...sections), note);
    close.addEventListener("click", () => dialog.close());
    show(dialog);
  };

  // On the way down: the link itself would be followed else.
  document.addEventListener("click", (event) => {
    const opener = event.target.closest?.("[data-opens]");
    const open = { palette: rookery.openPalette, help: rookery.openHelp }[opener?.dataset.opens];
    if (!open || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    opener.closest("details.menu")?.removeAttribute("open");
    open();
  }, true);

  function show(dialog) {
    document.body.append(dialog);
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.showModal();
  }

  // What the page of the search finds.
  async function conversationsWith(wanted, signal) {
    try {
      const answer = await fetch(`/search?q=${encodeURIComponent(wanted)}`, { cache: "no-store", headers: { accept: "text/html" }, signal });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      return [...page.querySelectorAll("#hits .hit")].slice(0, MOST_FOUND).map((hit) => ({
        label: [hit.hash && "Note", ...[".hit__sub", ".hit__meta bdi"].map((part) => hit.querySelector(part)?.textContent.trim())].filter(Boolean).join(" · "),
        icon: hit.hash ? "sticky-note" : "mail",
        // A jump to one conversation, or to a note in it, not a walk through the results.
        href: hit.getAttribute("href").split("?")[0] + hit.hash,
      }));
    } catch {
      return [];
    }
  }

  // The same key closes what it opened; anything else that is open stays in front.
  function closeOpen(name) {
    const open = document.querySelector("dialog[open]");
    if (open?.dataset.dialog === name) open.close();
    return !!open;
  }

  function group(list, lines, name, commands, wanted) {
    if (!commands.length) return;
    const id = `palette-group-${list.children.length}`;
    const items = commands.map((command) => {
      const keys = command.key && make("span", { class: "palette__keys", "aria-hidden": "true" }, ...rookery.caps(command.key).map(kbd));
      const shown = command.element?.querySelector("svg.icon, .avatar")?.cloneNode(true) ?? icon(command.icon ?? "arrow-right");
      const item = make("div", { class: "menu__item", role: "option", id: `palette-${lines.length}`, "aria-selected": "false" },
        shown, make("span", { class: "clip" }, ...marked(command.label, wanted)), keys);
      lines.push({ item, command });
      return item;
    });
    list.append(make("div", { role: "group", "aria-labelledby": id },
      make("div", { class: "menu__head", id, role: "presentation" }, name), ...items));
  }

  // 3 at the start of the label, 2 at the start of a word, 1 inside; all words must be there.
  function score(label, wanted) {
    const text = fold(label);
    const words = fold(wanted).split(/\s+/).filter(Boolean);
    const of = (word) => {
      const at = text.indexOf(word);
      return at < 0 ? 0 : at === 0 ? 3 : text.includes(` ${word}`) ? 2 : 1;
    };
    return words.length ? Math.min(...words.map(of)) : 1;
  }

  function marked(label, wanted) {
    const word = fold(wanted).split(/\s+/)[0];
    const text = fold(label);
    const at = word && text.length === label.length ? text.indexOf(word) : -1;
    if (at < 0) return [label];
    return [label.slice(0, at), make("mark", {}, label.slice(at, at + word.length)), label.slice(at + word.length)];
  }

  const fold = (text) => text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
  const kbd = (text) => make("kbd", { class: "kbd" }, text);
})();
