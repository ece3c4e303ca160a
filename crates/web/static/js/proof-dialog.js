// Forms and links with data-proof need a person who has shown a moment ago who they are; data-proof="field" only when that
// field is sent. The service is asked first. If it does not know, a dialog over the page asks, and what was typed stays in
// the page: it is sent afterwards, once. Without script, or when there is no such dialog, the service asks on a page.
(() => {
  "use strict";
  const { make, icon } = window.rookery;
  const WAY = "/sign-in/again";
  const OUT = "You’ve been signed out. Sign in in another tab, then try again: what you typed stays here.";
  const LOST = "The service can’t be reached. Check your connection and try again.";
  // One question at a time.
  let busy = false;
  // The form that goes on now.
  let going = null;

  const asks = (form, submitter) => form.matches("[data-proof]") && !submitter?.hasAttribute("formaction")
    && (!form.dataset.proof || new FormData(form, submitter).has(form.dataset.proof));
  const ask = (more = {}) => fetch(WAY, { ...more, headers: { accept: "text/html", "x-proof": "dialog" } }).catch(() => null);
  const partOf = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-proof-part]");

  // True once the service knows who it is, false when they turned away, and null when there is no dialog for it.
  async function prove(opener, what) {
    const answer = await ask();
    if (answer?.status === 204) return true;
    const part = answer && (await partOf(answer));
    if (!part || document.querySelector("dialog[open]")) return null;
    return new Promise((done) => show(part, opener, what, done));
  }

  function show(first, opener, what, done) {
    let part = document.adoptNode(first);
    let proven = false;
    let sending = false;
    const close = make("button", { class: "btn btn--quiet btn--icon", type: "button", "aria-label": "Cancel" }, icon("x"));
    const title = make("h2", { class: "page-dialog__title", id: "proof-title" }, "Confirm it’s you");
    const dialog = make("dialog", { class: "page-dialog", "aria-labelledby": "proof-title" }, make("header", { class: "page-dialog__head" }, title, close), part);

    const say = (sentence) => {
      const place = part.querySelector("#proof-problem");
      place.hidden = !sentence;
      place.querySelector("span").textContent = sentence;
    };
    const name = () => {
      if (what) part.querySelector("[data-proof-what]")?.replaceChildren("To continue with ", make("b", {}, what), ".");
    };
    const focus = () => (part.querySelector("[autofocus]") ?? part.querySelector("pass-key:not([hidden]) button, input:not([type=hidden]):not([hidden]), a[href]"))?.focus();
    const succeed = () => {
      proven = true;
      dialog.close();
    };
    const send = async (form) => {
      if (sending) return;
      sending = true;
      say("");
      const typed = new FormData(form);
      const answer = await ask({ method: "POST", body: new URLSearchParams(typed) });
      sending = false;
      if (!dialog.isConnected) return;
      if (answer?.status === 204) return succeed();
      const fresh = answer && (await partOf(answer));
      if (!fresh) return say(answer ? OUT : LOST);
      // What was right is not typed again.
      for (const field of fresh.querySelectorAll("input:not([type=hidden]):not([hidden], [aria-invalid])")) {
        if (typed.has(field.name)) field.value = typed.get(field.name);
      }
      part.replaceWith(document.adoptNode(fresh));
      part = fresh;
      name();
      focus();
    };

    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", async (event) => {
      if (event.target === dialog) return dialog.close();
      if (!event.target.closest("[data-proof-go]")) return;
      const answer = await ask();
      if (answer?.status === 204) succeed();
      else say(answer ? "Sign in again first, then continue." : LOST);
    });
    dialog.addEventListener("submit", (event) => {
      // What a passkey signs comes by the event below.
      if (event.defaultPrevented) return;
      event.preventDefault();
      send(event.target);
    });
    dialog.addEventListener("pass-key:made", (event) => {
      event.preventDefault();
      send(event.detail.form);
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      document.dispatchEvent(new CustomEvent("dialog:closed"));
      if (opener?.isConnected && opener.checkVisibility()) opener.focus();
      done(proven);
    });
    document.body.append(dialog);
    name();
    dialog.showModal();
    focus();
  }

  async function once(opener, what) {
    busy = true;
    return prove(opener, what).finally(() => { busy = false; });
  }
  const words = (element) => {
    const copy = element?.cloneNode(true);
    copy?.querySelectorAll(".sr-only, svg").forEach((part) => part.remove());
    const text = copy?.textContent.replace(/\s+/g, " ").trim();
    return text ? `“${text}”` : "";
  };

  // On the way down: the form would be sent else.
  document.addEventListener("submit", async (event) => {
    const { submitter, target: form } = event;
    if (form === going || !asks(form, submitter)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (busy || (await once(submitter ?? form, words(submitter))) === false || !form.isConnected) return;
    going = form;
    form.requestSubmit(submitter?.isConnected ? submitter : undefined);
    going = null;
  }, true);
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-proof]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (busy || (await once(link, words(link))) === false) return;
    location.assign(link.href);
  }, true);
})();
