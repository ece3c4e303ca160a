// Menus are <details class="menu">: Escape and a click elsewhere close them.
(() => {
  const close = (except) => document.querySelectorAll("details.menu[open]").forEach((menu) => {
    if (menu !== except) menu.open = false;
  });
  document.addEventListener("click", (event) => close(event.target.closest("details.menu")));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const open = document.querySelector("details.menu[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });
})();
