// Picking rows: says how many are picked, and takes a whole range with Shift. The boxes and the form work without it.
(() => {
  let last = null;
  const boxes = (list) => [...list.querySelectorAll(".item .check")];
  const tell = (list) => {
    const count = boxes(list).filter((box) => box.checked).length;
    const all = list.querySelector("[name=all]")?.checked;
    const told = list.querySelector("[data-picked]");
    if (told) told.textContent = all ? "All picked" : `${count} picked`;
  };
  // A key does to the row that has the focus what its button does to the picked ones: it is picked for that only.
  let lent = null;
  document.addEventListener("click", (event) => {
    const list = event.target.closest?.(".bulk [name=act]")?.closest(".list");
    if (list) lent = null;
    if (!list || boxes(list).some((box) => box.checked) || list.querySelector("[name=all]")?.checked) return;
    const box = document.activeElement?.closest?.(".item")?.querySelector(".check");
    if (!box) {
      event.preventDefault();
      return;
    }
    box.checked = true;
    lent = box;
    tell(list);
  }, true);
  document.addEventListener("dialog:closed", () => {
    if (!lent?.isConnected) return;
    lent.checked = false;
    tell(lent.closest(".list"));
    lent = null;
  });
  document.addEventListener("click", (event) => {
    const box = event.target.closest?.(".list .item .check");
    if (!box) return;
    const all = boxes(box.closest(".list"));
    if (event.shiftKey && all.includes(last)) {
      const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
      all.slice(from, to + 1).forEach((each) => { each.checked = box.checked; });
    }
    last = box;
  });
  document.addEventListener("change", (event) => {
    const list = event.target.closest?.(".list");
    if (list) tell(list);
  });
  document.addEventListener("reset", (event) => {
    const list = event.target.closest?.(".list");
    if (list) setTimeout(() => tell(list));
  });
})();
