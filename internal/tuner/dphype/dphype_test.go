package dphype_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/dphype"
	"github.com/fedfast/fedfast/tuners"
)

var space = tuners.Space{{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0}}

func request(s tuners.Space, options tuners.Params) tuners.OpenRequest {
	return tuners.OpenRequest{
		Space: s, Options: options, Seed: 3, Trial: tuners.StudySession,
		Budget: tuners.Budget{Rounds: 12, TrialRounds: 5},
	}
}

// loss is what a client comes to, whose best learning rate is its own.
func loss(client int, p tuners.Params) float64 {
	return math.Abs(math.Log10(p.Float("client.lr", 0)) + 2 + 0.2*float64(client%3))
}

// TestWinnerOfTheVote counts the votes by themselves and has the winner trained, whatever the
// trial scores; and plays the study again with its session opened anew.
func TestWinnerOfTheVote(t *testing.T) {
	var configs []tuners.Params
	s := playtest.Study{
		Tuner: dphype.Tuner, Request: request(space, tuners.Params{"configs": tuners.Num(12), "votes": tuners.Num(3)}),
		Local: loss, Score: func(int, tuners.Params, int) float64 { return 0.5 },
		Check: func(_ tuners.Session, decisions []tuners.Decision) {
			if d := decisions[0]; d.Kind == tuners.Local {
				configs = d.Points
			}
		},
	}
	r := s.Play(t)
	counts := make([]int, len(configs))
	for client := range playtest.LocalClients {
		var losses []float64
		for _, p := range configs {
			losses = append(losses, loss(client, p))
		}
		third := slices.Sorted(slices.Values(losses))[2]
		for i, x := range losses {
			if x <= third {
				counts[i]++
			}
		}
	}
	want := configs[slices.Index(counts, slices.Max(counts))]
	if len(configs) != 12 || len(r.Params) != 1 || !r.Params[0].Equal(want) || r.Spent != 5 || r.Best != 0 {
		t.Errorf("%d configurations, trials %v of %d rounds, best %d; want one with %s", len(configs), r.Params, r.Spent,
			r.Best, want)
	}
	s.Reopened(t, 1, 2)
	s.Score = func(int, tuners.Params, int) float64 { return playtest.Failure }
	if r := s.Play(t); r.Best != -1 {
		t.Errorf("a trial that failed is the best: %d", r.Best)
	}
}

// TestSmallSpacesAreWhole has clients train with every point of a space that has few.
func TestSmallSpacesAreWhole(t *testing.T) {
	few := tuners.Space{
		{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 3},
		{Name: "client.momentum", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Num(0), tuners.Num(0.9)}},
	}
	for configs, want := range map[int]int{6: 6, 100: 6, 4: 4} {
		s, err := dphype.Tuner.Open(t.Context(), request(few, tuners.Params{"configs": tuners.Num(float64(configs))}))
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Suggest(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		points := d[0].Points
		for i, p := range points {
			if slices.ContainsFunc(points[:i], p.Equal) {
				t.Errorf("%s is there twice", p)
			}
		}
		if len(points) != want {
			t.Errorf("%d points of 6, want %d", len(points), want)
		}
	}
}

func TestValidate(t *testing.T) {
	wide := append(slices.Clone(space), tuners.Dim{Name: "server.lr", Kind: tuners.Log10, Lo: -1, Hi: 1})
	for _, c := range []struct {
		space   tuners.Space
		options tuners.Params
		want    string
	}{
		{space, nil, ""},
		{append(slices.Clone(space), tuners.Dim{
			Name: "server.lr", Kind: tuners.Choice,
			Choices: []tuners.Value{tuners.Num(1)},
		}), nil, ""},
		{
			wide, nil,
			"space.server.lr: clients that train by themselves do not show which value of server.lr is good: give it one value, such as { choice = [1] }",
		},
		{space, tuners.Params{"votes": tuners.Num(0)}, "options.votes: votes must be an integer from 1 to 1000, not 0"},
		{space, tuners.Params{"epochs": tuners.Num(-1)}, "options.epochs: epochs must be from 0 to 1000, not -1"},
	} {
		req := request(c.space, c.options)
		problems, err := dphype.Tuner.Validate(t.Context(), tuners.ValidateRequest{
			Space: req.Space, Options: req.Options,
			Budget: req.Budget,
		})
		var got []string
		for _, p := range problems {
			got = append(got, p.Key+": "+p.Message)
		}
		if text := strings.Join(got, "; "); err != nil || text != c.want {
			t.Errorf("got %q, %v, want %q", text, err, c.want)
		}
	}
}
