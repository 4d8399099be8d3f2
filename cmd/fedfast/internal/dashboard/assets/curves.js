"use strict";

/** The place of each metric in a row of news: trial, round, score, loss, test. */
const metricAt = { score: 2, loss: 3, test: 4 };
const metricName = { score: "validation score", loss: "training loss", test: "test error" };

/** The distances of marks on the axis of rounds: whole ones. */
const wholeSteps = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((x) => [x, 2 * x, 5 * x]);

/** Curves draws the curves of all trials; each column holds the same number of rounds. */
class Curves {
  constructor(root, over, onLight) {
    this.root = root;
    this.over = over;
    this.onLight = onLight;
    this.times = { updates: 0, slowest: 0, last: 0 };
    new ResizeObserver(() => this.plot && this.plot.setSize(this.size())).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.build());
  }

  size() {
    return { width: Math.max(280, this.root.clientWidth), height: 340 };
  }

  /** set takes the curves of all metrics as the server thinned them. */
  set(length, drawn, metric, best) {
    this.width = drawn.width;
    this.per = Math.min(2, drawn.width);
    this.best = best;
    const columns = Math.ceil(length / this.width);
    this.end = 0;
    this.xs = [];
    for (let c = 0; c < columns; c++) for (let k = 0; k < this.per; k++) this.xs.push(c * this.width + 1 + (k * this.width) / 2);
    this.sets = {};
    for (const [name, curves] of Object.entries(drawn.curves)) this.sets[name] = [this.xs, ...curves.map((c) => this.fill(c))];
    this.last = 0; // the last column with a number
    for (const curves of Object.values(this.sets)) for (const c of curves.slice(1)) this.last = Math.max(this.last, c.findLastIndex((y) => y !== null));
    this.choose(metric);
  }

  /** shown is as much of the curves as there is, with room to grow. */
  shown() {
    if (!this.end || this.last >= this.end) this.end = Math.min(this.xs.length, Math.max(20 * this.per, Math.ceil(1.25 * (this.last + 1))));
    return this.data.map((c) => c.slice(0, this.end));
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

  /** nameOf names a metric: scores are those of each round's cohort. */
  nameOf(metric) {
    return metric === "score" && this.scale?.name ? this.scale.name + ", one cohort each round" : metricName[metric];
  }

  /** percent says that a metric is written in percent. */
  percent(metric) {
    return metric === "score" && this.scale?.percent;
  }

  /** series says how a trial is drawn: the best one stands out. */
  series(i) {
    const css = getComputedStyle(document.documentElement), lit = i === this.best;
    return {
      label: "trial " + i,
      stroke: css.getPropertyValue(lit ? "--best" : "--line").trim(),
      width: lit ? 2.5 : 1,
      alpha: lit ? 1 : Math.max(0.25, Math.min(1, 12 / this.data.length)),
      spanGaps: true,
      points: { show: lit && this.data[0].length < 60 },
    };
  }

  /** build draws anew. */
  build() {
    if (!this.data) return;
    const css = getComputedStyle(document.documentElement), faint = css.getPropertyValue("--faint").trim(), grid = css.getPropertyValue("--grid").trim();
    const axis = { stroke: faint, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
    this.plot?.destroy();
    this.plot = new uPlot({
      ...this.size(),
      series: [{ label: "round" }, ...this.data.slice(1).map((_, i) => this.series(i))],
      scales: { x: { time: false } },
      axes: [{ ...axis, label: "round", labelSize: 22, incrs: wholeSteps }, { ...axis, label: this.nameOf(this.metric), size: 64, labelSize: 22, ...(this.percent(this.metric) ? { values: (u, ys) => ys.map((y) => +(100 * y).toPrecision(6) + " %") } : {}) }],
      legend: { show: false },
      cursor: { focus: { prox: 24 }, points: { show: false }, drag: { x: true, y: false } },
      focus: { alpha: 0.25 },
      hooks: {
        setSeries: [(u, i) => this.light(i)],
        draw: [() => this.drawn()],
      },
    }, this.shown(), this.root);
  }

  /** light tells which trial the pointer is at. */
  light(i) {
    this.over.textContent = i ? "trial " + (i - 1) : "";
    this.onLight(i ? i - 1 : -1);
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
