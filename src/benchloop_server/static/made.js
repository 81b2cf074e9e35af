// A key that was just made is shown here and nowhere again.
document.addEventListener("done", (event) => {
  const place = document.querySelector("[data-made]");
  if (!place || !event.detail.key) return;
  place.querySelector("[data-made-name]").textContent = event.detail.name;
  place.querySelector("[data-made-key]").textContent = event.detail.key;
  place.hidden = false;
  place.scrollIntoView({ block: "center" });
  event.target.reset();
});
