"use strict";

/** make returns an element with a text and attributes. */
function make(tag, text, attributes) {
  const e = document.createElement(tag);
  if (text !== undefined && text !== null) e.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  return e;
}

const by = (id) => document.getElementById(id);

/** ask fetches JSON, its pictures as wide as the page; an answer that is an error throws its line. */
async function ask(path, query) {
  const wide = Math.min(innerWidth, 1400) - (innerWidth > 600 ? 40 : 24);
  const answer = await fetch(path + "?" + new URLSearchParams([...new URLSearchParams(query || {}), ["wide", String(wide)]]));
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** tell shows what went wrong. */
function tell(e) {
  by("note").textContent = e.message;
}

const count = new Intl.NumberFormat("en");

/** rounds says how many of its rounds a study has run; a budget in seconds or updates has no number of them. */
const rounds = (s) => count.format(s.rounds) + (s.budget ? " of " + count.format(s.budget) : "");

/** span writes seconds in their two largest units. */
function span(seconds) {
  const s = Math.round(seconds), pad = (n) => String(n).padStart(2, "0");
  if (s >= 86400) return Math.floor(s / 86400) + "d" + pad(Math.floor((s % 86400) / 3600)) + "h";
  if (s >= 3600) return Math.floor(s / 3600) + "h" + pad(Math.floor((s % 3600) / 60)) + "m";
  if (s >= 60) return Math.floor(s / 60) + "m" + pad(s % 60) + "s";
  return s + "s";
}

/** number writes a number with four digits, as the terminal does. */
function number(x) {
  if (x === null || x === undefined) return "";
  const y = +x.toPrecision(4), a = Math.abs(y);
  return y && (a < 1e-4 || a >= 1e15) ? y.toExponential().replace(/([+-])(\d)$/, "$10$2") : String(y);
}

/** score writes a score on a study's scale, or that there is none. */
function score(x, scale) {
  if (x === null || x === undefined) return "–";
  return scale.percent ? (100 * x).toFixed(2) + " %" : number(x);
}

/** day writes a time of the record. */
const day = (t) => (t ? new Date(t).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) : "–");

/** copy is a command with a button that copies it. */
function copy(text) {
  const span = make("span", null, { class: "copy" }), button = make("button", "Copy", { type: "button", "aria-label": "Copy " + text });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text).then(() => (button.textContent = "Copied"), () => (button.textContent = "Press Ctrl-C"));
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  span.append(make("code", text), button);
  return span;
}

const view = new URLSearchParams(location.search);

/** keep puts what a person has chosen into the address, which shows the same again. */
function keep(name, value) {
  if (value || value === 0) view.set(name, value);
  else view.delete(name);
  history.replaceState(null, "", "?" + view);
}

/** downloads are links to a picture in each form; query names it. */
function downloads(query, title) {
  const row = make("span", null, { class: "downloads" });
  for (const form of ["svg", "png", "pdf", "csv"]) row.append(make("a", form.toUpperCase(), { href: "/api/figure?" + new URLSearchParams([...query, ["form", form]]), download: "", "aria-label": "Download " + title + " as " + form.toUpperCase() }));
  return row;
}

/** drawing shows an SVG with styles and names of its own. */
function drawing(text) {
  const host = make("div"), root = host.attachShadow({ mode: "open" }), sheet = new CSSStyleSheet();
  const css = /<style>([^]*?)<\/style>/, svg = new DOMParser().parseFromString(text.replace(css, ""), "image/svg+xml").documentElement;
  sheet.replaceSync(css.exec(text)[1] + "svg{max-width:100%;height:auto;display:block}@media (max-width:600px){svg{max-width:none}}");
  root.adoptedStyleSheets = [sheet];
  root.append(svg);
  return host;
}

/** figure shows a picture that the server has drawn for a query. */
function figure(p, query) {
  const f = make("figure", null, { tabindex: "0", ...(p.wide ? { class: "wide" } : {}) }), d = drawing(p.svg);
  f.drawing = d.shadowRoot.firstChild;
  f.append(d, downloads([...query, ["name", p.name]], p.title));
  return f;
}

/** grid is a table that its heads sort. */
function grid(t) {
  const scroll = make("div", null, { class: "scroll", role: "region", "aria-label": t.title, tabindex: "0" });
  const table = make("table"), caption = make("caption"), head = make("tr"), body = make("tbody"), thead = make("thead");
  for (const name of t.head) head.append(make("th", name, { scope: "col" }));
  for (const cells of t.rows) {
    const tr = make("tr");
    for (const [i, cell] of cells.entries()) tr.append(make(i ? "td" : "th", cell, i ? {} : { scope: "row" }));
    body.append(tr);
  }
  thead.append(head);
  caption.append(make("span", t.title));
  table.append(caption, thead, body);
  sortable(table);
  scroll.append(table);
  return scroll;
}

/** value is what a cell is sorted by: a number where it begins with one. */
function value(cell) {
  const text = cell.dataset.value ?? cell.textContent.replaceAll(",", "").replace(/^~/, ""), x = parseFloat(text);
  return Number.isNaN(x) ? text : x;
}

/** order sorts the rows of a table by a column; missing values come last. */
function order(table, column, down) {
  const known = (v) => typeof v === "number" || (v !== "" && v !== "–");
  const rows = [...table.tBodies[0].rows].map((tr) => [value(tr.cells[column]), tr]);
  rows.sort(([a], [b]) => {
    if (known(a) !== known(b)) return known(a) ? -1 : 1;
    return (down ? -1 : 1) * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  });
  table.tBodies[0].append(...rows.map(([, tr]) => tr));
  for (const [i, th] of [...table.tHead.rows[0].cells].entries()) {
    if (i === column) th.setAttribute("aria-sort", down ? "descending" : "ascending");
    else th.removeAttribute("aria-sort");
  }
}

/** sortable puts buttons into the heads of a table. */
function sortable(table) {
  for (const [i, th] of [...table.tHead.rows[0].cells].entries()) {
    const button = make("button", th.textContent, { type: "button", class: "sort" });
    button.addEventListener("click", () => order(table, i, th.getAttribute("aria-sort") === "ascending"));
    if (th.textContent) th.replaceChildren(button);
  }
}

/** shown puts texts, pictures and tables of the server, which a query asked for, into an element. */
function shown(root, p, query) {
  const pictures = make("div", null, { class: "pictures" });
  pictures.append(...p.pictures.map((x) => figure(x, query)));
  root.replaceChildren(...p.text.map((t) => make("p", t, t.startsWith("Warning: ") ? { class: "warn" } : {})), pictures, ...p.tables.map(grid));
  if (!p.text.length && !p.pictures.length && !p.tables.length) root.append(make("p", "Nothing to show yet.", { class: "faint" }));
}
