package bench

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
)

// Table returns the report for people: a head and a row for each result, of as many
// cells.
func (r *Report) Table() [][]string {
	rows := [][]string{r.columns()}
	for _, x := range r.Results {
		rows = append(rows, r.cells(x))
	}
	return rows
}

// spare are the columns that a table gives up one after the other where it is too wide.
var spare = []string{"allocs/round", "allocs/step", "GC stop", "outside nn", "of peak", "GFLOP/s", "per client", "memory", "optimizer", "of limit", "suite", "speed-up", "spread"}

// Brief returns the report for a screen: a table of as many columns as fit a width, with the
// fastest PyTorch alone, and notes on what is not in it and on what failed.
func (r *Report) Brief(width int) (rows [][]string, notes []string) {
	rows = r.Table()
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
		for i := range rows {
			rows[i] = slices.Delete(rows[i], at, at+1)
		}
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
	for _, t := range r.Torch {
		lines = append(lines, t.String())
	}
	return lines
}

// columns are the heads of the table; those of suites that did not run are left
// out.
func (r *Report) columns() []string {
	columns := []string{"suite", "name", "shape", "batch", "optimizer"}
	if r.low() {
		columns = append(columns, "precision")
	}
	columns = append(columns, "threads", "time", "GFLOP/s", "of peak", "of limit", "samples/s", "spread")
	if r.low() {
		columns = append(columns, "of fp32")
	}
	if r.Torch != nil {
		columns = append(columns, "PyTorch", "ratio")
	}
	if r.rounds() {
		columns = append(columns, "speed-up", "outside nn", "allocs/step", "allocs/round", "GC stop", "per client", "memory")
	}
	return columns
}

// low says whether the report has rows in bf16.
func (r *Report) low() bool {
	return slices.ContainsFunc(r.Results, func(x Result) bool { return x.Precision != nn.FP32.String() })
}

// rounds says whether the report has rows of rounds.
func (r *Report) rounds() bool {
	return slices.ContainsFunc(r.Results, func(x Result) bool { return x.Round != nil })
}

// cells are the texts of one row, one a column.
func (r *Report) cells(x Result) []string {
	batch, optimizer := "", x.Optimizer
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
	cells := []string{x.Suite, x.Name, x.Shape, batch, optimizer}
	if r.low() {
		cells = append(cells, x.Precision)
	}
	cells = append(cells, strconv.Itoa(x.Threads), duration(x.Seconds), gflops, fraction, bound, samples, fmt.Sprintf("%.0f %%", 100*x.Spread))
	if r.low() {
		cells = append(cells, ratio(x.Gain))
	}
	if r.Torch != nil {
		cells = append(cells, strings.ReplaceAll(strings.Join(r.rivals(x), ", "), "|", "/"), ratio(x.Ratio)) // a cell of Markdown
	}
	if r.rounds() {
		cells = append(cells, x.Round.cells()...)
	}
	return cells
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

// ratio writes a ratio, or nothing where there is none.
func ratio(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", x)
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
func digits(x float64) string {
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Log10(max(x, 1)))), x)
}

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
