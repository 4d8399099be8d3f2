package study

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
)

// TestAutomaticCurve looks at the measurements of eval.every = -1: about 20 of them, on
// the same clients each time, for at most 5 % of the multiply-adds of the training, and
// the weights stay the same.
func TestAutomaticCurve(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"long":           func(c *config.Config) { c.Rounds = 200 },
		"short":          func(c *config.Config) { c.Rounds = 30 },
		"many epochs":    func(c *config.Config) { c.Rounds, c.Client.Epochs = 30, 20 },
		"few steps":      func(c *config.Config) { c.Rounds, c.Client.Steps, c.Client.Batch = 100, 1, 2 },
		"other clients":  func(c *config.Config) { c.Rounds, c.Eval.EveryClients = 60, 4 },
		"with patience":  func(c *config.Config) { c.Rounds, c.Eval.Patience = 60, 100 },
		"few are chosen": func(c *config.Config) { c.Rounds, c.Eval.Clients = 60, 3 },
	} {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			c.Model.Name, c.Cohort, c.Data.Name, c.Data.Clients, c.Data.Samples = "logistic", 5, "glyphs", 60, 30
			change(&c)
			fed, model, err := config.Prepare(t.Context(), &c)
			if err != nil {
				t.Fatal(err)
			}
			s := Setup{Config: c, Data: fed, Model: model, Unscored: true}
			e, err := s.engine()
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			p := paceOf(&s, e)
			if p.every < 1 {
				t.Fatal("it never measures")
			}
			forward, train := model.FLOPs()
			trained, measured, points := 0.0, 0.0, 0
			var before []int
			for round := 1; round <= c.Rounds; round++ {
				trained += trainedSamples(&s) * float64(train)
				if round%p.every != 0 {
					continue
				}
				points++
				clients := p.clients(round)
				measured += float64(measuredSamples(&s, clients)) * float64(forward)
				if c.Eval.EveryClients == 0 && before != nil && !slices.Equal(before, clients) {
					t.Errorf("round %d measures clients %v, the one before %v", round, clients, before)
				}
				before = clients
			}
			if c.Eval.EveryClients == 0 && measured > AutoShare*trained {
				t.Errorf("%d measurements take %.1f %% of the training's operations", points, 100*measured/trained)
			}
			if points > autoPoints || name == "many epochs" && points < 15 {
				t.Errorf("%d measurements in %d rounds", points, c.Rounds)
			}
		})
	}
	s := glyphStudy(t, nil)
	s.Config.Rounds, s.Config.Eval.Every = 40, 0
	without, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Eval.Every = config.Default().Eval.Every
	with, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if without.WeightsSHA256 != with.WeightsSHA256 || len(without.Curve) != 0 || len(with.Curve) < 5 {
		t.Errorf("weights %s without and %s with a curve of %d points", without.WeightsSHA256, with.WeightsSHA256, len(with.Curve))
	}
}

// TestPatience ends a run whose validation error stops falling, whole, interrupted at its
// end, and trained elsewhere.
func TestPatience(t *testing.T) {
	s := glyphStudy(t, nil)
	s.Config.Rounds, s.Config.Eval.Every, s.Config.Eval.Patience, s.Config.Client.LR = 200, 1, 3, 2
	whole, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	best, ended := Stale(whole.Curve, 3)
	if !ended || whole.Rounds == 200 || whole.Rounds != best.Round+3 || len(whole.Curve) != whole.Rounds {
		t.Fatalf("it ends after %d rounds with %+v as the best of %d", whole.Rounds, best, len(whole.Curve))
	}
	for _, p := range whole.Curve[best.Round:] {
		if *p.ValError < *best.ValError {
			t.Errorf("round %d has %v, below %v of round %d", p.Round, *p.ValError, *best.ValError, best.Round)
		}
	}
	if _, sooner := Stale(whole.Curve[:len(whole.Curve)-1], 3); sooner {
		t.Error("it could have ended a round sooner")
	}
	dir := filepath.Join(t.TempDir(), "study")
	s.Store = openStore(t, dir)
	s.Trainer = newCrew(t, s, 2, nil)
	elsewhere, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.Close(); err != nil {
		t.Fatal(err)
	}
	s.Store, s.Trainer = openStore(t, dir), nil
	again, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Store.Close()
	for _, r := range []*RunResult{elsewhere, again} {
		if !reflect.DeepEqual(r.Curve, whole.Curve) || r.WeightsSHA256 != whole.WeightsSHA256 {
			t.Errorf("%d rounds and weights %s, want %d and %s", r.Rounds, r.WeightsSHA256, whole.Rounds, whole.WeightsSHA256)
		}
	}
	s.Store, s.Config.Data.Split = nil, "90/0/10"
	if s.Data, s.Model, err = config.Prepare(t.Context(), &s.Config); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "eval.patience = 3: no client has validation samples") {
		t.Errorf("without validation samples: %v", err)
	}
}
