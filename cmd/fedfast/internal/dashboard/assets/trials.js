"use strict";

const param = (v) => (v === undefined || v === null ? "–" : typeof v === "number" ? number(v) : String(v));

/** ranked are the trials, the best first. */
const ranked = (s) => [...s.all].sort((a, b) => a.place - b.place);

/** differing are the hyperparameters that trials do not share. */
function differing(all) {
  const keys = [...new Set(all.flatMap((t) => Object.keys(t.params || {})))].sort();
  return keys.filter((k) => all.length < 2 || new Set(all.map((t) => JSON.stringify(t.params?.[k]))).size > 1);
}

/** trialTable shows the trials, in the order that a person has chosen. */
function trialTable(s) {
  const keys = differing(s.all), kept = document.activeElement?.getAttribute("aria-label"), sorted = document.querySelector("#trial-head [aria-sort]");
  const column = sorted ? sorted.cellIndex : -1, down = sorted?.getAttribute("aria-sort") === "descending", head = make("tr");
  for (const [name, n] of [["trial", 1], ["state", 0], ["rounds", 1], ["all clients", 1], ["last rung, one cohort", 1], ...keys.map((k) => [k, 1])]) head.append(make("th", name, n ? { scope: "col", class: "n" } : { scope: "col" }));
  by("trial-head").replaceChildren(head);
  by("trials-note").textContent = s.note;
  page.rows.clear();
  by("trials").replaceChildren(...ranked(s).map((t) => {
    const tr = make("tr", null, s.best && s.best.trial === t.number ? { class: "best" } : {});
    const told = make("td", t.state, { class: "state " + t.state });
    if (t.reason) told.append(" ", make("span", t.reason, { class: t.state === "failed" ? "note" : "faint" }));
    const button = stopButton(s, t), name = make("th", null, { scope: "row", class: "n" }), open = make("button", t.number, { type: "button", class: "sort", "aria-label": "Trial " + t.number });
    if (button) told.append(" ", button);
    open.addEventListener("click", () => drawer(t.number));
    name.append(open);
    tr.append(name, told, make("td", t.rounds + " of " + t.to, { class: "n" }), make("td", score(t.final, s.scale), { class: "n" }), make("td", score(t.score, s.scale), { class: "n", "data-value": t.score === null ? "" : t.place }));
    for (const k of keys) tr.append(make("td", param((t.params || {})[k]), { class: "n", "data-value": t.params?.[k] ?? "" }));
    tr.addEventListener("click", (e) => e.target.closest("button") || drawer(t.number));
    tr.addEventListener("mouseenter", () => curves.focus(t.number));
    tr.addEventListener("mouseleave", () => curves.focus(-1));
    page.rows.set(t.number, tr);
    return tr;
  }));
  sortable(by("trial-table"));
  if (column >= 0) order(by("trial-table"), column, down);
  filterTrials();
  if (kept) by("trials").querySelector(`button[aria-label="${CSS.escape(kept)}"]`)?.focus();
}

/** matches says whether a trial is what a filter asks for: hyperparameters beside numbers, or words, with commas between them. */
const matches = (t, text) => text.split(",").every((part) => {
  const m = /^\s*(\S+?)\s*([<>])=?\s*(\S+)\s*$/.exec(part);
  if (!m) return part.toLowerCase().split(/\s+/).every((w) => ["trial " + t.number, t.state, t.reason || "", ...Object.values(t.params || {})].join(" ").toLowerCase().includes(w));
  const key = Object.keys(t.params || {}).find((k) => k === m[1] || k.endsWith("." + m[1])), x = m[1] === "rounds" ? t.rounds : t.params?.[key];
  return typeof x === "number" && (m[2] === "<" ? x <= +m[3] : x >= +m[3]);
});

/** filterTrials shows the trials that match. */
function filterTrials() {
  let seen = 0;
  for (const t of page.study.all) {
    const on = matches(t, by("trial-filter").value);
    page.rows.get(t.number).hidden = !on;
    seen += on && t.number < page.study.trials ? 1 : 0; // the default is none
  }
  by("trial-count").textContent = seen + " of " + page.study.trials + " trials";
}

/** drawer tells all of a trial. */
async function drawer(number) {
  const s = page.study, t = s.all.find((x) => x.number === number), query = { dir, trial: number };
  if (!t) return;
  keep("trial", number);
  const won = s.best?.trial === number;
  by("drawer-title").textContent = "Trial " + number + (won ? (s.best.returned ? " (winner)" : " (best so far)") : "");
  by("drawer-text").textContent = t.state + ", " + t.rounds + " of " + t.to + " rounds" + (t.final === null ? "" : ", " + score(t.final, s.scale) + " on all clients") + (t.score === null ? "" : ", last rung " + score(t.score, s.scale) + " " + s.scale.name + " (one cohort)") + (t.reason ? ": " + t.reason : "") + ".";
  const text = t.settings || "# the configuration of the study";
  by("drawer-config").textContent = text;
  by("drawer-copy").replaceChildren(copyButton(text));
  by("drawer-part").replaceChildren(make("p", "Reading its curve…", { class: "faint" }));
  if (!by("drawer").open) by("drawer").showModal();
  try {
    const p = await ask("/api/part", query);
    if (by("drawer-title").textContent.startsWith("Trial " + number)) shown(by("drawer-part"), p, Object.entries(query));
  } catch (e) {
    by("drawer-part").textContent = e.message;
  }
}

/** copyButton copies the configuration of a trial. */
function copyButton(text) {
  const b = make("button", "Copy configuration", { type: "button" });
  b.addEventListener("click", () => navigator.clipboard.writeText(text).then(() => (b.textContent = "Copied"), tell));
  return b;
}
