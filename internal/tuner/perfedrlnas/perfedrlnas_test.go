package perfedrlnas_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/internal/tuner/perfedrlnas"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// choices is a space of choices of a supernet, with what else a study may tune.
func choices(sizes ...int) tuners.Space {
	var space tuners.Space
	for d, n := range sizes {
		dim := tuners.Dim{Name: "client.arch.c" + strconv.Itoa(10+d), Kind: tuners.Choice}
		for j := range n {
			dim.Choices = append(dim.Choices, tuners.Num(float64(j)))
		}
		space = append(space, dim)
	}
	return append(space, tuners.Dim{Name: "client.lr", Kind: tuners.Log10, Lo: -3, Hi: 0})
}

func open(t *testing.T, space tuners.Space, options tuners.Params, state []byte) tuners.Session {
	t.Helper()
	s, err := host.Local(perfedrlnas.Tuner).Open(t.Context(), tuners.OpenRequest{
		Space: space, Options: options, Seed: 5, Trial: 0, Budget: tuners.Budget{Rounds: 100, TrialRounds: 10},
		Params: space.Sample(tuners.NewDraws(1, 0, 0, "x")), State: state,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plan(t *testing.T, s tuners.Session, round int, purpose tuners.Purpose, keys ...uint64) []tuners.Params {
	t.Helper()
	p, err := s.PlanRound(t.Context(), tuners.PlanRequest{
		Round: round, Slots: len(keys), ClientKeys: keys,
		Purpose: purpose,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.Clients
}

func slot(key uint64, wrong, seconds float64) tuners.Slot {
	return tuners.Slot{Probes: map[string]float64{
		"client_key": float64(key), "val_error_after": wrong,
		"seconds_simulated": seconds,
	}}
}

func observe(t *testing.T, s tuners.Session, round int, slots ...tuners.Slot) {
	t.Helper()
	if err := s.ObserveRound(t.Context(), tuners.Observation{Round: round, Slots: slots}); err != nil {
		t.Fatal(err)
	}
}

// sureness is what a session says of its policies: their mean largest probability.
func sureness(t *testing.T, s tuners.Session, round int) float64 {
	t.Helper()
	p, err := s.PlanRound(t.Context(), tuners.PlanRequest{Round: round, Slots: 1, ClientKeys: []uint64{1 << 40}})
	if err != nil {
		t.Fatal(err)
	}
	return p.Notes["sureness"][0]
}

// policies returns the policies in a session's state; options are the numbers of options
// of its choices.
func policies(t *testing.T, s tuners.Session, options ...int) []perfedrlnas.Policy {
	t.Helper()
	all, err := perfedrlnas.Policies(s.State(), options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := perfedrlnas.Policies(s.State(), append(options, 2)); err == nil {
		t.Error("a state was read as that of another space")
	}
	return all
}

// TestFirstStepByHand: with moments of 0 before, Adam's first step is its learning rate
// in the direction of the gradient's sign, so a rewarded option of two gains 2 lr over
// the other one.
func TestFirstStepByHand(t *testing.T) {
	s := open(t, choices(2), tuners.Params{"latency": tuners.Num(0)}, nil)
	drawn := plan(t, s, 0, tuners.Train, 7, 9)
	// Accuracies 0.8 and 0.4, mean 0.6: rewards 0.2 and -0.2.
	observe(t, s, 0, slot(7, 0.2, 3), slot(9, 0.6, 1))
	best := plan(t, s, 1, tuners.Test, 7, 9)
	if got := best[0].String(); got != drawn[0].String() {
		t.Errorf("client 7 was rewarded for %s and has %s", drawn[0], got)
	}
	if got := best[1].String(); got == drawn[1].String() {
		t.Errorf("client 9 was punished for %s and keeps it", drawn[1])
	}
	want := 1 / (1 + math.Exp(-2*0.5)) // logits +- lr
	if got := sureness(t, s, 1); math.Abs(got-want) > 1e-4 {
		t.Errorf("the policies are sure by %v, want %v", got, want)
	}
	for _, p := range policies(t, s, 2) {
		if p.Client != 7 && p.Client != 9 || math.Abs(max(p.Chances[0][0], p.Chances[0][1])-want) > 1e-7 {
			t.Errorf("client %d has %v, want %v for one option", p.Client, p.Chances, want)
		}
	}
	// The second round compares with the mean of the best accuracies so far, 0.6. One
	// of 0.6 changes nothing but by momentum: m = .5 m1, v = .999 v1.
	observe(t, s, 1, slot(7, 0.4, 1))
	g := 0.2 * 0.5
	m, v := 0.5*0.5*g, 0.999*0.001*g*g
	logit := 0.5 + 0.5*(m/(1-0.25))/math.Sqrt(v/(1-0.999*0.999))
	sure := func(z float64) float64 { return 1 / (1 + math.Exp(-2*z)) }
	if got, want := sureness(t, s, 2), (sure(0.5)+sure(logit))/2; math.Abs(got-want) > 1e-4 {
		t.Errorf("after a reward of 0 the policies are sure by %v, want %v", got, want)
	}
}

// TestNotes wants what a plan tells people to follow from the policies in the state:
// the mean of each option, how far the clients are apart, and the entropies.
func TestNotes(t *testing.T) {
	s := open(t, choices(2, 3), nil, nil)
	for round := range 4 {
		plan(t, s, round, tuners.Train, 1, 2, 3)
		observe(t, s, round, slot(1, 0.1, 1), slot(2, 0.5, 1), slot(3, 0.2*float64(round), 2))
	}
	p, err := s.PlanRound(t.Context(), tuners.PlanRequest{Round: 4, Slots: 1, ClientKeys: []uint64{1}})
	if err != nil {
		t.Fatal(err)
	}
	all := policies(t, s, 2, 3)
	entropy := func(p []float64) (h float64) {
		for _, q := range p {
			h -= q * math.Log(q)
		}
		return h
	}
	within, pooled := 0.0, 0.0
	for d, name := range []string{"client.arch.c10", "client.arch.c11"} {
		var mean, spread []float64
		for j := range all[0].Chances[d] {
			var of []float64
			for _, p := range all {
				of = append(of, p.Chances[d][j])
			}
			m, v := stat.PopMeanVariance(of, nil)
			mean, spread = append(mean, m), append(spread, math.Sqrt(v))
		}
		for _, p := range all {
			within += entropy(p.Chances[d]) / float64(2*len(all))
		}
		pooled += entropy(mean) / 2
		for note, want := range map[string][]float64{name: mean, "spread of " + name: spread} {
			if got := p.Notes[note]; len(got) != len(want) || !floats.EqualApprox(got, want, 6e-5) {
				t.Errorf("%s is %v, want %v", note, got, want)
			}
		}
	}
	if got := []float64{p.Notes["entropy"][0], p.Notes["divergence"][0]}; len(all) != 3 ||
		!floats.EqualApprox(got, []float64{within, pooled - within}, 6e-5) || within >= pooled {
		t.Errorf("entropy and divergence of %d policies are %v, want %v and %v", len(all), got, within, pooled-within)
	}
}

// TestLatencyCosts: of two clients as accurate as one another the slower one is
// punished.
func TestLatencyCosts(t *testing.T) {
	s := open(t, choices(2), nil, nil)
	drawn := plan(t, s, 0, tuners.Train, 1, 2)
	observe(t, s, 0, slot(1, 0.5, 10), slot(2, 0.5, 30))
	if got := plan(t, s, 1, tuners.Test, 2)[0]; got.String() == drawn[1].String() {
		t.Errorf("the slower client keeps %s", got)
	}
}

// TestPolicyFollowsItsClient wants draws that depend on the client, not on its slot,
// and a state from which a session goes on as if nothing had happened.
func TestPolicyFollowsItsClient(t *testing.T) {
	space := choices(2, 3, 3, 2)
	s := open(t, space, nil, nil)
	for round := range 5 {
		keys := []uint64{3, 1, 4}
		there, back := plan(t, s, round, tuners.Train, keys...), plan(t, s, round, tuners.Train, 4, 1, 3)
		for i := range keys {
			if there[i].String() != back[2-i].String() {
				t.Errorf("round %d: client %d gets %s in slot %d and %s in slot %d", round, keys[i], there[i], i, back[2-i], 2-i)
			}
		}
		observe(t, s, round, slot(3, 0.5, 1), tuners.Slot{Dropped: true}, slot(4, float64(round)/10, 2))
		again := open(t, space, nil, s.State())
		if string(again.State()) != string(s.State()) {
			t.Fatal("a session that goes on has another state")
		}
		s = again
	}
	for _, state := range [][]byte{{}, s.State()[:20], append(s.State()[:len(s.State()):len(s.State())], 0)} {
		_, err := host.Local(perfedrlnas.Tuner).Open(t.Context(), tuners.OpenRequest{Space: space, Trial: 0, State: state})
		if err == nil || !strings.Contains(err.Error(), "recorded state") {
			t.Errorf("a state of %d bytes: error %v", len(state), err)
		}
	}
}

// TestUniformLearnsNothing and draws all options as likely.
func TestUniformLearnsNothing(t *testing.T) {
	s := open(t, choices(3), tuners.Params{"uniform": tuners.Bool(true)}, nil)
	before := string(s.State())
	counts := map[string]int{}
	for round := range 300 {
		p := plan(t, s, round, tuners.Train, 1)
		counts[p[0].String()]++
		observe(t, s, round, slot(1, p[0].Float("client.arch.c10", 0)/2, 1))
	}
	if string(s.State()) != before {
		t.Error("the state has changed")
	}
	for option, n := range counts {
		if n < 70 || n > 130 {
			t.Errorf("%s was drawn %d of 300 times", option, n)
		}
	}
}

// TestRefuses wants a line for what the tuner cannot pick from.
func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		space   tuners.Space
		options tuners.Params
		want    string
	}{
		{choices(), nil, "perfedrlnas needs choices"},
		{tuners.Space{{Name: "client.arch.width", Kind: tuners.Int, Lo: 1, Hi: 3}}, nil, "supports only choices"},
		{choices(2), tuners.Params{"baseline": tuners.Str("mine")}, "baseline must be one of clients, own, cohort"},
		{choices(2), tuners.Params{"lr": tuners.Num(0)}, "lr must be greater than 0"},
	} {
		problems, err := perfedrlnas.Tuner.Validate(t.Context(), tuners.ValidateRequest{Space: tt.space, Options: tt.options})
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, tt.want) {
			t.Errorf("problems %+v, error %v, want %s", problems, err, tt.want)
		}
	}
}

// TestToy plays a search of 100 clients with 16 choices of two, each worth a point of
// accuracy to its client; a visit's accuracy has noise of 2 points, and clients differ
// by 6. Compared with a client's own past, policies find nearly all of the right
// options in 75 visits; compared with the others, as published, they mostly learn
// whether the client is an easy one.
func TestToy(t *testing.T) {
	if testing.Short() {
		t.Skip("two searches of 1,500 rounds")
	}
	const clients, dims, cohort, rounds = 100, 16, 5, 1500
	sizes := make([]int, dims)
	for i := range sizes {
		sizes[i] = 2
	}
	space := choices(sizes...)
	right := func(options tuners.Params) float64 {
		r := rand.New(rand.NewPCG(8, 9))
		ease, want := make([]float64, clients), make([][]float64, clients)
		keys := make([]uint64, clients)
		for c := range clients {
			ease[c], keys[c] = 0.6*r.NormFloat64()*0.1, uint64(c)
			for range dims {
				want[c] = append(want[c], float64(r.IntN(2)))
			}
		}
		fits := func(c int, p tuners.Params) (n float64) {
			for d := range dims {
				if p.Float("client.arch.c"+strconv.Itoa(10+d), -1) == want[c][d] {
					n++
				}
			}
			return n
		}
		s := open(t, space, options.Merge(tuners.Params{"latency": tuners.Num(0)}), nil)
		for round := range rounds {
			if round%(clients/cohort) == 0 {
				r.Shuffle(clients, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			}
			part := keys[round%(clients/cohort)*cohort:][:cohort]
			var slots []tuners.Slot
			for i, p := range plan(t, s, round, tuners.Train, part...) {
				c := int(part[i])
				accuracy := 0.5 + ease[c] + 0.01*fits(c, p) + 0.02*r.NormFloat64()
				slots = append(slots, slot(part[i], 1-accuracy, 1))
			}
			observe(t, s, round, slots...)
		}
		all := 0.0
		for i, p := range plan(t, s, rounds, tuners.Test, keys...) {
			all += fits(int(keys[i]), p)
		}
		return all / clients / dims
	}
	own := right(tuners.Params{"baseline": tuners.Str(perfedrlnas.OfOwn), "lr": tuners.Num(0.05)})
	published := right(nil)
	t.Logf("right options: %.3f by the own baseline, %.3f as published", own, published)
	if own < 0.90 || math.Abs(published-0.67) > 0.03 {
		t.Errorf("right options: %.3f by the own baseline, want 0.90 or more; %.3f as published, want 0.67 +- 0.03", own,
			published)
	}
}
