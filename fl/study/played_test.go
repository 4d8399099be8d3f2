package study

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// ownCurves has the recording of each trial of a study.
type ownCurves struct {
	recordings []Recording
	setup      *Setup
}

func (c ownCurves) Take(trial int, _ tuners.Params) *Recording {
	return &c.recordings[trial]
}

func (c ownCurves) Samples() (val, test []int, central int) {
	for _, client := range c.setup.Data.Clients {
		val, test = append(val, client.Val.Len()), append(test, client.Test.Len())
	}
	return val, test, c.setup.Data.Test.Len()
}

// recordOf trains every trial of a result to its end, recording each round.
func recordOf(t *testing.T, s Setup, r *result.Result) []Recording {
	t.Helper()
	most := s.Config.Budget.TrialRounds
	all := &script{rung: most, to: most, mangle: func(step int, ds []tuners.Decision) []tuners.Decision {
		if step == 1 {
			return []tuners.Decision{{Kind: tuners.Done, Best: -1}}
		}
		return ds
	}}
	for _, trial := range r.Trials {
		all.params = append(all.params, trial.Params)
	}
	s.Tuner, s.Config.Tuner = all, config.Tuner{Name: "script", Parallel: 1}
	s.Config.Budget.Rounds, s.Config.Eval.RecordEvery, s.Config.Score = most*len(r.Trials), 1, config.Score{}
	s.Config.Finalists.Snapshots, s.Config.Eval.EveryTarget = 1, s.Config.Target
	s.Store = openStore(t, filepath.Join(t.TempDir(), "study"))
	defer func() { _ = s.Store.Close() }()
	if _, err := Tune(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	recordings, err := Recordings(t.Context(), s.Store, s.Config.Seed)
	if err != nil {
		t.Fatal(err)
	}
	return recordings
}

// TestPlayedIsTheStudy: a study on recorded trainings is the study that trains, to the bit; with
// personalized models where batches have all samples, so that no drawn order changes errors.
func TestPlayedIsTheStudy(t *testing.T) {
	for _, name := range []string{
		"random", "sha", "asha", "hyperband", "bo", "personalized sha", "personalized asha",
		"personalized hyperband",
	} {
		for _, score := range []config.Score{{}, {Clients: 2, Uniform: true, Epsilon: 3, Discount: 0.5}} {
			t.Run(fmt.Sprintf("%s %d", name, score.Clients), func(t *testing.T) {
				name, personal := strings.CutPrefix(name, "personalized ")
				s := tuned(t, name)
				s.Config.Target, s.Config.Eval.Personalized, s.Config.Score = "global", personal, score
				if personal {
					s.Config.Target, s.Config.Client.Batch = "personalized", 1000 // all samples of a client
				}
				s.Config.Sampling, s.Config.Finalists.Snapshots = "without", 3
				if diverges := score.Clients == 0; diverges {
					s.Config.Space["client.lr"] = map[string]any{"log10": []any{-2.0, 37.0}}
					s.Config.Nonfinite = config.NonfiniteFail
				}
				want, err := Tune(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				got, err := Played{
					Config: s.Config, Tuner: s.Tuner, Curves: ownCurves{recordOf(t, s, want), &s}, Target: s.Config.Target,
				}.Play(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for i := range want.Trials {
					have, trial := &got.Trials[i], &want.Trials[i]
					have.Curve, trial.Curve, trial.Loss = nil, nil, result.Trend{}
					if !reflect.DeepEqual(have, trial) {
						t.Errorf("trial %d: %+v, want %+v", i, have, trial)
					}
				}
				failed := slices.ContainsFunc(got.Trials, func(r result.TrialResult) bool { return r.State == result.Failed })
				if failed != (score.Clients == 0) {
					t.Errorf("a trial failed: %t", failed)
				}
				if !reflect.DeepEqual(got.Finalists, want.Finalists) || got.Rounds != want.Rounds {
					t.Errorf("finalists %+v of %d rounds, want %+v of %d", got.Finalists, got.Rounds, want.Finalists, want.Rounds)
				}
				for i, c := range []*result.Chosen{&want.Best, want.Survivor, want.Luckiest} {
					have := []*result.Chosen{&got.Best, got.Survivor, got.Luckiest}[i]
					if personal {
						c.GlobalVal, c.GlobalTest = nil, nil // which such a table has not
					}
					if have.Number != c.Number || have.Round != c.Round || have.Score != c.Score || have.SHA256 != c.SHA256 ||
						!reflect.DeepEqual(have.Rates, c.Rates) {
						t.Errorf("model %d: %+v, want %+v", i, have, c)
					}
				}
			})
		}
	}
}

// TestPersonalizedAreEvaluated: the errors that are recorded of personalized models, trained in
// batches that are drawn, are as in the study's own evaluation.
func TestPersonalizedAreEvaluated(t *testing.T) {
	s := tuned(t, "random")
	s.Config.Target, s.Config.Finalists.Snapshots = "personalized", 3
	want, err := Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	all := recordOf(t, s, want)
	val, test, _ := ownCurves{all, &s}.Samples()
	for _, c := range []*result.Chosen{&want.Best, want.Luckiest} {
		p := all[c.Number].At(c.Round)
		haveVal, haveTest := fl.Summarize(p.Val, val, false), fl.Summarize(p.Test, test, false)
		if p.SHA256 != c.SHA256 || haveVal.Error != *c.PersonalizedVal || haveTest.Error != *c.PersonalizedTest ||
			haveVal.Error == *c.GlobalVal {
			t.Errorf("trial %d, round %d: recorded %v and %v, evaluated %+v", c.Number, c.Round, haveVal.Error, haveTest.Error,
				c.Rates)
		}
	}
}

// TestPlayedRefuses: what changes the training is refused.
func TestPlayedRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"pbt":    `tuner.name = "pbt": it copies trials, which a table cannot replay`,
		"fedex":  `tuner.name = "fedex": it changes how clients train, which a table cannot replay`,
		"fathom": `client_tuner.name = "fathom": it changes how clients train`,
	} {
		s := tuned(t, name)
		s.Config.Target = "global"
		p := Played{Config: s.Config, Tuner: s.Tuner, Curves: ownCurves{nil, &s}}
		if _, err := p.Play(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	s := tuned(t, "sha")
	p := Played{Config: s.Config, Tuner: plugins.Builtin()["sha"], Curves: ownCurves{nil, &s}}
	if _, err := p.Play(t.Context()); err == nil || !strings.Contains(err.Error(), "target") {
		t.Errorf("the target personalized: %v", err)
	}
}
