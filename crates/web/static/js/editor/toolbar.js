// The tools of the editor: a row of buttons that is one stop of the Tab key, and the questions where a link leads to and
// what a picture shows.
(() => {
  "use strict";
  const { make, icon, rich } = window.rookery;
  const mod = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl+";
  // The icon, what it is called, the element it makes, and its keys.
  const TOOLS = [
    ["bold", "Bold", "B", `${mod}B`],
    ["italic", "Italic", "I", `${mod}I`],
    ["link", "Link", "A", `${mod}K`],
    ["list", "Bulleted list", "UL", `${mod}Shift+8`],
    ["list-ordered", "Numbered list", "OL", `${mod}Shift+9`],
    ["text-quote", "Quote", "BLOCKQUOTE", `${mod}]`],
    ["image", "Picture", "IMG", ""],
    ["remove-formatting", "Clear formatting", "", ""],
  ];

  // `act` is called with the element that a button makes, or with "" to clear; `leave` when Escape is pressed. Without
  // `pictures` there is no button for them. The bar has `show(isOn)`, which asks for every button that stays pressed.
  rich.toolbar = ({ act, leave, pictures }) => {
    const bar = make("div", { class: "rich__bar", role: "toolbar", "aria-label": "Formatting" });
    for (const [name, label, tag, keys] of TOOLS.filter(([, , made]) => pictures || made !== "IMG")) {
      const title = keys ? `${label} (${keys})` : label;
      const button = make("button", { type: "button", class: "btn btn--quiet btn--icon btn--small", "aria-label": label, title, "data-tag": tag, tabindex: "-1" }, icon(name, "icon--s"));
      if (tag && tag !== "A" && tag !== "IMG") button.setAttribute("aria-pressed", "false");
      bar.append(button);
    }
    const buttons = [...bar.children];
    buttons[0].tabIndex = 0;
    // The text keeps its selection.
    bar.addEventListener("mousedown", (event) => event.preventDefault());
    bar.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) act(button.dataset.tag);
    });
    bar.addEventListener("keydown", (event) => {
      const at = buttons.indexOf(event.target), last = buttons.length - 1;
      const [ahead, back] = getComputedStyle(bar).direction === "rtl" ? ["ArrowLeft", "ArrowRight"] : ["ArrowRight", "ArrowLeft"];
      const to = { [ahead]: at === last ? 0 : at + 1, [back]: at ? at - 1 : last, Home: 0, End: last }[event.key];
      if (event.key !== "Escape" && (to === undefined || at < 0)) return;
      event.preventDefault();
      if (to === undefined) return leave();
      buttons.forEach((button, place) => { button.tabIndex = place === to ? 0 : -1; });
      buttons[to].focus();
    });
    bar.show = (isOn) => {
      for (const button of buttons.filter((one) => one.hasAttribute("aria-pressed"))) button.setAttribute("aria-pressed", String(isOn(button.dataset.tag)));
    };
    return bar;
  };

  // A click on a button of the row leaves the focus in the field or the text, so that letters are written there.
  const keepFocus = (row) => row.addEventListener("mousedown", (event) => { if (event.target.closest("button")) event.preventDefault(); });

  // `set` is called with an address, `remove` without; `leave` before either and when Escape is pressed. The row has
  // `ask(address)`, which shows it.
  rich.linkRow = ({ set, remove, leave, say }) => {
    const field = make("input", {
      class: "input", type: "text", inputmode: "url", autocapitalize: "off", spellcheck: "false",
      "aria-label": "Link address", placeholder: "https://",
    });
    const save = make("button", { type: "button", class: "btn btn--small" }, "Save link");
    const drop = make("button", { type: "button", class: "btn btn--quiet btn--small" }, "Remove link");
    const row = make("div", { class: "rich__ask", role: "group", "aria-label": "Link" }, field, save, drop);
    row.hidden = true;
    keepFocus(row);
    const close = () => {
      row.hidden = true;
      field.removeAttribute("aria-invalid");
      say("");
      leave();
    };
    const typed = () => {
      const text = field.value.trim();
      // What is before a colon and a number is a host.
      if (/^(?:tel:|[a-z][a-z0-9+.-]*:(?!\d))/i.test(text)) return rich.link(text);
      return rich.link(`${text.includes("@") && !text.includes("/") ? "mailto:" : "https://"}${text}`);
    };
    const finish = () => {
      const to = typed();
      if (!to) {
        field.setAttribute("aria-invalid", "true");
        return say("Enter a web address or an email address.");
      }
      close();
      set(to);
    };
    save.addEventListener("click", finish);
    drop.addEventListener("click", () => {
      close();
      remove();
    });
    row.addEventListener("keydown", (event) => {
      const isEnter = event.key === "Enter" && event.target === field && !event.ctrlKey && !event.metaKey;
      if (!isEnter && event.key !== "Escape") return;
      event.preventDefault();
      if (isEnter) finish();
      else close();
    });
    row.ask = (address) => {
      row.hidden = false;
      drop.hidden = !address;
      field.value = address;
      field.focus();
      field.select();
    };
    return row;
  };

  // Of a picture what it shows, how wide it is, or that it goes. `ask(image)` shows the row; `leave` when it is done with.
  rich.pictureRow = ({ leave }) => {
    let image = null;
    const field = make("input", { class: "input", type: "text", maxlength: "200", "aria-label": "What the picture shows", placeholder: "What does it show?" });
    const button = (words, act) => {
      const made = make("button", { type: "button", class: "btn btn--quiet btn--small" }, words);
      made.addEventListener("click", act);
      return made;
    };
    const finish = () => {
      row.hidden = true;
      leave();
    };
    // Also when somebody goes on elsewhere.
    const save = () => {
      const said = field.value.trim();
      if (image && said) image.setAttribute("alt", said);
    };
    field.addEventListener("change", save);
    const resize = (most) => () => image && rich.resize(image, most);
    const done = make("button", { type: "button", class: "btn btn--small" }, "Save");
    done.addEventListener("click", () => {
      save();
      finish();
    });
    const row = make(
      "div", { class: "rich__ask", role: "group", "aria-label": "Picture" }, field, done,
      button("Small", resize(240)), button("Medium", resize(600)), button("Original size", resize(4000)),
      button("Remove picture", () => {
        image?.remove();
        finish();
      }),
    );
    row.hidden = true;
    keepFocus(row);
    row.addEventListener("keydown", (event) => {
      const isEnter = event.key === "Enter" && event.target === field && !event.ctrlKey && !event.metaKey;
      if (!isEnter && event.key !== "Escape") return;
      event.preventDefault();
      if (isEnter) save();
      else field.value = image?.alt ?? "";
      finish();
    });
    row.ask = (asked) => {
      image = asked;
      row.hidden = false;
      field.value = image.alt;
    };
    row.write = () => {
      field.focus();
      field.select();
    };
    return row;
  };

  // No wider than that, nor than the picture itself.
  rich.resize = (image, most) => {
    if (!image.naturalWidth) return;
    const width = Math.min(image.naturalWidth, most);
    image.setAttribute("width", width);
    image.setAttribute("height", Math.max(1, Math.round((image.naturalHeight * width) / image.naturalWidth)));
  };
})();
