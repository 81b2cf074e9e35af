// Filters count when they are opened: each chip fetches its choices once. Links in them lead to the list under that choice.
async function fill(chip, find = "") {
  const list = chip.querySelector(".chip-list");
  try {
    const answer = await fetch(chip.dataset.counts + (find ? `&${new URLSearchParams({ find })}` : ""));
    if (!answer.ok) throw new Error();
    const text = await answer.text();
    const made = new DOMParser().parseFromString(text, "text/html").body;
    list.replaceChildren(...made.childNodes);
  } catch {
    list.textContent = "The counts could not be had; close this and open it again.";
    delete chip.dataset.filled;
    return;
  }
  const search = list.querySelector("[data-find]");
  if (search) {
    let waiting;
    search.value = find;
    if (find) { search.focus(); search.setSelectionRange(find.length, find.length); }
    search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => fill(chip, search.value.trim()), 200); });
    search.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  }
}

document.addEventListener("toggle", (event) => {
  const chip = event.target;
  if (!chip.open || !chip.dataset.counts || chip.dataset.filled) return;
  chip.dataset.filled = "1";
  fill(chip);
}, true);

// The form of a range lies inside the form of the filters, where HTML allows none: it is read by hand.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.(".chip-range button");
  if (button) { event.preventDefault(); leave(button.closest(".chip-range")); }
});
document.addEventListener("keydown", (event) => {
  const range = event.key === "Enter" && event.target.closest?.(".chip-range");
  if (range) { event.preventDefault(); leave(range); }
});

function leave(range) {
  const wanted = new URLSearchParams();
  for (const field of range.querySelectorAll("input")) if (field.type === "hidden" || field.value.trim()) wanted.append(field.name, field.value.trim());
  location.assign(`${location.pathname}?${wanted}`);
}
