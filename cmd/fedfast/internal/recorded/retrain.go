package recorded

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/key"
)

// Retrain trains a row again, alone, and returns an error that names the first number which
// differs from the recorded one. Sets may say where the data are.
func (t *Table) Retrain(ctx context.Context, row, workers int, sets []string) error {
	c, err := config.Load(config.Source{Text: t.Config})
	if err != nil {
		return err
	}
	if len(sets) > 0 {
		if err := c.Move(sets, ""); err != nil {
			return err
		}
	}
	have := &t.Trained[row]
	c.Seed, c.Budget.TrialRounds = have.Seed, have.Rounds
	if have.Failed != "" {
		c.Budget.TrialRounds++
	}
	fed, m, err := config.Prepare(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = fed.Close() }() // it was read only
	if t.Data != fed.Fingerprint {
		return &key.Error{Key: "data.path", Problem: fmt.Sprintf(": these are other data than those of the table: fingerprint %s, recorded %s", fed.Fingerprint, t.Data)}
	}
	got, err := study.Retrain(ctx, study.Setup{Config: *c, Data: fed, Model: m, Workers: workers}, have.Trial, have.Params)
	if err != nil {
		return err
	}
	if got.Failed != have.Failed {
		return fmt.Errorf("row %d: %s, recorded %s; the table was recorded by %s", row, failing(got), failing(have), t.Fedfast)
	}
	for _, p := range have.Points {
		if err := differs(got.At(p.Round), &p); err != nil {
			return fmt.Errorf("row %d, round %d: %w; the table was recorded by %s", row, p.Round, err, t.Fedfast)
		}
	}
	return nil
}

// failing says how a training ended.
func failing(r *study.Recording) string {
	if r.Failed == "" {
		return "it did not fail"
	}
	return fmt.Sprintf("it failed (%s)", r.Failed)
}

// differs returns an error for the first number of a recorded round that differs.
func differs(got, want *study.RecordedPoint) error {
	if got.Round != want.Round || len(got.Val) != len(want.Val) || len(got.Test) != len(want.Test) {
		return errors.New("trained again, it is of other clients or another round")
	}
	for _, split := range []struct {
		name      string
		got, want []float64
	}{{"validation", got.Val, want.Val}, {"test", got.Test, want.Test}, {"test set's", []float64{got.Central}, []float64{want.Central}}} {
		for i, x := range split.want {
			if math.Float64bits(x) != math.Float64bits(split.got[i]) && !(math.IsNaN(x) && math.IsNaN(split.got[i])) {
				return fmt.Errorf("client %d has the %s error %v, recorded %v", i, split.name, split.got[i], x)
			}
		}
	}
	if got.SHA256 != want.SHA256 {
		return fmt.Errorf("the weights have the SHA-256 %s, recorded %s", got.SHA256, want.SHA256)
	}
	return nil
}
