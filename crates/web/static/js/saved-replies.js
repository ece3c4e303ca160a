// Saved replies in the composer: the menu takes its list from the page of saved replies, and `/` at the start of a line
// opens it. What is chosen stands where the cursor was; one with files goes through the form.
(() => {
  "use strict";

  class SavedReplies extends HTMLElement {
    connectedCallback() {
      this.menu = this.querySelector("details");
      this.panel = this.querySelector(".menu__panel");
      this.area = this.closest("form")?.elements.body;
      if (!this.menu || !this.area) return;
      this.menu.addEventListener("toggle", () => { if (this.menu.open) this.fill(); });
      this.area.addEventListener("keydown", (event) => this.slash(event));
      this.panel.addEventListener("click", (event) => this.choose(event));
      this.panel.addEventListener("input", () => this.filter());
      this.panel.addEventListener("keydown", (event) => this.move(event));
    }

    slash(event) {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      const before = this.area.value.slice(0, this.area.selectionStart);
      if (before && !before.endsWith("\n")) return;
      event.preventDefault();
      this.slashed = true;
      this.menu.open = true;
    }

    async fill() {
      const here = this.panel;
      if (!here.dataset.filled) {
        const page = await (await fetch(here.dataset.src, { headers: { accept: "text/html" } })).text();
        const choices = new DOMParser().parseFromString(page, "text/html").querySelector("[data-choices]");
        if (!choices) return;
        const find = document.createElement("input");
        find.className = "input";
        find.type = "search";
        find.placeholder = "Find a saved reply";
        find.setAttribute("aria-label", "Find a saved reply");
        here.replaceChildren(find, document.adoptNode(choices));
        here.dataset.filled = "";
      }
      const find = here.querySelector("input");
      find.value = "";
      this.filter();
      find.focus();
    }

    items() { return [...this.panel.querySelectorAll("button")].filter((item) => !item.hidden); }

    filter() {
      const words = this.panel.querySelector("input").value.toLowerCase().split(/\s+/);
      for (const item of this.panel.querySelectorAll("button")) {
        item.hidden = !words.every((word) => item.textContent.toLowerCase().includes(word));
        item.classList.remove("is-active");
      }
      this.items()[0]?.classList.add("is-active");
    }

    move(event) {
      const items = this.items();
      const now = items.findIndex((item) => item.classList.contains("is-active"));
      if (event.key === "Enter") {
        event.preventDefault();
        items[now]?.click();
      } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        const next = items[(now + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length];
        items[now]?.classList.remove("is-active");
        next?.classList.add("is-active");
        next?.scrollIntoView({ block: "nearest" });
      } else if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        this.menu.open = false;
        this.area.focus();
        // A slash that was meant as one.
        if (this.slashed) this.area.setRangeText("/", this.area.selectionStart, this.area.selectionEnd, "end");
        this.slashed = false;
      }
    }

    choose(event) {
      const item = event.target.closest("button");
      if (!item || item.dataset.files !== "0") return;
      event.preventDefault();
      this.menu.open = false;
      this.slashed = false;
      this.area.focus();
      this.area.setRangeText(item.dataset.text, this.area.selectionStart, this.area.selectionEnd, "end");
      // The next blank is chosen, so that typing fills it in.
      const blank = /\{\{[^{}\n]{1,60}\}\}/.exec(this.area.value);
      if (blank) this.area.setSelectionRange(blank.index, blank.index + blank[0].length);
      this.area.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  customElements.define("saved-replies", SavedReplies);
})();
