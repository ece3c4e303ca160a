// "3 new" over a list: what came since the page was shown waits behind it, so that no row moves under the reader's
// hand. Pressing it shows the list anew. What came in while nobody's hand was there is only said, to those who do not see it.
(() => {
  "use strict";
  class NewPill extends HTMLElement {
    connectedCallback() {
      if (!this.closest("[role=status]")) this.setAttribute("role", "status");
    }

    set count(count) {
      if (!count) {
        this.replaceChildren();
        return;
      }
      const words = `${count > 99 ? "99+" : count} new`;
      const link = this.querySelector("a") || this.appendChild(Object.assign(document.createElement("a"), { className: "newpill" }));
      // New rows are at the top, whatever page of the list this is.
      const top = new URLSearchParams(location.search).has("before") && document.getElementById("list")?.dataset.list;
      link.href = top ? `${location.pathname}?${top}` : location.pathname + location.search;
      if (link.textContent !== words) link.textContent = words;
    }

    say(count) { this.append(Object.assign(document.createElement("span"), { className: "sr-only", textContent: `${count} new` })); }
  }
  customElements.define("new-pill", NewPill);

  // They came for what is new, which is at the top.
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("new-pill a")) return;
    document.addEventListener("page:shown", () => {
      document.querySelector(".list__scroll")?.scrollTo(0, 0);
      window.scrollTo(0, 0);
    }, { once: true });
  });

  const pill = () => {
    const place = document.querySelector(".list [data-new-rows]") || document.querySelector(".list .bar__title");
    if (!place) return null;
    const there = document.querySelector("new-pill");
    if (there) return there;
    const made = document.createElement("new-pill");
    if (place.matches("[data-new-rows]")) place.append(made);
    else place.after(made);
    return made;
  };

  document.addEventListener("live:refreshed", (event) => {
    // Something else was refreshed; what is new in the list is still new.
    const shown = event.detail.fresh === null ? null : pill();
    if (!shown) return;
    shown.count = event.detail.fresh;
    if (event.detail.came) shown.say(event.detail.came);
  });
})();
