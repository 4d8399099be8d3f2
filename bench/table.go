package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
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
	lines := []string{fmt.Sprintf("%s, %d cores, %s/%s, %s, level %s; peak of one thread %.1f GFLOP/s; %s",
		m.CPU, m.Cores, m.OS, m.Arch, m.GoVersion, m.Level, r.PeakGFLOPS, r.Date)}
	if m.Load != "" {
		lines[0] += ", load before " + m.Load
	}
	if t := r.Torch; t != nil {
		lines = append(lines, fmt.Sprintf("PyTorch %s, Python %s, BLAS %s", t.Version, t.Python, t.BLAS))
	}
	return lines
}

// columns are the heads of the table; those of suites that did not run are left
// out.
func (r *Report) columns() []string {
	columns := []string{"suite", "name", "shape", "batch", "optimizer", "threads", "time", "GFLOP/s", "of peak", "of bound", "samples/s", "spread"}
	if r.Torch != nil {
		columns = append(columns, "PyTorch", "ratio")
	}
	if r.findings() {
		columns = append(columns, "found")
	}
	if r.rounds() {
		columns = append(columns, "speed-up", "outside nn", "allocs/step", "allocs/round", "GC stop", "a client", "memory")
	}
	return columns
}

// rounds says whether the report has rows of rounds.
func (r *Report) rounds() bool {
	for _, x := range r.Results {
		if x.Round != nil {
			return true
		}
	}
	return false
}

// findings says whether the report has rows of faults or accuracies.
func (r *Report) findings() bool {
	return slices.ContainsFunc(r.Results, func(x Result) bool { return x.Fault != nil || x.Accuracy != nil })
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
		bound = percent(x.BoundFraction) + " " + x.Bound
	}
	if x.SamplesPerSecond > 0 {
		samples = rate(x.SamplesPerSecond)
	}
	timed := duration(x.Seconds)
	if x.P99 > 0 {
		timed += ", p99 " + duration(x.P99)
	}
	cells := []string{
		x.Suite, x.Name, x.Shape, batch, optimizer, strconv.Itoa(x.Threads), timed, gflops, fraction, bound, samples,
		fmt.Sprintf("%.0f %%", 100*x.Spread),
	}
	if r.Torch != nil {
		var rivals []string
		for _, v := range x.Torch {
			rivals = append(rivals, v.String())
		}
		ratio := ""
		if x.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", x.Ratio)
		}
		cells = append(cells, strings.Join(rivals, ", "), ratio)
	}
	if r.findings() {
		found := ""
		switch {
		case x.Fault != nil:
			found = x.Fault.String()
		case x.Accuracy != nil:
			found = x.Accuracy.String()
		}
		cells = append(cells, found)
	}
	if r.rounds() {
		cells = append(cells, x.Round.cells()...)
	}
	return cells
}

// String says how fast PyTorch was in which form.
func (v Rival) String() string {
	form := fmt.Sprintf("%d threads", v.Threads)
	switch {
	case v.Processes > 1:
		form = fmt.Sprintf("%d processes", v.Processes)
	case v.Threads == 1:
		form = "1 thread"
	}
	return fmt.Sprintf("%s (%s)", rate(v.SamplesPerSecond), form)
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
