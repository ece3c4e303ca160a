// <rich-body data-editor>: a text that may be formatted, such as that of a mail. Its textarea is the form's field, and all there is
// without script. The editor is a script of its own (static/js/editor), which is fetched once, when the first of these is
// shown. It keeps its HTML in the field `html`; the field `rich`, which only the editor enables, says that the HTML holds.
// Pictures are sent to the address in `data-pictures`, else with the form's <file-drop>; without either there are none.
(() => {
  "use strict";
  const rookery = (window.rookery ??= {});
  const MARKS = ["placeholder", "aria-invalid", "autofocus"];
  let coming = null;

  const fetched = (address) => (coming ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", done);
    script.addEventListener("error", () => {
      coming = null;
      script.remove();
      failed();
    });
    document.head.append(script);
  }));

  class RichBody extends HTMLElement {
    editor = null;

    constructor() {
      super();
      // What is typed without the editor is only text, and newer than what was formatted.
      this.addEventListener("input", (event) => {
        const html = this.querySelector("textarea[name=html]");
        if (!this.editor && event.target !== html && event.target.matches("textarea") && html) html.value = "";
      });
    }

    connectedCallback() {
      // A page that is morphed puts the element in first, and then what is inside.
      queueMicrotask(() => this.open());
    }

    disconnectedCallback() {
      this.editor?.close();
      this.editor = null;
    }

    async open() {
      if (!this.isConnected || !this.dataset.editor) return;
      if (!rookery.edit) {
        // The bar of tools gets its room at once.
        this.dataset.coming = "";
        // Without it the text is written as it is.
        await fetched(this.dataset.editor).catch(() => {});
        delete this.dataset.coming;
      }
      if (this.isConnected && rookery.edit) this.editor ??= rookery.edit(this);
    }

    // The fields were filled by a script. With data-borrowed their pictures are those of another draft.
    read() { this.editor?.read(); }

    // What another page has in these fields, instead of being morphed into it.
    take(fresh) {
      let isOther = false;
      for (const field of fresh.querySelectorAll("textarea")) {
        const own = this.querySelector(`textarea[name=${field.name}]`);
        isOther ||= own.value !== field.value;
        [own.defaultValue, own.value] = [field.value, field.value];
        for (const name of MARKS) {
          if (field.hasAttribute(name)) own.setAttribute(name, field.getAttribute(name));
          else own.removeAttribute(name);
        }
      }
      this.editor?.dress();
      if (!isOther) return;
      delete this.dataset.borrowed;
      this.read();
    }
  }

  customElements.define("rich-body", RichBody);
})();
