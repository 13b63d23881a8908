"use strict";
// The page works without this file: it fills the grid while a run goes, and filters without loading the page again.
const id = (name) => document.getElementById(name);
const form = id("filter");
const filter = () => {
  const search = form.elements.q.value.toLowerCase(), failed = form.elements.failed.checked;
  let shown = 0;
  for (const row of id("grid").tBodies[0].rows) {
    const text = (row.cells[0].textContent + " " + row.cells[1].textContent).toLowerCase();
    row.hidden = !text.includes(search) || failed && row.dataset.state !== "failed";
    shown += row.hidden ? 0 : 1;
  }
  id("nothing").hidden = shown > 0;
};
// A page that the server filtered lacks rows: a filter that shows more loads it again, and so does a node that fails.
const whole = !location.search;
let reload;
const again = () => { reload ??= setTimeout(() => location.reload(), 2000); };
if (form) {
  const changed = () => {
    const query = new URLSearchParams();
    if (form.elements.q.value) query.set("q", form.elements.q.value);
    if (form.elements.failed.checked) query.set("failed", "true");
    if (!whole) return;
    history.replaceState(null, "", location.pathname + (query.size ? "?" + query : ""));
    filter();
  };
  form.addEventListener("input", changed);
  form.elements.failed.addEventListener("change", () => { if (!whole) form.requestSubmit(); });
  form.addEventListener("submit", (e) => { if (whole) { e.preventDefault(); changed(); } });
}
// Decisions are requests with a token, which the printed address or the person gives; this tab alone remembers it.
const proof = "slipway-token", printed = "#decide=";
if (location.hash.startsWith(printed)) {
  sessionStorage.setItem(proof, location.hash.slice(printed.length));
  history.replaceState(null, "", location.pathname + location.search);
}
for (const form of document.querySelectorAll("form.decide")) {
  const fields = form.elements, token = () => fields.token.value || sessionStorage.getItem(proof) || "";
  form.hidden = false;
  fields.token.parentElement.hidden = Boolean(sessionStorage.getItem(proof));
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    const said = form.querySelector("[role=status]"), button = e.submitter;
    const body = { reason: fields.reason.value };
    if (form.dataset.group !== undefined) { body.group = form.dataset.group; body.batch = Number(form.dataset.batch); }
    button.disabled = true;
    try {
      const answer = await fetch(form.dataset.run + button.value, { method: "POST", body: JSON.stringify(body),
        headers: { "Content-Type": "application/json", Authorization: "Bearer " + token() } });
      const got = await answer.json();
      said.textContent = answer.ok ? "Recorded: " + got.text : got.error.message;
      if (answer.ok) {
        if (fields.token.value) sessionStorage.setItem(proof, fields.token.value);
        fields.reason.value = "";
      } else if (answer.status === 401) {
        sessionStorage.removeItem(proof);
        fields.token.parentElement.hidden = false;
        fields.token.focus();
      }
    } catch (failure) { said.textContent = "Nothing was sent: " + failure.message; }
    button.disabled = false;
  });
}
const live = id("live");
// follow takes the updates of a page while a run is at work, and loads it again when the run has ended.
const follow = (update) => {
  const source = new EventSource(live.dataset.live);
  source.onopen = () => { live.hidden = true; };
  source.onmessage = (e) => update(JSON.parse(e.data));
  source.onerror = () => { live.hidden = false; };
  source.addEventListener("end", () => { source.close(); location.reload(); });
};
if (live && !form) {
  // The page of a node or a task: what runs prints is added to it, and other tasks load it again, not all the time.
  follow((u) => {
    for (const [name, text] of Object.entries(u.printed ?? {})) {
      const box = id(name);
      if (!box) continue;
      box.parentElement.hidden = false;
      box.lastElementChild.append(text);
    }
    if (u.changed) again();
  });
} else if (live) {
  let said = 0;
  const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };
  // Updates wait in a line, and each frame takes as many as leave the browser time for its user.
  const waiting = new Map();
  let asked = false;
  const later = (name, change) => {
    waiting.set(name, change);
    if (!asked) { asked = true; requestAnimationFrame(work); }
  };
  const work = () => {
    const until = performance.now() + 4;
    asked = false;
    for (const [name, change] of waiting) {
      if (performance.now() > until) { asked = true; requestAnimationFrame(work); return; }
      waiting.delete(name);
      change(id(name));
    }
    if (form.elements.failed.checked) filter();
  };
  // Failed tasks are listed as the server lists them, asked for anew after a task has failed, not all the time.
  let listing;
  const list = () => { listing ??= setTimeout(async () => {
    listing = undefined;
    try {
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      id("failures").replaceWith(page.getElementById("failures"));
    } catch { list(); }
  }, 2000); };
  const update = (u) => {
    if (String(u.size) !== live.dataset.size) { location.reload(); return; }
    for (const [name, [state, text]] of Object.entries(u.cells)) {
      if (state === "failed") list();
      later(name, (cell) => { if (cell) { cell.className = "cell " + state; put(cell, text); } });
    }
    for (const [name, [state, stage, message]] of Object.entries(u.rows)) {
      later(name, (row) => {
        if (row) { row.dataset.state = state; put(row.lastElementChild, stage + " " + message); }
        else if (state === "failed" && !whole && !form.elements.q.value) again();
      });
    }
    for (const [name, [done, counts, stage, reason, color]] of Object.entries(u.groups)) {
      later(name, (row) => {
        if (!row) return;
        const bar = row.querySelector("progress");
        if (bar) bar.value = done;
        put(row.cells[1].lastElementChild, counts);
        put(row.cells[2].firstElementChild, stage);
        row.cells[2].firstElementChild.className = "state " + color;
        put(row.cells[2].lastElementChild, reason);
      });
    }
    later("counts", (counts) => put(counts, u.counts));
    if (Date.now() - said > 10000) { said = Date.now(); put(id("announce"), u.counts); }
  };
  follow(update);
}
