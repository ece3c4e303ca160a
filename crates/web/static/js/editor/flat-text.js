// Formatted words as text, and text as something to format. The text of a mail has lines as they were typed, "> " before a
// quote, "- " or "1. " before an item, a tab between cells, and behind a link where it leads, unless its words say so.
(() => {
  "use strict";
  const rich = (window.rookery.rich ??= {});
  const BLOCKS = new Set("DIV BLOCKQUOTE PRE UL OL LI TABLE TBODY TR HR".split(" "));

  class Lines {
    all = [];
    isOpen = false;
    // Of everything that one is in: what its first line begins with, and what the others do.
    margins = [];

    end() { this.isOpen = false; }

    write(text) {
      if (this.isOpen) {
        this.all.push(this.all.pop() + text);
        return;
      }
      let margin = "";
      for (const one of this.margins) {
        margin += one.first;
        one.first = one.then;
      }
      this.all.push(text ? margin + text : margin.trimEnd());
      this.isOpen = true;
    }

    inside(node, first, then) {
      const margin = { first, then };
      this.margins.push(margin);
      addAll(node, this);
      // An item that says nothing is an item too.
      if (margin.first !== then) this.write("");
      this.margins.pop();
    }
  }

  function add(node, lines) {
    const name = node.nodeName;
    if (name === "BR") {
      // It ends a line, and is one itself if there is none.
      lines.write("");
      return lines.end();
    }
    if (BLOCKS.has(name)) lines.end();
    if (name === "IMG") {
      lines.write(`[${node.alt}]`);
    } else if (name === "HR") {
      lines.write("---");
    } else if (name === "LI") {
      const list = node.parentNode, number = (list.start || 1) + [...list.children].indexOf(node);
      const first = list.nodeName === "OL" ? `${number}. ` : "- ";
      lines.inside(node, first, " ".repeat(first.length));
    } else if (name === "BLOCKQUOTE") {
      lines.inside(node, "> ", "> ");
    } else if (name === "TD" || name === "TH") {
      lines.write(node.textContent.trim() + (node.nextElementSibling ? "\t" : ""));
    } else {
      addAll(node, lines);
    }
    if (name === "A" && !rich.saysItself(node)) lines.write(` <${node.getAttribute("href")}>`);
    if (BLOCKS.has(name)) lines.end();
  }

  function addAll(parent, lines) {
    for (const node of parent.childNodes) {
      if (node.nodeType === Node.ELEMENT_NODE) add(node, lines);
      if (node.nodeType !== Node.TEXT_NODE || !node.data) continue;
      node.data.replaceAll("\u00a0", " ").split("\n").forEach((line, at) => {
        if (at) lines.end();
        lines.write(line);
      });
    }
  }

  // The text of a tree that was cleaned.
  rich.textOf = (root) => {
    const lines = new Lines();
    addAll(root, lines);
    return lines.all.join("\n").trimEnd();
  };

  // A link of which the service and mail programs make one again.
  const isText = (link) => rich.saysItself(link) && /^(https?:|[^\s:/]+@)/i.test(link.textContent.trim());

  // Whether a tree that was cleaned says no more than its text: such mail is kept and sent as text.
  rich.isPlain = (root) =>
    !root.querySelector("b, i, u, code, ul, ol, blockquote, pre, hr, table, img") && [...root.querySelectorAll("a")].every(isText);

  // Text as HTML, a box for every line. Spaces at its ends and side by side would not be seen otherwise.
  const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  const boxed = (line) => line.replaceAll("\t", "    ").replace(/[&<>]/g, (sign) => SIGNS[sign]).replace(/^ | (?= |$)/g, "&nbsp;");
  rich.boxes = (text) => text.split("\n").map((line) => `<div>${boxed(line) || "<br>"}</div>`).join("");
})();
