package study

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// joinChoices lets the choices of the model join the search space, where clients train
// sub-networks and a tuner can pick them, and checks those that the study's space has
// itself.
func (d *driver) joinChoices(ctx context.Context) error {
	whole := d.study.Hyper.Method.CheckSubnets()
	choices := d.setup.Model.Choices()
	for _, dim := range d.space {
		name, ok := strings.CutPrefix(dim.Name, tuners.ArchPrefix)
		if !ok {
			continue
		}
		if err := cmp.Or(whole, checkChoice(d.setup.Model, name, dim)); err != nil {
			return &key.Error{Key: config.SpaceKey(dim.Name), Problem: ": " + err.Error()}
		}
	}
	if whole != nil || len(choices) == 0 {
		return nil
	}
	picks, err := d.setup.Picks(ctx)
	if err != nil || !picks {
		return err
	}
	for _, c := range choices {
		dim := tuners.Dim{Name: tuners.ArchPrefix + c.Name, Kind: tuners.Choice}
		if slices.ContainsFunc(d.space, func(have tuners.Dim) bool { return have.Name == dim.Name }) {
			continue
		}
		for _, option := range c.Options {
			dim.Choices = append(dim.Choices, tuners.Num(float64(option)))
		}
		d.space = append(d.space, dim)
	}
	return nil
}

// checkChoice returns an error for a dimension that can be drawn as what the choice of
// that name does not have.
func checkChoice(m *nn.Model, name string, dim tuners.Dim) error {
	if dim.Kind != tuners.Choice {
		return fmt.Errorf("must be a choice, such as { choice = %v }", wants(m, name))
	}
	for _, v := range dim.Choices {
		x, ok := v.Float()
		if !ok || x != float64(int(x)) {
			return fmt.Errorf("%v is not an integer", v)
		}
		if err := m.CheckPick(map[string]int{name: int(x)}); err != nil {
			return err
		}
	}
	return nil
}

// wants returns the options of a choice as a study file writes them.
func wants(m *nn.Model, name string) string {
	for _, c := range m.Choices() {
		if c.Name == name {
			return strings.ReplaceAll(fmt.Sprint(c.Options), " ", ", ")
		}
	}
	return "[...]"
}

// Picks reports whether a tuner of the study picks sub-networks. The error comes from its
// description.
func (s *Setup) Picks(ctx context.Context) (bool, error) {
	for _, t := range []tuners.Tuner{s.Tuner, s.ClientTuner} {
		if t == nil {
			continue
		}
		about, err := t.Describe(ctx)
		if err != nil || about.Architectures {
			return about.Architectures, err
		}
	}
	return false, nil
}

// measure scores sub-networks of the paused trial's model as they stand in it, and
// reports of them: from the record, if the tuner knows them already.
func (t *entrant) measure(ctx context.Context, points []tuners.Params) (tuners.TrialReport, error) {
	t.measures++
	was, r := t.report(), t.report()
	measured, ok := t.Measured(t.measures - 1)
	if was.Measured = measured; ok && !t.driver.setup.again {
		return was, nil
	}
	if reason, err := t.driver.setup.Control.due(ctx, t); err != nil || reason != "" {
		err = t.endBy(ctx, reason, err, t.lane.event)
		return t.report(), err
	}
	c := t.driver.lastOf(t)
	if err := c.Fill(ctx); err != nil {
		return tuners.TrialReport{}, err
	}
	for i, p := range points {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		m, err := t.measured(ctx, &c, p)
		if err != nil {
			return r, fmt.Errorf("trial %d, sub-network %d: %w", t.Number, i, err)
		}
		r.Measured = append(r.Measured, m)
	}
	if !ok {
		return r, nil
	}
	t.Free() // its next rounds are recorded
	return was, sameReport(was, r)
}

// measured scores a sub-network of a model, on the same clients as any other one.
func (t *entrant) measured(ctx context.Context, c *trial.Model, point tuners.Params) (tuners.Measured, error) {
	d := t.driver
	h, err := t.Hyper().With(point, d.study.Hyper.Adds)
	if err != nil {
		return tuners.Measured{}, err
	}
	net, err := d.engine.Subnet(h.Client)
	if err != nil {
		return tuners.Measured{}, err
	}
	v, err := d.engine.Validate(ctx, c.Weights, fl.EvalConfig{
		Arch: h.Client.Arch, Sample: d.setup.Config.Finalists.Clients, Noise: d.setup.Config.Score.Options(), Trial: c.Trial.Number, Round: c.Round,
	})
	if err != nil {
		return tuners.Measured{}, d.crashed(err)
	}
	flops, params := net.Cost()
	return tuners.Measured{Score: v.Metric(d.objective.Metric), FLOPs: flops, Params: params}, nil
}
