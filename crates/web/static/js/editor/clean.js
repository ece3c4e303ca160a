// What may be in a formatted mail of ours. Nothing of what was pasted is copied: every node is made from a list, and no
// style, class or id is ever written, so the page's policy has nothing to refuse. The service cleans once more.
(() => {
  "use strict";
  const rich = (window.rookery.rich ??= {});
  const names = (line) => line.split(" ");

  // What an element becomes; of one that is not here only what is inside.
  const BECOMES = { STRONG: "B", EM: "I", INS: "U", THEAD: "TBODY", TFOOT: "TBODY" };
  for (const name of names("B I U CODE DIV BLOCKQUOTE PRE UL OL LI BR HR TABLE TBODY TR TD TH")) BECOMES[name] = name;
  for (const name of names("P SECTION ARTICLE HEADER FOOTER ADDRESS CENTER DT DD H1 H2 H3 H4 H5 H6")) BECOMES[name] = "DIV";
  // Not even what is inside.
  const GONE = new Set([
    ...names("SCRIPT STYLE HEAD TITLE META LINK BASE TEMPLATE NOSCRIPT XML PARAM SOURCE TRACK COLGROUP COL"),
    ...names("SVG MATH IFRAME FRAME OBJECT EMBED APPLET AUDIO VIDEO CANVAS INPUT BUTTON SELECT TEXTAREA"),
  ]);
  const BLOCKS = new Set(names("DIV BLOCKQUOTE PRE UL OL LI TABLE TBODY TR TD TH HR"));
  const INLINE = "a, b, i, u, code";
  // Where the editor shows a picture of the draft, and what is kept of that: the name of its file.
  const SHOWN = "/pictures/", KEPT = "cid:";
  const DATA = /^data:image\/(?:png|jpeg|gif|webp);base64,/i;
  const DEEPEST = 40, LONGEST_LINK = 2048, LONGEST_ALT = 200;
  // Of a paste; what somebody wrote here has no end.
  const MOST_NODES = 20_000, LONGEST = 2_000_000;
  // Letters that nobody sees: control characters, and those that turn the direction of what follows.
  const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u200b\u202a-\u202e\u2066-\u2069]/g;

  // Nodes are made in a document that loads nothing and that no policy watches.
  const inert = document.implementation.createHTMLDocument("");
  const create = (name) => inert.createElement(name);

  // Where a mail may link to, as browsers write it; null if it is no such address.
  rich.link = (text) => {
    let address = null;
    try { address = new URL(text.trim()); } catch { return null; }
    const isKnown = ["http:", "https:", "mailto:", "tel:"].includes(address.protocol);
    return isKnown && !address.username && !address.password && address.href.length <= LONGEST_LINK ? address.href : null;
  };

  // A link whose words are its address says no more than they do: mail programs make it one anyway.
  rich.saysItself = (link) => {
    const text = link.textContent.trim(), to = rich.link(link.getAttribute("href") ?? "");
    return !!to && ["", "https://", "http://", "mailto:", "tel:"].some((scheme) => rich.link(scheme + text) === to);
  };

  // ---- lists of Word: each item is a paragraph, its level is in the style, its bullet a part to be ignored ----

  const styleOf = (node) => (node.getAttribute("data-own-style") ?? "").toLowerCase();
  const itemOf = (node) => {
    const [, list, level] = (node?.nodeName === "P" && /mso-list:\s*(l\d+) level([1-9])/.exec(styleOf(node))) || [];
    return list && { list, level: Number(level) };
  };

  // From the first of such paragraphs on: all of them become lists in its place.
  function wordList(first) {
    const place = create("div"), open = [];
    first.before(place);
    let { list } = itemOf(first);
    for (let node = first, item = itemOf(first); item; ) {
      const next = node.nextElementSibling;
      const mark = [...node.querySelectorAll("span")].find((span) => styleOf(span).includes("mso-list:ignore"));
      const kind = /^\s*[\p{L}\p{N}]{1,4}[.)]/u.test(mark?.textContent ?? "") ? "ol" : "ul";
      mark?.remove();
      if (item.level === 1) {
        // Another list right behind it.
        if (item.list !== list) open.length = 0;
        list = item.list;
      }
      open.length = Math.min(open.length, item.level);
      while (open.length < item.level) {
        const outer = open.at(-1), inner = create(kind);
        const parent = outer ? outer.lastElementChild ?? outer.appendChild(create("li")) : place;
        parent.append(inner);
        open.push(inner);
      }
      const line = create("li");
      line.append(...node.childNodes);
      open.at(-1).append(line);
      node.remove();
      [node, item] = [next, itemOf(next)];
    }
    place.replaceWith(...place.childNodes);
  }

  // ---- one node after the other ----

  // White space as it is shown. Browsers write a space that cannot break beside a change of format; one that somebody
  // typed is between letters.
  function copyText(node, into, keepsSpace) {
    if (keepsSpace) return copyLines(node, into);
    let text = node.data.replace(UNSEEN, "").replace(/[ \t\r\n\f]+/g, " ");
    if (node.nextSibling) text = text.replace(/(\S)\u00a0$/, "$1 ");
    if (node.previousSibling) text = text.replace(/^\u00a0(?=\S)/, " ");
    // Space between two blocks is no line.
    if (text && !(text === " " && BLOCKS.has(into.lastChild?.nodeName))) into.append(text);
  }

  // Every space and every line, also where they come from a style.
  function copyLines(node, into) {
    const text = node.data.replace(/\r\n?/g, "\n").replace(UNSEEN, "");
    if (into.closest?.("pre")) return into.append(text);
    text.split("\n").forEach((line, at) => {
      if (at) into.append(create("br"));
      if (line) into.append(line.replaceAll("\t", "    ").replace(/^ | (?= |$)/g, "\u00a0"));
    });
  }

  // The element that is made of one, without what is inside; null if only that counts.
  function elementOf(node, into, style) {
    const name = BECOMES[node.nodeName];
    if (node.nodeName === "A") {
      const to = rich.link(node.getAttribute("href") ?? ""), link = create("a");
      if (to) link.setAttribute("href", to);
      return to && link;
    }
    // Google Docs wraps everything in a <b> that is not bold.
    if (!name || (name === "B" && /font-weight:\s*(normal|400)/.test(style))) return null;
    const made = create(name);
    const turns = node.dir === "rtl" || (node.dir === "ltr" && into.closest?.("[dir=rtl]"));
    if (BLOCKS.has(name) && turns) made.dir = node.dir;
    if (name === "OL" && node.start > 1 && node.start < 10_000) made.start = node.start;
    return made;
  }

  // What a style says that has an element of its own.
  function meantBy(node, style) {
    if (/^H[1-6]$/.test(node.nodeName)) return ["b"];
    if (!["SPAN", "FONT", "P", "DIV"].includes(node.nodeName)) return [];
    const line = /text-decoration[^;]*:([^;]*)/.exec(style)?.[1] ?? "";
    return [
      /font-weight:\s*(bold|[6-9]00)/.test(style) && "b",
      /font-style:\s*italic/.test(style) && "i",
      line.includes("underline") && "u",
    ].filter(Boolean);
  }

  rich.pictureAt = (file) => SHOWN + file;

  // The file of a picture of a draft; nothing if it is another one.
  rich.pictureOf = (image) => {
    const source = (image.getAttribute("src") ?? "").replace(location.origin, "");
    const start = [SHOWN, KEPT].find((one) => source.startsWith(one));
    return start && /^[a-z0-9_]{1,40}$/.exec(source.slice(start.length))?.[0];
  };

  let numbered = 0;
  // A picture whose file is still to come. Its number finds it again, also after undo has made another node of it.
  rich.waitingPicture = (alt) => ({ alt: alt || "Picture", "data-waits": String((numbered += 1)) });

  function copyPicture(node, into, found) {
    const said = (node.getAttribute("alt") ?? "").replace(UNSEEN, "").replace(/\s+/g, " ").trim().slice(0, LONGEST_ALT).trim();
    // Mail programs draw smileys; what one is, they write beside it.
    if (/^\p{Extended_Pictographic}\S{0,20}$/u.test(said)) return void into.append(said);
    const file = rich.pictureOf(node), source = node.getAttribute("src") ?? "";
    const isOwn = file && found.has(file);
    // Of pages of ours and of what was pasted with its bytes the editor makes pictures of this draft.
    const isNear = !isOwn && found.near && (DATA.test(source) || file || /^\/messages\/[^/]+\/files\/\d+\/preview$/.test(source.replace(location.origin, "")));
    if (!isOwn && !isNear) {
      if (node.getAttribute("width") !== "1" && !node.dataset.waits) found.pictures += 1;
      return;
    }
    const image = create("img"), isSize = (value) => /^[1-9]\d{0,3}$/.test(value ?? "");
    const marks = isOwn ? { alt: said || "Picture", src: SHOWN + file } : rich.waitingPicture(said);
    if (!isOwn) found.near.push({ number: marks["data-waits"], source });
    // In the order that the service writes them in.
    for (const name of ["alt", "data-waits", "height", "src", "width"]) {
      const value = name in marks ? marks[name] : ["height", "width"].includes(name) && node.getAttribute(name);
      if (name in marks || isSize(value)) image.setAttribute(name, value);
    }
    into.append(image);
  }

  function copy(from, into, found, depth = 0, keepsSpace = false) {
    for (const node of from.childNodes) {
      if ((found.room -= 1) < 0) return;
      if (node.nodeType === Node.TEXT_NODE) copyText(node, into, keepsSpace);
      if (node.nodeType !== Node.ELEMENT_NODE || node.hidden || GONE.has(node.nodeName.toUpperCase())) continue;
      const style = styleOf(node), { nodeName } = node;
      if (/(?:^|;)\s*display:\s*none/.test(style)) continue;
      if (nodeName === "IMG") {
        copyPicture(node, into, found);
        continue;
      }
      const made = depth < DEEPEST ? elementOf(node, into, style) : null;
      if (made) into.append(made);
      if (nodeName === "BR" || nodeName === "HR") continue;
      let inner = made ?? into;
      for (const tag of meantBy(node, style)) if (!inner.closest?.(tag === "u" ? "u, a" : tag)) inner = inner.appendChild(create(tag));
      copy(node, inner, found, depth + 1, keepsSpace || nodeName === "PRE" || /white-space:\s*pre/.test(style));
    }
  }

  // ---- the form that is kept ----

  // A box around boxes says nothing, unless it has a direction; words beside boxes get one of their own.
  function unwrap(box) {
    if (box.dir || ![...box.children].some((child) => BLOCKS.has(child.nodeName))) return;
    let line = null;
    for (const child of [...box.childNodes]) {
      if (BLOCKS.has(child.nodeName)) {
        line = null;
      } else if (line) {
        line.append(child);
      } else if (child.nodeType === Node.TEXT_NODE && !child.data.trim()) {
        child.remove();
      } else {
        line = create("div");
        child.replaceWith(line);
        line.append(child);
      }
    }
    box.replaceWith(...box.childNodes);
  }

  // Nor does the box of an item's only line.
  function unwrapItem(item) {
    const box = item.firstChild;
    if (box?.nodeName !== "DIV" || box.dir || ![undefined, "UL", "OL"].includes(box.nextSibling?.nodeName)) return;
    box.replaceWith(...box.childNodes);
  }

  const isBlank = (node) => !node.textContent.trim() && !["HR", "IMG"].includes(node.nodeName) && !node.querySelector?.("hr, img");

  function cleaned(root, found) {
    const fragment = inert.createDocumentFragment();
    copy(root, fragment, found);
    // A list in a list belongs to the item before it.
    for (const list of fragment.querySelectorAll(":is(ul, ol) > :is(ul, ol)")) {
      if (list.previousElementSibling?.nodeName === "LI") list.previousElementSibling.append(list);
    }
    [...fragment.querySelectorAll("div")].reverse().forEach(unwrap);
    fragment.querySelectorAll("li").forEach(unwrapItem);
    // What is neither a word nor a line is not bold.
    for (const part of [...fragment.querySelectorAll(INLINE)].reverse()) if (isBlank(part)) part.replaceWith(...part.childNodes);
    // A break behind the last words of a line breaks nothing.
    for (const end of fragment.querySelectorAll("br:last-child")) {
      const before = end.previousSibling;
      if (before && !end.nextSibling && BLOCKS.has(end.parentNode.nodeName) && before.nodeName !== "BR" && !BLOCKS.has(before.nodeName)) end.remove();
    }
    // Nothing ends with blank lines.
    while (fragment.childNodes.length > 1 && isBlank(fragment.lastChild)) fragment.lastChild.remove();
    return fragment;
  }

  // What is in the editor, in the form that is kept.
  rich.cleanTree = (root) => cleaned(root, { room: Infinity, pictures: 0, has: () => true });

  // HTML: { fragment, pictures, near }: how many pictures were left out, and those whose files are still to come, if it takes
  // any. `has` says which files are of this draft; all of it is read if it was written here.
  rich.clean = (html, has, isWhole = false, takesPictures = true) => {
    // The parser would report style sheets, style attributes and handlers to the policy, and hide the styles from us, so
    // they are called something else before. In tags only: words such as "one = 1" are somebody's text.
    const renamed = (isWhole ? html : html.slice(0, LONGEST))
      .replace(/<!--\[if[^]*?<!\[endif\]-->/gi, "")
      .replace(/<style\b[^]*?<\/style\s*>/gi, "")
      .replace(/<[a-z][^<>]*>/gi, (tag) => tag.replace(/([\s"'/])(style|on[a-z]+)(\s*=)/gi, "$1data-own-$2$3"));
    const { body } = new DOMParser().parseFromString(renamed, "text/html");
    for (const line of [...body.querySelectorAll("p")]) if (line.isConnected && itemOf(line)) wordList(line);
    const found = { room: isWhole ? Infinity : MOST_NODES, pictures: 0, has, near: takesPictures ? [] : null };
    return { fragment: cleaned(body, found), pictures: found.pictures, near: found.near ?? [] };
  };

  rich.htmlOf = (fragment) => {
    const whole = create("div");
    whole.append(fragment.cloneNode(true));
    for (const image of whole.querySelectorAll("img")) image.setAttribute("src", KEPT + rich.pictureOf(image));
    return whole.innerHTML;
  };
})();
