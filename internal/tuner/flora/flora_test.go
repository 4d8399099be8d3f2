package flora_test

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/flora"
	"github.com/fedfast/fedfast/tuners"
)

var space = tuners.Space{
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "client.momentum", Kind: tuners.Uniform, Lo: 0, Hi: 1},
}

func study(surface string) playtest.Study {
	return playtest.Study{
		Tuner: flora.Tuner, Score: func(int, tuners.Params, int) float64 { return 0.5 },
		Request: tuners.OpenRequest{
			Space: space, Options: tuners.Params{"surface": tuners.Str(surface)}, Seed: 3, Trial: tuners.StudySession,
			Budget: tuners.Budget{Rounds: 5, TrialRounds: 5},
		},
	}
}

// at places params in the unit square.
func at(p tuners.Params) (x, y float64) {
	return (math.Log10(p.Float("client.lr", 0)) + 4) / 4, p.Float("client.momentum", 0)
}

// TestLowestPoints has clients whose scores are quadratic around points on a line: the mean,
// and with it the pooled surface, is lowest in the middle of most, the maximum in the middle
// of the outermost. Neither is one of the configurations.
func TestLowestPoints(t *testing.T) {
	t.Parallel()
	sign := 1.0
	loss := func(client int, p tuners.Params) float64 {
		x, y := at(p)
		own := 0.25 // of 8 clients, one is away
		if client == 0 {
			own = 0.85
		}
		return sign * ((x-own)*(x-own) + (y-0.6)*(y-0.6))
	}
	for name, want := range map[string]float64{"pooled": 0.25 + 0.6/9, "mean": 0.25 + 0.6/9, "max": 0.55} {
		for _, direction := range []tuners.Direction{tuners.Minimize, tuners.Maximize} {
			s := study(name)
			s.Local, s.Request.Objective.Direction = loss, direction
			if sign = 1; direction == tuners.Maximize {
				sign = -1
			}
			r := s.Play(t)
			x, y := at(r.Params[0])
			if len(r.Params) != 1 || math.Abs(x-want) > 0.03 || math.Abs(y-0.6) > 0.03 {
				t.Errorf("%s, %v: the lowest point is (%.3f, %.3f), want (%.3f, 0.6)", name, direction, x, y, want)
			}
		}
	}
	sign = 1
	s := study("max")
	s.Local = loss
	s.Reopened(t, 1, 2)
}

// TestFailures passes over configurations and clients without a score.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := study("mean")
	s.Local = func(client int, p tuners.Params) float64 {
		x, y := at(p)
		if client == 2 || x > 0.8 {
			return math.NaN()
		}
		return (x-0.7)*(x-0.7) + y*y
	}
	x, y := at(s.Play(t).Params[0])
	if math.Abs(x-0.7) > 0.1 || y > 0.1 {
		t.Errorf("the lowest point is (%.3f, %.3f)", x, y)
	}
	session, err := flora.Tuner.Open(t.Context(), s.Request)
	if err != nil {
		t.Fatal(err)
	}
	d, err := session.Suggest(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	report := tuners.TrialReport{Trial: tuners.NoTrial, Measured: make([]tuners.Measured, len(d[0].Points))}
	if err := session.Report(t.Context(), report); err == nil || !strings.Contains(err.Error(),
		"no scores of single clients") {
		t.Errorf("a report without clients: %v", err)
	}
}
