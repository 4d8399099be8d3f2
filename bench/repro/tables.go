package repro

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Table is a part of a report as text.
type Table struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
}

// Tables returns the report as text: the cells, the claims, and deviations from the
// papers.
func (r *Report) Tables() []Table {
	cells := Table{
		Title: "published and measured: mean +- standard deviation, and the 90 % interval of the mean (Student's t)",
		Head:  []string{"cell", "unit", "published", "measured", "90 %", "seeds", "variant"},
	}
	survivors := slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Last.N > 0 })
	if survivors {
		cells.Head = slices.Insert(cells.Head, 5, "last survivor")
	}
	judged := slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Published != nil })
	if judged {
		cells.Head = append(cells.Head, "verdict")
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		line := []string{row.Name, row.Unit, row.Published.Or(row.Instead), row.measured(), row.interval(), row.seeds(), variantText(row.Variant)}
		if survivors {
			line = slices.Insert(line, 5, withSD(row.Last))
		}
		if judged {
			line = append(line, row.agreement())
		}
		cells.Rows = append(cells.Rows, line)
	}
	out := []Table{cells}
	if len(r.Verdicts) > 0 {
		claims := Table{
			Title: "the papers' claims: gain of the first method over the second, paired by seed, with its 90 % interval",
			Head:  []string{"experiment", "claim", "published gain, its own 90 % interval (Welch)", "measured gain", "seeds", "seeds for 80 % power", "holds here", "order as published", "variant"},
		}
		for i := range r.Verdicts {
			v := &r.Verdicts[i]
			claims.Rows = append(claims.Rows, []string{
				v.Name, v.Claim, v.published(), v.gain(), strconv.Itoa(v.Gain.N), plainCount(v.Needed), v.Holds(), cmp.Or(v.Order(), "-"), variantText(v.Variant),
			})
		}
		out = append(out, claims)
	}
	found := []Table{r.staticTable(), r.pairTable()}
	out = append(out, list.Where(found, func(t Table) bool { return len(t.Rows) > 0 })...)
	out = append(out, r.sideTables()...)
	if len(r.Deviations) > 0 {
		notes := Table{Title: "deviations from the papers", Head: []string{"deviation", "runs"}}
		for _, d := range r.Deviations {
			where := d.Trainings[0]
			if n := len(d.Trainings); n > 1 {
				where = fmt.Sprintf("%s and %d more", where, n-1)
			}
			notes.Rows = append(notes.Rows, []string{d.Text, where})
		}
		out = append(out, notes)
	}
	return out
}

// Or writes a published number, or what stands in its place.
func (p *Published) Or(instead string) string {
	switch {
	case p == nil:
		return cmp.Or(instead, "a curve")
	case p.NA:
		return "not reached"
	case p.SD == 0:
		return printed(p.Mean)
	}
	return printed(p.Mean) + " +- " + printed(p.SD)
}

// agreement says whether the published number is found here, by the 90 % interval of the difference
// (Welch), or why that cannot be told.
func (r *Row) agreement() string {
	p := r.Published
	switch {
	case p == nil:
		return "-"
	case r.Variant != "":
		return "not comparable: other settings"
	case r.Sample.N+r.failed() == 0:
		return "-"
	case p.NA && r.Sample.N == 0:
		return "agrees: the goal is not reached"
	case p.NA || r.Sample.N == 0:
		return "differs: the goal is reached in one of them"
	case r.Sample.N < 2:
		return "cannot be told from one seed"
	case p.SD == 0 || p.Seeds < 2:
		return "cannot be told: one number is printed, without a spread"
	}
	off, half := r.Sample.Mean-p.Mean, stats.WelchHalf(p.SD, p.Seeds, r.Sample.SD, r.Sample.N)
	if math.Abs(off) <= half {
		return "agrees within " + plain(half, half)
	}
	return fmt.Sprintf("differs by %s +- %s", plain(off, off), plain(half, half))
}

// gainHalf is half the width of the 90 % interval of the difference of two published means;
// NaN where one has no standard deviation.
func (p *Published) gainHalf(o *Published) float64 {
	if p.SD == 0 || o.SD == 0 {
		return math.NaN()
	}
	return stats.WelchHalf(p.SD, p.Seeds, o.SD, o.Seeds)
}

// printed writes a number as the paper has it.
func printed(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// measured writes the mean and standard deviation.
func (r *Row) measured() string {
	if r.Sample.N == 0 && r.failed() > 0 {
		return "not reached"
	}
	return withSD(r.Sample)
}

// withSD writes the mean and standard deviation.
func withSD(s stats.Sample) string {
	switch s.N {
	case 0:
		return "-"
	case 1:
		return plain(s.Mean, s.Mean)
	}
	return plain(s.Mean, s.Mean) + " +- " + plain(s.SD, s.Mean)
}

// withInterval writes the mean and half the width of its confidence interval.
func withInterval(s stats.Sample) string {
	switch {
	case s.N == 0:
		return "-"
	case math.IsNaN(s.Half):
		return plain(s.Mean, s.Mean)
	case s.N > 1 && s.Half == 0: // no interval can be told from these
		return fmt.Sprintf("%s (all %d alike)", plain(s.Mean, s.Mean), s.N)
	}
	return plain(s.Mean, s.Mean) + " +- " + plain(s.Half, s.Mean)
}

// interval writes the confidence interval of the mean.
func (r *Row) interval() string {
	if math.IsNaN(r.Sample.Half) || r.Sample.Half == 0 {
		return "-"
	}
	return plain(r.Sample.Mean-r.Sample.Half, r.Sample.Mean) + " .. " + plain(r.Sample.Mean+r.Sample.Half, r.Sample.Mean)
}

// failed is the number of seeds that did not reach their goal.
func (r *Row) failed() int {
	n := 0
	for i, x := range r.Values {
		if !math.IsNaN(x) && !r.Reached[i] {
			n++
		}
	}
	return n
}

func (r *Row) seeds() string {
	if n := r.failed(); n > 0 {
		return fmt.Sprintf("%d, %d of them without reaching the goal", r.Seeds, n)
	}
	return strconv.Itoa(r.Seeds)
}

// published writes the paper's gain, with its interval where the paper tells enough.
func (v *Verdict) published() string {
	if math.IsNaN(v.Published) {
		return cmp.Or(v.Words, "-")
	}
	return withInterval(stats.Sample{N: 1, Mean: v.Published, Half: v.PublishedHalf})
}

func (v *Verdict) gain() string {
	if v.Gain.N == 0 {
		return "-"
	}
	text := withInterval(v.Gain)
	switch {
	case v.AtLeast && v.AtMost:
		text += " (some seeds of both without the goal)"
	case v.AtLeast:
		text = "at least " + text
	case v.AtMost:
		text = "at most " + text
	}
	if v.Ratios != [2]float64{} {
		text += fmt.Sprintf(" (%.2f to %.2f times)", v.Ratios[0], v.Ratios[1])
	}
	return text
}

// variantText tells a run with the paper's rounds, clients and settings from others; what
// data at hand do not have is among the deviations.
func variantText(variant string) string { return cmp.Or(variant, "full scale") }

// plain writes a number with as many decimals as the size of another one asks for.
func plain(x, size float64) string {
	switch a := math.Abs(size); {
	case math.IsNaN(x):
		return "-"
	case a >= 1000:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// plainP writes a probability.
func plainP(p float64) string {
	if math.IsNaN(p) {
		return "-"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// plainCount formats an integer.
func plainCount(n float64) string {
	if math.IsNaN(n) {
		return "-"
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}

// WriteMarkdown writes the report as Markdown.
func (r *Report) WriteMarkdown(w io.Writer) {
	var names []string
	for i := range r.Rows {
		if name, _, _ := strings.Cut(r.Rows[i].Name, "/"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	fmt.Fprintf(w, "# %s\n\n%s\n", strings.Join(names, ", "), strings.Join(r.where(), "\n"))
	for _, t := range r.Tables() {
		fmt.Fprintln(w)
		t.WriteMarkdown(w)
	}
}

// WriteMarkdown writes the table as Markdown, its title before it.
func (t *Table) WriteMarkdown(w io.Writer) {
	fmt.Fprintf(w, "%s%s:\n\n", strings.ToUpper(t.Title[:1]), t.Title[1:])
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat("---|", len(t.Head)))
	for _, row := range t.Rows {
		cells := list.Of(row, func(c string) string { return strings.ReplaceAll(c, "|", "\\|") })
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

// where says in a line for each machine where and when the report's seeds were
// measured.
func (r *Report) where() []string {
	type sum struct {
		runs, rounds int
		seconds      float64
		from, to     string
	}
	sums := map[string]*sum{}
	for _, m := range r.all() {
		e := &m.Head.Environment
		machine := fmt.Sprintf("%s, %s/%s, %s, level %s, %s", e.CPU, e.OS, e.Arch, e.Go, e.Level, oneline.Count(e.Workers, "worker"))
		if sums[machine] == nil {
			sums[machine] = &sum{from: e.Started, to: e.Started}
		}
		s := sums[machine]
		s.runs, s.rounds, s.seconds = s.runs+1, s.rounds+m.End.Rounds, s.seconds+m.End.Seconds
		s.from, s.to = min(s.from, e.Started), max(s.to, e.Started)
	}
	var lines []string
	for _, machine := range slices.Sorted(maps.Keys(sums)) {
		s := sums[machine]
		lines = append(lines, fmt.Sprintf("%s of %s in all on %s, started between %s and %s: %.1f hours of wall-clock time.",
			oneline.Count(s.runs, "run"), oneline.Count(s.rounds, "round"), machine, s.from, s.to, s.seconds/3600))
	}
	return lines
}

// jsonRow and jsonVerdict are the forms of `--json`.
type jsonRow struct {
	Name      string       `json:"name"`
	Paper     string       `json:"paper"`
	Where     string       `json:"where"`
	Unit      string       `json:"unit"`
	Published *Published   `json:"published"`
	Variant   string       `json:"variant"`
	Scale     float64      `json:"scale"`
	Scaled    bool         `json:"scaled"`
	Values    []float64    `json:"values"`
	Reached   []bool       `json:"reached"`
	Measured  stats.Sample `json:"measured"`
	Verdict   string       `json:"verdict"`
	Survivor  stats.Sample `json:"last_survivor"`
	Error     string       `json:"error_measure,omitempty"` // as result.Errors has it
}

type jsonVerdict struct {
	Name      string       `json:"name"`
	Claim     string       `json:"claim"`
	New       string       `json:"new"`
	Old       string       `json:"old"`
	Variant   string       `json:"variant"`
	Published float64      `json:"published_gain"`
	Half      float64      `json:"published_gain_half"`
	Words     string       `json:"published_gain_words,omitempty"`
	Gain      stats.Sample `json:"gain"`
	AtLeast   bool         `json:"gain_is_a_lower_bound"`
	AtMost    bool         `json:"gain_is_an_upper_bound"`
	Holds     string       `json:"holds"`
	Order     string       `json:"order_as_published"`
	// Needed is how many seeds would show the published gain with 80 % power; Pairs is the gain of
	// seeds that are single arms.
	Needed float64 `json:"seeds_for_80_percent_power"`
	Pairs  *Pairs  `json:"pairs,omitempty"`
}

// JSON returns the report in the form of `fedfast repro --json`, for package
// finite.
func (r *Report) JSON() any {
	out := struct {
		Cells      []jsonRow     `json:"cells"`
		Claims     []jsonVerdict `json:"claims"`
		Deviations []Deviation   `json:"deviations"`
	}{Cells: []jsonRow{}, Claims: []jsonVerdict{}, Deviations: append([]Deviation{}, r.Deviations...)}
	for i := range r.Rows {
		row := &r.Rows[i]
		out.Cells = append(out.Cells, jsonRow{
			row.Name, row.Paper, row.Where, row.Unit, row.Published, row.Variant, row.Scale, row.Scale != 1, row.Values, row.Reached,
			row.Sample, row.agreement(), row.Last, row.measure(),
		})
	}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		line := jsonVerdict{v.Name, v.Claim, v.New, v.Old, v.Variant, v.Published, v.PublishedHalf, v.Words, v.Gain, v.AtLeast, v.AtMost, v.Holds(), v.Order(), v.Needed, nil}
		if v.Pairs.N > 0 {
			line.Pairs = &v.Pairs
		}
		out.Claims = append(out.Claims, line)
	}
	return out
}
