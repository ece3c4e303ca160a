// What was searched for in this tab: kept by the browser until the tab is closed, apart for each person.
(() => {
  const MOST = 6;
  class RecentSearches extends HTMLElement {
    connectedCallback() {
      const key = `searches:${this.dataset.whose}`;
      let searches = [];
      try {
        searches = JSON.parse(sessionStorage.getItem(key)) ?? [];
      } catch {
        return;
      }
      const query = this.dataset.query;
      if (query) {
        searches = [query, ...searches.filter((search) => search !== query)].slice(0, MOST + 1);
        sessionStorage.setItem(key, JSON.stringify(searches));
      }
      const shown = searches.filter((search) => search !== query).slice(0, MOST);
      this.hidden = shown.length === 0;
      this.querySelector("ul")?.replaceChildren(...shown.map((search) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.className = "past__sub link";
        link.href = `/search?q=${encodeURIComponent(search)}`;
        link.textContent = search;
        link.dir = "auto";
        item.append(link);
        return item;
      }));
    }
  }
  customElements.define("recent-searches", RecentSearches);
})();
