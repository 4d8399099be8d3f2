package fedex_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/fedex"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// space is the space of the FedEx paper without the server's part, with the tuner's own
// dimension.
var space = tuners.Space{
	{Name: "client.batch", Kind: tuners.Log2, Lo: 3, Hi: 7},
	{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 5},
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: fedex.Gamma, Kind: tuners.Uniform, Lo: 0, Hi: 1},
	{Name: "server.lr", Kind: tuners.Log10, Lo: -1, Hi: 1},
}

func request(options tuners.Params) tuners.OpenRequest {
	return tuners.OpenRequest{
		Space: space, Options: options, Seed: 5, Trial: 3, Budget: tuners.Budget{Rounds: 100, TrialRounds: 10},
		Params: tuners.Params{
			"client.batch": tuners.Num(32), "client.epochs": tuners.Num(3), "client.lr": tuners.Num(0.01),
			fedex.Gamma: tuners.Num(0.5), "server.lr": tuners.Num(1),
		},
	}
}

func open(t *testing.T, req tuners.OpenRequest) tuners.Session {
	t.Helper()
	s, err := host.Local(fedex.Tuner).Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plan(t *testing.T, s tuners.Session, trial, round, slots int, purpose tuners.Purpose) tuners.Plan {
	t.Helper()
	p, err := s.PlanRound(t.Context(), tuners.PlanRequest{Trial: trial, Round: round, Slots: slots, Purpose: purpose})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// slot is what a client shows when its configuration gives this error.
func slot(after, before, examples float64) tuners.Slot {
	return tuners.Slot{Probes: map[string]float64{
		"val_error_after": after, "val_error_before": before, "val_loss_after": 2 * after, "val_loss_before": 2 * before,
		"examples_val": examples,
	}}
}

func observe(t *testing.T, s tuners.Session, round int, slots ...tuners.Slot) {
	t.Helper()
	if err := s.ObserveRound(t.Context(), tuners.Observation{Trial: 3, Round: round, Slots: slots}); err != nil {
		t.Fatal(err)
	}
}

// configsOf collects the configurations of a fresh session by asking for very many
// slots.
func configsOf(t *testing.T, req tuners.OpenRequest) map[string]tuners.Params {
	t.Helper()
	seen := map[string]tuners.Params{}
	for _, c := range plan(t, open(t, req), req.Trial, 0, 5000, tuners.Train).Clients {
		seen[c.String()] = c
	}
	return seen
}

func TestConfigurationsAreNeighbours(t *testing.T) {
	configs := configsOf(t, request(nil))
	if len(configs) < 25 || len(configs) > 27 {
		t.Errorf("%d different configurations, want nearly 27", len(configs))
	}
	if _, ok := configs["client.batch=32 client.epochs=3 client.lr=0.01"]; !ok {
		t.Error("the trial's own configuration is not among them")
	}
	for _, c := range configs {
		if e := c.Int("client.epochs", 0); e < 2 || e > 4 {
			t.Errorf("epochs %d, want 3 +- ceil(0.4)", e)
		}
		if b := c.Int("client.batch", 0); b != 16 && b != 32 && b != 64 {
			t.Errorf("batch %d, want 32 or a neighbour", b)
		}
		if s := math.Log10(c.Float("client.lr", 0)); s < -2.4-1e-9 || s > -1.6+1e-9 {
			t.Errorf("log10 lr %v, want -2 +- 0.4", s)
		}
		if len(c) != 3 {
			t.Errorf("a configuration sets %v, want the client's three", c)
		}
	}
	far := false
	for _, c := range configsOf(t, request(tuners.Params{"independent": tuners.Bool(true)})) {
		far = far || c.Float("client.lr", 0) > 0.1
	}
	if !far {
		t.Error("27 independent draws all lie near 0.01")
	}
}

func TestNumberOfConfigurations(t *testing.T) {
	if n := len(configsOf(t, request(tuners.Params{"configs": tuners.Num(1)}))); n != 1 {
		t.Errorf("k = 1 gives %d configurations", n)
	}
	counts := map[int]bool{}
	for trial := range 40 {
		req := request(tuners.Params{
			"draw_configs": tuners.Bool(true), "configs": tuners.Num(4),
			"independent": tuners.Bool(true),
		})
		req.Trial = trial
		counts[len(configsOf(t, req))] = true
	}
	for k := 1; k <= 4; k++ {
		if !counts[k] || counts[0] || counts[5] {
			t.Errorf("k drawn from 1..4 in 40 trials: %v", counts)
		}
	}
}

func TestAsPaperRoundsTheNeighbourhoodDown(t *testing.T) {
	for _, c := range configsOf(t, request(tuners.Params{"as_paper": tuners.Bool(true)})) {
		// w = 0.1 * 4 = 0.4: from c - 0 to c + 1
		if e := c.Int("client.epochs", 0); e < 3 || e > 4 {
			t.Errorf("epochs %d, want 3 or 4", e)
		}
		if b := c.Int("client.batch", 0); b != 32 && b != 64 {
			t.Errorf("batch %d, want 32 or 64", b)
		}
	}
}

// TestFindsTheBestArm plays a noisy bandit: a client's error is the distance of its
// log10 lr from the best, plus noise.
func TestFindsTheBestArm(t *testing.T) {
	for _, schedule := range []string{fedex.Aggressive, fedex.Adaptive, fedex.Auto, fedex.Constant, fedex.Noise} {
		t.Run(schedule, func(t *testing.T) {
			found := 0
			for seed := range uint64(8) {
				req := request(tuners.Params{
					"configs": tuners.Num(5), "independent": tuners.Bool(true),
					"schedule": tuners.Str(schedule), "mle": tuners.Bool(true),
				})
				req.Seed = seed
				loss := func(c tuners.Params) float64 { return 0.1 + 0.2*math.Abs(math.Log10(c.Float("client.lr", 0))+2) }
				best := math.Inf(1)
				for _, c := range configsOf(t, req) {
					best = min(best, loss(c))
				}
				s := open(t, req)
				for round := range 300 {
					noise := tuners.NewDraws(seed, 0, round, "noise")
					var slots []tuners.Slot
					for _, c := range plan(t, s, 3, round, 10, tuners.Train).Clients {
						slots = append(slots, slot(loss(c)+0.1*(noise.Float64()-0.5), 1, float64(1+noise.IntN(20))))
					}
					observe(t, s, round, slots...)
				}
				if got := loss(plan(t, s, 3, 300, 7, tuners.Test).Client(6)); got-best < 0.02 {
					found++
				}
			}
			t.Logf("found %d of 8", found)
			if found < 7 {
				t.Errorf("the best arm was found in %d of 8 runs", found)
			}
		})
	}
}

func TestObjectiveAndDiffChooseTheProbes(t *testing.T) {
	loss := request(tuners.Params{"diff": tuners.Bool(true)})
	loss.Objective.Metric = tuners.MetricLoss
	for _, c := range []struct {
		req  tuners.OpenRequest
		want string
	}{
		{request(nil), "val_error_after"},
		{request(tuners.Params{"diff": tuners.Bool(true)}), "val_error_after val_error_before"},
		{loss, "val_loss_after val_loss_before"},
	} {
		s := open(t, c.req)
		if got := strings.Join(s.(tuners.Prober).Probes(), " "); got != c.want {
			t.Errorf("probes %q, want %q", got, c.want)
		}
		// One client: the round's mean error becomes the next baseline.
		observe(t, s, 0, slot(0.25, 0.75, 4))
		want := map[string]string{
			"val_error_after": `"num":0.25`, "val_error_after val_error_before": `"num":-0.5`,
			"val_loss_after val_loss_before": `"num":-1`,
		}[c.want]
		if !strings.Contains(string(s.State()), want) {
			t.Errorf("%s: state %s lacks %s", c.want, s.State(), want)
		}
	}
}

// TestDroppedClientsCountAgainstTheirConfiguration lays a round with dropped clients
// beside one in which they score the worst.
func TestDroppedClientsCountAgainstTheirConfiguration(t *testing.T) {
	gone := tuners.Slot{Dropped: true}
	loss := request(nil)
	loss.Objective.Metric = tuners.MetricLoss
	lossy := func(loss, examples float64) tuners.Slot {
		return tuners.Slot{Probes: map[string]float64{"val_loss_after": loss, "examples_val": examples}}
	}
	for name, c := range map[string]struct {
		req        tuners.OpenRequest
		told, same []tuners.Slot
	}{
		"an error of 1, weighed as the others in the mean": {
			request(nil), []tuners.Slot{slot(0.25, 0, 1), gone, slot(0.5, 0, 3)}, []tuners.Slot{
				slot(0.25, 0, 1), slot(1, 0, 2),
				slot(0.5, 0, 3),
			},
		},
		"all of a round": {request(nil), []tuners.Slot{gone, gone}, []tuners.Slot{slot(1, 0, 5), slot(1, 0, 5)}},
		"the largest loss": {loss, []tuners.Slot{gone, lossy(2, 1), lossy(7, 1)}, []tuners.Slot{
			lossy(7, 1), lossy(2, 1),
			lossy(7, 1),
		}},
		"after less before": {
			request(tuners.Params{"diff": tuners.Bool(true)}),
			[]tuners.Slot{slot(0.5, 0.75, 2), gone},
			[]tuners.Slot{slot(0.5, 0.75, 2), slot(1, 0, 2)},
		},
		"a score that is NaN": {
			request(nil),
			[]tuners.Slot{slot(math.NaN(), 0, 2), gone},
			[]tuners.Slot{slot(1, 0, 2), slot(1, 0, 2)},
		},
		"skipped, as is wanted": {request(tuners.Params{"dropped": tuners.Str("skip")}), []tuners.Slot{
			slot(0.25, 0, 1),
			slot(0.5, 0, 3), gone,
		}, []tuners.Slot{slot(0.25, 0, 1), slot(0.5, 0, 3)}},
	} {
		told, same := open(t, c.req), open(t, c.req)
		observe(t, told, 0, c.told...)
		observe(t, same, 0, c.same...)
		if string(told.State()) != string(same.State()) {
			t.Errorf("%s: %s, want %s", name, told.State(), same.State())
		}
	}
	// The configuration of a client that diverged is less likely afterwards.
	req := request(tuners.Params{"schedule": tuners.Str("constant")})
	s := open(t, req)
	arms, err := fedex.Arms(space, req.Params, req.Options, req.Seed, req.Trial)
	if err != nil {
		t.Fatal(err)
	}
	picked := plan(t, s, 3, 0, 4, tuners.Train).Clients[1]
	at := slices.IndexFunc(arms, picked.Equal)
	observe(t, s, 0, slot(0.5, 0, 2), gone, slot(0.5, 0, 2), slot(0.5, 0, 2))
	if theta := plan(t, s, 3, 1, 4, tuners.Train).Notes["theta"]; theta[at] != slices.Min(theta) || !(theta[at] < 0.9/27) {
		t.Errorf("configuration %d, whose client diverged, has a probability of %v of %v", at, theta[at], theta)
	}
	// Without a finite loss nothing is known.
	lost := open(t, loss)
	fresh := string(lost.State())
	observe(t, lost, 0, gone, gone)
	if string(lost.State()) != fresh {
		t.Error("a round without any loss moved theta")
	}
}

func TestSlotsThatDoNotCount(t *testing.T) {
	skip := tuners.Params{"dropped": tuners.Str("skip")}
	counted, padded := open(t, request(skip)), open(t, request(skip))
	observe(t, counted, 0, slot(0.25, 0, 1), slot(0.5, 0, 3))
	observe(t, padded, 0, slot(0.25, 0, 1), slot(0.5, 0, 3), tuners.Slot{Dropped: true}, slot(0.9, 0, 0))
	// q_i = |V_i| / sum |V_i|: (1 * 0.25 + 3 * 0.5) / 4.
	if !strings.Contains(string(counted.State()), `"num":0.4375`) {
		t.Errorf("the mean error in %s is not weighted by the clients' examples", counted.State())
	}
	if string(counted.State()) != string(padded.State()) {
		t.Errorf("dropped and empty slots count:\n%s\n%s", padded.State(), counted.State())
	}
	worst, diverged := open(t, request(nil)), open(t, request(nil))
	observe(t, worst, 0, slot(0.25, 0, 1), slot(0.25, 0, 3))
	observe(t, diverged, 0, slot(0.25, 0, 1), slot(math.NaN(), 0, 3))
	if string(worst.State()) != string(diverged.State()) {
		t.Error("a score that is not finite does not count as the worst")
	}
	fresh := string(padded.State())
	observe(t, padded, 1, tuners.Slot{Dropped: true}, slot(math.Inf(1), 0, 2))
	if string(padded.State()) != fresh {
		t.Error("a round without any score moved theta")
	}
	for _, bad := range []tuners.Slot{
		{Probes: map[string]float64{"val_error_after": 0.5}},
		{Probes: map[string]float64{"examples_val": 3}},
		slot(0.5, 0, math.NaN()),
	} {
		err := open(t, request(nil)).ObserveRound(t.Context(), tuners.Observation{
			Trial: 3, Round: 6,
			Slots: []tuners.Slot{bad},
		})
		if err == nil || !strings.Contains(err.Error(), "round 6, slot 0") {
			t.Errorf("%v: got error %v", bad.Probes, err)
		}
	}
}

func TestTestPlansRepeatAndChangeNothing(t *testing.T) {
	s := open(t, request(nil))
	first := plan(t, s, 3, 4, 50, tuners.Test)
	state := string(s.State())
	again := plan(t, s, 3, 9, 50, tuners.Test)
	for i := range first.Clients {
		if !first.Clients[i].Equal(again.Clients[i]) {
			t.Fatal("test plans of two rounds draw differently")
		}
	}
	if string(s.State()) != state {
		t.Error("a test plan changed the state")
	}
}

// TestJobs has jobs of two rounds end in another order, one of them lost: they count with
// the configurations and the theta of their own plans, weighed by their staleness.
func TestJobs(t *testing.T) {
	req := request(tuners.Params{
		"schedule": tuners.Str("constant"), "configs": tuners.Num(3), "eta0": tuners.Num(0.1),
		"baseline": tuners.Str("zero"),
	})
	arms, err := fedex.Arms(space, req.Params, req.Options, req.Seed, req.Trial)
	if err != nil {
		t.Fatal(err)
	}
	pick := func(p tuners.Plan, slot int) int { return slices.IndexFunc(arms, p.Client(slot).Equal) }
	theta := func(s tuners.Session, round int) []float64 {
		return plan(t, s, 3, round, 1, tuners.Train).Notes["theta"]
	}
	job := func(s tuners.Slot, round, slot, staleness int) tuners.Slot {
		s.Job = &tuners.Job{Round: round, Slot: slot, Staleness: staleness, Weight: 1 / float64(1+staleness)}
		return s
	}
	see := func(s tuners.Session, round, oldest int, slots ...tuners.Slot) {
		if err := s.ObserveRound(t.Context(), tuners.Observation{
			Trial: 3, Round: round, Slots: slots,
			Oldest: oldest,
		}); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, req)
	first := plan(t, s, 3, 0, 4, tuners.Train)
	see(s, 0, 0, job(slot(0.5, 0, 2), 0, 2, 0))
	before := theta(s, 1)
	second := plan(t, s, 3, 1, 2, tuners.Train)
	lost := job(tuners.Slot{Dropped: true}, 0, 0, 1)
	lost.Job.Fate = "vanished"
	see(s, 1, 2, job(slot(0.25, 0, 4), 1, 1, 0), job(slot(0.75, 0, 4), 0, 3, 1), lost)
	want := slices.Clone(before)
	grad := make([]float64, 3)
	grad[pick(second, 1)] += 4 * 0.25 / before[pick(second, 1)] / 9
	grad[pick(first, 3)] += 2 * 0.75 * 3 / 9.0
	grad[pick(first, 0)] += 3 * 1 * 3 / 9.0 // with the mean weight
	sum := 0.0
	for j := range want {
		want[j] *= math.Exp(-0.1 * grad[j])
		sum += want[j]
	}
	for j, got := range theta(s, 2) {
		if math.Abs(got-want[j]/sum) > 2e-4 {
			t.Errorf("theta of configuration %d is %v, want %v", j, got, want[j]/sum)
		}
	}
	if strings.Contains(string(s.State()), "past") {
		t.Errorf("it remembers rounds without jobs at work: %s", s.State())
	}
	err = s.ObserveRound(t.Context(), tuners.Observation{
		Trial: 3, Round: 2,
		Slots: []tuners.Slot{job(slot(0.5, 0, 1), 0, 0, 2)}, Oldest: 3,
	})
	if err == nil || !strings.Contains(err.Error(), "a job of round 0, whose plan is unknown") {
		t.Errorf("a job of a forgotten plan: %v", err)
	}
}

// TestTestPlansDrawFromTheta makes one of two configurations all but impossible.
func TestTestPlansDrawFromTheta(t *testing.T) {
	s := open(t, request(tuners.Params{
		"configs": tuners.Num(2), "schedule": tuners.Str(fedex.Constant),
		"eta0": tuners.Num(20),
	}))
	trained := plan(t, s, 3, 0, 1, tuners.Train).Client(0)
	observe(t, s, 0, slot(0.9, 0, 1)) // z of the other is ahead by 20 * 0.9 / 0.5
	for _, purpose := range []tuners.Purpose{tuners.Train, tuners.Test} {
		for i, c := range plan(t, s, 3, 1, 50, purpose).Clients {
			if c.Equal(trained) {
				t.Fatalf("%s: slot %d got the configuration that theta leaves out", purpose, i)
			}
		}
	}
}

func TestLatchedPlansUseOneConfiguration(t *testing.T) {
	s := open(t, request(tuners.Params{"cutoff": tuners.Num(100)}))
	observe(t, s, 0, slot(0.25, 0, 1))
	for _, purpose := range []tuners.Purpose{tuners.Train, tuners.Test} {
		if n := len(plan(t, s, 3, 1, 10, purpose).Clients); n != 1 {
			t.Errorf("%s: params for %d slots, want one for all", purpose, n)
		}
	}
	state := string(s.State())
	observe(t, s, 1, slot(0.5, 0, 1))
	if string(s.State()) != state {
		t.Error("a latched session moved")
	}
}

// TestGoesOnFromItsState opens the session anew before every call: the same plans
// and the same last state.
func TestGoesOnFromItsState(t *testing.T) {
	run := func(cut bool) (plans string, state string) {
		req := request(tuners.Params{"schedule": tuners.Str(fedex.Adaptive)})
		s := open(t, req)
		again := func() {
			if cut {
				req.State = s.State()
				s = open(t, req)
			}
		}
		var b strings.Builder
		for round := range 12 {
			again()
			p := plan(t, s, 3, round, 6, tuners.Train)
			again()
			var slots []tuners.Slot
			for i := range 6 {
				b.WriteString(p.Client(i).String() + "\n")
				slots = append(slots, slot(p.Client(i).Float("client.lr", 0)*10, 0, float64(i+1)))
			}
			observe(t, s, round, slots...)
		}
		return b.String(), string(s.State())
	}
	plans, state := run(false)
	cutPlans, cutState := run(true)
	if plans != cutPlans || state != cutState {
		t.Errorf("a session that is opened anew differs:\n%s\n%s", cutState, state)
	}
}

// TestAForkKeepsItsConfigurations opens another trial from a state: same
// configurations, own draws.
func TestAForkKeepsItsConfigurations(t *testing.T) {
	req := request(nil)
	source := configsOf(t, req)
	s := open(t, req)
	observe(t, s, 0, slot(0.25, 0, 1))
	req.Trial, req.State = 8, s.State()
	fork := open(t, req)
	for _, c := range plan(t, fork, 8, 1, 300, tuners.Train).Clients {
		if _, ok := source[c.String()]; !ok {
			t.Fatalf("the fork trains with %s, which its source does not have", c)
		}
	}
}

func TestValidateAndOpenRefuse(t *testing.T) {
	problems, err := fedex.Tuner.Validate(t.Context(), tuners.ValidateRequest{
		Space: space[4:], Objective: tuners.Objective{Metric: "f1"},
		Options: tuners.Params{
			"configs": tuners.Num(0), "eps": tuners.Num(2), "eta0": tuners.Num(-1), "gamma": tuners.Num(1.5),
			"cutoff": tuners.Num(-1), "schedule": tuners.Str("fast"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, p := range problems {
		keys = append(keys, p.Key)
	}
	if got := strings.Join(keys,
		" "); got != "options.configs options.eps options.schedule options.eta0 options.gamma options.cutoff space objective" {
		t.Errorf("problems with %s", got)
	}
	for _, c := range []struct{ drop, want string }{
		{fedex.Gamma, "trial 3: fedex.gamma must be from 0 to 1"},
		{"client.lr", "trial 3 has no client.lr"},
	} {
		req := request(nil)
		delete(req.Params, c.drop)
		if _, err := fedex.Tuner.Open(t.Context(), req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("without %s: got error %v", c.drop, err)
		}
	}
	req := request(nil)
	req.State = []byte(`{"z":[0,0]}`)
	if _, err := fedex.Tuner.Open(t.Context(), req); err == nil || !strings.Contains(err.Error(),
		"2 configurations, the options give 27") {
		t.Errorf("a foreign state: got error %v", err)
	}
}

func TestAlone(t *testing.T) {
	req := request(nil)
	req.Trial, req.Params = tuners.StudySession, nil
	s := open(t, req)
	decisions, err := s.Suggest(t.Context(), 1)
	if err != nil || len(decisions) != 1 || decisions[0].Kind != tuners.Start || decisions[0].ToRound != 10 {
		t.Fatalf("got %v, %v", decisions, err)
	}
	if err := s.Report(t.Context(), tuners.TrialReport{Round: 10, Score: 0.5}); err != nil {
		t.Fatal(err)
	}
	req.State = s.State()
	if decisions, err = open(t, req).Suggest(t.Context(), 1); err != nil || decisions[0].Kind != tuners.Done ||
		decisions[0].Best != 0 {
		t.Errorf("got %v, %v", decisions, err)
	}
}
