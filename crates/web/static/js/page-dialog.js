// A question that has a page of its own is put in a dialog over the page one is on: a link or a button with data-dialog
// fetches that page and shows the part of it that has data-dialog-part. Without script, or when the answer has no such
// part, it is the page. What is chosen in it is sent as any form is; Escape leaves everything as it was.
(() => {
  "use strict";
  const { make, icon, refusal } = window.rookery;
  let names = 0;
  // The form that a dialog is asked for by.
  let asking = null;
  // One question at a time: a second click while its page is fetched asks nothing.
  let busy = false;

  async function show(opener, request) {
    const here = location.href;
    const answer = await fetch(...request).catch(() => null);
    // The page went on meanwhile: nobody asks that any more.
    if (location.href !== here || !opener.isConnected) return true;
    if (!answer) return false;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = page.querySelector("[data-dialog-part]");
    if (!part || refusal(page) || document.querySelector("dialog[open]")) return false;
    const name = `dialog-${++names}`;
    // A menu that it was chosen in is done; it would have Escape.
    const menu = opener.closest?.("details.menu");
    if (menu) menu.open = false;
    const back = menu?.querySelector("summary") ?? opener;
    const close = make("button", { class: "btn btn--quiet btn--icon", type: "button", "aria-label": "Close" }, icon("x"));
    const title = make("h2", { class: "page-dialog__title", id: name }, page.querySelector("main h1")?.textContent.replace(/\s+/g, " ").trim() ?? "");
    const dialog = make("dialog", { class: "page-dialog", "aria-labelledby": name },
      make("header", { class: "page-dialog__head" }, title, close), document.adoptNode(part));
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => {
      dialog.remove();
      asking = null;
      document.dispatchEvent(new CustomEvent("dialog:closed"));
      if (back.isConnected && back.checkVisibility()) back.focus();
    });
    document.body.append(dialog);
    document.dispatchEvent(new CustomEvent("rookery:added", { detail: { part: dialog } }));
    dialog.showModal();
    (dialog.querySelector("[autofocus], [data-filter]") ?? dialog.querySelector(".menu__item, input:not([type=hidden]), button[type=submit]"))?.focus();
    return true;
  }

  // On the way down: the page would be gone to else.
  document.addEventListener("submit", async (event) => {
    const { submitter, target: form } = event;
    if (!submitter?.matches("[data-dialog]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (busy) return;
    busy = true;
    const body = new URLSearchParams(new FormData(form, submitter));
    const before = document.activeElement;
    const shown = await show(before, [form.action, { method: "POST", body, headers: { accept: "text/html" } }]).finally(() => { busy = false; });
    asking = shown ? form : null;
    if (shown) return;
    delete submitter.dataset.dialog;
    form.requestSubmit(submitter);
  }, true);
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-dialog]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (busy) return;
    busy = true;
    const shown = await show(link, [link.href, { headers: { accept: "text/html" } }]).finally(() => { busy = false; });
    if (!shown) location.assign(link.href);
  }, true);
  // What was chosen is done: the dialog goes, and nothing is picked any more.
  document.addEventListener("page:answered", (event) => {
    const dialog = event.detail.form?.closest?.("dialog.page-dialog");
    if (!dialog) return;
    asking?.reset();
    asking = null;
    dialog.remove();
  });
})();
