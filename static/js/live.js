// Makes pages faster and live. Links and forms are fetched and morphed in (htmx); the stream at /live says what changed,
// and every [data-live] region with an id that names the topic is fetched from the current address and morphed by its
// id. Nothing here is needed: without it, every link is a page and every form a POST. The only file that says htmx.
//
// For page authors: data-live="list counts" on a region; data-plain on links and forms that the browser handles itself;
// data-dirty on what a person has changed, data-keep on what a script looks after: neither is morphed while it stays.
// Events on document: "page:leaving" before a link is followed, "page:shown" after a visit, "live:refreshed" after
// regions changed, "live:presence"; whoever knows that something changed says "rookery:refresh".
(() => {
  "use strict";
  const htmx = window.htmx;
  if (!htmx) return;
  const root = document.documentElement;
  const SOON = 120, GAP = 500, MINUTE = 60_000, HIDDEN = 20_000;
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
      // Another conversation's pane is not the old one with other words: nothing of it may stay.
      if (visit?.elsewhere && node.parentElement?.id === "main" && !isSameList(node, newNode)) {
        for (const { name } of [...node.attributes]) if (!newNode.hasAttribute(name)) node.removeAttribute(name);
        for (const { name, value } of newNode.attributes) node.setAttribute(name, value);
        node.replaceChildren(...newNode.childNodes);
        node.scrollTop = 0;
        return false;
      }
      if (isKept(node)) return false;
      if (visit && isField(node)) takeOver(node, newNode);
      return true;
    },
    htmx_before_morph_attr: (node, { attrName }) =>
      !(attrName === "open" && node.matches("details, dialog") && (!visit || !node.matches(".menu, dialog"))),
  });

  // ---- visits: links and forms ----

  let shown = location.href;
  let visits = 0;
  let going = null;
  const fetched = (text) => new DOMParser().parseFromString(text, "text/html");
  const scrollers = () => [...document.querySelectorAll(".list__scroll, .app__scroll, [data-scroll]")];
  const clean = (address) => {
    const url = new URL(address, location.href);
    ["done", "of"].forEach((name) => url.searchParams.delete(name));
    return url.pathname + url.search + url.hash;
  };
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
      tell("page:leaving");
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
    const refusal = page.querySelector("body.door .door-card header p");
    if (refusal) {
      event.preventDefault();
      if (isPost) say(refusal.textContent.trim());
      else leave(ctx.response.raw.url);
      return;
    }
    // The service was brought to another version: its pages go with its own script.
    const script = (doc) => doc.querySelector('script[src^="/assets/"]')?.getAttribute("src");
    if (script(page) && script(page) !== script(document)) {
      event.preventDefault();
      leave(ctx.response.raw.url);
      return;
    }
    ctx.theme = page.documentElement.dataset.theme;
  });

  document.addEventListener("htmx:before:history:update", (event) => {
    const { history: action, response, sourceElement } = event.detail;
    // What a form was answered with in place has no address of its own.
    if (!response.raw.redirected && sourceElement.matches?.("form[method=post i]")) {
      event.preventDefault();
      return;
    }
    action.path = clean(action.path);
    if (action.path === clean(location.href)) action.type = "replace";
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
  });

  document.addEventListener("htmx:finally:swap", (event) => {
    const { ctx } = event.detail;
    const was = visit;
    visit = null;
    shown = location.href;
    if (isRestore(ctx)) {
      const places = JSON.parse(sessionStorage.getItem(`scroll ${clean(shown)}`) || "[]");
      scrollers().forEach((part, index) => { part.scrollTop = places[index] || 0; });
    } else if (was?.moved && !ctx.request.anchor) {
      window.scrollTo(0, 0);
      if (!was.elsewhere) scrollers().forEach((part) => { part.scrollTop = 0; });
    }
    if (!document.activeElement || document.activeElement === document.body) {
      const place = document.querySelector("[autofocus]") || document.querySelector("main h1");
      if (place && !place.matches("input, textarea, select, button, a, [tabindex]")) place.tabIndex = -1;
      place?.focus({ preventScroll: true });
    }
    settle();
    tell("page:shown", { elsewhere: Boolean(was?.elsewhere) });
  });

  document.addEventListener("htmx:error", (event) => {
    const { ctx, error } = event.detail;
    if (!ctx || error?.name === "AbortError") return;
    if (isRestore(ctx) || ctx.request.method === "GET") leave(isRestore(ctx) ? location.href : ctx.request.action);
    else say("The service cannot be reached. Nothing was sent; try again.");
  });

  // ---- what is said ----

  const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));
  const make = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const say = (sentence) => {
    const close = make("button", { class: "btn btn--quiet", type: "button" }, "Close");
    const toast = make("div", { class: "toast", role: "alert", "data-said": "" }, make("span", { class: "toast__text" }, sentence), close);
    close.addEventListener("click", () => toast.remove());
    (document.getElementById("toasts") || document.body).append(toast);
  };
  // What was done is said for a while. What can be taken back, and what went wrong, stays.
  const settle = () => document.querySelectorAll("#toasts > .toast:not([data-said])").forEach((toast) => {
    if (!toast.querySelector("form, button, a")) setTimeout(() => toast.remove(), 8000);
  });

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
  let running = false;
  let last = 0;

  const heard = (topics) => {
    topics.forEach((topic) => wanted.add(topic));
    if (wanted.has("*") || wanted.has("presence")) tell("live:presence");
    if (timer || running || document.hidden) return;
    timer = setTimeout(refresh, Math.max(SOON, last + GAP - Date.now()));
  };

  const regions = (topics) => {
    // Who is where has a way of its own.
    const all = [...document.querySelectorAll("[data-live][id]:not([data-live^='presence:'])")];
    const changed = all.filter((region) => topics.has("*") || region.dataset.live.split(/\s+/).some((topic) => topics.has(topic)));
    return changed.filter((region) => !changed.some((other) => other !== region && other.contains(region)));
  };

  async function refresh() {
    timer = 0;
    if (over) return;
    const topics = wanted;
    wanted = new Set();
    if (!regions(topics).length) return;
    running = true;
    const turn = visits;
    try {
      const answer = await fetch(clean(shown), { cache: "no-store", headers: { accept: "text/html", "x-live": "1" } });
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
    let fresh = 0;
    for (const region of regions(topics)) {
      const next = page.getElementById(region.id);
      if (!next || region.closest(`${DIRTY}, [data-keep]`)) continue;
      fresh += holdRows(region, next);
      const fragment = document.createDocumentFragment();
      fragment.append(document.adoptNode(next));
      morph(region, fragment, false);
      const now = document.getElementById(region.id);
      if (now) htmx.process(now);
    }
    if (page.title) document.title = page.title;
    tell("live:refreshed", { fresh, topics });
    document.querySelectorAll("new-pill").forEach((pill) => htmx.process(pill));
  };

  // A list keeps its order under the reader's hand: rows that left it stay, greyed, and new ones wait behind a pill.
  const holdRows = (region, next) => {
    const list = region.querySelector("ol:has(> .item), ul:has(> .item)");
    const fresh = next.querySelector("ol:has(> .item), ul:has(> .item)");
    if (!list || [...list.children].some((row) => !row.id)) return 0;
    const rows = new Map([...(fresh?.children || [])].map((row) => [row.id, row]));
    const held = [...list.children].map((row) => {
      const same = rows.get(row.id);
      rows.delete(row.id);
      if (same) return same;
      const gone = row.cloneNode(true);
      gone.classList.add("is-gone");
      return gone;
    });
    // Below the last row that is known is the next page's part.
    let known = 0;
    [...(fresh?.children || [])].forEach((row, index) => { if (!rows.has(row.id)) known = index; });
    const above = [...(fresh?.children || [])].slice(0, known).filter((row) => rows.has(row.id)).length;
    if (fresh) fresh.replaceChildren(...held);
    else {
      // The view is empty now, and the reader still has its last rows before them.
      const kept = list.cloneNode(false);
      kept.append(...held);
      next.replaceChildren(...[...region.childNodes].map((node) => node.cloneNode(true)));
      next.querySelector("ol:has(> .item), ul:has(> .item)")?.replaceWith(kept);
    }
    return above;
  };

  const signedOut = () => {
    over = true;
    source?.close();
    offline("You are signed out. ", make("a", { href: "/sign-in", target: "_blank" }, "Sign in"), " in another window; what you wrote here stays.");
  };

  // ---- the stream ----

  let source = null;
  let missed = false;
  let delay = 1000;
  let resting = 0;

  const open = () => {
    if (source || over || document.hidden || !document.querySelector("[data-live]")) return;
    source = new EventSource("/live");
    source.onopen = () => {
      delay = 1000;
      online();
      if (missed) heard(["*"]);
      missed = false;
    };
    source.onmessage = (event) => heard(event.data.split(" "));
    source.onerror = () => {
      missed = true;
      heard(["*"]);
      if (source?.readyState !== EventSource.CLOSED) return;
      // Refused: the page still asks once a minute.
      source = null;
      setTimeout(open, delay);
      delay = Math.min(delay * 2, MINUTE);
    };
  };

  document.addEventListener("visibilitychange", () => {
    clearTimeout(resting);
    if (document.hidden) {
      // A browser has few connections to one place; a window out of sight needs none.
      resting = setTimeout(() => {
        source?.close();
        source = null;
        missed = true;
      }, HIDDEN);
      return;
    }
    open();
    heard(["*"]);
  });
  // A script that knows that something has changed: {topics: ["outgoing"]}
  document.addEventListener("rookery:refresh", (event) => heard(event.detail?.topics || ["*"]));
  window.addEventListener("online", () => heard(["*"]));
  window.addEventListener("offline", () => offline("Offline. Trying to reach the service…"));
  window.addEventListener("pagehide", () => source?.close());
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    source = null;
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
