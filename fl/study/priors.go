package study

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// warmStart is what a result tells of priors.
func warmStart(p *record.Priors) *result.WarmStart {
	if p == nil {
		return nil
	}
	return &result.WarmStart{Studies: p.Studies, Trials: p.Trials, Dropped: p.Dropped, Rounds: p.Rounds}
}

// priors are the trials of tuner.from: those that are recorded, else those of the
// directories. It is nil without any.
func (d *driver) priors(ctx context.Context, about tuners.Description) (*record.Priors, error) {
	c := &d.setup.Config
	switch {
	case len(c.Tuner.From) == 0 && about.NeedsPriors:
		return nil, &key.Error{Key: "tuner.from", Problem: fmt.Sprintf(": tuner %s trains what finished studies of other "+
			"data found best; list their directories, such as [\"studies/other\"]", about.Name)}
	case len(c.Tuner.From) == 0:
		return nil, nil
	case !about.Priors:
		return nil, &key.Error{Key: "tuner.from", Problem: fmt.Sprintf(": tuner %s learns nothing from trials of other studies; use tpe, bohb, bo or proxy", about.Name)}
	case d.past != nil && d.past.Priors != nil:
		return d.past.Priors, nil
	}
	p := &record.Priors{Studies: len(c.Tuner.From)}
	for _, dir := range c.Tuner.From {
		if err := d.read(ctx, dir, p); err != nil {
			return nil, &key.Error{Key: "tuner.from", Problem: fmt.Sprintf(": %v", err)}
		}
	}
	if about.NeedsPriors && !slices.ContainsFunc(p.Priors, func(p tuners.Prior) bool { return p.Whole }) {
		return nil, &key.Error{Key: "tuner.from", Problem: fmt.Sprintf(": none of %d trials that ran all their rounds has "+
			"a point of this space and the objectives' values; record studies with the same space", p.Trials+p.Dropped)}
	}
	return p, nil
}

// mostPriors bounds the rungs that are handed to a tuner, which receives them in one message.
const mostPriors = 20_000

// read adds the trials of a finished study, in the order of their numbers.
func (d *driver) read(ctx context.Context, dir string, into *record.Priors) error {
	view, err := store.Look(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }() // it was read only
	var c *config.Config
	params, rungs, failed := map[int]tuners.Params{}, map[int][]tuners.Prior{}, map[int]bool{}
	finished := false
	err = view.Each(ctx, func(r store.Row) error {
		switch r.Kind {
		case store.KindStudy:
			rec, err := record.Decode[record.Study](r.Kind, r.Data)
			if err == nil {
				c, err = config.Load(config.Source{Text: rec.Config})
			}
			return err
		case store.KindTrial:
			return record.Into(r, func(rec *record.Trial) {
				if !rec.Reference {
					params[r.Trial] = rec.Params
				}
			})
		case store.KindRung:
			if c == nil {
				return errors.New("its record does not begin with a study")
			}
			if _, ok := params[r.Trial]; !ok {
				return nil // the configured values
			}
			return record.Into(r, func(rec *record.Rung) {
				values := record.Numbers(rec.Values)
				if values == nil {
					values = map[string]float64{c.Objective: float64(rec.Score)}
				}
				rungs[r.Trial] = append(rungs[r.Trial], tuners.Prior{Round: r.Round, Whole: r.Round == c.Budget.TrialRounds, Values: values})
			})
		case store.KindFail:
			failed[r.Trial] = true
		case store.KindResult:
			finished = true
		}
		return nil
	}, store.KindStudy, store.KindTrial, store.KindRung, store.KindFail, store.KindResult)
	mine := &d.setup.Config
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", dir, err)
	case c == nil || !finished || len(rungs) == 0:
		return fmt.Errorf("%s holds no finished study of trials; resume it with `fedfast study resume %s`", dir, oneline.Path(dir))
	case c.Objective != mine.Objective || c.Target != mine.Target:
		return fmt.Errorf("%s has objective = %q, target = %q, and this study %q, %q: they must be the same", dir, c.Objective, c.Target, mine.Objective, mine.Target)
	case !c.Budget.InRounds():
		return fmt.Errorf("%s spent %ss, and this study spends rounds", dir, c.Budget.Unit())
	}
	for _, trial := range slices.Sorted(maps.Keys(rungs)) {
		into.Rounds += rungs[trial][len(rungs[trial])-1].Round
		if failed[trial] || d.space.Contains(params[trial]) != nil || !d.valued(rungs[trial]) {
			into.Dropped++
			continue
		}
		into.Trials++
		for _, p := range rungs[trial] {
			p.Params = params[trial]
			into.Priors = append(into.Priors, p)
		}
	}
	if n := len(into.Priors); n > mostPriors {
		return fmt.Errorf("%d scores of other studies, at most %d are allowed; list fewer directories", n, mostPriors)
	}
	return nil
}

// valued reports whether all rungs of a trial have the metrics of the study as numbers.
func (d *driver) valued(rungs []tuners.Prior) bool {
	for _, p := range rungs {
		for _, name := range d.aims.Metrics() {
			if x, ok := p.Values[name]; !ok || x != x {
				return false
			}
		}
	}
	return true
}
