// Keeps what somebody writes. It is saved a second after a pause and when the page is left; until the service has said
// that it has it, a copy stays in this browser and is offered back. Two windows never overwrite each other unasked.
// Of what goes as a secure link there is never a copy here. Without script, the form has a button that saves.
(() => {
  "use strict";
  const { area, copies, clock, ask, refusal, make } = window.rookery;
  const PAUSE = 1000, AGAIN = 5000;
  const FIELDS = ["mailbox", "from", "to", "cc", "bcc", "subject", "body", "html", "documents", "due", "language"];
  // How it goes: a box that is ticked, and what opens it then.
  const CHOICES = ["secure", "proof"];
  const LABELS = { from: "From", to: "To", cc: "Cc", bcc: "Bcc", subject: "Subject", documents: "Requests", due: "Due", language: "Language" };
  const random = () => [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const valueOf = (field) => (field?.type === "checkbox" ? (field.checked ? field.value : "") : field?.value ?? "");
  const wordsOf = (form) => Object.fromEntries([...FIELDS, ...CHOICES].map((name) => [name, valueOf(form.elements[name])]));
  // Of two choices the stricter one holds: what was to be sealed never becomes an ordinary mail by itself.
  const stricter = (...both) => ({
    secure: both.some((words) => words.secure) ? "1" : "",
    proof: both.some((words) => words.proof === "passphrase") ? "passphrase" : "code",
  });
  // What is formatted, for comparing: the service may write spaces and the end of it in another way than the editor does.
  const formatted = (words) => (words.html ?? "").replace(/\s|&nbsp;/g, "").replace(/(?:<\/\w+>|<br>)+$/, "");
  // A day without an hour, as the service writes it for this person.
  const dayIn = (style, day) => {
    const noon = new Date(`${day}T12:00`);
    if (style === "iso" || Number.isNaN(noon.getTime())) return day;
    if (style === "dots") return day.split("-").reverse().join(".");
    const [date, month, year] = [noon.getDate(), noon.toLocaleDateString("en-US", { month: "short" }), noon.getFullYear()];
    return style === "month_day" ? `${month} ${date}, ${year}` : `${date} ${month} ${year}`;
  };
  const languageNamed = (code) => {
    const name = new Intl.DisplayNames([code], { type: "language" }).of(code);
    return name[0].toLocaleUpperCase(code) + name.slice(1);
  };
  const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

  class DraftKeeper extends HTMLElement {
    connectedCallback() {
      this.ends = new AbortController();
      const on = (target, name, act, capture = false) => target.addEventListener(name, act, { signal: this.ends.signal, capture });
      const typed = (event) => {
        // A field that the answer takes away tells once more what was typed: that was sent.
        if (event.type === "change" && this.isAnswered) return;
        if (event.target.name === "secure") this.seal(this.isSecure);
        if ([...FIELDS, ...CHOICES].includes(event.target.name)) this.changed();
      };
      on(this, "input", typed);
      on(this, "change", typed);
      on(this, "change", (event) => { if (["mailbox", "secure"].includes(event.target.name)) this.showSignature(); });
      on(this, "click", (event) => this.clicked(event));
      // On the way down: the form is read right after.
      on(this, "submit", () => this.submitted(), true);
      // A dialog over the form has it saved first: what is typed here is newer than any save of this page.
      on(window, "submit", (event) => { if (event.target === this.form && event.submitter?.matches("[data-dialog]")) this.field("save").value = String(this.count += 1); }, true);
      on(document, "page:answered", (event) => {
        const { form, path } = event.detail;
        // The page that comes has what was put into the draft there, and the words as they were saved.
        if (form?.matches("[data-writes-draft]")) delete this.form?.dataset.dirty;
        else if (form !== this.form) return;
        this.answered(path);
      });
      on(document, "page:refused", (event) => { if (event.detail.form === this.form) this.failed(); });
      on(document, "page:shown", () => {
        this.isAnswered = false;
        this.begin();
      });
      on(document, "page:leaving", () => this.leave());
      // The page that comes next was made before this save: it needs the copy, whatever is confirmed meanwhile.
      on(window, "pagehide", () => { this.mark = NaN; this.leave(); });
      on(document, "visibilitychange", () => { if (document.hidden) this.leave(); });
      this.begin();
    }

    disconnectedCallback() {
      this.leave();
      clearTimeout(this.timer);
      this.ends.abort();
    }

    field(name) { return this.form?.elements[name]; }
    value(name) { return valueOf(this.field(name)); }
    get isSecure() { return this.value("secure") !== ""; }
    get isNew() { return this.value("kind") === "new"; }
    // What copies of this form are called: where it goes, its kind, and then the draft.
    get place() { return `${new URL(this.form.action).pathname} ${this.value("kind")} `; }
    get name() { return this.place + this.value("draft"); }
    get unsaved() { return this.dirty && !this.gone; }

    // A form that the page brought: a new one, or the same after a visit.
    begin() {
      this.form = this.querySelector("form");
      if (!this.form || this.value("page")) return;
      this.page = random();
      this.count = 0;
      this.dirty = false;
      // Nothing is saved: it was sent, or the person has to choose first.
      this.gone = false;
      // The form itself is on its way.
      this.sending = false;
      this.saving = null;
      clearTimeout(this.timer);
      this.field("page").value = this.page;
      this.querySelectorAll("[data-needs-draft]").forEach((button) => { button.hidden = true; });
      // One writes on where the words end.
      const body = this.field("body");
      if (body?.value && body.selectionEnd === 0) body.setSelectionRange(body.value.length, body.value.length);
      this.offer();
    }

    changed() {
      if (!this.form) return;
      this.dirty = true;
      this.form.dataset.dirty = "";
      this.keepHere();
      this.say("dirty", "");
      this.again(PAUSE);
    }

    again(pause) {
      clearTimeout(this.timer);
      if (!this.gone && !this.sending && this.isConnected) this.timer = setTimeout(() => this.save(), pause);
    }

    keepHere() {
      if (this.isSecure) {
        copies.drop(this.name);
        // Nothing is confirmed by it.
        this.mark = NaN;
        return;
      }
      this.mark = copies.put(this.name, { ...wordsOf(this.form), draft: this.value("draft"), version: Number(this.value("version")) });
    }

    stamp(data) {
      this.count += 1;
      data.set("page", this.page);
      data.set("save", String(this.count));
      data.delete("file");
      // No save needs it, and it is kept nowhere.
      data.delete("passphrase");
      return data;
    }

    // Who leaves does not wait for a save that is under way.
    async save(leaves = false) {
      clearTimeout(this.timer);
      if (!this.dirty || this.gone || (this.sending && !leaves)) return;
      if (this.saving && !leaves) return void (this.more = true);
      this.dirty = false;
      const { mark, form } = this;
      const data = this.stamp(new FormData(form));
      data.set("quiet", "1");
      const body = new URLSearchParams(data);
      // A browser carries no more than 64 KB past the end of a page.
      const saving = fetch(form.action, { method: "POST", body, redirect: "manual", keepalive: String(body).length < 60000 });
      this.saving = saving;
      let answer = null;
      try { answer = await saving; } catch { /* told below */ }
      if (this.saving === saving) this.saving = null;
      const status = answer?.status;
      // The page was answered with another form meanwhile.
      if (form !== this.form || this.value("page") !== data.get("page")) return;
      if (status === 204) this.heard(answer, mark);
      else if (!this.isConnected || this.sending) this.dirty = true;
      else if (status === 409) await this.crossed(answer.headers.get("x-draft"));
      else if (status === 410) this.wasSent();
      else if (answer?.type === "opaqueredirect") this.failed(`You are signed out. ${this.isSecure ? "Sign in in another window and leave this one open." : "What you wrote is kept in this browser."}`);
      else if (status >= 400 && status < 500 && status !== 429) this.refused(await answer.text());
      else this.failed();
      if (this.more) { this.more = false; this.again(PAUSE); }
    }

    async flush() {
      await this.saving?.catch(() => {});
      await this.save();
    }

    // What the service calls this draft, and which version it has.
    named(draft, version) {
      const was = this.name;
      this.field("draft").value = draft;
      this.field("version").value = version;
      this.querySelectorAll("[data-needs-draft]").forEach((button) => { button.hidden = false; });
      if (was !== this.name) {
        copies.drop(was);
        this.keepHere();
      }
      // Opened anew, the page has what was written.
      if (this.isNew && this.isConnected) this.moved(`/compose?draft=${draft}`);
    }
    moved(path) { if (location.pathname === "/compose" && location.pathname + location.search !== path) tell("rookery:address", path); }

    heard(answer, mark) {
      // What was typed while the answer was on its way has another mark.
      const isAll = mark === this.mark;
      this.named(answer.headers.get("x-draft"), answer.headers.get("x-draft-version"));
      this.form.querySelector("input[name=mine]")?.remove();
      if (this.dirty) return this.keepHere();
      if (isAll) copies.settle(this.name, this.mark);
      delete this.form.dataset.dirty;
      this.say("saved", `Saved ${answer.headers.get("x-draft-saved")}`);
    }

    // Another inbox may sign with other words, and a secure link does it without formatting.
    async showSignature() {
      await this.flush();
      const { form, isSecure } = this, inbox = this.value("mailbox");
      const fresh = (await this.fresh().catch(() => null))?.getElementById("signs");
      if (fresh && form === this.form && inbox === this.value("mailbox") && isSecure === this.isSecure) this.querySelector("#signs")?.replaceWith(document.adoptNode(fresh));
    }

    failed(sentence = this.isSecure ? "Not saved yet. Leave this page open; trying again…" : "Not saved yet; kept in this browser. Trying again…") {
      this.sending = false;
      this.dirty = true;
      this.keepHere();
      this.say("failed", sentence);
      this.again(AGAIN);
    }

    // It cannot be saved as it is, so it is not tried again before it has changed.
    refused(page) {
      this.dirty = true;
      this.say("failed", `${this.isSecure ? "Not saved." : "Not saved; kept in this browser."} ${refusal(new DOMParser().parseFromString(page, "text/html"))}`);
    }

    // The page as the service has it now.
    async fresh(draft = this.value("draft")) {
      const url = new URL(location.href);
      if (this.isNew) url.search = draft ? `?draft=${draft}` : "";
      else url.searchParams.set("compose", this.value("kind"));
      url.searchParams.delete("check");
      const answer = await fetch(url, { cache: "no-store", headers: { accept: "text/html" } });
      return new DOMParser().parseFromString(await answer.text(), "text/html");
    }

    // Another window wrote on: nothing is overwritten before the person has chosen.
    async crossed(draft) {
      this.gone = true;
      this.dirty = true;
      clearTimeout(this.timer);
      const form = (await this.fresh(draft).catch(() => null))?.querySelector("#composer-form");
      if (!form) {
        this.gone = false;
        return this.failed();
      }
      const choice = stricter(wordsOf(form), wordsOf(this.form));
      this.fill(choice);
      // Also a copy of before goes, should it be secure now.
      this.keepHere();
      const theirs = { ...wordsOf(form), ...choice }, mine = wordsOf(this.form);
      const go = (keeps) => {
        this.named(form.elements.draft.value, form.elements.version.value);
        if (keeps) this.form.append(make("input", { type: "hidden", name: "mine", value: "1" }));
        else this.fill(theirs);
        this.gone = false;
        this.changed();
        area(this.form).focus();
        this.querySelector("file-drop")?.refresh().catch(() => {});
      };
      // Only the beginning of what is here: this window wrote it as it was left, or the other one had no more.
      const begins = theirs.html && formatted(mine).startsWith(formatted(theirs));
      const isOurs = { html: begins, body: begins || mine.body.startsWith(theirs.body.trimEnd()) };
      const isHere = (name) => !theirs[name].trim() || theirs[name] === mine[name] || isOurs[name];
      if (FIELDS.every((name) => isHere(name))) return go(true);
      const lines = FIELDS.filter((name) => LABELS[name] && theirs[name] !== mine[name]).map((name) => `${LABELS[name]}: ${theirs[name] || "(nothing)"}`);
      this.ask("You wrote on in another window.", [["Keep what is here", () => go(true)], ["Take the other words", () => go(false)]], [...lines, theirs.body].join("\n"));
    }

    // With `isBorrowed` the pictures of its text are files of another draft.
    fill(given, isBorrowed = false) {
      const isText = "body" in given;
      // Copies of before there was an editor are only text.
      const words = isText ? { html: "", ...given } : given;
      for (const name of [...FIELDS, ...CHOICES]) {
        const field = this.field(name);
        if (!field || words[name] === undefined) continue;
        if (field.type === "checkbox") field.checked = words[name] !== "";
        else field.value = words[name];
      }
      const text = isText && this.querySelector("rich-body");
      if (text) {
        // Its editor may still be on its way.
        text.toggleAttribute("data-borrowed", isBorrowed);
        text.read?.();
      }
      this.querySelectorAll("recipient-chips").forEach((line) => line.read?.());
      this.papers();
      this.seal(this.isSecure);
    }

    // What it asks for, in a line.
    papers() {
      const place = this.querySelector("#papers");
      if (!place) return;
      const lines = this.value("documents").split("\n").filter((line) => line.trim());
      place.hidden = !lines.length;
      place.querySelector("[data-papers]").textContent = lines.map((line) => line.replace(/ \(optional\)$/, "").split(": ")[0]).join(", ");
      const [due, language] = [this.value("due"), this.value("language")];
      place.querySelector("[data-papers-how]").textContent = [due && `due ${dayIn(place.dataset.dates, due)}`, language && languageNamed(language)].filter(Boolean).join(" · ");
    }

    wasSent() {
      this.gone = true;
      this.ask("This was sent or thrown away in another window.", [["Keep what is here as a new draft", () => {
        // Nothing of it may stand in this browser, so it goes on in this very form.
        if (this.isSecure) return void this.crossed("");
        copies.drop(this.name);
        copies.put(this.place, { ...wordsOf(this.form), draft: "", version: 0 });
        location.assign(this.isNew ? "/compose" : location.pathname + location.search);
      }]]);
    }

    // What this browser has and the service never confirmed: of this draft, else of this place.
    offer() {
      const version = Number(this.value("version"));
      const own = this.name;
      // A new message that is begun is nobody else's.
      const names = copies.like(this.place).filter((name) => name !== own && !(this.isNew && version > 0));
      const [name] = [own, ...names].filter((each) => this.isWorth(each, version));
      if (!name) return;
      const kept = copies.get(name), other = name !== own;
      const away = ["Throw it away", () => { copies.drop(name); this.offer(); }];
      // Nobody has to be asked where nothing else was written since.
      if (other ? !this.isNew && version === 0 : kept.version === version) return this.restore(name);
      const told = `Not saved: what you wrote at ${clock(kept.at)}.`;
      // The rest of that draft, and its files, are on its own page.
      if (other && this.isNew && kept.version > 0) return this.ask(told, [["Open that draft", `/compose?draft=${kept.draft}`], away], kept.body || kept.subject);
      this.ask(told, [["Bring it back", () => {
        if (other && version > 0) {
          this.fill({ ...kept, ...stricter(kept, wordsOf(this.form)) }, true);
          copies.drop(name);
          this.changed();
        } else this.restore(name);
        area(this.form).focus();
      }], away], kept.body || kept.subject);
    }

    // The words of a copy stand in the form again; what the page came with is a click away.
    restore(name) {
      const kept = copies.get(name), came = wordsOf(this.form);
      this.fill({ ...kept, ...stricter(kept, came) }, !kept.draft);
      if (name !== this.name && kept.draft) {
        // Under its own id: if it was sent after all, it is not sent again.
        this.field("draft").value = kept.draft;
        this.field("version").value = kept.version;
      } else if (name !== this.name) copies.drop(name);
      this.changed();
      this.ask("Draft restored.", [["Discard", () => {
        this.fill(came);
        this.changed();
        area(this.form).focus();
      }]]);
    }

    // A copy that says nothing, or nothing that is not here, is forgotten.
    isWorth(name, version) {
      const kept = copies.get(name);
      if (!kept) return false;
      const said = this.isNew ? ["to", "cc", "bcc", "subject", "body"] : ["body", "documents"];
      const same = FIELDS.every((field) => !this.field(field) || (kept[field] ?? "") === this.value(field));
      const here = wordsOf(this.form);
      const isInside = here.body.includes((kept.body || "").trim()) || (kept.html && formatted(here).startsWith(formatted(kept)));
      const inside = name === this.name && version > kept.version && isInside;
      const worth = !same && !inside && said.some((field) => kept[field]?.trim());
      if (!worth) copies.drop(name);
      return worth;
    }

    submitted() {
      clearTimeout(this.timer);
      this.count += 1;
      this.field("save").value = String(this.count);
      if (this.dirty) this.keepHere();
      this.sending = true;
    }

    // The service answered with a page: it saved the words before anything else, and may have sent them.
    answered(path) {
      this.isAnswered = true;
      this.dirty = false;
      this.sending = false;
      copies.drop(this.name);
      // A way back to a draft that is gone would lead to nothing.
      if (this.isNew && path !== "/compose") this.moved("/compose");
    }

    leave() { if (this.form) this.save(true); }

    // The button is the switch: while it is pressed, the words go as a secure link, and the form shows it.
    seal(on) {
      const [box, part, button] = [this.field("secure"), this.querySelector("#secure"), this.querySelector("[data-seals]")];
      if (!box || !part || !button) return;
      box.checked = on;
      part.open = on;
      button.setAttribute("aria-pressed", String(on));
    }

    clicked(event) {
      if (event.target.closest("[data-seals]")) {
        this.seal(!this.isSecure);
        this.changed();
        this.showSignature();
        return;
      }
      const opens = event.target.closest("[data-unfolds]")?.dataset.unfolds;
      const part = opens && this.querySelector(`#${opens}`);
      if (!part || opens === "attach") return;
      part.open = !part.open;
      if (part.open) part.querySelector("textarea, input")?.focus();
    }

    say(state, words) {
      const place = this.querySelector("[data-saved]");
      if (!place) return;
      place.dataset.state = state;
      if (words || state !== "dirty") place.textContent = words;
    }

    ask(...question) { ask(this.form, ...question); }
  }

  customElements.define("draft-keeper", DraftKeeper);
})();
