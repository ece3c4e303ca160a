// The editor of <rich-body>, around Squire. What is written in it goes into the fields of the form, as words and as HTML,
// and what the fields have is shown in it. Mail that says no more than its words has no HTML.
(() => {
  "use strict";
  const { rookery } = window;
  const { make, rich } = rookery;
  const mod = /Mac|iPhone|iPad/.test(navigator.platform) ? "Meta-" : "Ctrl-";
  // Keys of Squire for what has no button, and keys that are the browser's.
  const NO_KEYS = [`${mod}Shift-5`, `${mod}Shift-6`, `${mod}Shift-7`, `${mod}d`, "PageUp", "PageDown"];
  // What is on or off where the cursor is.
  const TOGGLES = ["B", "I", "U"];
  // From so many letters on, what is written waits for a pause.
  const LONG = 20_000, PAUSE = 150;
  // Pictures that mail programs show. Without a choice of their writer they are as wide as a mail's text.
  const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"], WIDEST = 600;
  const NO_PICTURES = "You can’t add pictures here.";
  // What Squire does for a button, and what it does if that was done.
  const ACTS = {
    B: ["bold", "removeBold"],
    I: ["italic", "removeItalic"],
    UL: ["makeUnorderedList", "removeList"],
    OL: ["makeOrderedList", "removeList"],
    BLOCKQUOTE: ["increaseQuoteLevel", "decreaseQuoteLevel"],
    "": ["removeAllFormatting"],
  };

  class Editor {
    constructor(place) {
      this.place = place;
      [this.words, this.html, this.flag] = ["textarea:not([name=html])", "textarea[name=html]", "input[name=rich]"].map((field) => place.querySelector(field));
      this.form = this.words.form;
      this.ends = new AbortController();
      this.box = make("div", { class: `${this.words.className} rich`, role: "textbox", "aria-multiline": "true", dir: "auto", spellcheck: "true", tabindex: "0" });
      this.said = make("p", { class: "rich__said", role: "status" });
      const leave = () => this.focus();
      this.bar = rich.toolbar({ act: (tag) => this.act(tag), leave, pictures: this.takesPictures });
      this.row = rich.linkRow({ set: (to) => this.link(to), remove: () => this.unlink(), leave, say: (sentence) => this.say(sentence) });
      this.pictureRow = rich.pictureRow({ leave });
      this.chooser = make("input", { type: "file", accept: PICTURES.join(), multiple: "" });
      // How many pictures are on their way to an address of their own.
      this.coming = 0;
      // Files of this draft, and by the numbers of pictures those that came since: "" for one that did not.
      this.pictures = new Set();
      this.came = new Map();
      const sealed = make("p", { class: "rich__sealed" }, "A secure link sends your text without formatting. Attach pictures as files.");
      this.parts = [this.bar, this.row, this.pictureRow, sealed, this.box, this.said];
      // Whoever was in the field already, or was to be, goes on in the box.
      const at = document.activeElement;
      const goesOn = at === this.words || (at === document.body && this.words.autofocus);
      this.words.after(...this.parts);
      // A browser cannot ask for a field that nobody sees: the service does.
      this.isRequired = this.words.required;
      [this.words.hidden, this.words.required] = [true, false];
      try {
        this.begin();
        this.dress();
        this.read();
      } catch (error) {
        // The text is written as it is.
        this.close();
        throw error;
      }
      [this.flag.disabled, this.flag.value] = [false, "1"];
      if (goesOn) this.focus();
    }

    begin() {
      this.squire = new window.Squire(this.box, {
        undo: { documentSizeThreshold: 200_000, undoLimit: 100 },
        sanitizeToDOMFragment: (html) => this.cleaned(html),
        didError: (error) => console.error(error),
      });
      // Its frame around a picture is drawn with style attributes, which the page's policy refuses. We have buttons.
      this.squire._imageResizer.destroy();
      for (const key of NO_KEYS) this.squire.setKeyHandler(key, null);
      this.keepFormats();
      this.squire.setKeyHandler(`${mod}k`, (_, event) => {
        event.preventDefault();
        this.act("A");
      });
      this.squire.addEventListener("input", () => this.changed());
      for (const name of ["pathChange", "select"]) this.squire.addEventListener(name, () => this.show());
      const on = (target, name, act, capture = false) => target.addEventListener(name, act, { signal: this.ends.signal, capture });
      for (const label of this.words.labels) on(label, "click", () => this.focus());
      on(this.box, "click", (event) => {
        const link = event.target.closest("a");
        if (link && (event.ctrlKey || event.metaKey)) window.open(link.href, "_blank", "noopener");
        if (event.target.nodeName === "IMG") this.choose(event.target);
        else this.pictureRow.hidden = true;
      });
      on(this.box, "load", (event) => {
        if (event.target.nodeName === "IMG" && !event.target.hasAttribute("width")) rich.resize(event.target, WIDEST);
      }, true);
      // On the way down: Squire and the files beside the text hear of it only if there is no picture.
      on(this.box, "paste", (event) => {
        if (!event.clipboardData?.getData("text/plain")) this.dropped(event, event.clipboardData);
      }, true);
      on(this.box, "drop", (event) => this.dropped(event, event.dataTransfer), true);
      on(this.chooser, "change", () => {
        const put = this.take([...this.chooser.files]);
        this.chooser.value = "";
        if (put.length !== 1) return;
        this.pictureRow.ask(put[0]);
        this.pictureRow.write();
      });
      on(this.form, "formdata", (event) => {
        this.flush();
        event.formData.set(this.words.name, this.words.value);
        event.formData.set("html", this.html.value);
      });
      // What is still on its way would be missing. On the way down: nobody else has heard of the click yet.
      on(document, "submit", (event) => {
        if (event.target !== this.form || !this.coming) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        this.say("Wait for the picture to finish uploading, then save.");
      }, true);
      // Before the draft is saved for the last time.
      on(document, "page:leaving", () => this.flush(), true);
      on(document, "visibilitychange", () => this.flush(), true);
      on(window, "pagehide", () => this.flush(), true);
    }

    // A new line begins as one wrote last. Squire looks at the letter before the cursor instead: what was switched off behind
    // it would be on again, and what was switched on would be lost.
    keepFormats() {
      const { squire } = this;
      const split = squire.splitBlock;
      squire.splitBlock = (...how) => {
        const were = squire.getSelection().collapsed ? TOGGLES.map((tag) => squire.hasFormat(tag)) : [];
        split.apply(squire, how);
        were.forEach((was, at) => {
          const tag = TOGGLES[at];
          if (squire.hasFormat(tag) !== was) squire.changeFormat(was ? { tag } : null, was ? null : { tag });
        });
        return squire;
      };
    }

    close() {
      clearTimeout(this.timer);
      this.ends.abort();
      this.squire?.destroy();
      this.parts.forEach((part) => part.remove());
      [this.words.hidden, this.words.required, this.flag.disabled] = [false, this.isRequired, true];
    }

    // ---- between the fields and the box ----

    // The box is called and marked as the field is, and gets the focus in its place when a page is shown.
    dress() {
      const { box, words } = this;
      const set = (name, value) => (value ? box.setAttribute(name, value) : box.removeAttribute(name));
      set("aria-label", words.labels[0]?.textContent);
      set("aria-placeholder", words.placeholder);
      set("aria-invalid", words.getAttribute("aria-invalid"));
      set("aria-required", this.isRequired && "true");
      set("aria-describedby", words.getAttribute("aria-describedby"));
      [box.autofocus, words.autofocus] = [words.autofocus, false];
    }

    // What the fields have: at first, and when a copy was brought back or a page came with other words. Pictures of another
    // draft are fetched and become this one's: the service sends no others.
    read() {
      clearTimeout(this.timer);
      this.timer = 0;
      const isBorrowed = this.place.dataset.borrowed !== undefined;
      delete this.place.dataset.borrowed;
      [this.isReading, this.isOwn] = [true, !isBorrowed];
      this.squire.setHTML(this.html.value.trim() ? this.html.value : rich.boxes(this.words.value));
      [this.isReading, this.isOwn] = [false, false];
      // One writes on where the words end.
      this.squire.moveCursorToEnd();
      this.shown = this.written();
      if (isBorrowed) {
        [this.words.value, this.html.value] = [this.shown.words, this.shown.html];
        // Once they are here, or will not come, the draft is saved.
        this.shown = {};
      }
      this.mark();
    }

    // The tree is walked as it is: asking Squire for its HTML would change it, and forget what was undone.
    written() {
      const tree = rich.cleanTree(this.box);
      return { words: rich.textOf(tree), html: rich.isPlain(tree) ? "" : rich.htmlOf(tree) };
    }

    changed() {
      this.placePictures();
      this.mark();
      clearTimeout(this.timer);
      if (this.box.textContent.length < LONG) this.write();
      else this.timer = setTimeout(() => this.write(), PAUSE);
    }

    flush() { if (this.timer) this.write(); }

    write() {
      clearTimeout(this.timer);
      this.timer = 0;
      const now = this.written();
      // Squire marks the selection in the text now and then.
      if (now.words === this.shown.words && now.html === this.shown.html) return;
      this.shown = now;
      [this.words.value, this.html.value] = [now.words, now.html];
      this.words.dispatchEvent(new Event("input", { bubbles: true }));
    }

    mark() {
      const says = this.box.textContent.replaceAll("\u200b", "") || this.box.querySelector("li, blockquote, hr, table, img") || this.box.children.length > 1;
      this.box.toggleAttribute("data-empty", !says);
    }

    cleaned(html) {
      const { fragment, pictures, near } = rich.clean(html, (file) => this.isOwn || this.pictures.has(file), this.isReading, this.takesPictures);
      for (const image of this.isOwn ? fragment.querySelectorAll("img") : []) this.pictures.add(rich.pictureOf(image));
      // While they are fetched there is no file yet that would be waited for.
      for (const one of near) this.hold(this.fetch(one));
      this.say(!pictures ? "" : this.takesPictures ? "Pictures weren’t pasted. Save them to your computer, then use Picture to add them." : NO_PICTURES);
      return document.importNode(fragment, true);
    }

    // ---- pictures ----

    get isSealed() { return !!this.form.elements.secure?.checked; }

    // A picture is one of the files of the form, unless the text has an address for its own.
    get files() { return this.place.dataset.pictures ? null : this.form.querySelector("file-drop"); }
    get takesPictures() { return !!(this.place.dataset.pictures || this.files); }

    // Nothing is sent or saved before this is over.
    async hold(coming) {
      if (this.files) return this.files.hold(coming);
      this.coming += 1;
      try {
        return await coming;
      } finally {
        this.coming -= 1;
      }
    }

    // Pictures of what was dropped or pasted go into the text, other files beside it.
    dropped(event, data) {
      const files = [...(data?.files ?? [])];
      if (this.isSealed || !files.some((file) => PICTURES.includes(file.type))) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      delete this.form.dataset.over;
      if (!this.takesPictures) return this.say(NO_PICTURES);
      const at = event.type === "drop" && document.caretPositionFromPoint?.(event.clientX, event.clientY);
      if (at && this.box.contains(at.offsetNode)) {
        const range = document.createRange();
        range.setStart(at.offsetNode, at.offset);
        this.squire.setSelection(range);
      }
      this.take(files);
    }

    // The pictures among these files, each where it will be seen.
    take(files) {
      this.say("");
      const pictures = files.filter((file) => PICTURES.includes(file.type)), rest = files.filter((file) => !pictures.includes(file));
      if (rest.length) this.files?.take(rest);
      return pictures.map((file) => {
        const marks = rich.waitingPicture(file.name.replace(/\.\w+$/, "").replace(/^image$/, ""));
        this.squire.saveUndoState();
        const image = this.squire.insertImage(undefined, marks);
        this.upload(marks["data-waits"], file);
        return image;
      });
    }

    // The file of a picture that was pasted or brought back: it came as data, or is on a page of ours.
    async fetch({ number, source }) {
      const [, kind, bytes] = /^data:(image\/\w+);base64,(.*)$/is.exec(source) ?? [];
      try {
        const blob = bytes === undefined
          ? await (await fetch(new URL(source.replace(/^cid:/, rich.pictureAt("")), location.origin))).blob()
          : new Blob([Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0))], { type: kind });
        if (!PICTURES.includes(blob.type)) throw new TypeError(blob.type);
        await this.upload(number, new File([blob], `picture.${blob.type.slice(6)}`, { type: blob.type }));
      } catch {
        this.came.set(number, "");
        this.changed();
        this.say("A picture wasn’t pasted. Save it to your computer, then use Picture to add it.");
      }
    }

    async upload(number, file) {
      const called = this.isSealed ? "" : await (this.files?.add(file, true) ?? this.hold(this.send(file)));
      if (called) this.pictures.add(called);
      this.came.set(number, called);
      if (this.ends.signal.aborted) return;
      this.placePictures();
      this.write();
    }

    // To the address that this text has for its pictures. What the service calls it; nothing if it is not there, and why was said.
    async send(file) {
      const data = new FormData();
      data.append("file", file, file.name || "pasted.png");
      const answer = await fetch(this.place.dataset.pictures, { method: "POST", body: data }).catch(() => null);
      if (answer?.status === 204) return answer.headers.get("x-draft-file");
      this.say((answer?.status === 400 && await answer.text()) || `Couldn’t upload ${file.name || "the picture"}. Try again.`);
      return "";
    }

    // Pictures whose file came, also those that undo brought back as they were before.
    placePictures() {
      for (const image of this.box.querySelectorAll("img[data-waits]")) {
        const called = this.came.get(image.dataset.waits);
        if (called === undefined) continue;
        image.removeAttribute("data-waits");
        if (called) image.setAttribute("src", rich.pictureAt(called));
        else image.remove();
      }
    }

    // The one picture that is selected.
    pictureHere() {
      const range = this.squire.getSelection();
      if (range.collapsed || range.toString().replaceAll("\u200b", "").trim()) return null;
      const selected = [...this.box.querySelectorAll("img")].filter((image) => range.intersectsNode(image));
      return selected.length === 1 ? selected[0] : null;
    }

    // The button: what the selected picture shows, or another picture.
    picture() {
      const image = this.pictureHere();
      if (!image) return this.chooser.click();
      this.pictureRow.ask(image);
      this.pictureRow.write();
    }

    choose(image) {
      const range = document.createRange();
      range.selectNode(image);
      this.squire.setSelection(range);
      this.pictureRow.ask(image);
    }

    say(sentence) { this.said.textContent = sentence; }

    // ---- formatting ----

    // The innermost element of this kind around the selection.
    around(selector, node = this.squire.getSelection().commonAncestorContainer) {
      const found = (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement)?.closest(selector);
      return this.box.contains(found) ? found : null;
    }

    has(tag) {
      if (tag === "B" || tag === "I") return this.squire.hasFormat(tag);
      return this.around(tag === "BLOCKQUOTE" ? "blockquote" : "ul, ol")?.nodeName === tag;
    }

    act(tag) {
      if (tag === "A") return this.row.ask(this.linkHere()?.getAttribute("href") ?? "");
      if (tag === "IMG") return this.picture();
      const [put, take] = ACTS[tag];
      this.squire[take && this.has(tag) ? take : put]();
      this.focus();
      this.show();
    }

    show() { this.bar.show((tag) => this.has(tag)); }

    // The link that the cursor is in, or the first one of what is selected.
    linkHere() {
      const range = this.squire.getSelection();
      return this.around("a") ?? [...this.box.querySelectorAll("a")].find((link) => range.intersectsNode(link));
    }

    // All of the link that the cursor is in.
    selectLink() {
      const link = this.around("a");
      if (!link) return;
      const range = document.createRange();
      range.selectNodeContents(link);
      this.squire.setSelection(range);
    }

    link(to) {
      this.selectLink();
      this.squire.makeLink(to);
      // One writes on behind it, and not over it.
      const range = this.squire.getSelection();
      range.collapse(false);
      this.squire.setSelection(range);
    }

    unlink() {
      this.selectLink();
      this.squire.removeLink();
    }

    // ---- for scripts that put something into the text: see rookery.area ----

    focus() { this.squire.focus(); }

    before() {
      const range = this.squire.getSelection().cloneRange();
      range.collapse(true);
      range.setStart(this.around("div, li, blockquote, pre, td, th", range.startContainer) ?? this.box, 0);
      return range.toString().replaceAll("\u200b", "");
    }

    // What is sealed is text.
    insert(text, html = "") {
      this.focus();
      if (html && !this.isSealed) this.squire.insertHTML(html);
      else this.squire.insertPlainText(text);
      this.write();
    }

    selectBlank() {
      const walker = document.createTreeWalker(this.box, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const blank = rookery.BLANK.exec(walker.currentNode.data);
        if (!blank) continue;
        const range = document.createRange();
        range.setStart(walker.currentNode, blank.index);
        range.setEnd(walker.currentNode, blank.index + blank[0].length);
        return void this.squire.setSelection(range);
      }
    }
  }

  rookery.edit = (place) => new Editor(place);
})();
