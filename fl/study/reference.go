package study

import (
	"cmp"
	"context"
	"math"

	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// suggested are the trials that the tuner asked for.
func (d *driver) suggested() []*entrant {
	if n := len(d.trials); n > 0 && d.trials[n-1].Reference {
		return d.trials[:n-1]
	}
	return d.trials
}

// trainReference trains the configured values of [client] and [server], without a client
// tuner, as long as the longest trial: a trial after all others, of which the tuner does not know.
// A trial that trained with these values takes its place.
func (d *driver) trainReference(ctx context.Context) error {
	c, h, control := &d.setup.Config, &d.study.Hyper, d.setup.Control
	halted := control.over() && d.past.Trial(len(d.trials)) == nil // before this trial
	if !c.Compares() || c.Eval.RecordEvery > 0 || halted || len(d.setup.Model.Choices()) > 0 {
		return nil
	}
	params := d.space.Active(c.Own(d.space))
	if own, err := h.Base.With(params, nil); err != nil || h.Method.CheckParams(own.Client, own.Server) != nil || own.CheckTime() != nil {
		return nil // the method has no defaults for keys that the file leaves to the tuner
	}
	longest := 0
	for _, t := range d.trials {
		if p := t.Phase(); p != trial.Failed && p != trial.Ended {
			longest = max(longest, t.spent())
		}
	}
	for _, t := range d.trials {
		if d.study.Client == nil && t.alive() && t.spent() == longest && t.Params.Equal(params) {
			d.reference = t
			return nil
		}
	}
	if longest == 0 {
		return nil
	}
	t, err := d.open(ctx, trial.Spec{Number: len(d.trials), Params: params, Reference: true})
	if err != nil {
		return err
	}
	if t.floor = math.Inf(-1); d.objective.Direction == tuners.Maximize { // its last model alone is kept
		t.floor = math.Inf(1)
	}
	t.lane = (&lanes{to: d.setup.Observer}).open()
	defer t.lane.end()
	control.open(d)
	err = t.segment(ctx, longest, func(int) {}, t.lane.event)
	d.reference = t
	return cmp.Or(err, control.close([]*entrant{t}))
}

// eligible reports whether the reference may be returned.
func (t *entrant) eligible(aims tuners.Aims) bool {
	return t != nil && t.Reference && t.alive() && (len(aims.Constraints) == 0 || aims.Violation(t.valued()) == 0)
}

// compareReference fills in the reference of a result.
func (d *driver) compareReference(ctx context.Context, r *result.Result) error {
	if !d.reference.alive() {
		return nil
	}
	m, err := d.choose(ctx, r, d.lastOf(d.reference), "the configured values")
	if err != nil {
		return err
	}
	r.Reference.Compare(m, r, targetOf(&d.setup.Config, d.setup.Data))
	return nil
}
