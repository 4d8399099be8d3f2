package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Ended is the overview of the end of a study without a record.
func Ended(c *config.Config, r *result.Result) *Overview {
	o := &Overview{Name: c.Name, Mode: config.ModeTune, State: Completed, Config: c, Tune: r}
	o.Best = &Best{result.Standing{Trial: r.Best.Number, Round: r.Best.Round, Score: r.Best.Score}, true}
	for _, f := range r.Finalists {
		o.Finalists = append(o.Finalists, Finalist{f.Trial, f.Round, f.Score})
	}
	trials := r.Trials
	if ref := r.Reference; ref != nil && ref.Trial != nil {
		trials = append(slices.Clone(trials), *ref.Trial)
	}
	for i, t := range trials {
		trial := Trial{Number: t.Number, State: t.State, Params: t.Params, Source: t.Source, Reference: i >= len(r.Trials), Rounds: t.Rounds, Failed: cmp.Or(t.Failed, t.Stopped)}
		for _, rung := range t.Rungs {
			trial.Rungs = append(trial.Rungs, Rung{Round: rung.Round, Score: rung.Score, Values: rung.Values})
		}
		o.Trials = append(o.Trials, trial)
	}
	return o
}

// FinalistTable has the models among which the study chooses, the best first; nil without any.
func (o *Overview) FinalistTable() *Table {
	scale, aim := o.Scale(), o.Config.Aim()
	t := &Table{Title: "Finalists so far, scored on all clients", Head: []string{"trial", "round", scale.String()}}
	if most := o.Config.Finalists.Clients; most > 0 {
		t.Title = "Finalists so far, scored on at most " + oneline.Count(most, "client")
	}
	all := slices.Clone(o.Finalists)
	if o.Tune != nil && len(o.Tune.Finalists) > 0 {
		t.Title = fmt.Sprintf("%s, scored on the validation samples of %s", oneline.Count(len(o.Tune.Finalists), "finalist"), oneline.Count(o.Tune.Finalists[0].Clients, "client"))
		t.Head = append(t.Head, "one cohort", "finalist by", "outcome")
		all = Ended(o.Config, o.Tune).Finalists
	}
	if o.Config.Score.Epsilon > 0 {
		t.Title += fmt.Sprintf(", each at an additional privacy cost of score.epsilon = %v", o.Config.Score.Epsilon)
	}
	slices.SortStableFunc(all, func(a, b Finalist) int { return aim.Compare(a.Score, b.Score) })
	for _, f := range all {
		row := []string{strconv.Itoa(f.Trial), oneline.Digits(f.Round), scale.Text(f.Score)}
		if r := o.Tune; r != nil {
			at := slices.IndexFunc(r.Finalists, func(x result.Finalist) bool { return x.Trial == f.Trial && x.Round == f.Round })
			as, outcome := "snapshot", ""
			switch {
			case r.Finalists[at].Survivor:
				as = "survivor"
			case f.Trial >= len(r.Trials):
				as = "default"
			}
			switch {
			case f.Trial == r.Best.Number && f.Round == r.Best.Round:
				outcome = "winner"
			case r.Luckiest != nil && f.Trial == r.Luckiest.Number && f.Round == r.Luckiest.Round:
				outcome = "luckiest"
			}
			row = append(row, scale.Text(r.Finalists[at].CohortScore), as, outcome)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// BaselineTable compares the returned model with random search, nil without that.
func (o *Overview) BaselineTable() *Table {
	if o.Tune == nil || o.Tune.Baseline == nil || o.Tune.Baseline.Gain == nil {
		return nil
	}
	b := o.Tune.Baseline
	what, _ := result.MeasureName(o.Measure())
	t := &Table{
		Title: fmt.Sprintf("Random search: %s of %s each", oneline.Count(len(b.Trials), "configuration"), oneline.Count(b.Rounds, "round")),
		Head:  []string{"model", b.Target + " test " + what, fmt.Sprintf("%.0f %% interval", 100*stats.Confidence), "rounds"},
	}
	points := func(text string) string { return strings.Replace(text, " %", " points", 1) } // of a share
	interval := func(lo, hi float64) string {
		return strings.TrimSuffix(o.ErrorText(lo), " %") + " to " + o.ErrorText(hi)
	}
	median, gain := "", ""
	if i := b.MedianInterval; i != nil {
		median = interval(i[0], i[1])
	}
	if h := b.GainHalf; h != nil {
		gain = points(interval(*b.Gain-*h, *b.Gain+*h))
	}
	t.Rows = [][]string{
		{"returned model", o.ErrorText(b.BestTest - *b.Gain), "", oneline.Digits(o.Tune.Rounds)},
		{"random search, best", o.ErrorText(b.BestTest), "", oneline.Digits(b.Spent())},
		{"random search, median", o.ErrorText(b.MedianTest), median, ""},
		{"gain over the best", points(o.ErrorText(*b.Gain)), gain, ""},
	}
	return t
}
