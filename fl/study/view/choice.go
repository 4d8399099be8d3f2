package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
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
