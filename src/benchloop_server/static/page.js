// What every page does: forms that send JSON, copying, dialogs, the theme, keyboard shortcuts, suggestions, and news of a live page.
import { send } from "./send.js";
import { keys } from "./keys.js";

const root = document.documentElement;

function tell(text) {
  const notice = document.querySelector("[data-notice]");
  if (!notice) return;
  notice.textContent = text;
  notice.hidden = !text;
  if (text) notice.scrollIntoView({ block: "nearest" });
}

async function copy(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text });
    (button.closest("dialog") || document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}

export function toggleTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `benchloop_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
  document.dispatchEvent(new CustomEvent("theme"));
}

export function open(name) {
  document.getElementById(name)?.showModal();
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset?.send) return;
  event.preventDefault();
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) return;
  const fields = fieldsOf(form, event.submitter);
  const button = event.submitter || form.querySelector("button");
  if (button) button.disabled = true;
  tell("");
  try {
    const answer = await send(form.dataset.send, fields);
    if (answer.location) location.assign(answer.location);
    else form.dispatchEvent(new CustomEvent("done", { detail: answer, bubbles: true }));
  } catch (error) {
    tell(error.message);
  } finally {
    if (button) button.disabled = false;
  }
});

function fieldsOf(form, submitter) {
  const fields = {};
  for (const [name, value] of new FormData(form, submitter)) {
    if (name.endsWith("[]")) (fields[name.slice(0, -2)] ||= []).push(value);
    else fields[name] = value;
  }
  return fields;
}

document.addEventListener("click", (event) => {
  const at = (selector) => event.target.closest?.(selector);
  const copying = at("[data-copy]");
  if (copying) copy(copying, copying.dataset.copy);
  const copyingOf = at("[data-copy-of]");
  if (copyingOf) copy(copyingOf, copyingOf.previousElementSibling.textContent);
  const opening = at("[data-open]");
  if (opening) open(opening.dataset.open);
  if (at("[data-theme-toggle]")) toggleTheme();
  for (const chip of document.querySelectorAll(".chip[open]")) if (!chip.contains(event.target)) chip.open = false;
  if (event.target.nodeName === "DIALOG") event.target.close();
});

// A list that would leave the screen on the right opens to the left.
document.addEventListener("toggle", (event) => {
  const list = event.target.open && event.target.querySelector?.(".chip-list");
  if (!list) return;
  list.classList.remove("to-left");
  if (list.getBoundingClientRect().right > root.clientWidth - 8) list.classList.add("to-left");
  if (list.getBoundingClientRect().left < 8) list.classList.remove("to-left");
}, true);

// Copying a shortened id gives the whole one.
document.addEventListener("copy", (event) => {
  const chosen = getSelection();
  const at = chosen.anchorNode?.parentElement?.closest("[data-whole]");
  if (at && at.contains(chosen.focusNode) && chosen.toString().includes("…")) {
    event.clipboardData.setData("text/plain", at.dataset.whole);
    event.preventDefault();
  }
});

for (const code of document.querySelectorAll("[data-curl]")) {
  code.textContent = `curl -H "X-API-Key: $BENCHLOOP_API_KEY" '${location.origin}${code.dataset.curl.replaceAll("'", "%27")}'`;
}
for (const note of document.querySelectorAll("[data-insecure]")) note.hidden = window.isSecureContext;

function suggestions(input) {
  let waiting, list;
  const close = () => { list?.remove(); list = null; };
  const show = (groups) => {
    close();
    if (!groups.length) return;
    list = document.createElement("ul");
    list.className = "suggest";
    for (const group of groups.slice(0, 12)) {
      const link = Object.assign(document.createElement("a"), { href: `/groups/${encodeURIComponent(group.group_id)}`, textContent: group.name });
      if (/\.(json|html)$/.test(group.group_id)) link.href += ".html";
      link.title = group.group_id;
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    input.parentElement.append(list);
  };
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    const text = input.value.trim();
    if (!text) return close();
    waiting = setTimeout(async () => {
      try {
        const found = await fetch(`${input.dataset.suggest}?${new URLSearchParams({ search: text, limit: 12 })}`);
        if (found.ok && input.value.trim() === text) show((await found.json()).rows.map((row) => row.group));
      } catch { /* Suggestions are a convenience; Enter searches all the same. */ }
    }, 150);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key === "ArrowDown" && list) { event.preventDefault(); list.querySelector("a").focus(); }
  });
  input.form.addEventListener("keydown", (event) => {
    if (!event.target.matches(".suggest a") || !["ArrowDown", "ArrowUp", "Escape"].includes(event.key)) return;
    event.preventDefault();
    const item = event.target.parentElement;
    const next = event.key === "ArrowDown" ? item.nextElementSibling : item.previousElementSibling;
    if (event.key !== "Escape" && next) next.firstChild.focus();
    else { input.focus(); if (event.key === "Escape") close(); }
  });
  document.addEventListener("click", (event) => { if (!input.form.contains(event.target)) close(); });
}
for (const input of document.querySelectorAll("[data-suggest]")) suggestions(input);

keys({ toggleTheme, open });

// A page about something that still grows draws itself anew when there is news, unless somebody is using it just now.
async function look() {
  const { news, version } = document.body.dataset;
  const busy = document.hidden || document.querySelector("dialog[open], .chip[open]") || document.activeElement?.matches("input, select, textarea");
  if (busy || getSelection().toString()) return;
  if (!news) return location.reload();
  try {
    const answer = await fetch(news);
    if (answer.ok && (await answer.json()).version !== version) location.reload();
  } catch { /* The next look may reach the server. */ }
}
if (document.body.dataset.live) setInterval(look, 1000 * Number(document.body.dataset.live));
