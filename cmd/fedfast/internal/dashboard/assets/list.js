"use strict";

/** The list asks again this long after an answer, in milliseconds or in times that the answer took, and only while it is seen. */
const again = 2000, rest = 20;

const chosen = new Set(), unfolded = new Set();
let studies = [], unread = 0, timer = 0, last = "";

/** dirs are the studies that an entry stands for. */
const dirs = (s) => (s.seeds ? s.seeds.map((x) => x.dir) : [s.dir]);

/** test shows the test error of an entry under a target, or the best score so far as an estimate. */
function test(s, target) {
  const t = s.tests[target], guess = s.best && s.judged === target && !Object.keys(s.tests).length;
  const cell = make("td", t ? t.text : guess ? "~" + score(s.best.score, s.scale) : "–", { class: "n " + (s.judged === target ? "error" : "wide") });
  if (t || guess) cell.append(make("small", guess ? s.scale.name + ", estimate" : target + " " + s.told));
  if (t?.p90) cell.append(make("small", "P90 " + t.p90));
  return cell;
}

/** row shows one study, or all seeds of one. */
function row(s, inside) {
  const tr = make("tr", null, inside ? { class: "inside" } : {});
  const head = make("th", null, { scope: "row" });
  const box = make("input", null, { type: "checkbox", "aria-label": "Compare " + s.dir });
  box.checked = dirs(s).every((d) => chosen.has(d));
  box.addEventListener("change", () => {
    for (const d of dirs(s)) box.checked ? chosen.add(d) : chosen.delete(d);
    draw();
  });
  const pick = make("td", null, { class: "pick" });
  if (!s.problem) pick.append(box);
  if (s.seeds) {
    const b = make("button", (unfolded.has(s.dir) ? "▾ " : "▸ ") + s.dir, { type: "button", class: "sort", "aria-expanded": unfolded.has(s.dir) });
    b.addEventListener("click", () => (unfolded.delete(s.dir) || unfolded.add(s.dir), draw()));
    head.append(b, make("small", s.seeds.length + " seeds"));
  } else head.append(make("a", s.dir, { href: "/study?" + new URLSearchParams({ dir: s.dir }) }));
  tr.append(pick, head);
  if (s.problem) {
    tr.append(make("td", s.problem, { class: "note", colspan: 7 }));
    return tr;
  }
  const state = make("td", s.stage ? s.state + ": " + s.stage : s.state, { class: "state " + s.state });
  if (s.left !== null) state.append(make("small", span(s.left) + " left"));
  const about = make("td", s.about, { class: "about" });
  if (s.verdict) about.append(make("small", "Warning: " + s.verdict.join("; "), { class: "warn" }));
  tr.append(
    about, state, test(s, "global"), test(s, "personalized"),
    make("td", count.format(s.trials), { class: "n wide" }),
    make("td", rounds(s), { class: "n wide" }),
    make("td", day(s.started), { class: "wide" }),
  );
  return tr;
}

/** draw shows the studies that match the filter. */
function draw() {
  const words = by("filter").value.toLowerCase().split(/\s+/);
  const seen = studies.filter((s) => words.every((w) => [s.dir, s.about, s.state, s.name].join(" ").toLowerCase().includes(w)));
  const running = studies.filter((s) => s.state === "running").length;
  by("caption").textContent = studies.length === 0 ? "No studies yet." : count.format(studies.length) + (studies.length === 1 ? " study" : " studies") + ", " + running + " running" + (seen.length < studies.length ? ", " + seen.length + " shown" : "") + (unread ? "; folders that cannot be read: " + unread : "");
  const active = document.activeElement, kept = active?.getAttribute("href") ? `[href="${CSS.escape(active.getAttribute("href"))}"]` : active?.getAttribute("aria-label") ? `[aria-label="${CSS.escape(active.getAttribute("aria-label"))}"]` : "";
  by("rows").replaceChildren(...seen.flatMap((s) => [row(s), ...(s.seeds && unfolded.has(s.dir) ? s.seeds.map((x) => row(x, true)) : [])]));
  if (kept) by("rows").querySelector(kept)?.focus();
  by("compare").disabled = chosen.size < 2;
  by("compare").textContent = chosen.size < 2 ? "Compare" : "Compare " + chosen.size + " studies";
}

/** show asks for the studies and shows them. */
async function show() {
  clearTimeout(timer);
  if (document.hidden) return;
  const began = performance.now();
  try {
    const told = await ask("/api/studies"), text = JSON.stringify(told);
    ({ studies, unread } = told);
    if (text !== last) draw();
    last = text;
    by("note").textContent = "";
  } catch (e) {
    by("note").textContent = "Lost connection to fedfast: " + e.message;
  }
  clearTimeout(timer);
  timer = setTimeout(show, Math.max(again, rest * (performance.now() - began)));
}

by("filter").value = view.get("filter") || "";
by("filter").addEventListener("input", () => (keep("filter", by("filter").value), draw()));
by("compare").addEventListener("click", () => (location.href = "/compare?" + new URLSearchParams([...chosen].map((d) => ["dir", d]))));
show();
document.addEventListener("visibilitychange", show);
