// What several elements need: a node with its attributes and children, an icon of the sprite, the sentence of a refusal,
// and a way into the text that somebody writes. It is joined first, because files are joined by name.
(() => {
  "use strict";
  const rookery = (window.rookery ??= {});

  rookery.make = (name, attributes, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children.filter((child) => child));
    return node;
  };

  // The sprite's address has a hash in it; any icon of the page tells it.
  rookery.icon = (name, more = "") => {
    const sprite = document.querySelector("svg use")?.getAttribute("href")?.split("#")[0] ?? "";
    const [svg, use] = ["svg", "use"].map((part) => document.createElementNS("http://www.w3.org/2000/svg", part));
    svg.setAttribute("class", `icon ${more}`.trim());
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `${sprite}#${name}`);
    svg.append(use);
    return svg;
  };

  // What the page of a refusal says, if this is one.
  rookery.refusal = (page) => page.querySelector("body.door .door-card header p")?.textContent.trim() ?? "";

  // A blank of a saved reply, which is filled in by typing: {{first name}}
  rookery.BLANK = /\{\{[^{}\n]{1,60}\}\}/;

  // Where the text of a form is written: in the editor, else in the field itself. `before` is what is on the line before
  // the cursor; what is inserted replaces what is selected, in the editor with its formatting if it has one.
  const fieldOf = (field) => ({
    focus: () => field.focus(),
    before: () => field.value.slice(0, field.selectionStart).split("\n").at(-1),
    insert(text) {
      field.focus();
      field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
      field.dispatchEvent(new Event("input", { bubbles: true }));
    },
    selectBlank() {
      const blank = rookery.BLANK.exec(field.value);
      if (blank) field.setSelectionRange(blank.index, blank.index + blank[0].length);
    },
  });
  rookery.area = (form) => form.querySelector("rich-body")?.editor ?? fieldOf(form.elements.body);
})();
