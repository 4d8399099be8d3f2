"use strict";

/** The list asks again this often, in milliseconds, and only while it is seen. */
const again = 2000;

/** row shows one study. */
function row(s) {
  const tr = make("tr");
  const head = make("th", null, { scope: "row" });
  head.append(make("a", s.dir, { href: "/study?" + new URLSearchParams({ dir: s.dir }) }));
  tr.append(head, make("td", s.name));
  if (s.problem) {
    tr.append(make("td", s.problem, { class: "note", colspan: 6 }));
    return tr;
  }
  tr.append(
    make("td", s.stage ? s.state + ", " + s.stage : s.state, { class: "state " + s.state }),
    make("td", s.best ? bestText(s) + " " + s.scale.metric : "–", { class: "n" }),
    make("td", count.format(s.trials), { class: "n" }),
    make("td", count.format(s.rounds) + " of " + count.format(s.budget), { class: "n" }),
    make("td", s.left === null ? "–" : span(s.left), { class: "n" }),
    make("td", day(s.started)),
  );
  return tr;
}

/** show asks for the studies and shows them. */
async function show() {
  const note = document.getElementById("note");
  try {
    const studies = await ask("/api/studies");
    const running = studies.filter((s) => s.state === "running").length;
    document.getElementById("caption").textContent = studies.length === 0 ? "No studies yet." : count.format(studies.length) + " studies, " + running + " running";
    const rows = document.getElementById("rows"), kept = document.activeElement && document.activeElement.getAttribute("href");
    rows.replaceChildren(...studies.map(row));
    if (kept) rows.querySelector(`a[href="${CSS.escape(kept)}"]`)?.focus();
    note.textContent = "";
  } catch (e) {
    note.textContent = "Lost connection to fedfast: " + e.message;
  }
}

show();
setInterval(() => document.hidden || show(), again);
document.addEventListener("visibilitychange", () => document.hidden || show());
