package study

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/tuners"
)

// measure scores sub-networks of the paused trial's model as they stand in it, and
// reports of them: from the record, if the tuner was told of them before.
func (t *trial) measure(ctx context.Context, points []tuners.Params) (tuners.TrialReport, error) {
	t.measures++
	if t.past != nil && t.measures <= len(t.past.measured) {
		r := t.report()
		r.Measured = t.past.measured[t.measures-1]
		return r, nil
	}
	act, err := t.driver.setup.Control.due(ctx, t)
	if act != nil && err == nil {
		err = t.ends(ctx, *act, t.lane.event)
	}
	if act != nil || err != nil {
		return t.report(), err
	}
	c := t.driver.lastOf(t)
	if err := t.driver.fill(ctx, &c); err != nil {
		return tuners.TrialReport{}, err
	}
	r := t.report()
	for i, p := range points {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		m, err := t.measured(ctx, &c, p)
		if err != nil {
			return r, fmt.Errorf("trial %d, sub-network %d: %w", t.number, i, err)
		}
		r.Measured = append(r.Measured, m)
	}
	return r, nil
}

// measured scores a sub-network of a model, on the same clients as any other one.
func (t *trial) measured(ctx context.Context, c *candidate, point tuners.Params) (tuners.Measured, error) {
	d := t.driver
	h, err := t.hyper.With(point, d.adds)
	if err != nil {
		return tuners.Measured{}, err
	}
	net, err := d.engine.Subnet(h.Client)
	if err != nil {
		return tuners.Measured{}, err
	}
	v, err := d.engine.Validate(ctx, c.weights, fl.Validation{
		Arch: h.Client.Arch, Most: d.setup.Config.Finalists.Clients, Score: d.setup.Config.Score.Options(), Trial: c.trial.number, Round: c.round,
	})
	if err != nil {
		return tuners.Measured{}, d.crashed(err)
	}
	flops, params := net.Cost()
	return tuners.Measured{Score: v.Metric(d.objective.Metric), FLOPs: flops, Params: params}, nil
}
