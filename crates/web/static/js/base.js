// What several elements need: a node with its attributes and children, an icon of the sprite, and the sentence of a
// refusal. It is joined first, because files are joined by name.
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
})();
