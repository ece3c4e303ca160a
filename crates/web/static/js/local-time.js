// Keeps "2 m" true while a page stays open. What is older than a day says when, and stays.
(() => {
  "use strict";
  const MINUTE = 60_000;
  const tick = () => {
    const now = Date.now() - Number(document.documentElement.dataset.skew || 0);
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const minutes = Math.floor((now - Date.parse(time.dateTime)) / MINUTE);
      if (!(minutes < 24 * 60)) continue;
      const words = minutes < 1 ? "now" : minutes < 60 ? `${minutes} m` : `${Math.floor(minutes / 60)} h`;
      if (time.textContent !== words) time.textContent = words;
    }
  };
  setInterval(tick, MINUTE / 2);
  ["page:shown", "live:refreshed"].forEach((name) => document.addEventListener(name, tick));
})();
