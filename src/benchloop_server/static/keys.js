// Keyboard shortcuts. They rest while somebody types or a dialog is open.
const rows = () => [...document.querySelectorAll("tbody tr[data-row]")];

function move(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.classList.contains("is-here"));
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  all[at]?.classList.remove("is-here");
  next.classList.add("is-here");
  next.querySelector("a")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

export function keys({ toggleTheme, open }) {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input:not([type=checkbox]), select, textarea, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const press = (selector) => document.querySelector(selector)?.click();
    const actions = {
      "?": () => open("shortcuts"),
      "/": () => document.querySelector(".bar-find input")?.focus(),
      j: () => move(1),
      k: () => move(-1),
      x: () => press("tr.is-here input[type=checkbox]"),
      n: () => press("a[rel=next]"),
      p: () => press("a[rel=prev]"),
      g: () => location.assign("/groups"),
      c: () => open("by-command"),
      t: toggleTheme,
      Escape: () => document.querySelectorAll(".chip[open]").forEach((chip) => { chip.open = false; }),
    };
    if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  });
}
