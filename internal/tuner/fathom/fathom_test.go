package fathom_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/fathom"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

func request(options tuners.Params) tuners.OpenRequest {
	return tuners.OpenRequest{
		Options: options, Seed: 5, Trial: 2, Budget: tuners.Budget{Rounds: 50, TrialRounds: 50},
		Params: tuners.Params{"client.lr": tuners.Num(0.05), "client.epochs": tuners.Num(1), "client.batch": tuners.Num(20)},
	}
}

func open(t *testing.T, req tuners.OpenRequest) tuners.Session {
	t.Helper()
	s, err := host.Local(fathom.Tuner).Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// client is what one slot of n examples shows.
func client(n, phi float64) tuners.Slot {
	return tuners.Slot{Probes: map[string]float64{"min_cos_grad_displacement": phi, "examples_train": n}}
}

// round plans a round, lets it show glob and the slots, and returns the
// hyperparameters that it ran with.
func round(t *testing.T, s tuners.Session, number int, glob float64, slots ...tuners.Slot) (lr, epochs, batch float64) {
	t.Helper()
	p, err := s.PlanRound(t.Context(), tuners.PlanRequest{Trial: 2, Round: number, Slots: len(slots)})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Clients) != 1 || len(p.Clients[0]) != 3 {
		t.Fatalf("the plan is %v, want three params for all clients", p)
	}
	name := s.(tuners.Prober).Probes()[0]
	if err := s.ObserveRound(t.Context(), tuners.Observation{
		Trial: 2, Round: number, Slots: slots,
		Aggregates: map[string]float64{name: glob},
	}); err != nil {
		t.Fatal(err)
	}
	c := p.Clients[0]
	return c.Float("client.lr", 0), c.Float("client.epochs", 0), c.Float("client.batch", 0)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }

// TestFollowsTheEquations computes two rounds by hand.
func TestFollowsTheEquations(t *testing.T) {
	s := open(t, request(nil))
	if lr, e, b := round(t, s, 0, 0, client(30, 0.5), client(10, -0.1)); !near(lr, 0.05) || !near(e, 1) || b != 20 {
		t.Errorf("round 0 runs with %v, %v, %v", lr, e, b)
	}
	local := (30*0.5 + 10*-0.1) / 40 // 0.35
	lr, e, b := round(t, s, 1, -0.4, client(5, -0.2), tuners.Slot{Dropped: true}, client(7, math.NaN()), client(0, 0.9))
	if !near(lr, 0.05) || !near(e, math.Exp(0.01*local)) || b != math.Round(20*math.Exp(-0.1*local)) {
		t.Errorf("round 1 runs with %v, %v, %v", lr, e, b)
	}
	lr, e, b = round(t, s, 2, 0, client(1, 0))
	wantE := math.Exp(0.01*local + 0.01*(-0.4-0.2))
	if !near(lr, 0.05*math.Exp(-0.004)) || !near(e, wantE) || b != math.Round(20*math.Exp(-0.1*local+0.1*0.2)) {
		t.Errorf("round 2 runs with %v, %v, %v", lr, e, b)
	}
}

// TestHalve: a round against the ones before halves the rate, and nothing else is changed by the option.
func TestHalve(t *testing.T) {
	plain, halving := open(t, request(nil)), open(t, request(tuners.Params{"halve": tuners.Bool(true)}))
	want := 0.05
	for i, glob := range []float64{0.5, -0.25, 0, -1} {
		round(t, plain, i, glob, client(3, 0.1))
		round(t, halving, i, glob, client(3, 0.1))
		if want *= math.Exp(0.01 * glob); glob < 0 {
			want *= 0.5 / math.Exp(0.01*glob)
		}
		_, e, b := round(t, plain, i+1, math.NaN(), client(1, 0))
		lr, e2, b2 := round(t, halving, i+1, math.NaN(), client(1, 0))
		if !near(lr, want) || e != e2 || b != b2 {
			t.Errorf("after a cosine of %v: %v, %v, %v, want %v, %v, %v", glob, lr, e2, b2, want, e, b)
		}
	}
}

// TestAsPaper: the local cosine is the one with the displacement before each step,
// times the learning rate.
func TestAsPaper(t *testing.T) {
	s := open(t, request(tuners.Params{"as_paper": tuners.Bool(true), "gamma_epochs": tuners.Num(1)}))
	before := func(n, phi float64) tuners.Slot {
		return tuners.Slot{Probes: map[string]float64{"min_cos_grad_prior_displacement": phi, "examples_train": n}}
	}
	if probes := s.(tuners.Prober).Probes(); len(probes) != 2 || probes[1] != "min_cos_grad_prior_displacement" {
		t.Errorf("asks for %q", probes)
	}
	round(t, s, 0, 0.25, before(3, 0.5))
	if _, e, _ := round(t, s, 1, 0, before(1, 0)); !near(e, math.Exp(0.25+0.05*0.5)) {
		t.Errorf("E is %v", e)
	}
}

// TestBounds drives lr up to its bound and down again: with clipped logarithms it
// comes down at once, without it has to unwind.
func TestBounds(t *testing.T) {
	for _, clip := range []bool{true, false} {
		t.Run(strconv.FormatBool(clip), func(t *testing.T) {
			s := open(t, request(tuners.Params{
				"clip_logs": tuners.Bool(clip), "gamma_lr": tuners.Num(1), "gamma_batch": tuners.Num(1), "max_lr": tuners.Num(0.1),
				"max_epochs": tuners.Num(1), "max_batch": tuners.Num(64),
			}))
			for i := range 4 {
				round(t, s, i, 1, client(1, -1))
			}
			lr, e, b := round(t, s, 4, -1, client(1, 0))
			if !near(lr, 0.1) || e > 1+1e-12 || b != 64 {
				t.Errorf("above the bounds: %v, %v, %v", lr, e, b)
			}
			lr, _, _ = round(t, s, 5, 0, client(1, 0))
			if unwound := near(lr, 0.1*math.Exp(-1)); unwound != clip {
				t.Errorf("a step back gives lr %v", lr)
			}
			for i := range 12 {
				round(t, s, 6+i, -1, client(1, 1))
			}
			if _, _, b := round(t, s, 20, 0, client(1, 0)); b != 1 {
				t.Errorf("the batch is %v, want the least, 1", b)
			}
		})
	}
}

func TestRoundsThatSayNothing(t *testing.T) {
	s := open(t, request(nil))
	before := string(s.State())
	round(t, s, 0, 0.5, tuners.Slot{Dropped: true})
	round(t, s, 1, math.NaN(), client(3, 0.5))
	if string(s.State()) != before {
		t.Error("a round without a finite cosine changed the hyperparameters")
	}
	for _, o := range []tuners.Observation{
		{Trial: 2, Slots: []tuners.Slot{client(1, 1)}},
		{
			Trial: 2, Slots: []tuners.Slot{{Probes: map[string]float64{"examples_train": 3}}},
			Aggregates: map[string]float64{"cos_delta_smoothed{alpha=0.5}": 0},
		},
	} {
		if err := open(t, request(nil)).ObserveRound(t.Context(), o); err == nil || !strings.Contains(err.Error(),
			"missing") {
			t.Errorf("%v: got error %v", o, err)
		}
	}
}

// TestGoesOnFromItsState opens the session anew after every round.
func TestGoesOnFromItsState(t *testing.T) {
	req := request(nil)
	whole, cut := open(t, req), open(t, req)
	for i := range 5 {
		round(t, whole, i, 0.3, client(3, 0.1*float64(i)))
		round(t, cut, i, 0.3, client(3, 0.1*float64(i)))
		req.State = cut.State()
		cut = open(t, req)
	}
	if string(whole.State()) != string(cut.State()) {
		t.Errorf("%s after cuts, %s without", cut.State(), whole.State())
	}
}

func TestValidateAndOpenRefuse(t *testing.T) {
	problems, err := fathom.Tuner.Validate(t.Context(), tuners.ValidateRequest{Options: tuners.Params{
		"alpha": tuners.Num(1), "max_lr": tuners.Num(0), "gamma_batch": tuners.Num(-1), "clip_logs": tuners.Num(1),
		"beta": tuners.Num(1),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, p := range problems {
		keys = append(keys, p.Key)
	}
	if got := strings.Join(keys,
		" "); got != "options.beta options.clip_logs options.gamma_batch options.alpha options.max_lr" {
		t.Errorf("problems with %s", got)
	}
	for _, name := range []string{"client.lr", "client.epochs", "client.batch"} {
		req := request(nil)
		req.Params[name] = tuners.Num(0)
		if _, err := fathom.Tuner.Open(t.Context(), req); err == nil || !strings.Contains(err.Error(),
			"trial 2: initial "+name+" must be greater than 0") {
			t.Errorf("%s = 0: got error %v", name, err)
		}
	}
	req := request(nil)
	req.State = []byte("{")
	if _, err := fathom.Tuner.Open(t.Context(), req); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a broken state: got error %v", err)
	}
}

func TestAlone(t *testing.T) {
	req := request(nil)
	req.Trial, req.Params = tuners.StudySession, nil
	s := open(t, req)
	decisions, err := s.Suggest(t.Context(), 1)
	if err != nil || len(decisions) != 1 || decisions[0].Kind != tuners.Start || decisions[0].ToRound != 50 {
		t.Errorf("got %v, %v", decisions, err)
	}
}
