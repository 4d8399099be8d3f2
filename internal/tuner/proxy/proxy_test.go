package proxy_test

import (
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/proxy"
	"github.com/fedfast/fedfast/tuners"
)

var space = tuners.Space{{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0}}

// TestTrainsTheBestOfFinishedStudies: of whole trials, each configuration once, in the order of
// their scores; random points follow.
func TestTrainsTheBestOfFinishedStudies(t *testing.T) {
	prior := func(lr, score float64, whole bool) tuners.Prior {
		return tuners.Prior{
			Params: tuners.Params{"client.lr": tuners.Num(lr)}, Round: 9, Whole: whole,
			Values: map[string]float64{tuners.MetricError: score},
		}
	}
	s := playtest.Study{
		Tuner: proxy.Tuner, Score: func(_ int, p tuners.Params, _ int) float64 { return p.Float("client.lr", 0) },
		Request: tuners.OpenRequest{
			Space: space, Budget: tuners.Budget{Rounds: 100, TrialRounds: 9}, Seed: 3, Trial: tuners.StudySession,
			Objective: tuners.Objective{Metric: tuners.MetricError},
			Priors: []tuners.Prior{
				prior(.5, .4, true), prior(.1, .05, false), prior(.01, .3, true), prior(.02, .2, true),
				prior(.01, .1, true),
			},
		},
	}
	if r := s.Play(t); len(r.Params) != 1 || r.Params[0].Float("client.lr", 0) != .01 || r.Spent != 9 || r.Best != 0 {
		t.Errorf("%+v", r)
	}
	s.Request.Objective.Direction = tuners.Maximize
	if r := s.Play(t); r.Params[0].Float("client.lr", 0) != .5 {
		t.Errorf("%+v", r)
	}
	s.Request.Objective.Direction = tuners.Minimize
	s.Request.Options = tuners.Params{"trials": tuners.Num(5)}
	r := s.Play(t)
	for trial, want := range []float64{.01, .02, .5} {
		if got := r.Params[trial].Float("client.lr", 0); got != want {
			t.Errorf("trial %d trains %v, want %v", trial, got, want)
		}
	}
	if len(r.Params) != 5 || r.Spent != 45 {
		t.Errorf("%+v", r)
	}
	s.Reopened(t, 1, 2)

	problems, err := proxy.Tuner.Validate(t.Context(), tuners.ValidateRequest{
		Space:  space,
		Budget: tuners.Budget{Rounds: 8, TrialRounds: 9},
	})
	if err != nil || len(problems) != 1 || problems[0].Key != "budget.rounds" {
		t.Errorf("%v, %v", problems, err)
	}
}
