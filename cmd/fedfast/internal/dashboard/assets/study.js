"use strict";

/** News are drawn together, this many milliseconds after the first. */
const together = 250;

/** Curves over another axis than rounds are asked for again at most once in this many milliseconds. */
const redraw = 3000;

const dir = view.get("dir") || ".";

/** An open tab is asked for again at the earliest after this many milliseconds, and after this many times as long as its answer took. */
const anew = 10000, rested = 20;
const page = { study: null, waiting: [], metric: "", rows: new Map(), behind: 0, tab: "overview" };
const curves = new Curves(by("chart"), by("card"), light, drawer);
curves.trials = () => page.study.all;
window.fedfast = { times: curves.times, curves, page }; // for tests and the curious

/** light marks the row of a trial. */
function light(number) { page.rows.forEach((tr, n) => tr.classList.toggle("lit", n === number)); }

/** head shows what the study has come to. */
function head(s) {
  document.title = s.dir + " – fedfast";
  by("title").textContent = s.dir === "." ? s.path : s.dir;
  by("about").textContent = s.about;
  by("answer").replaceChildren(...s.answer.map((a, i) => make("p", a, i ? {} : { class: "answer" })), ...(s.verdict || []).map((v) => make("p", "Warning: " + v + ".", { class: "warn" })));
  const steps = s.next.flatMap((n) => [make("p", n.why + ":"), copy(n.command)]);
  if (steps.length) by("answer").appendChild(make("details")).append(make("summary", "Next: " + s.next[0].why), ...steps);
  by("facts").textContent = [
    rounds(s) + " rounds",
    ...(s.command === "tune" ? [count.format(s.trials) + (s.trials === 1 ? " trial" : " trials")] : []),
    "training time " + span(s.worked) + (s.cores > 1.5 * s.worked ? " (" + span(s.cores) + " of cores)" : ""),
    ...(s.left === null ? [] : ["time left " + span(s.left)]), ...(s.traffic ? [s.traffic] : []),
    ...(s.scale.name ? [s.scale.name + ", " + s.scale.direction] : []),
    ...(s.pid ? ["process " + s.pid] : []),
  ].join(" · ");
  by("progress").value = s.budget ? s.rounds / s.budget : 0;
  by("progress").hidden = s.state === "completed" || !s.budget;
  by("trials-part").hidden = s.command === "run";
  by("bar").hidden = s.state !== "interrupted";
  stopping(s);
  state(s.state, s.stage);
}

/** commands offers what to run next. */
function commands(s) {
  const key = s.state + s.path + (s.state === "interrupted" ? s.rounds : "");
  if (page.offered === key) return;
  page.offered = key;
  by("bar").replaceChildren("Interrupted at round " + rounds(s) + ". ", copy("fedfast study resume " + s.word));
  by("commands").replaceChildren(...["report", ...(s.state === "completed" ? ["eval"] : [])].map((c) => copy("fedfast " + c + " " + s.word)));
}

/** state shows how far the study is. */
function state(name, stage) {
  by("state").textContent = stage ? name + ": " + stage : name;
  by("state").className = "state pill " + name;
}

/** best is the number of the trial that stands out, -1 for none. */
const best = () => (page.study.best ? page.study.best.trial : -1);

/** refresh asks for all but the curves again. */
async function refresh() {
  page.stale = true; // until the server has answered
  const s = await ask("/api/study", { dir });
  page.stale = false;
  if (s.seq < page.study?.seq) return; // an older answer that came late
  page.study = s;
  head(page.study);
  commands(page.study);
  trialTable(page.study);
  tabs(page.study.parts);
  if (page.tab !== "overview" && s.seq !== page.told && performance.now() > page.due) tab(page.tab, true);
}

/** tabs makes those that a study has. */
function tabs(parts) {
  for (const p of parts) {
    if (by("tab-" + p.id)) continue;
    if (p.id === "fleet") by("clock").hidden = by("clock").disabled = false;
    by("tabs").append(make("button", p.title, { type: "button", role: "tab", id: "tab-" + p.id, "aria-controls": "other", "aria-selected": "false", tabindex: "-1" }));
  }
}

/** tab shows a tab, or what is new in it. */
async function tab(id, again) {
  page.tab = id;
  page.due = Infinity;
  page.told = page.study.seq;
  keep("tab", id === "overview" ? "" : id);
  for (const t of by("tabs").children) {
    t.setAttribute("aria-selected", String(t.id === "tab-" + id));
    t.tabIndex = t.id === "tab-" + id ? 0 : -1;
  }
  by("overview").hidden = id !== "overview";
  by("other").hidden = id === "overview";
  by("other").setAttribute("aria-labelledby", "tab-" + id);
  if (id === "overview") return;
  if (!again) by("part").replaceChildren(make("p", "Reading the study…", { class: "faint" }));
  const began = performance.now(), query = { dir, part: id };
  try {
    const p = await ask("/api/part", query);
    page.due = performance.now() + Math.max(anew, rested * (performance.now() - began));
    if (page.tab !== id) return;
    shown(by("part"), p, Object.entries(query));
    if (id !== "config") return;
    const all = make("details");
    all.append(make("summary", "All keys, as a study file"), copyButton(page.study.config), make("pre", page.study.config, { tabindex: "0" }));
    by("part").append(all);
  } catch (e) {
    by("part").textContent = e.message;
  }
}

by("tabs").addEventListener("click", (e) => e.target.id.startsWith("tab-") && tab(e.target.id.slice(4)));
by("tabs").addEventListener("keydown", (e) => {
  const all = [...by("tabs").children], now = all.indexOf(document.activeElement), to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: -1 }[e.key];
  if (to === undefined) return;
  const next = all[(to + all.length) % all.length];
  next.focus();
  next.click();
});

/** draw draws the curves so far, and follows the study from there on. */
async function draw() {
  const axis = by("axis").value;
  const drawn = await ask("/api/curves", { dir, by: axis });
  if (!page.chosen) choose(page.study.metrics.find((m) => drawn.curves[m].some((c) => c.some((y) => y !== null))) || page.metric);
  page.behind -= page.waiting.length;
  page.waiting = [];
  curves.set(axis, drawn, page.metric, best());
  page.drawn = performance.now();
  hint();
  follow(drawn.seq);
}

/** hint says what the lines are. */
function hint() {
  by("over").textContent = curves.noisy() ? "Lines: mean over the " + curves.smoothing + " rounds before; dots: single rounds" + (page.study.trials > 1 ? " of the best trial" : "") + ", each of one cohort of clients." : "";
}

/** follow asks for what is recorded behind an entry. */
function follow(after) {
  page.at = { seq: after, mark: "" };
  listen();
}

/** listen asks again and again, only while the page is seen, and seldom where no process is at work. */
async function listen() {
  const at = page.at;
  clearTimeout(at.timer);
  if (document.hidden || at.asking) return;
  at.asking = true;
  let wait = 1000;
  try {
    const n = await ask("/api/news", { dir, after: at.seq, mark: at.mark, discount: page.study.discount });
    if (at !== page.at) return; // drawn anew meanwhile
    if (n.cut) return location.reload();
    by("note").textContent = "";
    Object.assign(at, { seq: n.seq, mark: n.mark });
    if (n.rounds.length || n.changed) news(n);
    if (page.stale || n.pid !== (page.study.pid || 0)) refresh().catch(tell); // behind all news
    wait = n.more ? 0 : n.pid ? 500 : 5000;
  } catch (e) {
    if (page.at === at) by("note").textContent = "Lost connection to fedfast; retrying. " + e.message;
  }
  at.asking = false;
  if (page.at === at) at.timer = setTimeout(listen, wait);
}
document.addEventListener("visibilitychange", () => page.at && listen());

/** later draws the curves anew after some milliseconds, and again until the server answers. */
function later(wait) {
  page.later ||= setTimeout(() => {
    page.later = 0;
    draw().catch((e) => {
      tell(e);
      later(2000);
    });
  }, wait);
}

/** news keeps what was told until it is drawn. */
function news(n) {
  if (page.waiting.length === 0 && !page.changed) setTimeout(() => show().catch(tell), together);
  page.waiting.push(...n.rounds);
  page.behind += n.rounds.length;
  page.changed ||= n.changed;
}

/** show draws what waits: the curves also where the server is away and cannot tell what else has changed. */
async function show() {
  const rows = page.waiting, changed = page.changed;
  page.waiting = [];
  page.changed = false;
  try {
    if (changed) await refresh();
    else tally(rows);
  } finally {
    if (!curves.by && (rows.length > 0 || changed)) curves.update(rows, best());
    page.behind -= rows.length;
  }
  if (curves.by) later(Math.max(0, page.drawn + redraw - performance.now()));
}

/** tally counts rounds that nothing else came with, and of which refresh has not told yet. */
function tally(rows) {
  if (page.study.left !== null) page.study.left = Math.max(0, page.study.left - together / 1000);
  const grown = new Set();
  for (const [number, round] of rows) {
    const t = page.study.all[number];
    if (!t || round <= t.rounds) continue;
    grown.add(t);
    page.study.rounds++;
    t.rounds = round;
  }
  for (const t of grown) page.rows.get(t.number).children[2].textContent = t.rounds + " of " + t.to;
  head(page.study);
}

/** metrics lets a person choose what the curves tell. */
function metrics(names) {
  for (const [i, name] of names.entries()) {
    const label = make("label"), input = make("input", null, { type: "radio", name: "metric", value: name });
    input.checked = i === 0;
    input.addEventListener("change", () => {
      choose(name);
      keep("metric", name);
      page.chosen = true;
      if (curves.sets) curves.choose(name);
      hint();
    });
    label.append(input, curves.nameOf(name));
    by("metrics").append(label);
  }
}

/** choose marks the first metric that any round has, until a person marks one. */
function choose(name) {
  page.metric = name;
  by("curve-files").replaceChildren(downloads([["dir", dir], ["name", name]], "the curves"));
  for (const input of by("metrics").querySelectorAll("input")) input.checked = input.value === name;
}

by("axis").addEventListener("change", () => (keep("by", by("axis").value), draw().catch(tell)));
by("smoothing").addEventListener("input", () => {
  curves.smoothing = +by("smoothing").value;
  keep("smoothing", curves.smoothing);
  curves.build();
  hint();
});
by("trial-filter").addEventListener("input", () => (keep("filter", by("trial-filter").value), filterTrials()));
by("drawer-close").addEventListener("click", () => by("drawer").close());
by("drawer").addEventListener("close", () => keep("trial"));
document.addEventListener("pick", (e) => / ?trial (\d+)/.test(e.detail) && drawer(+/trial (\d+)/.exec(e.detail)[1]));

/** start shows the page as its address says, as soon as there is a study to show. */
async function start() {
  by("trial-filter").value = view.get("filter") || "";
  by("smoothing").value = curves.smoothing = +(view.get("smoothing") ?? curves.smoothing);
  by("axis").value = view.get("by") || "";
  try {
    await refresh();
    curves.scale = page.study.scale;
    curves.share = page.study.share;
    metricName.test = "test " + page.study.measure + " (" + page.study.models + ")";
    by("note").textContent = "";
    page.painted = performance.now();
    metrics(page.study.metrics);
    page.chosen = page.study.metrics.includes(view.get("metric"));
    choose(page.chosen ? view.get("metric") : page.study.metrics[0]);
    const { tab: open, trial } = Object.fromEntries(view);
    if (by("tab-" + open)) tab(open);
    if (trial) drawer(+trial);
    await draw();
  } catch (e) {
    tell(e);
    if (page.painted) later(1000);
    else setTimeout(start, 1000);
  }
}

start();
