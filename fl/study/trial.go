package study

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// trial is a trial of a study: a federated training with its params, and the
// client tuner's session about it.
type trial struct {
	driver  *driver
	number  int
	params  tuners.Params
	hyper   hyper.Values
	source  *trial // that it was forked from, nil for none
	base    int    // the rounds that it had then
	past    *pastTrial
	upTo    int64       // the last row that counts as recorded, if that is behind the study's
	page    []store.Row // recorded rounds from the next one on, a few of them
	train   *fl.Trial   // nil while the rounds come from the record or are run elsewhere, or when dropped
	away    *away       // where else the trial trains, nil for nowhere
	session *clientSession
	probes  []string // what the client tuner's session sees of each slot
	rounds  int
	clients int // that the newest round trained, 0 where it was read
	stopped bool
	over    bool // it is counted in driver.over
	// released says that the tuner will not fork it any more.
	released bool
	fail     *failRecord // why it cannot go on
	act      *actRecord  // of a person that ended it
	dropped  int
	examples int
	losses   []float64 // by round, of a plain run
	loss     Trend
	curve    []CurvePoint
	rungs    []Rung
	mean     Discounted // of the scores since the last rung
	recent   Recent     // driver.mu guards it and the next two, which are for the display only
	standing Standing
	failed   bool
	best     candidate // of the segment at work
	floor    float64   // below which its models are kept
	lowest   float64   // score of the last segment's best, NaN for none
	lane     *lane     // of its events
	measures int       // how often its sub-networks were scored
	kept     snapshots
}

// open starts a trial, with fresh weights or as a copy of source. Its weights
// and the client tuner's session come when they are needed.
func (d *driver) open(ctx context.Context, number int, params tuners.Params, source *trial) (*trial, error) {
	if params == nil {
		params = tuners.Params{} // as a tuner's answer has it; the record leaves it out
	}
	h, err := d.base.With(params, d.adds)
	if err != nil {
		return nil, fmt.Errorf("trial %d: %w", number, err)
	}
	if err := d.method.CheckParams(h.Client, h.Server); err != nil {
		return nil, fmt.Errorf("trial %d: %w", number, err)
	}
	t := &trial{driver: d, number: number, params: params, hyper: h, source: source, past: d.history.trials[number]}
	rec := trialRecord{Params: params}
	if source != nil {
		t.base, t.rounds = source.rounds, source.rounds
		rec.Source = &source.number
	}
	if d.setup.ClientTuner != nil {
		t.session = &clientSession{trial: t}
		if t.past != nil {
			t.probes = t.past.opened.Probes
		} else if err := t.openSession(ctx); err != nil {
			return nil, err
		}
		rec.Probes = t.probes
	}
	if t.past != nil {
		if have, want := t.past.opened.Params, params; !have.Equal(want) {
			return nil, fmt.Errorf("trial %d: its recorded rounds have other params, %v", number, have)
		}
		t.past.rounds = max(t.past.rounds, t.base)
		return t, nil
	}
	t.past = &pastTrial{rounds: t.base}
	if err := d.history.append(KindTrial, number, t.base, rec); err != nil {
		return nil, err
	}
	if source == nil {
		return t, nil
	}
	// The source may run on before the copy does.
	if t.train, err = d.copyOf(ctx, source, number); err != nil {
		return nil, err
	}
	return t, t.save(ctx)
}

// openSession opens the client tuner's session and asks which probes it uses.
func (t *trial) openSession(ctx context.Context) error {
	if err := t.session.wake(ctx); err != nil {
		return err
	}
	t.probes = slices.Concat(t.session.live.Probes(), t.driver.clientScalars)
	return nil
}

// openClientSession opens the client tuner's session about a trial, at the
// start or in a recorded state. It is told, besides the trial's params, what the
// study sets for the hyperparameters that it controls.
func (d *driver) openClientSession(ctx context.Context, t *trial, state []byte) (*rules.Session, error) {
	s, err := rules.Open(ctx, d.setup.ClientTuner, tuners.OpenRequest{
		Study: d.setup.Config.Name, Space: d.space, Options: d.clientOptions, Budget: d.budget, Objective: d.objective,
		Seed: d.setup.Config.Seed, Trial: t.number, Params: t.hyper.Matching(d.clientControls).Merge(t.params), State: state,
	})
	if err != nil {
		return nil, fmt.Errorf("client tuner: trial %d: %w", t.number, err)
	}
	return s, nil
}

// stop ends the trial's rounds. What only further rounds need is freed, unless a
// tuner that forks may still copy the trial.
func (t *trial) stop(ctx context.Context) error {
	t.stopped = true
	t.driver.ended(t)
	if t.driver.forks {
		t.session.remember()
	}
	err := t.session.close(ctx)
	if t.fail == nil && t.driver.forks && !t.released {
		return err
	}
	return errors.Join(err, t.drop())
}

// release notes that the tuner will not fork the trial.
func (t *trial) release() error {
	t.released = true
	if t.stopped {
		return t.drop()
	}
	return nil
}

// drop frees the weights and deletes the snapshots but those of candidates, and
// the last one of a trial that other studies may resume.
func (t *trial) drop() error {
	t.train = nil
	if t.driver.setup.KeepTrials {
		return t.prune(1)
	}
	return t.prune(0)
}

// result is the trial's row of the study's result.
func (t *trial) result() TrialResult {
	r := TrialResult{Number: t.number, State: Completed, Params: t.params, Rounds: t.rounds, Rungs: t.rungs, Dropped: t.dropped, Loss: t.loss, Curve: t.curve}
	if n := len(t.rungs); n > 0 {
		r.Score = t.rungs[n-1].Score
	}
	if t.source != nil {
		r.Source = &t.source.number
	}
	switch {
	case t.act != nil:
		r.State, r.Stopped = Pruned, t.act.reason()
	case t.fail != nil:
		r.State, r.Failed = Failed, t.fail.Reason
	case t.stopped && t.rounds < t.driver.budget.TrialRounds:
		r.State = Pruned
	}
	return r
}
