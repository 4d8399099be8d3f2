"use strict";

/** drawn in SVG. */
function shape(tag, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  if (text !== undefined) e.textContent = text;
  return e;
}

/** axisOf lays out a hyperparameter, or the score, from 0 at the bottom to 1. */
function axisOf(name, values, text) {
  const known = values.filter((v) => v !== undefined && v !== null);
  if (known.some((v) => typeof v !== "number")) {
    const names = [...new Set(known.map(String))].sort();
    return { name, at: (v) => (names.indexOf(String(v)) + 0.5) / names.length, marks: names.map((n, i) => [(i + 0.5) / names.length, n]) };
  }
  const lo = Math.min(...known), hi = Math.max(...known), log = lo > 0 && hi > 30 * lo, f = log ? Math.log : (x) => x;
  const at = (v) => (hi > lo ? (f(v) - f(lo)) / (f(hi) - f(lo)) : 0.5);
  const middle = log ? Math.sqrt(lo * hi) : (lo + hi) / 2;
  return { name, at, marks: [[at(lo), text(lo)], ...(hi > lo ? [[0.5, text(middle)], [1, text(hi)]] : [])] };
}

/** parallel draws the trials across the axes of their hyperparameters; a person marks ranges on them. */
function parallel(root, s, onPick) {
  const keys = differing(s.all), all = s.all.filter((t) => t.params && t.at !== null);
  root.replaceChildren();
  if (keys.length === 0 || all.length < 2) return;
  const value = (t, k) => (k === null ? t.at : t.params[k]);
  const axes = [...keys.map((k) => [k, axisOf(k, all.map((t) => t.params[k]), param)]), [null, axisOf(s.where, all.map((t) => t.at), (x) => score(x, s.scale))]];
  const wide = Math.max(560, root.clientWidth), high = 300, top = 34, x = (i) => 60 + (i * (wide - 120)) / (axes.length - 1), y = (f) => top + (1 - f) * (high - top - 16);
  const svg = shape("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": "Parallel coordinates of the trials; the filter of the trials table chooses by numbers, too" });
  const told = make("p", null, { role: "status" }), lines = new Map(), ranges = new Map();
  for (const t of ranked(s).reverse().filter((t) => all.includes(t))) {
    const points = axes.map(([k, a], i) => (value(t, k) === undefined || value(t, k) === null ? null : x(i).toFixed(1) + "," + y(a.at(value(t, k))).toFixed(1))).filter(Boolean);
    const line = shape("polyline", { points: points.join(" "), class: s.best?.trial === t.number ? "path bestpath" : "path" });
    line.append(shape("title", {}, "trial " + t.number + ", " + score(t.at, s.scale)));
    line.addEventListener("click", () => onPick(t.number));
    lines.set(t, line);
    svg.append(line);
  }
  const pick = () => {
    const on = all.filter((t) => [...ranges].every(([i, [lo, hi]]) => {
      const [k, a] = axes[i], v = value(t, k);
      return v !== undefined && v !== null && a.at(v) >= lo && a.at(v) <= hi;
    }));
    for (const [t, line] of lines) line.classList.toggle("off", !on.includes(t));
    told.replaceChildren(ranges.size ? on.length + " of " + all.length + " trials: " : "Drag along an axis to choose trials; click on an axis to choose all again.");
    if (ranges.size) for (const t of ranked(s).filter((t) => on.includes(t)).slice(0, 12)) {
      const b = make("button", "trial " + t.number + " " + score(t.at, s.scale), { type: "button" });
      b.addEventListener("click", () => onPick(t.number));
      told.append(b, " ");
    }
    root.dataset.chosen = on.length;
  };
  for (const [i, [, a]] of axes.entries()) {
    svg.append(shape("line", { x1: x(i), x2: x(i), y1: y(0), y2: y(1), class: "rule" }), shape("text", { x: x(i), y: i % 2 ? 24 : 12, class: "name" }, a.name));
    for (const [f, text] of a.marks) svg.append(shape("text", { x: x(i) - 5, y: y(f) + 4, class: "tick" }, text));
    const range = shape("rect", { x: x(i) - 7, width: 14, y: 0, height: 0, class: "range" }), grip = shape("rect", { x: x(i) - 14, width: 28, y: top - 6, height: high - top - 4, class: "grip" });
    const fraction = (e) => Math.max(0, Math.min(1, 1 - (((e.clientY - svg.getBoundingClientRect().top) * high) / svg.getBoundingClientRect().height - top) / (high - top - 16)));
    let from = null;
    grip.addEventListener("pointerdown", (e) => ((from = fraction(e)), grip.setPointerCapture(e.pointerId)));
    grip.addEventListener("pointermove", (e) => {
      if (from === null) return;
      const lo = Math.min(from, fraction(e)), hi = Math.max(from, fraction(e));
      if (hi - lo > 0.01) ranges.set(i, [lo, hi]);
      range.setAttribute("y", y(hi));
      range.setAttribute("height", y(lo) - y(hi));
      pick();
    });
    grip.addEventListener("pointerup", (e) => {
      if (Math.abs(from - fraction(e)) < 0.01) {
        ranges.delete(i);
        range.setAttribute("height", 0);
      }
      from = null;
      pick();
    });
    svg.append(range, grip);
  }
  const scroll = make("div", null, { class: "scroll", tabindex: "0", role: "region", "aria-label": "Parallel coordinates" });
  scroll.append(svg);
  root.append(make("h2", "Hyperparameters and the score at " + s.where + ", of the " + all.length + " trials that reached it"), scroll, told);
  pick();
}
