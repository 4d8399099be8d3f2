package fedhyper_test

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/fedhyper"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

func request(lr float64, options tuners.Params) tuners.OpenRequest {
	return tuners.OpenRequest{
		Space:  tuners.Space{{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0}},
		Params: tuners.Params{"client.lr": tuners.Num(0.1), "server.lr": tuners.Num(lr)}, Options: options, Trial: 3,
		Budget: tuners.Budget{Rounds: 20, TrialRounds: 20},
	}
}

// TestTheRateFollowsTheSumOfHypergradients opens the session anew before each call.
func TestTheRateFollowsTheSumOfHypergradients(t *testing.T) {
	req := request(0.5, tuners.Params{"rate": tuners.Num(2)})
	for round, c := range []struct{ rate, hyper float64 }{
		{0.5, 0}, {0.5, 0.25}, {0.75, -0.125}, {0.625, 100}, {2.5, math.NaN()}, {2.5, -100}, {0.4, 0.1}, {0.5, 0},
	} {
		open := func() tuners.Session {
			s, err := host.Local(fedhyper.Tuner).Open(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		plan, err := open().PlanRound(t.Context(), tuners.PlanRequest{Trial: 3, Round: round, Slots: 4})
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Server.Float("server.lr", 0); math.Abs(got-c.rate) > 1e-12 || len(plan.Clients) != 1 ||
			len(plan.Clients[0]) != 0 {
			t.Errorf("round %d: server.lr = %v, want %v; clients %v", round, got, c.rate, plan.Clients)
		}
		s := open()
		o := tuners.Observation{
			Trial: 3, Round: round, Slots: make([]tuners.Slot, 4),
			Aggregates: map[string]float64{"dot_delta_previous": c.hyper},
		}
		if err := s.ObserveRound(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		req.State = s.State()
	}
}

func TestRefuses(t *testing.T) {
	for want, req := range map[string]tuners.OpenRequest{
		"trial 3: initial server.lr must be greater than 0, not 0": request(0, nil),
		"least must be above -1 and at most 0, not -1":             request(1, tuners.Params{"least": tuners.Num(-1)}),
	} {
		if _, err := fedhyper.Tuner.Open(t.Context(), req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	s, err := fedhyper.Tuner.Open(t.Context(), request(1, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ObserveRound(t.Context(), tuners.Observation{Trial: 3}); err == nil || !strings.Contains(err.Error(),
		"dot_delta_previous is missing") {
		t.Errorf("without the probe: %v", err)
	}
}
