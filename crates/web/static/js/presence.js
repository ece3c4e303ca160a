// Says that this person looks at a conversation or writes in it, and shows who else does: in rows of a list, and in
// every element with data-live="presence:cnv_…". Both are hints, which end by themselves.
(() => {
  "use strict";
  const { icon } = window.rookery;
  const BEAT = 15_000, PAUSE = 2000, SPREAD = 500;
  let on = null;
  let doing = "looking";
  let wrote = 0;
  // The conversation that the last link left, said on the way.
  let left = null;

  const conversation = () => /^\/conversations\/(cnv_[0-9a-z]+)$/.exec(location.pathname)?.[1] || null;

  const say = (id, what, seen) => {
    const body = new URLSearchParams({ doing: what });
    if (seen) body.set("seen", "");
    // Whoever leaves a page says so even while it goes.
    fetch(`/conversations/${id}/presence`, { method: "POST", body, keepalive: true }).catch(() => {});
  };

  const beat = (seen = false) => {
    if (!on || document.hidden) return;
    doing = Date.now() - wrote < BEAT ? "writing" : "looking";
    say(on, doing, seen);
  };

  // Opening a conversation has said so itself, and what was left for it. What comes into sight again has said nothing.
  const opened = () => {
    on = conversation();
    wrote = 0;
    // A tab in the background was opened, and nobody looks at it.
    if (document.hidden) leave();
  };
  const leave = () => {
    if (on) say(on, "gone");
    on = null;
  };
  document.addEventListener("page:leaving", ({ detail: { path, headers } }) => {
    if (on && path.startsWith("/conversations/")) headers["x-left"] = left = on;
  });

  document.addEventListener("input", (event) => {
    if (!on || !event.target.closest?.(".composer, .app__main form") || !event.target.matches("textarea, [contenteditable]")) return;
    const began = Date.now() - wrote >= BEAT;
    wrote = Date.now();
    if (began) beat();
  });
  document.addEventListener("submit", () => { wrote = 0; });

  // ---- who else ----

  const there = new Map();
  const fill = (place, id) => {
    const shown = there.get(id);
    const words = shown ? shown.text : "";
    if (place.dataset.said === words) return;
    place.dataset.said = words;
    place.replaceChildren(...(shown ? [icon(shown.writing ? "pencil-line" : "eye", "icon--xs"), words] : []));
  };
  const draw = () => {
    for (const row of document.querySelectorAll(".item[id^=cnv_]")) {
      let place = row.querySelector(".presence");
      if (!place && there.has(row.id)) {
        let marks = row.querySelector(".item__marks");
        if (!marks) {
          marks = Object.assign(document.createElement("span"), { className: "item__marks" });
          row.querySelector(".item__body")?.append(marks);
        }
        place = Object.assign(document.createElement("span"), { className: "presence" });
        marks.append(place);
      }
      if (place) fill(place, row.id);
      if (place && !there.has(row.id)) place.remove();
    }
    for (const place of document.querySelectorAll("[data-live^='presence:']")) fill(place, place.dataset.live.slice("presence:".length));
  };
  let timer = 0;
  let asked = 0;
  const ask = async () => {
    timer = 0;
    if (document.hidden || !document.querySelector("[data-live]")) return;
    asked = Date.now();
    try {
      const answer = await fetch("/presence", { cache: "no-store" });
      if (!answer.ok || answer.redirected) return;
      there.clear();
      for (const [id, shown] of Object.entries(await answer.json())) there.set(id, shown);
      draw();
    } catch {
      // The next word of it brings it.
    }
  };
  // Everybody hears of everybody: pages ask now and then, and not all in one moment.
  document.addEventListener("live:presence", () => {
    timer ||= setTimeout(ask, Math.max(asked + PAUSE - Date.now(), 0) + Math.random() * SPREAD);
  });
  document.addEventListener("live:refreshed", (event) => {
    draw();
    // What came while they look at it is read.
    if (event.detail.topics.has(`conversation:${on}`)) beat(true);
  });
  document.addEventListener("page:shown", () => {
    const here = conversation();
    if (!here) leave();
    else if (here !== on) {
      // A form that was sent leads on, too, and says nothing on its way.
      if (on && on !== left) say(on, "gone");
      opened();
    }
    left = null;
    draw();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return leave();
    on = conversation();
    wrote = 0;
    beat(true);
  });
  window.addEventListener("pagehide", leave);
  setInterval(() => beat(), BEAT);
  opened();
  ask();
})();
