package repro

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/tuner/fedex"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// factsOf describes a federation.
func factsOf(fed *data.Federation) DataFacts {
	f := DataFacts{Name: fed.Name, Clients: len(fed.Clients), Notes: fed.Notes, Fingerprint: fed.Fingerprint}
	for i := range fed.Clients {
		c := &fed.Clients[i]
		f.Train, f.Val, f.Test = f.Train+c.Train.Len(), f.Val+c.Val.Len(), f.Test+c.Test.Len()
	}
	return f
}

// collect turns the finished study in a directory, of a model on a federation, into
// metrics with a head.
func collect(ctx context.Context, dir string, head Head, fed *data.Federation, model *nn.Model, board bool) (*Metrics, error) {
	v, err := store.Look(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	s, err := result.Read(ctx, v)
	if err != nil {
		return nil, err
	}
	if !s.Finished() {
		return nil, fmt.Errorf("%s: study has not finished", dir)
	}
	c, err := config.Load(config.Source{Text: s.Config})
	if err != nil {
		return nil, err
	}
	head.Kind, head.Format = "head", metricsFormat
	if s.Environment != nil {
		if err := json.Unmarshal(s.Environment, &head.Environment); err != nil {
			return nil, fmt.Errorf("%s: the recorded environment: %w", dir, err)
		}
	}
	m := &Metrics{Head: head}
	if s.Run != nil {
		m.End = End{
			Kind: "end", Measure: s.Run.Measure, Curve: s.Run.Curve, Goal: s.Run.Goal, Rounds: s.Run.Rounds,
			Seconds: rounded(s.Run.Seconds), SHA256: s.Run.WeightsSHA256, Dropped: &s.Run.Dropped,
		}
		if board {
			m.End.Best, m.End.Examples = returned(&result.Chosen{Round: s.Run.Rounds, Errors: s.Run.Errors}), s.Run.Examples
		}
		return m, nil
	}
	r := s.Tune
	m.Sides = r.Sides
	m.End = End{
		Kind: "end", Measure: r.Best.Measure, Best: returned(&r.Best), Survivor: returned(r.Survivor), Goal: r.Goal, Rounds: r.Rounds, Seconds: rounded(r.Seconds), SHA256: r.WeightsSHA256,
	}
	dropped := 0
	for i := range r.Trials {
		dropped += r.Trials[i].Dropped
	}
	m.End.Dropped = &dropped
	if led(c) && len(r.Trials) == 1 && len(r.Trials[0].Curve) > 0 {
		m.End.Curve = r.Trials[0].Curve
		return m, nil
	}
	if err := m.addClients(ctx, v, c, fed, model); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return m, m.addTrials(ctx, v, c, r)
}

// led says that a study's tuner leads one trial round by round, so that there are no
// arms.
func led(c *config.Config) bool { return c.Tuner.Name != "random" && c.Tuner.Name != "sha" }

// addTrials adds a line for each trial.
func (m *Metrics) addTrials(ctx context.Context, v *store.View, c *config.Config, r *result.Result) error {
	rounds := map[int][]result.RoundRow{}
	ran := map[int]int{}
	for _, t := range r.Trials {
		ran[t.Number] = t.Rounds
	}
	err := result.Rounds(ctx, v, func(row result.RoundRow) error {
		if last, isTrial := ran[row.Trial]; isTrial && row.Round > last {
			return nil // another study had trained it, beyond where this one stopped
		}
		rounds[row.Trial] = append(rounds[row.Trial], row)
		m.End.Examples += row.Examples
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range r.Trials {
		line := TrialLine{Kind: "trial", Number: t.Number, Params: t.Params, Rungs: t.Rungs, Test: t.Curve, Failed: t.Failed, Dropped: &t.Dropped}
		if c.ClientTuner.Name == "fedex" {
			if err := line.addArms(c, t); err != nil {
				return err
			}
			if len(r.Trials) == 1 {
				if line.Entropy, line.Theta, err = thetas(ctx, v); err != nil {
					return err
				}
			}
		}
		for _, row := range rounds[t.Number] {
			line.add(row, c.Target)
			if len(r.Trials) == 1 && !math.IsNaN(row.Seconds) {
				line.Simulated = append(line.Simulated, number(row.Seconds))
			}
		}
		m.Trials = append(m.Trials, line)
	}
	return nil
}

// thetas are the entropies of theta that FedEx noted in its plans, round by round, and
// the theta of the last one. A round that was planned again after a break has the plan
// that was recorded last.
func thetas(ctx context.Context, v *store.View) (entropies, last []float64, err error) {
	err = v.Each(ctx, func(row store.Row) error {
		var plan struct{ Notes map[string][]float64 }
		if err := json.Unmarshal(row.Data, &plan); err != nil {
			return fmt.Errorf("the plan of round %d: %w", row.Round, err)
		}
		if e := plan.Notes["entropy"]; len(e) == 1 {
			entropies = append(entropies[:min(len(entropies), max(0, row.Round-1))], e[0])
			last = plan.Notes["theta"]
		}
		return nil
	}, store.KindPlan)
	return entropies, last, err
}

// add adds a round.
func (t *TrialLine) add(row result.RoundRow, target string) {
	personalized, global := row.Score, row.Other
	if target == tuners.TargetGlobal {
		personalized, global = global, personalized
	}
	seconds := math.NaN()
	if !row.Since.IsZero() {
		seconds = row.At.Sub(row.Since).Seconds()
	}
	t.Personalized = append(t.Personalized, number(personalized))
	t.Global = append(t.Global, number(global))
	t.TrainLoss = append(t.TrainLoss, number(row.TrainLoss))
	t.Seconds = append(t.Seconds, number(seconds))
}

// number rounds for the file; nil stands for what is not finite.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	x = rounded(x)
	return &x
}

// rounded keeps six digits.
func rounded(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64) // what it wrote itself
	return x
}

// addArms adds the configurations of a trial under FedEx. Where its space has no
// hyperparameters it chooses among the model's networks, which are not listed.
func (t *TrialLine) addArms(c *config.Config, r result.TrialResult) error {
	space, err := tuners.ParseSpace(c.Space)
	if err != nil || len(space.Matching("client.*")) == 0 {
		return err
	}
	options, err := tuners.ParamsOf(c.ClientTuner.Options)
	if err != nil {
		return err
	}
	configs, err := fedex.Arms(space, r.Params, options, c.Seed, r.Number)
	if err != nil {
		return err
	}
	t.ConfigParams = configs[0].Keys()
	for _, config := range configs {
		values := list.Of(t.ConfigParams, func(name string) float64 { return rounded(config.Float(name, 0)) })
		t.Configs = append(t.Configs, values)
	}
	return nil
}

func returned(c *result.Chosen) *Returned {
	if c == nil {
		return nil
	}
	return &Returned{
		Trial: c.Number, Round: c.Round, Score: c.Score,
		GlobalVal: c.GlobalVal, GlobalTest: c.GlobalTest, PersonalizedVal: c.PersonalizedVal, PersonalizedTest: c.PersonalizedTest, NewTest: c.UnseenAdapted,
	}
}
