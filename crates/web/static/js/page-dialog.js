// A question that has a page of its own is put in a dialog over the page one is on: a link or a button with data-dialog
// fetches that page and shows the part of it that has data-dialog-part. Without script, or when the answer has no such
// part, it is the page. What is chosen in it is sent as any form is; a refusal is said in it, and the question again is
// shown in it. A link or a button with data-dialog-step leads to its next part. Escape leaves everything as it was.
(() => {
  "use strict";
  const { make, icon, refusal } = window.rookery;
  const LOST = "The service can’t be reached. Check your connection and try again.";
  const HTML = { accept: "text/html" };
  let names = 0;
  // The form that a dialog is asked for by.
  let asking = null;
  // One question at a time: a second click while its page is fetched asks nothing.
  let busy = false;

  const parsed = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html");
  const partOf = (page) => page.querySelector("[data-dialog-part]");
  const titleOf = (page) => page.querySelector("main h1")?.textContent.replace(/\s+/g, " ").trim() ?? "";
  const added = (part) => document.dispatchEvent(new CustomEvent("rookery:added", { detail: { part } }));
  const dialogOf = (element) => element?.closest?.("dialog.page-dialog");

  async function show(opener, request) {
    const here = location.href;
    const answer = await fetch(...request).catch(() => null);
    // The page went on meanwhile: nobody asks that any more.
    if (location.href !== here || !opener.isConnected) return true;
    if (!answer) return false;
    const page = await parsed(answer);
    const part = partOf(page);
    if (!part || refusal(page) || document.querySelector("dialog[open]")) return false;
    const name = `dialog-${++names}`;
    // A menu that it was chosen in is done; it would have Escape.
    const menu = opener.closest?.("details.menu");
    if (menu) menu.open = false;
    const back = menu?.querySelector("summary") ?? opener;
    const close = make("button", { class: "btn btn--quiet btn--icon", type: "button", "aria-label": "Close" }, icon("x"));
    const title = make("h2", { class: "page-dialog__title", id: name, tabindex: "-1" }, titleOf(page));
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
    added(dialog);
    dialog.showModal();
    (dialog.querySelector("[autofocus], [data-filter]") ?? dialog.querySelector(".menu__item, input:not([type=hidden]), button[type=submit]"))?.focus();
    return true;
  }

  // What was refused is said here: nobody sees what is behind the dialog.
  function say(dialog, sentence) {
    dialog.querySelector(".page-dialog__problem")?.remove();
    if (!sentence) return;
    const problem = make("p", { class: "page-dialog__problem", role: "alert" }, icon("triangle-alert"), make("span", {}, sentence));
    dialog.querySelector(".page-dialog__head").after(problem);
  }

  // Another part of the question, or the same once more, takes the place of the one before.
  function put(dialog, part) {
    const title = dialog.querySelector(".page-dialog__title");
    title.textContent = titleOf(part.ownerDocument);
    dialog.lastElementChild.replaceWith(document.adoptNode(part));
    added(part);
    dialog.scrollTop = 0;
    // Never on its button: a second Enter would have answered.
    (part.querySelector("[autofocus]") ?? part.querySelector("input:not([type=hidden])") ?? title).focus();
  }

  async function step(dialog, request) {
    const answer = await fetch(...request).catch(() => null);
    if (!dialog.isConnected) return true;
    if (answer && new URL(answer.url).pathname.startsWith("/sign-in")) return false;
    const page = answer && (await parsed(answer));
    const sentence = page ? refusal(page) : LOST;
    const part = page && partOf(page);
    if (!sentence && !part) return false;
    say(dialog, sentence);
    if (sentence) return true;
    put(dialog, part);
    return true;
  }

  async function once(ask) {
    if (busy) return true;
    busy = true;
    return ask().finally(() => { busy = false; });
  }
  // Before anything else hears of it: the page would be gone to else.
  function keep(event) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  document.addEventListener("submit", async (event) => {
    const { submitter, target: form } = event;
    const dialog = dialogOf(form);
    if (dialog && submitter?.matches("[data-dialog-step]")) {
      keep(event);
      const address = new URL(form.action);
      address.search = new URLSearchParams(new FormData(form, submitter));
      if (!(await once(() => step(dialog, [address, { headers: HTML }])))) location.assign(address);
      return;
    }
    if (!submitter?.matches("[data-dialog]")) return;
    keep(event);
    if (busy) return;
    const body = new URLSearchParams(new FormData(form, submitter));
    // In Safari no button has the focus that was clicked.
    const before = document.activeElement === document.body ? submitter : document.activeElement;
    const shown = await once(() => show(before, [form.action, { method: "POST", body, headers: HTML }]));
    // What somebody writes is never taken back: the answer brings it as it was saved.
    asking = shown && !form.closest("draft-keeper") ? form : null;
    if (shown) return;
    delete submitter.dataset.dialog;
    form.requestSubmit(submitter);
  }, true);
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-dialog], a[data-dialog-step]");
    const dialog = dialogOf(link);
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || (!dialog && !link.matches("[data-dialog]"))) return;
    keep(event);
    const request = [link.href, { headers: HTML }];
    if (!(await once(() => (dialog ? step(dialog, request) : show(link, request))))) location.assign(link.href);
  }, true);
  // What was chosen is done: the dialog goes, and nothing is picked any more.
  document.addEventListener("page:answered", (event) => {
    const dialog = dialogOf(event.detail.form);
    if (!dialog) return;
    asking?.reset();
    asking = null;
    dialog.remove();
  });
  // Something in it has to be put right first: that is said in it.
  document.addEventListener("page:again", ({ detail: { form, part } }) => {
    const dialog = dialogOf(form);
    if (!dialog?.isConnected) return;
    say(dialog, "");
    put(dialog, part);
    part.querySelector("[role=alert]:not([hidden])")?.scrollIntoView({ block: "nearest" });
  });
  document.addEventListener("page:refused", (event) => {
    const dialog = dialogOf(event.detail.form);
    if (!dialog) return;
    event.preventDefault();
    say(dialog, event.detail.sentence);
  });
})();
