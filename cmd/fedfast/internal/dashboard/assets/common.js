"use strict";

/** make returns an element with a text and attributes. */
function make(tag, text, attributes) {
  const e = document.createElement(tag);
  if (text !== undefined && text !== null) e.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  return e;
}

/** ask fetches JSON; an answer that is an error throws its line. */
async function ask(path, query) {
  const answer = await fetch(path + "?" + new URLSearchParams(query || {}));
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

const count = new Intl.NumberFormat("en");

/** span writes seconds in their two largest units. */
function span(seconds) {
  const s = Math.round(seconds), pad = (n) => String(n).padStart(2, "0");
  if (s >= 86400) return Math.floor(s / 86400) + "d" + pad(Math.floor((s % 86400) / 3600)) + "h";
  if (s >= 3600) return Math.floor(s / 3600) + "h" + pad(Math.floor((s % 3600) / 60)) + "m";
  if (s >= 60) return Math.floor(s / 60) + "m" + pad(s % 60) + "s";
  return s + "s";
}

/** score writes a score on a study's scale, or that there is none. */
function score(x, scale) {
  if (x === null || x === undefined) return "–";
  return scale.percent ? (100 * x).toFixed(2) + " %" : String(+x.toPrecision(4));
}

/** bestText writes the score of the returned model, or the estimate of the best one so far. */
const bestText = (s) => (s.best ? (s.best.returned ? "" : "~") + score(s.best.score, s.scale) : "–");

/** day writes a time of the record. */
const day = (t) => (t ? new Date(t).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) : "–");
