// Single steps: their JSON beside them, and copying it.
async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
  return answer.text();
}

document.addEventListener("click", async (event) => {
  const raw = event.target.closest?.("[data-raw]");
  if (raw) {
    const step = raw.closest(".step");
    const there = step.querySelector("pre.raw");
    raw.setAttribute("aria-expanded", String(!there));
    if (there) return there.remove();
    const shown = Object.assign(document.createElement("pre"), { className: "raw", textContent: "…" });
    step.querySelector(".step-head").after(shown);
    try { shown.textContent = await fetched(raw.dataset.raw); } catch (error) { shown.textContent = error.message; }
  }
  const copying = event.target.closest?.("[data-copy-raw]");
  if (copying) {
    const before = copying.textContent;
    try {
      await navigator.clipboard.writeText(await fetched(copying.dataset.copyRaw));
      copying.textContent = "Copied";
    } catch { copying.textContent = "Not copied"; }
    setTimeout(() => { copying.textContent = before; }, 1500);
  }
});
