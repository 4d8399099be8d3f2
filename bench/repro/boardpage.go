package repro

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// bestTrials is the tenth of a board's study whose values its ranges are of.
const bestTrials = 3

// Board is the tuned board: what is recorded of it with the settings of this version.
type Board struct {
	sets []boardResults
	// Missing are the methods on federations that have not been measured, or with other settings.
	Missing []string
}

// boardResults are the methods that are measured on a federation, in the order of papers().Board.Methods.
type boardResults struct {
	*boardSet
	methods []*boardResult
}

// boardResult is a method on a federation.
type boardResult struct {
	name         string
	personal     bool
	search       *Metrics
	tuned, plain []float64 // errors of the seeds in percent
	tunedBoth    [2][]float64
	cpu          float64
}

// NewBoard gathers the board from metrics.
func NewBoard(all []*Metrics) (*Board, error) {
	of := map[string][]*Metrics{}
	for _, m := range all {
		if m.Head.Variant == "" && strings.HasPrefix(m.Head.Training, "board-") {
			of[m.Head.Training] = append(of[m.Head.Training], m)
		}
	}
	b := &Board{}
	cells := boardCells() // three for each method on each federation
	for i := range papers().Board.Sets {
		set := boardResults{boardSet: &papers().Board.Sets[i]}
		for k := range papers().Board.Methods {
			three := cells[3*(i*len(papers().Board.Methods)+k):][:3]
			r := &boardResult{name: papers().Board.Methods[k]}
			for what, c := range three {
				settings, _, err := c.Training.config(Options{}, 1, "")
				if err != nil {
					return nil, err
				}
				r.personal = settings.Target == tuners.TargetPersonalized
				name, err := digest(settings)
				if err != nil {
					return nil, err
				}
				ms := slices.DeleteFunc(slices.Clone(of[c.Training.Key]), func(m *Metrics) bool { return m.Head.Digest != name })
				slices.SortFunc(ms, func(a, b *Metrics) int { return cmp.Compare(a.Head.Seed, b.Head.Seed) })
				if len(ms) == c.Training.Seeds {
					r.add(what, c, ms)
				}
			}
			if r.search == nil || r.tuned == nil || r.plain == nil {
				b.Missing = append(b.Missing, set.Name+"/"+r.name)
				continue
			}
			set.methods = append(set.methods, r)
		}
		b.sets = append(b.sets, set)
	}
	return b, nil
}

// add takes in the metrics of a cell: of the study, of the runs with its values, or of those
// with the defaults.
func (r *boardResult) add(what int, c Cell, ms []*Metrics) {
	var errors []float64
	for _, m := range ms {
		r.cpu += m.End.CPU
		x, _ := c.Measure(m)
		errors = append(errors, x)
		if what == 1 {
			for i, y := range []*float64{m.End.Best.GlobalTest, m.End.Best.PersonalizedTest} {
				r.tunedBoth[i] = append(r.tunedBoth[i], 100**y)
			}
		}
	}
	switch what {
	case 0:
		r.search = ms[0]
	case 1:
		r.tuned = errors
	default:
		r.plain = errors
	}
}

// less are the differences a - b of pairs.
func less(a, b []float64) []float64 {
	d := list.Made(min(len(a), len(b)), func(i int) float64 { return a[i] - b[i] })
	return d
}

// Tables returns the errors of all methods on all federations, what tuning changed in their order, and for each
// federation all that was measured.
func (b *Board) Tables() []Table {
	ranks := Table{
		Title: "what tuning changes in the order of the methods: Spearman's rank correlation of their test errors with the defaults and tuned, and the mean gain with its 90 % interval over methods",
		Head:  []string{"federation", "methods", "correlation, one model for all", "own models", "gain"},
	}
	var sets []Table
	for _, set := range b.sets {
		if len(set.methods) == 0 {
			continue
		}
		sets = append(sets, set.errors())
		row, gains := []string{set.Name, strconv.Itoa(len(set.methods))}, []float64{}
		for _, personal := range []bool{false, true} {
			var x, y []float64
			for _, m := range set.methods {
				if m.personal == personal {
					x, y = append(x, stats.Of(m.plain).Mean), append(y, stats.Of(m.tuned).Mean)
				}
			}
			gains = append(gains, less(x, y)...)
			row = append(row, plain(stats.Spearman(x, y), 0))
		}
		ranks.Rows = append(ranks.Rows, append(row, withInterval(stats.Of(gains))))
	}
	return append([]Table{overview(sets), ranks}, sets...)
}

// overview has a row for each method, from the tables of the federations.
func overview(sets []Table) Table {
	t := Table{
		Title: "mean test errors in %, tuned (and by default); * differs from tuned FedAvg, p < 0.05 by Holm",
		Head:  []string{"method"},
		Rows:  list.Of(papers().Board.Methods, func(m string) []string { return []string{m} }),
	}
	for _, set := range sets {
		name, _, _ := strings.Cut(set.Title, ":")
		t.Head = append(t.Head, name)
		for i := range t.Rows {
			t.Rows[i] = append(t.Rows[i], "-")
		}
		for _, r := range set.Rows {
			means := list.Of(r[1:4], func(cell string) string { mean, _, _ := strings.Cut(cell, " "); return mean })
			t.Rows[slices.Index(papers().Board.Methods, r[0])][len(t.Head)-1] = fmt.Sprintf("%s (%s)%s",
				strings.Trim(means[0]+", "+means[1], "-, "), means[2], strings.Repeat("*", index(r[6] != "-" && r[6] < "0.05")))
		}
	}
	return t
}

// errors is the table of a federation.
func (s *boardResults) errors() Table {
	t := Table{
		Title: fmt.Sprintf("%s: %s. %d rounds a training, %d a study with the reference. Test errors in %%, means over %d "+
			"other splits; gain and difference are paired, with 90 %% intervals; p by Holm for all of the table",
			s.Name, s.Doc, s.Rounds, s.methods[0].search.End.Rounds, boardSeeds),
		Head: []string{"method", "one model for all, tuned", "own models, tuned", "default", "gain over default", "less FedAvg", "p", "rank by default, tuned", "million samples", "core-seconds", ""},
	}
	against := make([]stats.Sample, len(s.methods))
	var ps []float64
	for i, m := range s.methods {
		if s.methods[0].name != "fedavg" || i == 0 {
			continue
		}
		var p float64
		against[i], p = stats.Paired(less(m.tuned, s.methods[0].tunedBoth[index(m.personal)]))
		ps = append(ps, p)
	}
	holm := map[int]string{}
	for i, p := range stats.Holm(ps) {
		holm[i+1] = plainP(p)
	}
	rank := func(m *boardResult, of func(*boardResult) []float64) int {
		n := 1
		for _, o := range s.methods {
			n += index(o.personal == m.personal && stats.Of(of(o)).Mean < stats.Of(of(m)).Mean)
		}
		return n
	}
	for i, m := range s.methods {
		global, own := withInterval(stats.Of(m.tunedBoth[0])), withInterval(stats.Of(m.tunedBoth[1]))
		if m.personal {
			global = "-"
		} else if i > 0 {
			own = "-"
		}
		t.Rows = append(t.Rows, []string{
			m.name, global, own, withInterval(stats.Of(m.plain)), withInterval(stats.Of(less(m.plain, m.tuned))), withInterval(against[i]), cmp.Or(holm[i], "-"),
			fmt.Sprintf("%d, %d", rank(m, func(r *boardResult) []float64 { return r.plain }), rank(m, func(r *boardResult) []float64 { return r.tuned })),
			fmt.Sprintf("%.2f", float64(m.search.End.Examples)/1e6), fmt.Sprintf("%.0f", m.cpu), m.falls(),
		})
	}
	return t
}

// falls says whether the scores of the winner still fell: its mean over the last quarter of the
// rounds is a point and more below that of the quarter before.
func (r *boardResult) falls() string {
	w := r.search.winner()
	if w == nil {
		return ""
	}
	scores := w.Global
	if r.personal {
		scores = w.Personalized
	}
	n := len(scores) / 4
	sum := [2]float64{}
	for i := range 2 * n {
		if x := scores[len(scores)-1-i]; x != nil {
			sum[i/max(n, 1)] += *x / float64(n)
		}
	}
	if sum[1]-sum[0] >= 0.01 {
		return "still falling"
	}
	return ""
}

// tunedValues are the values of a study's winner, or the defaults where these won, each with the
// range of it and of the best trials: those that ran furthest, by their last scores.
func (r *boardResult) tunedValues(set string) []config.TunedValue {
	trials := slices.Clone(r.search.Trials)
	slices.SortStableFunc(trials, func(a, b TrialLine) int {
		last := func(t TrialLine) float64 {
			if len(t.Rungs) == 0 {
				return math.Inf(1)
			}
			return t.Rungs[len(t.Rungs)-1].Score
		}
		return cmp.Or(len(b.Rungs)-len(a.Rungs), cmp.Compare(last(a), last(b)))
	})
	settings, err := config.Load(config.Source{Text: r.search.Head.Config})
	if err != nil {
		return nil
	}
	space, err := tuners.ParseSpace(settings.Space)
	if err != nil {
		return nil
	}
	won := settings.Own(space)
	if w := r.search.winner(); w != nil {
		won = w.Params
	}
	return list.Of(space, func(d tuners.Dim) config.TunedValue {
		v := config.TunedValue{Set: set, Method: r.name, Key: d.Name}
		v.Value, _ = won[d.Name].Float()
		v.Low, v.High = v.Value, v.Value
		for _, t := range trials[:min(bestTrials, len(trials))] {
			x, _ := t.Params[d.Name].Float()
			v.Low, v.High = min(v.Low, x), max(v.High, x)
		}
		return v
	})
}

// WriteValues writes the values of all studies as the program has them, see config.TunedValues.
func (b *Board) WriteValues(w io.Writer) error {
	_, err := fmt.Fprintln(w, "federation,method,key,value,low,high")
	for _, s := range b.sets {
		for _, m := range s.methods {
			for _, v := range m.tunedValues(s.Name) {
				if _, e := fmt.Fprintf(w, "%s,%s,%s,%.3g,%.3g,%.3g\n", v.Set, v.Method, v.Key, v.Value, v.Low, v.High); e != nil {
					err = e
				}
			}
		}
	}
	return err
}
