// Makes pages faster and live. Links and forms are fetched and morphed in (htmx); the stream at /live says what changed,
// and every [data-live] region with an id that names the topic is fetched from the current address and morphed by its
// id. Nothing here is needed: without it, every link is a page and every form a POST. The only file that says htmx.
//
// For page authors: data-live="list counts" on a region; data-plain on links and forms that the browser handles itself;
// data-dirty on what a person has changed, data-keep on what a script looks after: neither is morphed while it stays.
// Events on document: "page:leaving" {path, headers} before a link is followed; "page:answered" {form, path} when a form was
// answered with a page, "page:refused" {form, sentence} when it was not, which is said in a toast unless that is prevented;
// "page:again" {form, part} when a form in a dialog was answered with its question again, which is then no page; "page:shown"
// after a visit; "live:refreshed" {fresh, came, topics} after regions changed: how many new rows of a list wait, null unless
// there was one, and how many came in; "live:presence". Whoever knows that something changed says "rookery:refresh",
// "rookery:address" when what is shown has an address of its own now, and "rookery:added" {part} of what it put into the
// page. "page:focus" asks after a visit who gives the focus a place; unless one does, it goes to the heading.
(() => {
  "use strict";
  const { htmx, rookery: { make, refusal } } = window;
  if (!htmx) return;
  const root = document.documentElement;
  const SOON = 120, SPREAD = 400, GAP = 500, MINUTE = 60_000, HIDDEN = 20_000;
  const DIRTY = "[data-dirty], [hx-morph-skip]";
  const PLAIN = /^\/(assets|api|mcp|files|live|presence)(\/|$)/;

  Object.assign(htmx.config, {
    defaultSettleDelay: 0,
    morphSkip: null,
    morphSkipChildren: null,
    // Heights that scripts have set.
    morphIgnore: ["data-htmx-powered", "style"],
  });
  root.setAttribute("hx-boost:inherited", 'swap:"innerMorph show:none"');
  // A form that is on its way is not sent twice.
  root.setAttribute("hx-sync:inherited", "drop");

  // ---- what a morph leaves alone ----

  // While a visit is morphed in: the form that was sent, whether the address is another, and whether the page is. Null
  // while regions are refreshed.
  let visit = null;
  let morph = null;

  const isField = (node) => node.matches("input, textarea, select");
  const isChanged = (field) => {
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    if (field.tagName === "SELECT") return [...field.options].some((option) => option.selected !== option.defaultSelected);
    return field.type !== "hidden" && field.value !== field.defaultValue;
  };
  const takeOver = (field, fresh) => {
    if (field.type === "checkbox" || field.type === "radio") field.checked = fresh.checked;
    else if (field.type !== "file") field.value = fresh.value;
  };
  const isKept = (node) => {
    if (node.matches("[data-keep]")) return true;
    const sent = visit?.form && (visit.form.contains(node) || node.form === visit.form);
    if (sent || visit?.moved) return false;
    if (node.matches(DIRTY)) return true;
    if (!isField(node)) return false;
    return isChanged(node) || (!visit && node === document.activeElement);
  };

  const isSameList = (node, fresh) => node.id === "list" && node.className === fresh.className && node.dataset.list === fresh.dataset.list;

  htmx.registerExtension("rookery", {
    init: (api) => { morph = api.morph; },
    htmx_before_morph_node: (node, { newNode }) => {
      if (!(node instanceof Element)) return true;
      // The service knows that the list is here, and sent none of it.
      if (node.dataset?.page && newNode.dataset?.held) {
        tell("list:kept", { list: node, open: newNode.dataset.held });
        return false;
      }
      // Another conversation's pane is not the old one with other words: nothing of it may stay.
      if (visit?.elsewhere && node.parentElement?.id === "main" && !isSameList(node, newNode)) {
        for (const { name } of [...node.attributes]) if (!newNode.hasAttribute(name)) node.removeAttribute(name);
        for (const { name, value } of newNode.attributes) node.setAttribute(name, value);
        node.replaceChildren(...newNode.childNodes);
        node.scrollTop = 0;
        return false;
      }
      // The editor and the chips are on no page: they only take over what their fields have. One that was just made is still empty.
      if (node.matches("rich-body, recipient-chips") && node.firstChild) {
        if (visit && ![...node.querySelectorAll("textarea, input[name]:not([type=hidden])")].some(isKept)) node.take?.(newNode);
        return false;
      }
      if (isKept(node)) return false;
      if (visit && isField(node)) takeOver(node, newNode);
      return true;
    },
    // Without what makes a heading take the focus, the focus would be lost with it.
    htmx_before_morph_attr: (node, { attrName }) =>
      !(attrName === "tabindex" && node === document.activeElement) &&
      !(attrName === "open" && node.matches("details, dialog") && (!visit || !node.matches(".menu, dialog"))),
  });

  // ---- visits: links and forms ----

  let shown = location.href;
  let visits = 0;
  let going = null;
  // Nobody sees where it is: what had it is gone, or in a menu that was closed.
  const isLost = (element) => !element || element === document.body || !element.checkVisibility();
  const fetched = (text) => new DOMParser().parseFromString(text, "text/html");
  const scrollers = () => [...document.querySelectorAll(".list__scroll, .app__scroll, [data-scroll]")];
  // What a page tells once is not kept in its address: a toast, or what came of many drafts. A refresh still asks for the
  // latter, as long as the page is open. Times that can be offered are shown once, too, in a menu that is open.
  const TOAST = ["done", "of", "offer", "offered", "time"], TOLD = ["many", "approved", "discarded", "risky", "outdated", "changed", "gone", "failed"];
  const without = (address, names) => {
    const url = new URL(address, location.href);
    names.forEach((name) => url.searchParams.delete(name));
    return url.pathname + url.search + url.hash;
  };
  const clean = (address) => without(address, new URL(address, location.href).pathname === "/approvals" ? [...TOAST, ...TOLD] : TOAST);
  let source = without(location.href, TOAST);
  let coming = null;
  const isRestore = (ctx) => "HX-History-Restore-Request" in ctx.request.headers;
  const leave = (address) => { over = true; location.assign(address); };

  document.addEventListener("htmx:before:init", (event) => {
    const node = event.target;
    const path = node.matches("a") ? node.pathname : new URL(node.getAttribute("action") || "", location.href).pathname;
    if (node.closest("[data-plain]") || PLAIN.test(path)) event.preventDefault();
  });

  document.addEventListener("htmx:before:request", (event) => {
    const { ctx } = event.detail;
    // The last click counts.
    if (ctx.request.method === "GET") {
      going?.request.abort?.();
      going = ctx;
      tell("page:leaving", { path: new URL(ctx.request.action, location.href).pathname, headers: ctx.request.headers });
    }
    root.dataset.busy = "";
  });
  document.addEventListener("htmx:finally:request", () => delete root.dataset.busy);

  document.addEventListener("htmx:before:response", (event) => {
    const { ctx } = event.detail;
    const { raw } = ctx.response;
    const isPage = raw.headers.get("content-type")?.startsWith("text/html");
    if (raw.status === 204 || (isPage && !new URL(raw.url).pathname.startsWith("/sign-in"))) return;
    event.preventDefault();
    leave(raw.url);
  });

  document.addEventListener("htmx:after:request", (event) => {
    const { ctx } = event.detail;
    const isPost = ctx.request.method !== "GET";
    const page = fetched(ctx.text);
    const sentence = refusal(page);
    if (sentence) {
      event.preventDefault();
      if (!isPost) return leave(ctx.response.raw.url);
      return refused(ctx.request.form, sentence);
    }
    const part = isPost && !ctx.response.raw.redirected && ctx.request.form?.closest("dialog.page-dialog") && page.querySelector("[data-dialog-part]");
    if (part) {
      event.preventDefault();
      return tell("page:again", { form: ctx.request.form, part });
    }
    if (isPost) tell("page:answered", { form: ctx.request.form, path: new URL(ctx.response.raw.url).pathname });
    // The service was brought to another version: its pages go with its own script.
    const script = (doc) => doc.querySelector('script[src^="/assets/"]')?.getAttribute("src");
    if (script(page) && script(page) !== script(document)) {
      event.preventDefault();
      leave(ctx.response.raw.url);
      return;
    }
    ({ theme: ctx.theme, hours: ctx.hours } = page.documentElement.dataset);
  });

  document.addEventListener("htmx:before:history:update", (event) => {
    const { history: action, response, sourceElement } = event.detail;
    // What a form was answered with in place has no address of its own.
    if (!response.raw.redirected && sourceElement.matches?.("form[method=post i]")) {
      event.preventDefault();
      return;
    }
    coming = without(action.path, TOAST);
    action.path = clean(action.path);
    // An empty composer that is closed is not opened again by Back.
    if (action.path === clean(location.href) || sourceElement.matches?.("[data-replaces]")) action.type = "replace";
  });

  document.addEventListener("htmx:before:swap", (event) => {
    const { ctx, tasks } = event.detail;
    visits += 1;
    sessionStorage.setItem(`scroll ${clean(shown)}`, JSON.stringify(scrollers().map((part) => part.scrollTop)));
    const elsewhere = new URL(shown).pathname !== location.pathname;
    visit = { form: ctx.request.method === "GET" ? null : ctx.request.form, elsewhere, moved: clean(shown) !== clean(location.href) };
    const body = tasks[0]?.fragment.querySelector("body");
    if (body) document.body.className = body.className;
    if (ctx.theme) root.dataset.theme = ctx.theme;
    else delete root.dataset.theme;
    if (ctx.hours) root.dataset.hours = ctx.hours;
    else delete root.dataset.hours;
  });

  document.addEventListener("htmx:finally:swap", (event) => {
    const { ctx } = event.detail;
    const was = visit;
    visit = null;
    shown = location.href;
    source = coming ?? clean(shown);
    coming = null;
    if (isRestore(ctx)) {
      const places = JSON.parse(sessionStorage.getItem(`scroll ${clean(shown)}`) || "[]");
      scrollers().forEach((part, index) => { part.scrollTop = places[index] || 0; });
    } else if (was?.moved && !ctx.request.anchor) {
      window.scrollTo(0, 0);
      if (!was.elsewhere) scrollers().forEach((part) => { part.scrollTop = 0; });
    }
    const shownBy = { elsewhere: Boolean(was?.elsewhere), back: isRestore(ctx) };
    if (document.dispatchEvent(new CustomEvent("page:focus", { cancelable: true, detail: shownBy })) && isLost(document.activeElement)) {
      const place = document.querySelector("[autofocus]") || document.querySelector("main h1");
      if (place && !place.matches("input, textarea, select, button, a, [tabindex]")) place.tabIndex = -1;
      place?.focus({ preventScroll: true });
    }
    settle();
    // The list was gone when an answer came that counted on it.
    if (document.querySelector("#list[data-held]")) heard(["list"]);
    tell("page:shown", shownBy);
  });

  document.addEventListener("htmx:error", (event) => {
    const { ctx, error } = event.detail;
    if (!ctx || error?.name === "AbortError") return;
    if (isRestore(ctx) || ctx.request.method === "GET") leave(isRestore(ctx) ? location.href : ctx.request.action);
    else {
      refused(ctx.request.form, "The service can’t be reached. Nothing was sent. Check your connection and try again.");
    }
  });

  // ---- what is said ----

  const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));
  const say = (sentence) => {
    const close = make("button", { class: "btn btn--quiet", type: "button" }, "Close");
    const toast = make("div", { class: "toast", role: "alert", "data-said": "" }, make("span", { class: "toast__text" }, sentence), close);
    close.addEventListener("click", () => toast.remove());
    (document.getElementById("toasts") || document.body).append(toast);
  };
  const refused = (form, sentence) => {
    const unsaid = document.dispatchEvent(new CustomEvent("page:refused", { cancelable: true, detail: { form, sentence } }));
    if (unsaid) say(sentence);
  };
  // What was done is said for a while. What can be taken back, and what went wrong, stays.
  const settle = () => document.querySelectorAll("#toasts > .toast:not([data-said])").forEach((toast) => {
    // What offers to take something back goes when that is too late.
    if (toast.dataset.lasts) setTimeout(() => toast.remove(), Number(toast.dataset.lasts) * 1000);
    else if (!toast.querySelector("form, button, a")) setTimeout(() => toast.remove(), 8000);
  });

  // For other scripts: what was done where nothing else shows it.
  window.rookery.toast = (sentence) => {
    (document.getElementById("toasts") || document.body).append(make("div", { class: "toast" }, make("span", { class: "toast__text" }, sentence)));
    settle();
  };

  const line = make("p", { class: "offline", role: "status", "data-keep": "" });
  line.hidden = true;
  root.append(line);
  const offline = (...words) => {
    const next = make("p", {}, ...words);
    // Said once, however often it is found out.
    if (line.hidden || line.textContent !== next.textContent) line.replaceChildren(...next.childNodes);
    line.hidden = false;
  };
  const online = () => { line.hidden = true; };

  // ---- refreshing regions ----

  let over = false;
  let wanted = new Set();
  let timer = 0;
  let due = 0;
  let running = false;
  let last = 0;

  // Every open page hears of a mail in the same moment. What somebody looks at comes at once; lists and counts come a
  // little later, each page at a time of its own.
  const FAR = /^(list|counts|presence.*|\*)$/;
  const isNear = () => regions(new Set([...wanted].filter((topic) => !FAR.test(topic)))).length > 0;
  const heard = (topics) => {
    topics.forEach((topic) => wanted.add(topic));
    if (wanted.has("*") || wanted.has("presence")) tell("live:presence");
    if (running || document.hidden) return;
    const at = Math.max(Date.now() + SOON + (isNear() ? 0 : Math.random() * SPREAD), last + GAP);
    if (timer && due <= at) return;
    clearTimeout(timer);
    due = at;
    timer = setTimeout(refresh, at - Date.now());
  };

  const regions = (topics) => {
    // Who is where has a way of its own.
    const all = [...document.querySelectorAll("[data-live][id]:not([data-live^='presence:'])")];
    const changed = all.filter((region) => topics.has("*") || region.dataset.live.split(/\s+/).some((topic) => topics.has(topic)));
    return changed.filter((region) => !changed.some((other) => other !== region && other.contains(region)));
  };

  // The topics that the answer is about, so that the service need not make the rest of the page.
  const asking = (changed, topics) => {
    if (topics.has("*")) return "*";
    const parts = changed.flatMap((region) => [region, ...region.querySelectorAll("[data-live]")]);
    return [...new Set(parts.flatMap((part) => part.dataset.live.split(/\s+/)))].filter((topic) => !topic.startsWith("presence:")).join(" ");
  };

  async function refresh() {
    timer = 0;
    if (over) return;
    const topics = wanted;
    wanted = new Set();
    const changed = regions(topics);
    if (!changed.length) return;
    running = true;
    const turn = visits;
    try {
      const answer = await fetch(source, { cache: "no-store", headers: { accept: "text/html", "x-live": asking(changed, topics) } });
      const date = Date.parse(answer.headers.get("date"));
      if (date) root.dataset.skew = String(Date.now() - date);
      if (new URL(answer.url).pathname.startsWith("/sign-in")) return signedOut();
      const text = await answer.text();
      online();
      // What was asked before a visit is older than what the visit brought.
      if (turn !== visits || root.dataset.busy !== undefined) topics.forEach((topic) => wanted.add(topic));
      else if (answer.ok) show(fetched(text), topics);
    } catch {
      topics.forEach((topic) => wanted.add(topic));
      offline("Offline. Trying to reach the service…");
      setTimeout(() => heard([]), 5000);
    } finally {
      running = false;
      last = Date.now();
      if (wanted.size && line.hidden) heard([]);
    }
  }

  const show = (page, topics) => {
    let fresh = null, came = 0;
    for (const region of regions(topics)) {
      const next = page.getElementById(region.id);
      if (!next || region.closest(`${DIRTY}, [data-keep]`)) continue;
      const held = holdRows(region, next);
      if (held) [fresh, came] = [(fresh ?? 0) + held.behind, came + held.came];
      const fragment = document.createDocumentFragment();
      fragment.append(document.adoptNode(next));
      morph(region, fragment, false);
      const now = document.getElementById(region.id);
      if (now) htmx.process(now);
    }
    // Titles have counts in them.
    if (page.title && (topics.has("*") || topics.has("counts"))) document.title = page.title;
    tell("live:refreshed", { fresh, came, topics });
    document.querySelectorAll("new-pill").forEach((pill) => htmx.process(pill));
  };

  // Nobody's hand is at the list: nothing is open over it, it is at its top, and no row has the pointer, the focus or a
  // tick. Where a thumb is nobody knows, so on a touch screen that is never so.
  const POINTER = matchMedia("(hover: hover)");
  const isAtRest = (region) => {
    const rows = region.id === "list" && region.querySelector(".list__scroll");
    if (!rows || !POINTER.matches || window.rookery.isCovered() || new URLSearchParams(location.search).has("before")) return false;
    const scroller = rows.scrollHeight > rows.clientHeight + 1 ? rows : document.scrollingElement;
    return scroller.scrollTop < 2 && !rows.matches(":hover") && !rows.contains(document.activeElement) && !rows.querySelector(":checked");
  };

  // A list keeps its order under the reader's hand: rows that left it stay, greyed, and new ones wait behind a pill. At rest
  // they come in on top. Gives how many wait and how many came; nothing if this is no list.
  const ROWS = "ol:has(> .item), ul:has(> .item)";
  const holdRows = (region, next) => {
    const list = region.querySelector(ROWS);
    if (!list || [...list.children].some((row) => !row.id)) return region.matches(".list") ? { behind: 0, came: 0 } : null;
    const fresh = next.querySelector(ROWS);
    const shown = [...list.children], now = [...(fresh?.children || [])];
    const rows = new Map(now.map((row) => [row.id, row]));
    const ids = new Set(shown.map((row) => row.id));
    // Behind the last row that both have begins the next page, if there is one: what is not there any more has moved to
    // it, and what is there came from it. Without such a row, all that is there is new.
    const isKnown = (row) => rows.has(row.id) && ids.has(row.id);
    const end = next.querySelector(".list__more") ? shown.findLastIndex(isKnown) : shown.length;
    const known = now.findLastIndex(isKnown);
    const above = now.slice(0, known < 0 ? now.length : known).filter((row) => !ids.has(row.id));
    const comesIn = above.length > 0 && isAtRest(region);
    const held = shown.flatMap((row, index) => {
      const same = rows.get(row.id);
      if (same) return [same];
      // Its place is taken by what comes in.
      if (comesIn && index >= end) return [];
      const kept = row.cloneNode(true);
      if (index < end) kept.classList.add("is-gone");
      return [kept];
    });
    if (comesIn) held.unshift(...above);
    if (fresh) fresh.replaceChildren(...held);
    else {
      // The view is empty now, and the reader still has its last rows before them.
      const kept = list.cloneNode(false);
      kept.append(...held);
      next.replaceChildren(...[...region.childNodes].map((node) => node.cloneNode(true)));
      next.querySelector(ROWS)?.replaceWith(kept);
    }
    return comesIn ? { behind: 0, came: above.length } : { behind: above.length, came: 0 };
  };

  const signedOut = () => {
    over = true;
    stream?.close();
    offline("You are signed out. ", make("a", { href: "/sign-in", target: "_blank" }, "Sign in"), " in another window; what you wrote here stays.");
  };

  // ---- the stream ----

  let stream = null;
  let missed = false;
  let delay = 1000;
  let resting = 0;

  const open = () => {
    if (stream || over || document.hidden || !document.querySelector("[data-live]")) return;
    stream = new EventSource("/live");
    stream.onopen = () => {
      delay = 1000;
      online();
      if (missed) heard(["*"]);
      missed = false;
    };
    stream.onmessage = (event) => heard(event.data.split(" "));
    stream.onerror = () => {
      missed = true;
      heard(["*"]);
      if (stream?.readyState !== EventSource.CLOSED) return;
      // Refused: the page still asks once a minute.
      stream = null;
      setTimeout(open, delay);
      delay = Math.min(delay * 2, MINUTE);
    };
  };

  document.addEventListener("visibilitychange", () => {
    clearTimeout(resting);
    if (document.hidden) {
      // A browser has few connections to one place; a window out of sight needs none.
      resting = setTimeout(() => {
        stream?.close();
        stream = null;
        missed = true;
      }, HIDDEN);
      return;
    }
    open();
    heard(["*"]);
  });
  document.addEventListener("rookery:address", (event) => {
    history.replaceState(history.state, "", event.detail);
    shown = location.href;
    source = clean(shown);
  });
  document.addEventListener("rookery:added", (event) => htmx.process(event.detail.part));
  // A script that knows that something has changed: {topics: ["outgoing"]}
  document.addEventListener("rookery:refresh", (event) => heard(event.detail?.topics || ["*"]));
  window.addEventListener("online", () => heard(["*"]));
  window.addEventListener("offline", () => offline("Offline. Trying to reach the service…"));
  window.addEventListener("pagehide", () => stream?.close());
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    stream = null;
    open();
    heard(["*"]);
  });
  document.addEventListener("page:shown", open);
  setInterval(() => heard(["*"]), MINUTE);

  if (clean(location.href) !== location.pathname + location.search + location.hash) {
    history.replaceState(history.state, "", clean(location.href));
    shown = location.href;
  }
  settle();
  open();
})();
