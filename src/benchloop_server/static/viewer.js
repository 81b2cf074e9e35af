// The trajectory of a job: windows of steps fetched as one moves, the outline, the ribbon with errors and loops, searching, keys.
const way = document.querySelector("[data-viewer]");
if (way) start(way);

function start(way) {
  const base = way.dataset.viewer, total = Number(way.dataset.total), filter = way.dataset.filter;
  const list = way.querySelector("[data-steps]"), where = way.querySelector("[data-where]");
  const MOST = 5, ROW = 24, PART = 200;
  let marks = null, marksComing = null, busy = false, here = null, settled = false;

  const parts = () => [...list.querySelectorAll(".steps-part")];
  const steps = () => [...list.querySelectorAll(".step")];
  const first = () => Number(parts()[0].dataset.first), last = () => Number(parts().at(-1).dataset.last);
  const idOf = (number) => marks?.ids ? marks.ids[number] : number + 1;
  const stepOf = (id) => document.getElementById(`s-${id}`);

  async function html(address) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error((await answer.text()).slice(0, 200));
    const made = document.createElement("template");
    made.innerHTML = await answer.text();  // Our own template: every text in it is escaped by the server.
    return made.content.firstElementChild;
  }
  const windowAt = (name, id) => html(`${base}window?${new URLSearchParams({ [name]: id })}${filter.replace("?", "&")}`);

  // ---- windows ----
  function ends() {
    const earlier = way.querySelector("[data-earlier]"), later = way.querySelector("[data-later]");
    if (earlier) earlier.hidden = first() === 0;
    if (later) later.hidden = last() + 1 >= total;
  }

  async function extend(down) {
    if (busy || (down ? last() + 1 >= total : first() === 0)) return;
    busy = true;
    try {
      const edge = down ? steps().at(-1) : steps()[0];
      const number = Number(edge.dataset.number);
      const more = down ? await windowAt("from", nextId(edge, 1)) : await windowAt("before", edge.dataset.step);
      mark(more);
      const anchor = steps().find((step) => step.getBoundingClientRect().bottom > 0) || edge;
      const before = anchor.getBoundingClientRect().top;
      if (down && Number(more.dataset.first) === number + 1) { list.append(more); if (parts().length > MOST) parts()[0].remove(); }
      if (!down && Number(more.dataset.last) === number - 1) { list.prepend(more); if (parts().length > MOST) parts().at(-1).remove(); }
      if (anchor.isConnected) scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
      ends();
    } catch { /* The next scroll tries again. */ } finally { busy = false; }
  }
  const nextId = (step, by) => marks?.ids ? marks.ids[Number(step.dataset.number) + by] : Number(step.dataset.step) + by;

  async function go(id, { cite = true, push = true } = {}) {
    let step = stepOf(id);
    if (!step) {
      const part = await windowAt("at", id).catch(() => null);
      if (!part) return;
      mark(part);
      list.replaceChildren(part);
      ends();
      step = stepOf(id);
    }
    if (!step) return;
    for (const other of list.querySelectorAll(".is-cited")) other.classList.remove("is-cited");
    if (cite) {
      step.classList.add("is-cited");
      const calls = [...step.querySelectorAll(".call")], wrong = calls.filter((call) => call.classList.contains("is-error"));
      for (const call of wrong.length ? wrong : calls.slice(0, 3)) call.open = true;
    }
    select(step, false);
    toMiddle(step);
    step.focus({ preventScroll: true });
    if (push) {
      const query = new URLSearchParams(filter);
      query.set("at", id);
      history.replaceState(null, "", `${location.pathname}?${query}#s-${id}`);
    }
  }

  const TOOLS = 64;
  function toMiddle(step) {
    const box = step.getBoundingClientRect();
    scrollBy({ top: box.top - Math.max(TOOLS, (innerHeight - box.height) / 2), behavior: "instant" });
  }
  function intoSight(step) {
    const box = step.getBoundingClientRect();
    if (box.top < TOOLS || box.height > innerHeight - TOOLS) scrollBy({ top: box.top - TOOLS, behavior: "instant" });
    else if (box.bottom > innerHeight - 16) scrollBy({ top: box.bottom - innerHeight + 16, behavior: "instant" });
  }

  function select(step, scroll = true) {
    here?.classList.remove("is-here");
    here = step;
    step.classList.add("is-here");
    where.textContent = `Step ${Number(step.dataset.step).toLocaleString("en").replaceAll(",", "\u202f")}`;
    if (scroll) intoSight(step);
    const bar = way.querySelector("[data-here]");
    if (bar) { bar.setAttribute("x", 1000 * Number(step.dataset.number) / total); bar.setAttribute("width", Math.max(3, 1000 / total)); }
    outline.show(Number(step.dataset.number));
  }

  // ---- marks: phases, errors, loops ----
  function mark(part) {
    if (!marks) return;
    for (const step of part.querySelectorAll(".step")) {
      const number = Number(step.dataset.number), phase = marks.phases[number];
      step.classList.remove("phase-none");
      step.classList.add(`phase-${phase === "." ? "none" : phase}`);
      step.classList.toggle("in-loop", inLoop(number));
    }
  }
  const inLoop = (number) => marks.loops.some(([from, to]) => from <= number && number <= to);

  function readMarks() {
    const source = way.querySelector("[data-marks]");
    if (!source) return false;
    marks = JSON.parse(source.textContent);
    marks.wrong = new Set(marks.errors);
    mark(list);
    outline.draw();
    if (here) select(here, false);
    return true;
  }
  async function needMarks() {
    if (marks || readMarks()) return;
    marksComing ||= html(`${base}ribbon`).then((made) => { way.querySelector("[data-ribbon]").replaceChildren(made); readMarks(); }, () => {
      way.querySelector("[data-ribbon]").textContent = "Phases and errors of all steps could not be read.";
    });
    await marksComing;
  }

  async function error(by) {
    await needMarks();
    if (!marks?.errors.length) { where.textContent = "No step with an error"; return; }
    const at = here ? Number(here.dataset.number) : -1;
    const found = by === "first" ? marks.errors[0] : by > 0 ? marks.errors.find((number) => number > at) : marks.errors.findLast((number) => number < at);
    if (found !== undefined) await go(idOf(found));
  }

  function move(by) {
    const all = steps();
    const at = here?.isConnected ? all.indexOf(here) : all.findIndex((step) => step.getBoundingClientRect().bottom > 80) - (by > 0 ? 1 : 0);
    const next = all[at + by];
    if (!next) { extend(by > 0).then(() => { const now = steps(); const target = now[now.indexOf(here) + by]; if (target) { select(target); target.focus({ preventScroll: true }); } }); return; }
    select(next);
    next.focus({ preventScroll: true });
    if (at + by < 6) extend(false);
    if (at + by > all.length - 6) extend(true);
  }

  // ---- outline: rows of equal height, only those in sight exist ----
  const outline = (() => {
    const place = document.querySelector("[data-outline-list]");
    const known = new Map(), asked = new Set();
    let space = null, drawn = new Map();
    if (!place || getComputedStyle(place.parentElement).display === "none") return { show() {}, draw() {} };
    space = document.createElement("div");
    space.className = "outline-space";
    space.style.height = `${total * ROW}px`;
    place.replaceChildren(space);
    async function fetchPart(part) {
      if (asked.has(part)) return;
      asked.add(part);
      try {
        const answer = await fetch(`${base}outline?from=${part * PART + 1}&limit=${PART}`);
        for (const row of (await answer.json()).rows) known.set(row[0], row);
        draw();
      } catch { asked.delete(part); }
    }
    function rowOf(number) {
      const [, id, source, preview] = known.get(number);
      const row = document.createElement("a");
      row.href = `?at=${id}#s-${id}`;
      row.dataset.goto = id;
      row.title = preview;
      const no = Object.assign(document.createElement("span"), { className: "row-no", textContent: id });
      const text = Object.assign(document.createElement("span"), { className: "row-text", textContent: preview || "–" });
      row.append(no, text);
      row.style.top = `${number * ROW}px`;
      row.dataset.source = source;
      return row;
    }
    function draw() {
      const from = Math.max(0, Math.floor(place.scrollTop / ROW) - 10), to = Math.min(total - 1, Math.ceil((place.scrollTop + place.clientHeight) / ROW) + 10);
      for (const [number, row] of drawn) if (number < from || number > to) { row.remove(); drawn.delete(number); }
      for (let number = from; number <= to; number++) {
        if (!known.has(number)) { fetchPart(Math.floor(number / PART)); continue; }
        if (!drawn.has(number)) { const row = rowOf(number); drawn.set(number, row); space.append(row); }
        const row = drawn.get(number);
        row.className = `row from-${row.dataset.source}`;
        if (marks) {
          if (marks.phases[number] !== ".") row.classList.add(`phase-${marks.phases[number]}`);
          row.classList.toggle("is-error", marks.wrong.has(number));
          row.classList.toggle("in-loop", inLoop(number));
        }
        row.classList.toggle("is-here", here !== null && Number(here.dataset.number) === number);
      }
    }
    let waiting = 0;
    place.addEventListener("scroll", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); }, { passive: true });
    addEventListener("resize", draw);
    return {
      draw,
      show(number) {
        const top = number * ROW;
        if (top < place.scrollTop + 2 * ROW || top > place.scrollTop + place.clientHeight - 3 * ROW) place.scrollTop = top - place.clientHeight / 2;
        draw();
      },
    };
  })();

  // ---- searching: the server reads a part at a time, the hits come as it goes ----
  const found = way.querySelector("[data-found]"), foundHead = way.querySelector("[data-found-head]"), foundList = way.querySelector("[data-found-list]");
  let searching = 0;
  async function search(text) {
    const mine = ++searching;
    const query = new URLSearchParams(filter);
    if (text) query.set("find", text);
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
    found.hidden = !text;
    foundList.replaceChildren();
    let from = "", hits = 0;
    while (text) {
      foundHead.textContent = hits ? `${hits} places, still searching…` : "Searching…";
      const part = await html(`${base}find?${new URLSearchParams({ text, ...(from && { from }) })}`).catch((error) => error);
      if (mine !== searching) return;
      if (part instanceof Error) { foundHead.textContent = "The search was refused: give 1 to 200 characters."; return; }
      hits += part.children.length;
      foundList.append(part);
      from = part.dataset.next;
      const seen = `steps 1–${Number(part.dataset.seen).toLocaleString("en")} of ${Number(part.dataset.total).toLocaleString("en")} searched`;
      foundHead.textContent = `${hits} ${hits === 1 ? "place" : "places"}, ${seen}`;
      if (!from) return;
      if (hits >= 200) {
        const on = Object.assign(document.createElement("button"), { type: "button", className: "small", textContent: "Search on" });
        foundHead.append(" ", on);
        await new Promise((resolve) => on.addEventListener("click", resolve, { once: true }));
        if (mine !== searching) return;
        hits = 0;
        foundList.replaceChildren();
      }
    }
  }

  // ---- what is pressed ----
  way.querySelector("[data-inside]").addEventListener("submit", (event) => { event.preventDefault(); search(new FormData(event.target).get("find").trim()); });
  way.querySelector("[data-inside] input").addEventListener("search", (event) => { if (!event.target.value) search(""); });
  way.querySelector("[data-jump]").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("at").trim().replace(/^s-/, "");
    if (/^\d{1,15}$/.test(text)) go(Math.min(Math.max(1, Number(text)), marks?.ids ? Infinity : total));
  });
  document.addEventListener("click", (event) => {
    const goto = event.target.closest?.("[data-goto]");
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
    if (goto && plain) { event.preventDefault(); go(goto.dataset.goto); }
    const wrong = event.target.closest?.("[data-error]");
    if (wrong) error(wrong.dataset.error === "first" ? "first" : Number(wrong.dataset.error));
    const cite = event.target.closest?.(".cite a, a.step-no");
    const step = cite && plain && cite.pathname === location.pathname && /^#s-(\d+)$/.exec(cite.hash);
    if (step) { event.preventDefault(); go(step[1]); }
    const drawn = event.target.closest?.("[data-ribbon] svg");
    if (drawn) {
      const box = drawn.getBoundingClientRect();
      const number = Math.min(total - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * total)));
      needMarks().then(() => go(idOf(number)));
    }
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, select, textarea, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const keys = {
      j: () => move(1),
      k: () => move(-1),
      n: () => error(1),
      p: () => error(-1),
      e: () => error("first"),
      o: () => { const all = [...(here || list).querySelectorAll("details")], shut = all.some((one) => !one.open); for (const one of all) one.open = shut; },
      "/": () => way.querySelector("[data-inside] input").focus(),
      "[": () => document.querySelector('[data-key="["]')?.click(),
      "]": () => document.querySelector('[data-key="]"]')?.click(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    keys[event.key]();
  }, { capture: true });

  const near = new IntersectionObserver((seen) => {
    if (!settled) return;
    for (const one of seen) if (one.isIntersecting) extend(one.target.hasAttribute("data-later"));
  }, { rootMargin: "900px 0px" });
  for (const name of ["earlier", "later"]) {
    let end = way.querySelector(`[data-${name}]`);
    if (!end) {
      end = document.createElement("p");
      end.className = "more";
      end.hidden = true;
      end.setAttribute(`data-${name}`, "");
      end.append(Object.assign(document.createElement("a"), { textContent: name === "earlier" ? "↑ Earlier steps" : "↓ Later steps", href: "#" }));
      list[name === "earlier" ? "before" : "after"](end);
    }
    end.addEventListener("click", (event) => { event.preventDefault(); extend(name === "later"); });
    near.observe(end);
  }
  let resting = 0;
  addEventListener("scroll", () => {
    clearTimeout(resting);
    resting = setTimeout(() => {
      const late = way.querySelector("[data-later]"), early = way.querySelector("[data-earlier]");
      if (!late.hidden && late.getBoundingClientRect().top < innerHeight + 900) extend(true);
      else if (!early.hidden && early.getBoundingClientRect().bottom > -900 && scrollY > 0) extend(false);
      const middle = steps().find((step) => step.getBoundingClientRect().bottom > innerHeight * 0.35);
      if (middle && (!here?.isConnected || here.getBoundingClientRect().bottom < 0 || here.getBoundingClientRect().top > innerHeight)) select(middle, false);
    }, 120);
  }, { passive: true });

  document.documentElement.dataset.viewer = "ready";
  if (matchMedia("(max-width: 899px)").matches) for (const fold of document.querySelectorAll("details[data-fold]")) fold.open = false;
  const wanted = /^#s-(\d+)$/.exec(location.hash)?.[1] || new URLSearchParams(location.search).get("at")?.replace(/^s-/, "");
  (wanted ? go(wanted, { push: false }) : Promise.resolve(select(steps()[0], false))).then(() => {
    requestAnimationFrame(() => { settled = true; });
    setTimeout(needMarks, readMarks() ? 0 : 400);
    // The browser goes to the fragment by itself once all is loaded, and puts it elsewhere.
    if (wanted && document.readyState !== "complete") addEventListener("load", () => requestAnimationFrame(() => { if (here?.dataset.step === wanted) toMiddle(here); }));
  });
  const wantedText = new URLSearchParams(location.search).get("find");
  if (wantedText) search(wantedText);
  addEventListener("hashchange", () => { const id = /^#s-(\d+)$/.exec(location.hash)?.[1]; if (id) go(id, { push: false }); });
}
