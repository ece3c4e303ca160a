// Pictures among files open over the page: a[data-picture] leads to one, and those of the same timeline or list follow each
// other. Arrows move, Escape closes and gives the focus back. Without script, or with Ctrl or ⌘, the link opens the file.
(() => {
  "use strict";
  const { make, icon } = window.rookery;

  function open(link) {
    const all = [...(link.closest("#timeline") ?? link.closest(".files")).querySelectorAll("a[data-picture]")];
    let at = all.indexOf(link);
    const button = (name, label) => make("button", { class: "btn btn--quiet btn--icon", type: "button", "aria-label": label, title: label }, icon(name));
    const picture = make("img", { class: "viewer__picture", alt: "" });
    const name = make("bdi", { class: "viewer__name clip" });
    const place = make("span", { class: "viewer__place", role: "status" });
    const problem = make("p", { class: "viewer__problem", role: "alert" });
    const download = make("a", { class: "btn btn--quiet btn--icon", download: "", "aria-label": "Download", title: "Download", "data-plain": "" }, icon("download"));
    const [close, before, after] = [button("x", "Close"), button("chevron-left", "Previous picture"), button("chevron-right", "Next picture")];
    const dialog = make("dialog", { class: "viewer", "aria-label": "Picture" },
      make("header", { class: "viewer__head" }, name, place, download, close),
      make("div", { class: "viewer__stage" }, before, picture, problem, after));

    function show(next) {
      at = (next + all.length) % all.length;
      const one = all[at];
      const file = one.title || one.textContent.trim();
      problem.textContent = "";
      picture.hidden = false;
      picture.src = one.href;
      picture.alt = file;
      name.textContent = file;
      place.textContent = all.length > 1 ? `${at + 1} of ${all.length}` : "";
      download.href = one.dataset.picture;
    }
    before.hidden = after.hidden = all.length < 2;
    picture.addEventListener("error", () => {
      picture.hidden = true;
      problem.textContent = "This picture can’t be shown. Download it to open it.";
    });
    before.addEventListener("click", () => show(at - 1));
    after.addEventListener("click", () => show(at + 1));
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => { if (event.target.matches(".viewer, .viewer__stage")) dialog.close(); });
    dialog.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by || all.length < 2 || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      show(at + by);
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      const back = all[at]?.isConnected ? all[at] : link;
      if (back.isConnected && back.checkVisibility()) back.focus();
    });
    document.body.append(dialog);
    show(at);
    dialog.showModal();
    close.focus();
  }

  // On the way down: the link would open a tab of its own.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-picture]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    open(link);
  }, true);
})();
