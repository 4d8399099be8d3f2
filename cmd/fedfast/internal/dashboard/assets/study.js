"use strict";

/** News are drawn together, this many milliseconds after the first. */
const together = 250;

const dir = new URLSearchParams(location.search).get("dir") || ".";
const by = (id) => document.getElementById(id);
const page = { study: null, waiting: [], metric: "", rows: new Map(), behind: 0 };
const curves = new Curves(by("chart"), by("over"), light);
window.fedfast = { times: curves.times, curves, page }; // for tests and the curious

/** light marks the row of a trial. */
function light(number) {
  for (const [n, tr] of page.rows) tr.classList.toggle("lit", n === number);
}

/** The states of trials that have not ended. */
const mayGoOn = ["running", "interrupted"];

/** facts shows what the study has come to. */
function facts(s) {
  document.title = s.name + " – fedfast";
  by("title").textContent = s.name;
  const facts = [
    ["rounds", count.format(s.rounds), "of " + count.format(s.budget)],
    ...(s.scale.name ? [[(s.best?.returned ? "winner: " : "best so far: ") + s.scale.name + ", " + s.scale.direction, bestText(s), s.best ? "trial " + s.best.trial + (s.best.returned ? ", round " + s.best.round : ", estimate: " + s.best.basis) : ""]] : []),
    ["trials", count.format(s.trials), s.all.filter((t) => mayGoOn.includes(t.state)).length + " left"],
    ["time left", s.left === null ? "–" : span(s.left), ""],
    ["training time", span(s.worked), ""],
    ["command", s.command, s.pid ? "process " + s.pid : ""],
    ...(s.errors || []).filter((e) => e.value !== null).map((e) => [e.name, e.share ? (100 * e.value).toFixed(2) + " %" : e.value.toPrecision(4), ""]),
    ...(s.verdict || []).map((v) => ["warning", v, ""]),
  ];
  by("facts").replaceChildren(...facts.map(([name, value, more]) => {
    const div = make("div"), dd = make("dd", value);
    if (more) dd.append(" ", make("small", more));
    div.append(make("dt", name), dd);
    return div;
  }));
  by("progress").value = s.budget ? s.rounds / s.budget : 0;
  stopping(s);
  state(s.state, s.stage);
}

/** state shows how far the study is. */
function state(name, stage) {
  by("state").textContent = stage ? name + ", " + stage : name;
  by("state").className = "state " + name;
}

/** table shows the trials. */
function table(s) {
  const keys = [...new Set(s.all.flatMap((t) => Object.keys(t.params || {})))].sort();
  const head = make("tr");
  const kept = document.activeElement?.getAttribute("aria-label");
  for (const [name, n] of [["trial", 1], ["state", 0], ["rounds", 1], ["last rung, one cohort", 1], ...keys.map((k) => [k, 1])]) head.append(make("th", name, n ? { scope: "col", class: "n" } : { scope: "col" }));
  by("trial-head").replaceChildren(head);
  page.rows.clear();
  by("trials").replaceChildren(...s.all.map((t) => {
    const tr = make("tr", null, s.best && s.best.trial === t.number ? { class: "best" } : {});
    const told = make("td", t.state, { class: "state " + t.state });
    if (t.reason) told.append(" ", make("span", t.reason, { class: t.state === "failed" ? "note" : "faint" }));
    const button = stopButton(s, t);
    if (button) told.append(" ", button);
    tr.append(make("th", t.number, { scope: "row", class: "n" }), told, make("td", t.rounds + " of " + t.to, { class: "n" }), make("td", score(t.score, s.scale), { class: "n" }));
    for (const k of keys) tr.append(make("td", param((t.params || {})[k]), { class: "n" }));
    page.rows.set(t.number, tr);
    return tr;
  }));
  if (kept) by("trials").querySelector(`button[aria-label="${CSS.escape(kept)}"]`)?.focus();
  by("sessions").replaceChildren(...s.sessions.map((x) => {
    const tr = make("tr");
    tr.append(make("td", day(x.at)), make("td", x.workers, { class: "n" }), make("td", x.cpu), make("td", x.level), make("td", x.version));
    return tr;
  }));
}

/** cluster shows the workers elsewhere, and who trained what, drawn again at most every few seconds. */
function cluster(s) {
  by("cluster").hidden = !s.workers;
  if (!s.workers) return;
  by("workers").replaceChildren(...s.workers.map((w) => {
    const tr = make("tr");
    tr.append(make("th", w.name, { scope: "row" }), make("td", w.machine), make("td", w.state, { class: "state " + w.state }), make("td", w.trial ?? "–", { class: "n" }),
      make("td", w.workers, { class: "n" }), make("td", w.cpu), make("td", w.level));
    return tr;
  }));
  if (page.shifts > performance.now() - 5000 && s.state === "running") return;
  page.shifts = performance.now();
  by("shifts").onload = () => (by("shifts").hidden = false);
  by("shifts").src = "/api/workers.svg?" + new URLSearchParams({ dir, seq: s.seq });
}

const param = (v) => (v === undefined ? "–" : typeof v === "number" ? String(+v.toPrecision(4)) : String(v));

/** best is the number of the trial that stands out, -1 for none. */
const best = () => (page.study.best ? page.study.best.trial : -1);

/** refresh asks for all but the curves again. */
async function refresh() {
  page.study = await ask("/api/study", { dir });
  facts(page.study);
  table(page.study);
  cluster(page.study);
}

/** Above this number of rounds, the curves are sketched before all rounds are read. */
const many = 50000;

/** draw draws the curves so far, and follows the study from there on. */
async function draw() {
  if (page.study.rounds > many && !page.sketched) {
    const sketch = await ask("/api/curves", { dir, sketch: 1 });
    curves.set(page.study.length, sketch, page.metric, best());
    by("over").textContent = "Showing every " + sketch.width + "th round; loading the rest.";
    page.sketched = performance.now();
  }
  const drawn = await ask("/api/curves", { dir });
  page.waiting = [];
  page.behind = 0;
  curves.set(page.study.length, drawn, page.metric, best());
  page.drawn = performance.now();
  by("over").textContent = "";
  follow(drawn.seq);
}

/** follow listens to what is recorded behind an entry: one stream a tab. */
function follow(after) {
  page.stream?.close();
  page.stream = new EventSource("/api/events?" + new URLSearchParams({ dir, after }));
  page.stream.addEventListener("news", (e) => news(JSON.parse(e.data)));
  page.stream.addEventListener("state", (e) => {
    if (JSON.parse(e.data).state !== page.study.state) refresh().catch(tell);
  });
  page.stream.addEventListener("cut", () => location.reload());
  page.stream.onopen = () => (by("note").textContent = "");
  page.stream.onerror = () => {
    by("note").textContent = "Lost connection to fedfast; retrying.";
    if (page.stream.readyState === EventSource.CLOSED) setTimeout(() => draw().catch(tell), 2000);
  };
}

/** news keeps what was told until it is drawn. */
function news(n) {
  if (page.waiting.length === 0 && !page.changed) setTimeout(() => show().catch(tell), together);
  page.waiting.push(...n.rounds);
  page.behind += n.rounds.length;
  page.changed ||= n.changed;
}

/** show draws what waits. */
async function show() {
  const rows = page.waiting, changed = page.changed;
  page.waiting = [];
  page.changed = false;
  if (changed) await refresh();
  else tally(rows);
  if (rows.length > 0 || changed) curves.update(rows, best());
  page.behind -= rows.length;
}

/** tally counts rounds that nothing else came with. */
function tally(rows) {
  page.study.rounds += rows.length;
  if (page.study.left !== null) page.study.left = Math.max(0, page.study.left - together / 1000);
  const grown = new Set();
  for (const [number, round] of rows) {
    const t = page.study.all[number];
    if (t) grown.add(t);
    if (t) t.rounds = Math.max(t.rounds, round);
  }
  for (const t of grown) page.rows.get(t.number).children[2].textContent = t.rounds + " of " + t.to;
  facts(page.study);
}

function tell(e) {
  by("note").textContent = e.message;
}

/** metrics lets a person choose what the curves tell. */
function metrics(names) {
  for (const [i, name] of names.entries()) {
    const label = make("label"), input = make("input", null, { type: "radio", name: "metric", value: name });
    input.checked = i === 0;
    input.addEventListener("change", () => {
      page.metric = name;
      if (curves.sets) curves.choose(name);
    });
    label.append(input, curves.nameOf(name));
    by("metrics").append(label);
  }
}

/** start shows the page, as soon as there is a study to show. */
async function start() {
  try {
    await refresh();
    curves.scale = page.study.scale;
    by("note").textContent = "";
    page.painted = performance.now();
    metrics(page.study.metrics);
    page.metric = page.study.metrics[0];
    await draw();
  } catch (e) {
    tell(e);
    if (!page.painted) setTimeout(start, 1000);
  }
}

start();
