// Words that the service has not confirmed. A copy stays in this browser, by person and by draft, until it has them; the
// page that finds one offers it back. Whoever uses this browser next is never shown it.
(() => {
  "use strict";
  const rookery = (window.rookery ??= {});
  const { make } = rookery;
  const OLD = 14 * 24 * 3600 * 1000, PATIENCE = 2000, LINGER = 3000;
  const own = `draft ${document.documentElement.dataset.whose ?? ""} `;

  const read = (key) => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
  const remove = (key) => { try { localStorage.removeItem(key); } catch { /* nothing there */ } };
  const keys = () => { try { return Object.keys(localStorage).filter((key) => key.startsWith("draft ")); } catch { return []; } };
  const settled = new Set();
  let last = 0;

  rookery.copies = {
    get: (name) => read(own + name),
    // Gives the mark of this very copy: what is confirmed later may be older than what is kept by then.
    put(name, words) {
      last = Math.max(Date.now(), last + 1);
      try { localStorage.setItem(own + name, JSON.stringify({ ...words, at: last })); } catch { /* full or forbidden: the service still gets it */ }
      return last;
    },
    // The service has it. A page that is on its way may have been made just before, so the copy stays a moment longer.
    settle(name, mark) {
      const drop = () => { settled.delete(drop); rookery.copies.drop(name, mark); };
      settled.add(drop);
      setTimeout(drop, LINGER);
    },
    drop(name, mark) { if (mark === undefined || read(own + name)?.at === mark) remove(own + name); },
    // The names that begin so, the newest first.
    like: (start) => keys().filter((key) => key.startsWith(own + start)).sort((one, other) => (read(other)?.at ?? 0) - (read(one)?.at ?? 0)).map((key) => key.slice(own.length)),
  };
  for (const key of keys()) if (!(Date.now() - read(key)?.at < OLD)) remove(key);

  // As the person wants hours, and not as the browser does.
  rookery.clock = (time) => {
    const hourCycle = document.documentElement.dataset.hours === "12" ? "h12" : "h23";
    return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle });
  };

  // A question over a form; a choice does something or leads somewhere.
  rookery.ask = (place, sentence, choices, words) => {
    place.querySelector(":scope > .composer__asks")?.remove();
    const shown = words && make("details", { class: "composer__copy" }, make("summary", {}, "Show the words"), make("p", { dir: "auto" }, words));
    const box = make("div", { class: "composer__blank composer__asks", role: "alert" }, make("span", {}, sentence), shown);
    for (const [label, act] of choices) {
      if (typeof act === "string") {
        box.append(make("a", { class: "btn btn--small", href: act, "data-plain": "" }, label));
        continue;
      }
      const button = make("button", { class: "btn btn--small", type: "button" }, label);
      button.addEventListener("click", () => { box.remove(); act(); });
      box.append(button);
    }
    place.prepend(box);
  };

  // Signing out waits a moment for words that are not saved yet: once they are, no copy stays behind.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.getAttribute("action") === "/sign-out") settled.forEach((drop) => drop());
    const open = [...document.querySelectorAll("draft-keeper, draft-edit")].filter((element) => element.unsaved);
    if (form.getAttribute("action") !== "/sign-out" || !open.length || form.dataset.waited !== undefined) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    form.dataset.waited = "";
    const patience = new Promise((done) => setTimeout(done, PATIENCE));
    Promise.race([Promise.all(open.map((element) => element.flush())), patience]).finally(() => form.requestSubmit());
  }, true);
})();
