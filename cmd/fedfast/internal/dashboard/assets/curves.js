"use strict";

/** The place of each metric in a row of news: trial, round, score, loss, test. */
const metricAt = { score: 2, loss: 3, test: 4 };
const metricName = { score: "validation score", loss: "training loss", test: "test error" };
const axisName = { "": "round", seconds: "time since the start", clock: "simulated time", updates: "client updates sent" };

/** The distances of marks on the axis of rounds: whole ones. */
const wholeSteps = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((x) => [x, 2 * x, 5 * x]);

/** smoothed is the running mean over a number of values. */
function smoothed(curve, many) {
  const out = new Array(curve.length).fill(null), last = [];
  let sum = 0;
  for (const [i, y] of curve.entries()) {
    if (y === null || y === undefined) continue;
    last.push(y);
    sum += y;
    if (last.length > many) sum -= last.shift();
    out[i] = sum / last.length;
  }
  return out;
}

/** Curves draws the curves of all trials in columns of one width. */
class Curves {
  constructor(root, card, onLight, onPick) {
    Object.assign(this, { root, card, onLight, onPick, smoothing: 5, by: "", best: -1 });
    this.times = { updates: 0, slowest: 0, last: 0 };
    new ResizeObserver(() => this.plot && root.clientWidth && this.plot.setSize(this.size())).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.build());
    root.addEventListener("click", () => this.lit >= 0 && this.onPick(this.lit));
  }

  size() {
    return { width: Math.max(280, this.root.clientWidth), height: 340 };
  }

  /** set takes the curves of all metrics as the server thinned them. */
  set(by, drawn, metric, best) {
    this.by = by;
    this.width = drawn.width;
    this.per = drawn.width === 1 && !by ? 1 : 2;
    this.best = best;
    const columns = by ? Math.floor(drawn.end / this.width) + 1 : Math.ceil(drawn.end / this.width);
    this.end = 0;
    this.xs = [];
    for (let c = 0; c < columns; c++) for (let k = 0; k < this.per; k++) this.xs.push(c * this.width + (by ? 0 : 1) + (k * this.width) / 2);
    this.sets = {};
    for (const [name, curves] of Object.entries(drawn.curves)) this.sets[name] = [this.xs, ...curves.map((c) => this.fill(c))];
    this.last = 0; // the last column with a number
    for (const curves of Object.values(this.sets)) for (const c of curves.slice(1)) this.last = Math.max(this.last, c.findLastIndex((y) => y !== null));
    this.choose(metric);
  }

  /** noisy says that a metric is of one cohort each round. */
  noisy() {
    return this.metric !== "test" && this.smoothing > 0;
  }

  /** shown is as much of the curves as there is, with room to grow; behind them the single rounds of the best trial. */
  shown() {
    if (!this.end || this.last >= this.end) this.end = this.data.length === 2 ? this.xs.length : Math.min(this.xs.length, Math.max(20 * this.per, Math.ceil(1.25 * (this.last + 1))));
    const all = this.data.map((c, i) => (i && this.noisy() ? smoothed(c.slice(0, this.end), this.smoothing * this.per) : c.slice(0, this.end)));
    return [...all, (this.noisy() && this.data[(this.data.length === 2 ? 0 : this.best) + 1 || this.data.length]?.slice(0, this.end)) || new Array(this.end).fill(null)];
  }

  /** choose draws another metric. */
  choose(metric) {
    this.metric = metric;
    this.data = this.sets[metric];
    this.build();
  }

  fill(curve) {
    const ys = new Array(this.xs.length).fill(null);
    for (let i = 0; i < curve.length; i++) ys[i] = curve[i];
    return ys;
  }

  /** add puts new rounds into their columns; true says that a trial is new. */
  add(rows) {
    let fresh = false;
    for (const [metric, data] of Object.entries(this.sets)) {
      for (const row of rows) {
        const y = row[metricAt[metric]], trial = row[0];
        while (data.length <= trial + 1) {
          data.push(this.fill([]));
          fresh = true;
        }
        if (y === null) continue;
        const ys = data[trial + 1], at = this.per * Math.floor((row[1] - 1) / this.width), end = at + this.per - 1;
        this.last = Math.max(this.last, end);
        if (ys[at] === null || ys[at] === undefined) ys[at] = ys[end] = y;
        else {
          ys[at] = Math.min(ys[at], y);
          ys[end] = Math.max(ys[end], y);
        }
      }
    }
    return fresh;
  }

  /** nameOf names a metric: scores come from each round's cohort. */
  nameOf(metric) {
    return metric === "score" && this.scale?.name ? this.scale.name + ", one cohort each round" : metricName[metric];
  }

  /** percent says that a metric is written in percent. */
  percent(metric) {
    return (metric === "score" && this.scale?.percent) || (metric === "test" && this.share);
  }

  /** text writes a value of the metric. */
  text(y) {
    return this.percent(this.metric) ? (100 * y).toFixed(2) + " %" : number(y);
  }

  /** place writes where a column stands. */
  place(x) {
    if (this.by === "clock" && x < 10) return +x.toPrecision(3) + "s";
    return this.by === "seconds" || this.by === "clock" ? span(x) : count.format(Math.round(x));
  }

  /** series says how a trial is drawn: the best one stands out. */
  series(i) {
    const css = getComputedStyle(document.documentElement), lit = i === this.best, alone = this.data.length === 2;
    return {
      label: "trial " + i,
      stroke: css.getPropertyValue(lit ? "--best" : "--line").trim(),
      width: lit || alone ? 2.5 : 1,
      alpha: lit || alone ? 1 : Math.max(0.25, Math.min(1, 12 / this.data.length)),
      spanGaps: true,
      points: { show: (lit || alone) && this.metric === "test" },
    };
  }

  /** build draws anew. */
  build() {
    if (!this.data) return;
    const css = getComputedStyle(document.documentElement), faint = css.getPropertyValue("--faint").trim(), grid = css.getPropertyValue("--grid").trim(), best = css.getPropertyValue("--best").trim();
    const axis = { stroke: faint, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
    let lo = Infinity, hi = 0; // a loss that exploded would flatten all others
    if (this.metric === "loss") for (const c of this.data.slice(1)) for (const y of c) if (y !== null) (lo = Math.min(lo, y)), (hi = Math.max(hi, y));
    this.plot?.destroy();
    this.plot = new uPlot({
      ...this.size(),
      series: [{ label: axisName[this.by] }, ...this.data.slice(1).map((_, i) => this.series(i)), { label: "single rounds", stroke: best, alpha: 0.35, paths: () => null, points: { show: true, size: 3, fill: best } }],
      scales: { x: { time: false }, y: lo > 0 && hi > 100 * lo ? { distr: 3 } : {} },
      axes: [
        { ...axis, label: axisName[this.by], size: 32, labelSize: 22, ...(this.by ? { values: (u, xs) => xs.map((x) => this.place(x)) } : { incrs: wholeSteps }) },
        { ...axis, label: this.metric === "score" && this.scale?.name ? this.scale.name : metricName[this.metric], size: (u, texts) => Math.max(64, ...(texts || []).map((t) => 20 + 7 * (t || "").length)), labelSize: 22, values: (u, ys) => ys.map(this.percent(this.metric) ? (y) => +(100 * y).toPrecision(6) + " %" : number) },
      ],
      legend: { show: false },
      cursor: { focus: { prox: 24 }, points: { show: false }, drag: { x: true, y: false } },
      focus: { alpha: 0.25 },
      hooks: {
        setSeries: [(u, i) => this.light(i)],
        setCursor: [() => this.tell()],
        draw: [() => this.drawn()],
      },
    }, this.shown(), this.root);
  }

  /** light notes which trial the pointer is at. */
  light(i) {
    this.lit = i && i < this.data.length ? i - 1 : -1;
    this.tell();
    this.onLight(this.lit);
  }

  /** tell shows a card about the trial that the pointer is at. */
  tell() {
    const u = this.plot, ys = u?.data[this.lit + 1];
    let at = u?.cursor.idx ?? -1;
    while (ys && at >= 0 && (ys[at] === null || ys[at] === undefined)) at--;
    this.card.hidden = !(this.lit >= 0) || at < 0;
    if (this.card.hidden) return;
    const t = this.trials?.()[this.lit];
    this.card.replaceChildren(
      make("b", "trial " + this.lit + (this.lit === this.best ? " (best)" : "")),
      make("div", axisName[this.by] + " " + this.place(u.data[0][at]) + ": " + this.text(ys[at])),
      ...Object.entries(t?.params || {}).map(([k, v]) => make("div", k + " " + param(v), { class: "faint" })),
      make("div", "Click for details", { class: "faint" }),
    );
    const box = this.root.getBoundingClientRect(), right = u.cursor.left + u.bbox.left / devicePixelRatio > box.width / 2;
    this.card.style.left = Math.max(4, Math.min(box.width - this.card.offsetWidth, u.cursor.left + u.bbox.left / devicePixelRatio + (right ? -this.card.offsetWidth - 16 : 16))) + "px";
    this.card.style.top = this.root.offsetTop + Math.max(0, Math.min(340 - this.card.offsetHeight, u.cursor.top)) + "px";
  }

  /** focus draws a trial before the others, -1 for none. */
  focus(trial) {
    this.plot?.setSeries(trial < 0 ? null : trial + 1, { focus: true }, false);
  }

  /** update draws what was added. */
  update(rows, best) {
    this.begun = performance.now();
    const before = this.best, fresh = this.add(rows);
    this.best = best;
    if (fresh) return this.build();
    for (const i of before === best ? [] : [before, best]) this.restyle(i);
    const whole = this.plot.scales.x.min === this.xs[0] && this.plot.scales.x.max === this.xs[this.end - 1]; // nobody looks at a part
    this.plot.setData(this.shown(), whole);
  }

  /** restyle draws a trial from now on as series says. */
  restyle(i) {
    const s = this.plot.series[i + 1];
    if (i < 0 || !s) return;
    const { stroke, width, alpha } = this.series(i);
    Object.assign(s, { stroke: () => stroke, width, alpha });
  }

  /** drawn measures how long an update took. */
  drawn() {
    if (!this.begun) return;
    this.times.updates++;
    this.times.last = performance.now() - this.begun;
    this.times.slowest = Math.max(this.times.slowest, this.times.last);
    this.begun = 0;
  }
}
