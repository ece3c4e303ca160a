// <pass-key data-begin="path" data-does="get|create">: asks the service for a challenge, has the device sign it or make a
// passkey, and sends its form with what came of it. Where the browser has no passkeys it stays hidden; every other way to
// sign in works without it. It stands alone, because the sign-in page has no other script.
(() => {
  "use strict";
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  class PassKey extends HTMLElement {
    #busy = false;

    connectedCallback() {
      const form = this.querySelector("form");
      if (!form || !window.PublicKeyCredential || !navigator.credentials) return;
      this.hidden = false;
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.#run(form);
      });
    }

    async #run(form) {
      if (this.#busy) return;
      this.#busy = true;
      this.#say("");
      try {
        const made = this.dataset.does === "create" ? await this.#create() : await this.#get();
        if (!made) return;
        for (const [name, value] of Object.entries(made)) form.elements[name].value = value;
        // A dialog sends it by itself.
        if (this.dispatchEvent(new CustomEvent("pass-key:made", { bubbles: true, cancelable: true, detail: { form } }))) form.submit();
      } catch (error) {
        this.#say(this.#sentence(error));
      } finally {
        this.#busy = false;
      }
    }

    async #options() {
      const answer = await fetch(this.dataset.begin, { method: "POST", headers: { accept: "application/json" } });
      const said = await answer.json().catch(() => ({}));
      if (!answer.ok) throw new Error(said.error ?? "The service did not answer. Try again.");
      const allowCredentials = said.allowCredentials?.map((one) => ({ ...one, id: bytes(one.id) }));
      return { ...said, challenge: bytes(said.challenge), ...(allowCredentials && { allowCredentials }) };
    }

    async #get() {
      const { rawId, response } = await navigator.credentials.get({ publicKey: await this.#options() });
      return {
        id: text(rawId),
        user_handle: text(response.userHandle ?? new ArrayBuffer(0)),
        client_data: text(response.clientDataJSON),
        authenticator_data: text(response.authenticatorData),
        signature: text(response.signature),
      };
    }

    async #create() {
      const publicKey = await this.#options();
      publicKey.user.id = bytes(publicKey.user.id);
      publicKey.excludeCredentials.forEach((one) => { one.id = bytes(one.id); });
      const { response } = await navigator.credentials.create({ publicKey });
      return { client_data: text(response.clientDataJSON), attestation: text(response.attestationObject) };
    }

    #sentence(error) {
      switch (error.name) {
        case "NotAllowedError": return "Nothing was done: it was cancelled, took too long, or there is no passkey here.";
        case "InvalidStateError": return "This device has a passkey of yours already.";
        case "SecurityError": return "This address cannot have passkeys.";
        default: return error.message || "That did not work. Try again.";
      }
    }

    #say(sentence) {
      const place = this.querySelector("[role=alert]");
      if (!place) return;
      place.hidden = !sentence;
      (place.querySelector("span") ?? place).textContent = sentence;
    }
  }
  customElements.define("pass-key", PassKey);
})();
