package fedpop_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/fedpop"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

var space = tuners.Space{
	{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 5},
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "server.lr", Kind: tuners.Log10, Lo: -1, Hi: 1},
}

var own = tuners.Params{"client.epochs": tuners.Num(3), "client.lr": tuners.Num(0.01), "server.lr": tuners.Num(1)}

func request(options tuners.Params) tuners.OpenRequest {
	return tuners.OpenRequest{
		Space: space, Params: own, Options: options, Seed: 5, Trial: 2, Budget: tuners.Budget{Rounds: 100, TrialRounds: 100},
	}
}

// trial is a trial's session, opened anew from its state before each call.
type trial struct {
	t   *testing.T
	req tuners.OpenRequest
}

func (r *trial) open() tuners.Session {
	r.t.Helper()
	s, err := host.Local(fedpop.Tuner).Open(r.t.Context(), r.req)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// round plays a round and returns the clients' params.
func (r *trial) round(round, slots int, slot func(i int, p tuners.Params) tuners.Slot) []tuners.Params {
	r.t.Helper()
	s := r.open()
	plan, err := s.PlanRound(r.t.Context(), tuners.PlanRequest{Trial: 2, Round: round, Slots: slots})
	if err != nil {
		r.t.Fatal(err)
	}
	r.req.State = s.State()
	o := tuners.Observation{Trial: 2, Round: round}
	for i := range slots {
		o.Slots = append(o.Slots, slot(i, plan.Client(i)))
	}
	s = r.open()
	if err := s.ObserveRound(r.t.Context(), o); err != nil {
		r.t.Fatal(err)
	}
	r.req.State = s.State()
	return plan.Clients
}

// test returns the params of an evaluation.
func (r *trial) test() tuners.Params {
	r.t.Helper()
	plan, err := r.open().PlanRound(r.t.Context(), tuners.PlanRequest{Trial: 2, Slots: 100, Purpose: tuners.Test})
	if err != nil {
		r.t.Fatal(err)
	}
	return plan.Clients[0]
}

// far is a loss: how far the learning rate is from 0.1, in decades.
func far(p tuners.Params) float64 { return math.Abs(math.Log10(p.Float("client.lr", 0)) + 1) }

func told(loss, samples float64) tuners.Slot {
	return tuners.Slot{Probes: map[string]float64{"val_loss_after": loss, "examples_val": samples}}
}

func measured(_ int, p tuners.Params) tuners.Slot { return told(far(p), 7) }

func TestThePopulationMovesToTheLowLosses(t *testing.T) {
	r := &trial{t: t, req: request(nil)}
	mean := func(clients []tuners.Params) (sum float64) {
		for _, p := range clients {
			sum += far(p) / float64(len(clients))
		}
		return sum
	}
	if p := r.test(); !p.Equal(tuners.Params{"client.epochs": own["client.epochs"], "client.lr": own["client.lr"]}) {
		t.Errorf("before the first comparison it evaluates %s", p)
	}
	first := r.round(0, 10, measured)
	for i, p := range first {
		if math.Abs(math.Log10(p.Float("client.lr", 0))+2) > 0.4 || math.Abs(p.Float("client.epochs", 0)-3) > 1 ||
			len(p) != 2 {
			t.Errorf("client %d begins with %s", i, p)
		}
	}
	last := first
	for round := 1; round < 60; round++ {
		last = r.round(round, 10, measured)
	}
	if a, b := mean(first), mean(last); b > a/2 {
		t.Errorf("the mean loss goes from %v to %v", a, b)
	}
	if p := r.test(); far(p) > 0.3 {
		t.Errorf("it evaluates %s", p)
	}
}

// TestTheWorstAreReplaced looks at one comparison of four members.
func TestTheWorstAreReplaced(t *testing.T) {
	options := tuners.Params{"interval": tuners.Num(2), "quantile": tuners.Num(0.25), "discount": tuners.Num(0.5)}
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		losses [2][4]float64 // by round and client; infinite: its result was dropped
		none   bool          // the first client has no validation samples
		gone   []int
	}{
		"the later loss counts more":  {losses: [2][4]float64{{9, 1, 1, 1}, {2, 6.2, 1, 3}}, gone: []int{1}},
		"lost members are the worst":  {losses: [2][4]float64{{1, nan, 2, 3}, {1, 1, 2, 3}}, gone: []int{1}},
		"all lost ones are replaced":  {losses: [2][4]float64{{1, nan, inf, 3}, {1, 1, 2, 3}}, gone: []int{1, 2}},
		"without samples it survives": {losses: [2][4]float64{{nan, 1, 2, 3}, {nan, 1, 2, 3}}, none: true, gone: []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &trial{t: t, req: request(options)}
			var before []tuners.Params
			for round, losses := range c.losses {
				before = r.round(round, 4, func(i int, _ tuners.Params) tuners.Slot {
					switch {
					case c.none && i == 0:
						return told(losses[i], 0)
					case math.IsInf(losses[i], 1):
						return tuners.Slot{Dropped: true}
					}
					return told(losses[i], 3)
				})
			}
			after := r.round(2, 4, measured)
			for i, p := range before {
				if stays := slices.ContainsFunc(after, p.Equal); stays == slices.Contains(c.gone, i) {
					t.Errorf("member %d (%s) stays: %t", i, p, stays)
				}
			}
		})
	}
}

func TestMoreMembersThanSlots(t *testing.T) {
	r := &trial{t: t, req: request(tuners.Params{"population": tuners.Num(30)})}
	for round, slots := range []int{3, 40, 1, 7, 7, 7} {
		clients := r.round(round, slots, measured)
		for i, p := range clients[:min(slots, 30)] {
			if j := slices.IndexFunc(clients[:i], p.Equal); j >= 0 {
				t.Errorf("round %d: clients %d and %d train with %s", round, j, i, p)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(*tuners.OpenRequest)
		want   string
	}{
		{
			func(r *tuners.OpenRequest) { r.Options = tuners.Params{"quantile": tuners.Num(0.6)} },
			"greater than 0 and at most 0.5, not 0.6",
		},
		{func(r *tuners.OpenRequest) { r.Space = space[2:] }, "fedpop tunes client.* dimensions, but the space has none"},
		{
			func(r *tuners.OpenRequest) { r.Params = tuners.Params{"client.lr": tuners.Num(1)} },
			"trial 2 has no client.epochs",
		},
	} {
		req := request(nil)
		c.change(&req)
		if _, err := fedpop.Tuner.Open(t.Context(), req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
