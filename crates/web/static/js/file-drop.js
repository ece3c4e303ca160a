// Files on a mail: chosen, dropped or pasted, each uploaded at once with its progress. Without script, a field and a
// button do the same.
(() => {
  "use strict";
  const { make } = window.rookery;
  const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`);

  class FileDrop extends HTMLElement {
    waiting = Promise.resolve();
    // What is on its way, or waits for what is before it.
    pending = 0;

    connectedCallback() {
      this.form = this.closest("form");
      this.keeper = this.closest("draft-keeper");
      this.ends = new AbortController();
      const on = (target, name, act, capture = false) => target.addEventListener(name, act, { signal: this.ends.signal, capture });
      on(this.form, "click", (event) => {
        if (event.target.closest('[data-unfolds="attach"]')) this.querySelector("input[type=file]").click();
      });
      on(this, "change", (event) => {
        if (event.target.type !== "file") return;
        event.stopPropagation();
        this.take(event.target.files);
        event.target.value = "";
      });
      on(this.form, "paste", (event) => {
        const files = event.clipboardData?.files;
        if (files?.length && !event.clipboardData.getData("text/plain")) { event.preventDefault(); this.take(files); }
      });
      on(this.form, "dragover", (event) => {
        if (![...event.dataTransfer.types].includes("Files")) return;
        event.preventDefault();
        this.form.dataset.over = "";
      });
      on(this.form, "dragleave", (event) => { if (!this.form.contains(event.relatedTarget)) delete this.form.dataset.over; });
      on(this.form, "drop", (event) => {
        delete this.form.dataset.over;
        if (!event.dataTransfer.files.length) return;
        event.preventDefault();
        this.take(event.dataTransfer.files);
      });
      // What is still on its way would be missing. On the way down: nobody else has heard of the click yet.
      on(document, "submit", (event) => {
        const by = event.submitter;
        const sends = by?.name === "later" || ["send", "close", "later"].includes(by?.value);
        if (event.target !== this.form || !this.pending || !sends) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        this.say("Wait until the files are there, then send.");
      }, true);
    }

    disconnectedCallback() { this.ends.abort(); }

    take(files) {
      this.say("");
      for (const file of files) this.add(file);
    }

    // One more behind those that are on their way, beside the text or within it. What the service calls one within; nothing
    // if it is not there, and it said why.
    add(file, isInline = false) {
      // One that fails does not hold up those behind it.
      const added = this.waiting.then(() => this.upload(file, isInline)).catch(() => {
        this.say(`${file.name || "The picture"} was not uploaded. Try again.`);
        return "";
      });
      this.waiting = added;
      return this.hold(added);
    }

    // Nothing is sent before this is over.
    async hold(coming) {
      this.pending += 1;
      try {
        return await coming;
      } finally {
        this.pending -= 1;
      }
    }

    // How many bytes there is room for. Pictures that were taken out of the text left some, once the service knows of it.
    async room(wanted) {
      if (wanted > this.dataset.room) {
        await this.keeper?.flush?.();
        await this.refresh().catch(() => {});
      }
      return Number(this.dataset.room);
    }

    async upload(file, isInline) {
      const room = await this.room(file.size);
      if (file.size > room) {
        this.say(`${file.name} does not fit: there is room for ${size(Math.max(room, 0))}.`);
        return "";
      }
      const bar = make("progress", { class: "progress", max: "1", value: "0", "aria-label": `Uploading ${file.name}` });
      const row = make("li", { class: "file" }, make("span", {}, make("span", { class: "file__name clip" }, file.name || "pasted file"), bar));
      // The text shows where a picture will be.
      if (!isInline) this.querySelector("#draft-files").append(row);
      // The draft's own saves go first, so that they do not meet.
      await this.keeper?.saving?.catch?.(() => {});
      const data = new FormData(this.form);
      this.keeper?.stamp?.(data);
      data.delete("file");
      data.append("file", file, file.name || "pasted.png");
      const answer = await new Promise((done) => {
        const request = new XMLHttpRequest();
        request.open("POST", `${this.dataset.action}?quiet=1${isInline ? "&inline=1" : ""}`);
        request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = event.loaded / event.total; });
        request.addEventListener("loadend", () => done(request));
        request.send(data);
      });
      bar.remove();
      const [draft, version, called] = ["x-draft", "x-draft-version", "x-draft-file"].map((name) => answer.getResponseHeader(name));
      if (called) this.dataset.room -= file.size;
      if (answer.status === 204) {
        this.keeper?.named(draft, version);
        // It is there, whether or not the list can be asked for now.
        if (!isInline) await this.refresh().catch(() => {});
        return called;
      }
      row.remove();
      if (answer.status === 409) {
        if (!isInline) await this.refresh().catch(() => {});
        if (!isInline && !this.querySelector("#draft-files").textContent.includes(file.name)) this.say(`${file.name} is not attached: you wrote on in another window. Choose, then attach it again.`);
        await this.keeper?.crossed(draft);
        return called ?? "";
      }
      this.say(answer.status === 400 && answer.responseText ? answer.responseText : `${file.name} was not uploaded. Try again.`);
      return "";
    }

    // The list as the service has it.
    async refresh() {
      const page = await this.keeper.fresh();
      const fresh = page.querySelector("#draft-files"), drop = page.querySelector("file-drop");
      if (!fresh) return;
      this.querySelector("#draft-files").replaceWith(document.adoptNode(fresh));
      this.dataset.room = drop.dataset.room;
    }

    say(sentence) { this.querySelector("[data-uploads]").textContent = sentence; }
  }

  customElements.define("file-drop", FileDrop);
})();
