// <own-zone> around a list of time zones: chooses the browser's own, unless somebody chose one. Without script it stays UTC.
(() => {
  "use strict";
  class OwnZone extends HTMLElement {
    connectedCallback() {
      const list = this.querySelector("select");
      const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
      if (list?.value === "UTC" && [...list.options].some((option) => option.value === own)) list.value = own;
    }
  }
  customElements.define("own-zone", OwnZone);
})();
