// <recipient-chips>: a line of recipients. Its input stays the form's field and holds the whole line, as somebody without
// script types it; what is seen is a chip for each recipient and a field to type the next one, with people who could be
// meant below it. What is typed and no chip yet is in the form's field, too, so whatever sends the form loses nothing.
(() => {
  "use strict";
  const { make, icon } = window.rookery;
  const PAUSE = 150;
  // Narrower than what the service takes would refuse addresses that it takes.
  const ADDRESS = /^(?!\.)[^\s@<>()[\]\\:|`,;"]{1,64}(?<!\.)@(?!-)[^\s@<>()[\]\\:|`,;".]+(?:\.[^\s@<>()[\]\\:|`,;".]+)+$/;

  // Commas, semicolons and line ends part recipients, but for those between quotes; the last is still being typed.
  function apart(text) {
    const all = [""];
    let quoted = false;
    for (const letter of text) {
      if (letter === '"') quoted = !quoted;
      if (!quoted && /[,;\r\n]/.test(letter)) all.push("");
      else all[all.length - 1] += letter;
    }
    return all;
  }

  // Addresses with only spaces between them are several.
  const each = (entry) => {
    const words = entry.trim().split(/\s+/);
    return words.length > 1 && words.every((word) => ADDRESS.test(word)) ? words : [entry];
  };

  function recipient(entry) {
    // A quote that does not end would take in whoever comes next.
    const open = (entry.match(/"/g) ?? []).length % 2 === 1;
    const text = (open ? entry.replaceAll('"', "") : entry).replace(/\s+/g, " ").trim();
    const [, name, inside] = /^(.*)<([^<>]*)>$/.exec(text) ?? [];
    const address = (inside ?? text).trim();
    return { text, address, name: (name ?? "").replaceAll('"', "").trim(), isWrong: !ADDRESS.test(address) };
  }

  const written = ({ name, email }) => {
    const plain = (name ?? "").replace(/["<>\\]/g, " ").replace(/\s+/g, " ").trim();
    return plain ? `"${plain}" <${email}>` : email;
  };

  class RecipientChips extends HTMLElement {
    chips = [];
    people = [];
    chosen = -1;

    connectedCallback() {
      // A page that is morphed puts the element in first, and then what is inside.
      queueMicrotask(() => this.open());
    }

    disconnectedCallback() {
      this.close();
      this.ends?.abort();
    }

    open() {
      const field = this.querySelector("input[name]");
      if (!this.isConnected || !field) return;
      if (!this.typing) this.build(field);
      // It may be put in twice before this runs.
      this.ends?.abort();
      this.ends = new AbortController();
      const on = (target, name, act, capture = false) => target.addEventListener(name, act, { signal: this.ends.signal, capture });
      on(this.typing, "input", () => this.typed());
      on(this.typing, "paste", (event) => this.pasted(event));
      on(this.typing, "blur", () => { this.commit(); this.close(); });
      on(this, "keydown", (event) => this.pressed(event));
      on(this, "click", (event) => this.clicked(event));
      // The field keeps the focus while somebody chooses, so what is typed does not move what they click on.
      for (const part of [this.list, this.shown]) on(part, "mousedown", (event) => event.preventDefault());
      on(window, "scroll", () => this.place(), true);
      on(window, "resize", () => this.place());
    }

    build(field) {
      this.field = field;
      const { id } = field;
      const label = this.closest(".composer__line")?.querySelector("label")?.textContent ?? "";
      const at = document.activeElement;
      const goesOn = at === field || (at === document.body && field.autofocus);
      this.said = make("p", { class: "people__said", id: `${id}-said`, role: "status" });
      this.found = make("p", { class: "sr-only", role: "status" });
      this.list = make("ul", { class: "people__list", id: `${id}-people`, role: "listbox", "aria-label": `People for ${label}` });
      this.list.hidden = true;
      this.shown = make("ul", { class: "people__chips", role: "list", "aria-label": `Recipients in ${label}` });
      // It is no field of the form, which has the line already.
      this.typing = make("input", {
        id, form: "", type: "text", class: "people__typed", role: "combobox", "aria-expanded": "false", "aria-controls": `${id}-people`,
        "aria-autocomplete": "list", "aria-describedby": [field.getAttribute("aria-describedby"), `${id}-said`].filter(Boolean).join(" "),
        autocomplete: "off", autocapitalize: "off", spellcheck: "false", inputmode: "email", enterkeyhint: "done",
      });
      field.removeAttribute("id");
      field.hidden = true;
      [this.typing.autofocus, field.autofocus] = [field.autofocus, false];
      this.classList.add("people");
      this.append(this.shown, this.typing, this.list, this.said, this.found);
      this.read();
      if (goesOn) this.typing.focus();
    }

    // The field was filled by a script.
    read() {
      if (!this.typing) return;
      this.chips = [];
      this.typing.value = "";
      apart(this.field.value).forEach((entry) => this.add(entry));
      this.draw();
    }

    // What another page has in the field, instead of being morphed into it.
    take(fresh) {
      const given = fresh.querySelector("input[name]");
      if (!given || !this.field) return;
      [this.field.defaultValue, this.field.value] = [given.value, given.value];
      this.field.toggleAttribute("aria-invalid", given.hasAttribute("aria-invalid"));
      this.typing.autofocus = given.autofocus;
      this.read();
    }

    add(text) {
      for (const entry of each(text)) {
        const one = recipient(entry);
        const isNew = !this.chips.some((chip) => chip.address.toLowerCase() === one.address.toLowerCase());
        if (one.address && isNew) this.chips.push(one);
      }
    }

    remove(chip) {
      this.chips = this.chips.filter((other) => other !== chip);
      this.changed();
    }

    // The form's field says what is seen.
    changed() {
      this.draw();
      const value = [...this.chips.map(({ text }) => text), this.typing.value.trim()].filter(Boolean).join(", ");
      if (this.field.value === value) return;
      this.field.value = value;
      this.field.dispatchEvent(new Event("input", { bubbles: true }));
    }

    draw() {
      const parts = this.chips.map((chip) => {
        const label = `Remove ${chip.address}${chip.isWrong ? ", which is not an email address" : ""}`;
        const name = make("bdi", { title: chip.address }, chip.name || chip.address);
        const button = make("button", { type: "button", tabindex: "-1", "aria-label": label }, icon("x", "icon--xs"));
        const part = make("li", { class: chip.isWrong ? "person person--wrong" : "person" }, name, button);
        part.chip = chip;
        return part;
      });
      this.shown.replaceChildren(...parts);
      this.shown.hidden = parts.length === 0;
      const wrong = this.chips.filter(({ isWrong }) => isWrong).map(({ address }) => `“${address.slice(0, 80)}”`);
      this.said.textContent = wrong.length === 0 ? "" : wrong.length === 1
        ? `${wrong[0]} is not an email address. Correct it or remove it.`
        : `${wrong.join(", ")} are not email addresses. Correct or remove them.`;
      const isRefused = wrong.length > 0 || this.field.hasAttribute("aria-invalid");
      if (isRefused) this.typing.setAttribute("aria-invalid", "true");
      else this.typing.removeAttribute("aria-invalid");
    }

    typed() {
      const entries = apart(this.typing.value);
      if (entries.length > 1) {
        this.typing.value = entries.pop().trimStart();
        entries.forEach((entry) => this.add(entry));
      }
      this.changed();
      this.suggest();
    }

    // A field of one line would drop the ends of lines.
    pasted(event) {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      const entries = apart(text.trim());
      if (entries.length < 2 && each(text).length < 2) return;
      event.preventDefault();
      this.commit();
      entries.forEach((entry) => this.add(entry));
      this.changed();
      this.close();
    }

    // What is typed becomes a chip.
    commit() {
      if (!this.typing.value.trim()) return;
      this.add(this.typing.value);
      this.typing.value = "";
      this.changed();
    }

    pressed(event) {
      if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
      const part = event.target.closest(".person");
      if (part) return this.pressedChip(event, part);
      if (event.target !== this.typing) return;
      const { typing } = this;
      const isAtStart = typing.selectionStart === 0 && typing.selectionEnd === 0;
      const back = this.isRtl ? "ArrowRight" : "ArrowLeft";
      if (event.key === "Escape" && !this.list.hidden) this.close();
      else if (event.key === "Enter" && (this.chosen >= 0 || typing.value.trim())) {
        if (this.chosen >= 0) this.choose(this.people[this.chosen]);
        else this.commit();
        this.close();
      } else if (event.key === "Tab" && !event.shiftKey && this.chosen >= 0) {
        // The focus goes on as it does from any field.
        this.choose(this.people[this.chosen]);
        return;
      } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !this.list.hidden) {
        const step = event.key === "ArrowDown" ? 1 : -1;
        this.mark((this.chosen + step + this.people.length) % this.people.length);
      } else if (event.key === "Backspace" && !typing.value && this.chips.length) this.remove(this.chips.at(-1));
      else if (event.key === back && isAtStart && this.chips.length) this.shown.lastElementChild.querySelector("button").focus();
      else return;
      event.preventDefault();
    }

    pressedChip(event, part) {
      const [before, after] = [part.previousElementSibling, part.nextElementSibling];
      const [back, on] = this.isRtl ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
      const go = (to) => (to?.querySelector("button") ?? this.typing).focus();
      if (event.key === back) go(before ?? part);
      else if (event.key === on) go(after);
      else if (event.key === "Backspace" || event.key === "Delete") this.removePart(part);
      else if (event.key.length === 1 && event.key !== " ") {
        // A letter is written, and is no key of the page.
        event.stopPropagation();
        this.typing.focus();
        return;
      } else return;
      event.preventDefault();
    }

    removePart(part) {
      const at = [...this.shown.children].indexOf(part);
      this.remove(part.chip);
      const next = this.shown.children[Math.min(at, this.shown.children.length - 1)];
      (next?.querySelector("button") ?? this.typing).focus();
    }

    clicked(event) {
      const line = event.target.closest("[role=option]");
      const part = event.target.closest(".person");
      if (line) {
        this.choose(this.people[[...this.list.children].indexOf(line)]);
        this.close();
        this.typing.focus();
      } else if (part && event.target.closest("button")) {
        this.removePart(part);
        // Only who came by keys goes on to the next button.
        if (event.detail > 0) this.typing.focus();
      } else if (part) {
        // It is written again.
        this.commit();
        this.close();
        this.remove(part.chip);
        this.typing.value = part.chip.text;
        this.changed();
        this.typing.focus();
      } else if (event.target === this || event.target === this.shown) this.typing.focus();
    }

    get isRtl() { return getComputedStyle(this).direction === "rtl"; }

    // ---- who could be meant ----

    suggest() {
      clearTimeout(this.timer);
      this.asking?.abort();
      // Who was found before may not be meant by what is typed now.
      this.mark(-1);
      const wanted = this.typing.value.split("<").at(-1).replace(/[">]/g, "").trim();
      if (!wanted) return this.close();
      this.timer = setTimeout(() => this.ask(wanted), PAUSE);
    }

    async ask(wanted) {
      this.asking = new AbortController();
      const { signal } = this.asking;
      const address = `/compose/people?q=${encodeURIComponent(wanted)}`;
      const found = await fetch(address, { signal, headers: { accept: "application/json" } })
        .then((answer) => (answer.ok ? answer.json() : []))
        // Without suggestions one types the address.
        .catch(() => []);
      if (signal.aborted || document.activeElement !== this.typing || !Array.isArray(found)) return;
      this.people = found.filter(({ email }) => !this.chips.some((chip) => chip.address.toLowerCase() === email.toLowerCase()));
      this.list.replaceChildren(...this.people.map(({ email, name, team }, at) =>
        make("li", { class: "people__one", role: "option", id: `${this.list.id}-${at}`, "aria-selected": "false" },
          make("bdi", { class: "people__name" }, name || email), name && make("bdi", { class: "people__email" }, email),
          team && make("span", { class: "people__team" }, "Team"))));
      if (this.people.length === 0) return this.close();
      this.list.hidden = false;
      this.typing.setAttribute("aria-expanded", "true");
      this.found.textContent = this.people.length === 1 ? "1 person" : `${this.people.length} people`;
      this.place();
      // Whoever has typed a whole address means that one.
      this.mark(ADDRESS.test(wanted) ? -1 : 0);
    }

    mark(at) {
      this.chosen = at;
      [...this.list.children].forEach((line, n) => line.setAttribute("aria-selected", String(n === at)));
      const line = this.list.children[at];
      line?.scrollIntoView({ block: "nearest" });
      if (line) this.typing.setAttribute("aria-activedescendant", line.id);
      else this.typing.removeAttribute("aria-activedescendant");
    }

    choose(one) {
      if (!one) return;
      this.typing.value = "";
      this.add(written(one));
      this.changed();
    }

    close() {
      clearTimeout(this.timer);
      this.asking?.abort();
      if (!this.typing) return;
      [this.people, this.chosen] = [[], -1];
      this.list.hidden = true;
      this.list.replaceChildren();
      this.found.textContent = "";
      this.typing.setAttribute("aria-expanded", "false");
      this.typing.removeAttribute("aria-activedescendant");
    }

    // Below the line, or above it where more room is. The composer stands at the end of the window and must not cut it.
    place() {
      if (this.list.hidden) return;
      const box = this.getBoundingClientRect();
      const below = window.innerHeight - box.bottom;
      const isAbove = below < 240 && box.top > below;
      const width = Math.min(box.width, 420);
      Object.assign(this.list.style, {
        inlineSize: `${width}px`, left: `${this.isRtl ? box.right - width : box.left}px`,
        top: isAbove ? "auto" : `${box.bottom + 2}px`, bottom: isAbove ? `${window.innerHeight - box.top + 2}px` : "auto",
        maxBlockSize: `${Math.max(96, Math.min(380, (isAbove ? box.top : below) - 12))}px`,
      });
    }
  }

  customElements.define("recipient-chips", RecipientChips);
})();
