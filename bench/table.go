package bench

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
)

// heads are the columns of the table.
var heads = []string{
	"suite", "name", "shape", "batch", "optimizer", "precision", "threads", "time", "GFLOP/s", "of peak", "of limit",
	"samples/s", "spread", "loss", "of fp32", "PyTorch", "ratio", "speed-up", "outside nn", "allocs/step", "allocs/round",
	"GC stop", "per client", "memory",
}

// Table returns the report for people: a head and a row for each result, of as many
// cells. Columns that would be empty are left out.
func (r *Report) Table() [][]string { return r.table(false) }

// table returns the table with the PyTorches beside each row or, apart, in rows below it.
func (r *Report) table(apart bool) [][]string {
	rows := [][]string{slices.Clone(heads)}
	for _, x := range r.Results {
		rivals := x.Torch
		if apart {
			x.Torch = nil
		}
		rows = append(rows, r.cells(x))
		for _, v := range rivals {
			if apart && v.Error == "" {
				rows = append(rows, r.cells(v.alone()))
			}
		}
	}
	for at := len(heads) - 1; at >= 0 && len(rows) > 1; at-- {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[at] != "" }) {
			without(rows, at)
		}
	}
	return rows
}

// alone is a rival as a row of its own.
func (v Rival) alone() Result {
	x := Result{Name: "PyTorch " + v.Version, Precision: v.Precision, Threads: v.Threads, Seconds: v.Seconds}
	switch {
	case v.Processes > 1:
		x.Name += ", " + v.form()
	case v.Compiled:
		x.Name += ", compiled"
	}
	x.SamplesPerSecond, x.Loss, x.Spread, x.Ratio = v.SamplesPerSecond, v.Loss, v.Spread, v.Ratio
	return x
}

// without takes a column out of a table.
func without(rows [][]string, at int) {
	for i := range rows {
		rows[i] = slices.Delete(rows[i], at, at+1)
	}
}

// spare are the columns that a table gives up one after the other where it is too wide.
var spare = []string{
	"allocs/round", "allocs/step", "GC stop", "outside nn", "of peak", "GFLOP/s", "per client", "memory", "optimizer", "of limit",
	"suite", "speed-up", "spread", "loss", "threads", "shape",
}

// Brief returns the report for a screen: a table of as many columns as fit a width, with the
// fastest PyTorch alone or, apart, each in a row of its own, and notes on what is not in it and
// on what failed.
func (r *Report) Brief(width int, apart bool) (rows [][]string, notes []string) {
	rows = r.table(apart)
	at := slices.Index(rows[0], "PyTorch")
	for i, x := range r.Results {
		for _, v := range x.Torch {
			if v.Error != "" {
				notes = append(notes, fmt.Sprintf("%s %s batch %d: PyTorch %s %s failed: %s", x.Suite, x.Name, x.Batch, v.Version, v.Precision, v.Error))
			}
		}
		if at >= 0 && x.Ratio > 0 {
			rows[i+1][at] = r.rivals(x)[0]
		} else if at >= 0 && len(x.Torch) > 0 {
			rows[i+1][at] = "failed"
		}
	}
	var out []string
	for _, name := range spare {
		at := slices.Index(rows[0], name)
		if at < 0 || wide(rows) <= width {
			continue
		}
		without(rows, at)
		out = append(out, name)
	}
	if out != nil {
		notes = append(notes, fmt.Sprintf("not shown: %s; --json and --markdown have all", strings.Join(out, ", ")))
	}
	return rows, notes
}

// wide returns the columns of a screen that a table takes, with two between its own.
func wide(rows [][]string) int {
	sum := -2
	for i := range rows[0] {
		most := 0
		for _, row := range rows {
			most = max(most, len(row[i]))
		}
		sum += most + 2
	}
	return sum
}

// WriteMarkdown writes the heading and the table as a page in Markdown.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	for _, line := range r.Heading() {
		fmt.Fprintf(&b, "%s\n", line)
	}
	for i, row := range r.Table() {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Heading says in lines where and when the report was made, and how fast the
// machine is.
func (r *Report) Heading() []string {
	m := r.Machine
	lines := []string{fmt.Sprintf("%s, %s, %s/%s, %s, level %s; peak of one thread %.1f GFLOP/s; %s",
		m.CPU, oneline.Count(m.Cores, "core"), m.OS, m.Arch, m.GoVersion, m.Level, r.PeakGFLOPS, r.Date)}
	if m.Load != "" {
		lines[0] += ", load before " + m.Load
	}
	lines = append(lines, list.Of(r.Torch, TorchInfo.String)...)
	return lines
}

// low says whether the report has rows in bf16.
func (r *Report) low() bool {
	return slices.ContainsFunc(r.Results, func(x Result) bool { return x.Precision != nn.FP32.String() })
}

// cells are the texts of one row, one a column.
func (r *Report) cells(x Result) []string {
	batch, precision := "", ""
	if x.Batch > 0 {
		batch = strconv.Itoa(x.Batch)
	}
	gflops, fraction, bound, samples := "", "", "", ""
	if x.GFLOPS > 0 {
		gflops, fraction = fmt.Sprintf("%.1f", x.GFLOPS), percent(x.PeakFraction)
	}
	if x.Bound != "" {
		bound = percent(x.RooflineFraction) + " " + x.Bound
	}
	if x.SamplesPerSecond > 0 {
		samples = rate(x.SamplesPerSecond)
	}
	if r.low() {
		precision = x.Precision
	}
	rivals := strings.ReplaceAll(strings.Join(r.rivals(x), ", "), "|", "/") // a cell of Markdown
	return append([]string{
		x.Suite, x.Name, x.Shape, batch, x.Optimizer, precision, strconv.Itoa(x.Threads), duration(x.Seconds),
		gflops, fraction, bound, samples, fmt.Sprintf("%.0f %%", 100*x.Spread), filled("%.6g", x.Loss), filled("%.2f", x.Gain),
		rivals, filled("%.2f", x.Ratio),
	}, x.Round.cells()...)
}

// rivals says how fast each PyTorch was in each form, the fastest first.
func (r *Report) rivals(x Result) []string {
	sorted := slices.Clone(x.Torch)
	slices.SortStableFunc(sorted, func(a, b Rival) int { return cmp.Compare(b.SamplesPerSecond, a.SamplesPerSecond) })
	var texts []string
	for _, v := range sorted {
		text := "failed"
		if v.Error == "" {
			text = rate(v.SamplesPerSecond)
		}
		var form []string
		if len(r.Torch) > 1 {
			form = append(form, v.Version)
		}
		if slices.ContainsFunc(x.Torch, func(w Rival) bool { return w.Precision != v.Precision }) {
			form = append(form, v.Precision)
		}
		if v.Compiled {
			form = append(form, "compiled")
		}
		form = append(form, v.form())
		if v.Error != "" {
			form[len(form)-1] += ": " + v.Error
		}
		texts = append(texts, fmt.Sprintf("%s (%s)", text, strings.Join(form, " ")))
	}
	return texts
}

// form says how many threads or processes a PyTorch had.
func (v Rival) form() string {
	switch {
	case v.Processes > 1:
		return fmt.Sprintf("%d processes", v.Processes)
	case v.Threads == 1:
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", v.Threads)
}

// filled writes a figure, or nothing where there is none.
func filled(format string, x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// duration writes seconds with three significant digits and a fitting unit.
func duration(s float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}} {
		if s >= unit.size {
			return digits(s/unit.size) + " " + unit.name
		}
	}
	return digits(s/1e-9) + " ns"
}

// digits writes x with three or more significant digits.
func digits(x float64) string { return fmt.Sprintf("%.*f", max(0, 2-int(math.Log10(max(x, 1)))), x) }

// rate writes x with three or more significant digits and a thousand, million or
// billion as k, M or G.
func rate(x float64) string {
	for _, unit := range []string{"", "k", "M"} {
		if x < 99_950 {
			return digits(x) + unit
		}
		x /= 1000
	}
	return fmt.Sprintf("%.0fG", x)
}
