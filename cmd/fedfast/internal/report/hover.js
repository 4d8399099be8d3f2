"use strict";

/** Says what is nearest to the pointer, or to the arrow keys, in the pictures of a page; a click on it, or Enter, is an event "pick". */
(() => {
  const card = document.createElement("div"), places = new WeakMap(), reach = 24;
  let at = null;
  card.className = "tip";
  card.setAttribute("role", "status");
  card.hidden = true;
  document.body.append(card);

  /** spots are the places of a picture that have a name: the points of lines, and the middles of marks. */
  function spots(svg) {
    if (!places.has(svg)) places.set(svg, [...svg.querySelectorAll("[data-name]")].flatMap((e) => {
      const d = e.getAttribute("d") || "Z", box = e.getBBox();
      const all = d.includes("Z") ? [[box.x + box.width / 2, box.y + box.height / 2]] : d.slice(1).split("L").map((p) => p.split(",").map(Number));
      return all.map(([x, y]) => ({ e, svg, x, y }));
    }));
    return places.get(svg);
  }

  /** value is what a place on an axis stands for. */
  function value(x, [from, to, lo, hi, log]) {
    const f = (x - from) / (to - from || 1), v = log === "true" ? lo * (hi / lo) ** f : +lo + f * (hi - lo);
    return String(+v.toPrecision(4));
  }

  /** tell shows the card of a spot, or none. */
  function tell(s) {
    at = s;
    card.hidden = !s;
    if (!s) return;
    const g = s.e.closest("[data-axes]"), a = g?.dataset.axes.split(",");
    card.textContent = s.e.dataset.name + (g ? "\n" + g.dataset.x + ": " + value(s.x, a) + "\n" + g.dataset.y + ": " + value(s.y, a.slice(5)) : "");
    ((s.svg.getRootNode().host || s.svg).closest("dialog") || document.body).append(card); // a dialog is above all else
    const p = new DOMPoint(s.x, s.y).matrixTransform(s.svg.getScreenCTM());
    card.style.left = Math.max(4, Math.min(p.x + 14, innerWidth - card.offsetWidth - 4)) + "px";
    card.style.top = Math.max(4, p.y - card.offsetHeight - 10) + "px";
  }

  const pick = () => at && document.dispatchEvent(new CustomEvent("pick", { detail: at.e.dataset.name }));
  const pictureOf = (e) => e.composedPath().find((x) => x.tagName === "svg" && x.getAttribute("role") === "img" && x.id.startsWith("figure-"));
  document.addEventListener("pointermove", (e) => {
    if (!e.movementX && !e.movementY) return; // the page has moved, not the pointer
    const svg = pictureOf(e), m = svg?.getScreenCTM();
    if (!m) return tell(null);
    const far = (s) => Math.hypot(m.a * s.x + m.e - e.clientX, m.d * s.y + m.f - e.clientY);
    const near = spots(svg).reduce((best, s) => (!best || far(s) < far(best) ? s : best), null);
    tell(near && far(near) <= reach ? near : null);
  });
  document.addEventListener("click", (e) => pictureOf(e) && pick());
  document.addEventListener("focusout", () => tell(null));
  document.addEventListener("keyup", (e) => e.key === "Enter" && e.target.matches?.("figure") && pick()); // keydown would press the button of the dialog that it opens
  document.addEventListener("keydown", (e) => {
    const figure = e.target.matches?.("figure") && e.target, svg = figure && (figure.drawing || figure.querySelector("svg"));
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!svg || !step) return;
    e.preventDefault();
    const all = spots(svg);
    if (all.length) tell(all[(all.indexOf(at) + step + all.length) % all.length]);
  });
})();
