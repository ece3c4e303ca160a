// Saved replies in the composer: the menu takes its list from the page of saved replies, and `/` at the start of a line
// opens it. What is chosen stands where the cursor was, with its formatting in the editor; one with files goes through the
// form.
(() => {
  "use strict";
  // One with files was chosen, and comes with the page that answers.
  let comes = false;

  class SavedReplies extends HTMLElement {
    connectedCallback() {
      this.menu = this.querySelector("details");
      this.panel = this.querySelector(".menu__panel");
      this.form = this.closest("form");
      if (!this.menu || !this.form?.elements.body) return;
      this.menu.addEventListener("toggle", () => { if (this.menu.open) this.fill(); });
      // On the way down: the editor would put a slash in the place of what is selected.
      this.ends = new AbortController();
      this.form.addEventListener("keydown", (event) => this.slash(event), { capture: true, signal: this.ends.signal });
      this.panel.addEventListener("click", (event) => this.choose(event));
      this.panel.addEventListener("input", () => this.filter());
      this.panel.addEventListener("keydown", (event) => this.move(event));
    }

    disconnectedCallback() { this.ends?.abort(); }

    get area() { return window.rookery.area(this.form); }

    slash(event) {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (!event.target.matches(".composer__body") || this.area.before()) return;
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
        // A slash that was meant as one.
        if (this.slashed) this.area.insert("/");
        else this.area.focus();
        this.slashed = false;
      }
    }

    choose(event) {
      const item = event.target.closest("button");
      if (!item) return;
      // Through the form come those with files, and formatting that was too much for the list.
      comes = item.dataset.files !== "0";
      if (comes) return;
      event.preventDefault();
      this.menu.open = false;
      this.slashed = false;
      this.area.insert(item.dataset.text, item.dataset.html);
      // The next blank is chosen, so that typing fills it in.
      this.area.selectBlank();
    }
  }

  customElements.define("saved-replies", SavedReplies);
  document.addEventListener("page:shown", () => {
    const form = document.getElementById("composer-form");
    if (comes && form?.elements.body) window.rookery.area(form).selectBlank();
    comes = false;
  });
  document.addEventListener("page:refused", () => { comes = false; });
})();
