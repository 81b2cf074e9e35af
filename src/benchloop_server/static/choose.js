// Choosing rows: <form data-choose="MOST"> with checkboxes; buttons with data-needs="N" rest until N rows are chosen.
for (const form of document.querySelectorAll("form[data-choose]")) {
  const most = Number(form.dataset.choose) || Infinity // "all";
  const buttons = [...document.querySelectorAll(`button[form="${form.id}"][data-needs]`)];
  const boxes = () => [...form.querySelectorAll("tbody input[type=checkbox]")];
  const whole = form.querySelector("thead input[type=checkbox]");
  const look = () => {
    const chosen = boxes().filter((box) => box.checked).length;
    for (const box of boxes()) box.disabled = !box.checked && chosen >= most;
    for (const button of buttons) {
      const needs = Number(button.dataset.needs);
      button.disabled = form.dataset.choose === button.dataset.needs ? chosen !== needs : chosen < needs;
    }
    for (const place of document.querySelectorAll("[data-chosen]")) place.textContent = chosen.toLocaleString("en").replaceAll(",", "\u202f");
    if (whole) { whole.checked = chosen > 0 && chosen === boxes().length; whole.indeterminate = chosen > 0 && !whole.checked; }
  };
  form.addEventListener("change", (event) => {
    if (event.target === whole) for (const box of boxes()) box.checked = whole.checked;
    look();
  });
  addEventListener("pageshow", look);
  look();
}
