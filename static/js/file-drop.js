// Files on a mail: chosen, dropped or pasted, each uploaded at once with its progress. Without script, a field and a
// button do the same.
(() => {
  "use strict";
  const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`);

  class FileDrop extends HTMLElement {
    connectedCallback() {
      this.form = this.closest("form");
      this.keeper = this.closest("draft-keeper");
      this.waiting = Promise.resolve();
      const on = (target, name, act) => target.addEventListener(name, act);
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
      // What is still on its way would be missing.
      on(this.form, "submit", (event) => {
        if (!this.querySelector("progress") || !["send", "close", "later"].includes(event.submitter?.value)) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        this.say("Wait until the files are there, then send.");
      });
    }

    take(files) {
      this.say("");
      let room = Number(this.dataset.room);
      for (const file of files) {
        if (file.size > room) { this.say(`${file.name} does not fit: there is room for ${size(Math.max(room, 0))}.`); continue; }
        room -= file.size;
        this.waiting = this.waiting.then(() => this.upload(file));
      }
      this.dataset.room = room;
    }

    async upload(file) {
      const list = this.querySelector("#draft-files");
      const row = document.createElement("li");
      row.className = "file";
      const text = document.createElement("span");
      const name = document.createElement("span");
      name.className = "file__name clip";
      name.textContent = file.name || "pasted file";
      const bar = document.createElement("progress");
      bar.className = "progress";
      bar.max = 1;
      bar.value = 0;
      bar.setAttribute("aria-label", `Uploading ${file.name}`);
      text.append(name, bar);
      row.append(text);
      list.append(row);
      // The draft's own saves go first, so that they do not meet.
      await this.keeper?.saving?.catch?.(() => {});
      const data = new FormData(this.form);
      this.keeper?.stamp?.(data);
      data.delete("file");
      data.append("file", file, file.name || "pasted.png");
      const answer = await new Promise((done) => {
        const request = new XMLHttpRequest();
        request.open("POST", `${this.dataset.action}?quiet=1`);
        request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = event.loaded / event.total; });
        request.addEventListener("loadend", () => done(request));
        request.send(data);
      });
      row.remove();
      if (answer.status !== 204) return this.say(answer.status === 400 && answer.responseText ? answer.responseText : `${file.name} was not uploaded. Try again.`);
      this.form.elements.draft.value = answer.getResponseHeader("x-draft");
      this.form.elements.version.value = answer.getResponseHeader("x-draft-version");
      await this.refresh();
    }

    // The list as the service has it.
    async refresh() {
      const url = new URL(location.href);
      const draft = this.form.elements.draft.value;
      if (this.form.elements.kind.value === "new") url.searchParams.set("draft", draft);
      else url.searchParams.set("compose", this.form.elements.kind.value);
      url.searchParams.delete("check");
      const page = new DOMParser().parseFromString(await (await fetch(url, { headers: { accept: "text/html" } })).text(), "text/html");
      const fresh = page.querySelector("#draft-files"), drop = page.querySelector("file-drop");
      if (!fresh) return;
      this.querySelector("#draft-files").replaceWith(document.adoptNode(fresh));
      this.dataset.room = drop.dataset.room;
    }

    say(sentence) { this.querySelector("[data-uploads]").textContent = sentence; }
  }

  customElements.define("file-drop", FileDrop);
})();
