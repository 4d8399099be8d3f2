package study

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// joinChoices lets the choices of the model join the search space, where clients train
// sub-networks and a tuner can pick them, and checks those that the study's space has
// itself.
func (d *driver) joinChoices(ctx context.Context) error {
	whole := d.method.CheckSubnets()
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
	picks, err := d.picks(ctx)
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
		if err := m.CheckPick(nn.Pick{name: int(x)}); err != nil {
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

// picks reports whether a tuner of the study picks sub-networks.
func (d *driver) picks(ctx context.Context) (bool, error) {
	for _, t := range []tuners.Tuner{d.setup.Tuner, d.setup.ClientTuner} {
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
