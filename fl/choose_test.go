package fl

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/fl/internal/fltest"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
)

// chosen is a training that chooses clients.
func chosen(t *testing.T, fed *data.Federation, kind string, change func(*Config)) Config {
	cfg := Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 4, Seed: 3, Sampler: fleet.DefaultSampler(), Time: fleet.DefaultTime()}
	cfg.Sampler.Kind = kind
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// unequal gives clients unequal devices, some of which vanish.
func unequal(c *Config) {
	c.Fleet = &fleet.Config{Devices: "lognormal", FLOPS: []float64{1e6}, Dropout: 0.2}
}

func inBuffer(c *Config) {
	unequal(c)
	c.Time.Mode, c.Time.Buffer, c.Time.Concurrency = fleet.Buffered, 3, 6
}

// TestChoicesAreTheSame: the same clients and bits for any number of workers, and after a
// snapshot between two rounds.
func TestChoicesAreTheSame(t *testing.T) {
	t.Parallel()
	fed := fltest.OpenGlyphs(t, 24, 30)
	for _, tt := range []struct {
		kind   string
		change func(*Config)
	}{
		{fleet.Power, nil},
		{fleet.Power, unequal},
		{fleet.Oort, nil},
		{fleet.Oort, unequal},
		{fleet.Oort, inBuffer},
		{fleet.LongestWaiting, nil},
		{fleet.LongestWaiting, inBuffer},
		{fleet.Tiers, unequal},
	} {
		cfg := chosen(t, fed, tt.kind, tt.change)
		name := fmt.Sprintf("%s, %s, fleet %v", tt.kind, cfg.Time.Mode, cfg.Fleet != nil)
		text := func(rounds []*RoundResult) string {
			var all strings.Builder
			for _, r := range rounds {
				for i := range r.Slots {
					fmt.Fprintf(&all, "%d/%v ", r.Slots[i].Client, r.Slots[i].TrainLoss)
				}
				fmt.Fprintln(&all, r.End, len(r.Lost))
			}
			return all.String()
		}
		var want string
		for _, workers := range []int{1, 2, 7} {
			cfg.Workers = workers
			tr := newEngine(t, cfg).NewTrial(2)
			got := text(runRounds(t, tr, Plan{}, 3))
			again, err := newEngine(t, cfg).Restore(written(t, tr.Snapshot()))
			if err != nil {
				t.Fatal(err)
			}
			after := text(runRounds(t, again, Plan{}, 5))
			if straight := text(runRounds(t, tr, Plan{}, 5)); after != straight || !slices.Equal(again.Weights(), tr.Weights()) {
				t.Errorf("%s: after a snapshot\n%s, want\n%s", name, after, straight)
			}
			if got += after + tr.engine.Model().SHA256(tr.Weights()); want == "" {
				want = got
			} else if got != want {
				t.Errorf("%s, %d workers:\n%s, want\n%s", name, workers, got, want)
			}
		}
	}
}

// TestPowerOfChoice: the clients of a round have the highest losses among its candidates, all
// of which are asked; on a fleet the round begins when the slowest of them has answered, and
// nobody receives the weights twice.
func TestPowerOfChoice(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 16, 40)
	cfg := chosen(t, fed, fleet.Power, nil)
	cfg.Sampler.Candidates = len(fed.Clients)
	e := newEngine(t, cfg)
	tr := e.NewTrial(0)
	for range 3 {
		losses := make([]float64, len(fed.Clients))
		for i := range losses {
			all := []int32{int32(i)}
			of, err := tr.losses(t.Context(), all)
			if err != nil {
				t.Fatal(err)
			}
			losses[i] = of[int32(i)]
		}
		r := runRounds(t, tr, Plan{}, 1)[0]
		sorted := slices.Clone(losses)
		slices.Sort(sorted)
		for i := range r.Slots {
			if want := sorted[len(sorted)-1-i]; losses[r.Slots[i].Client] != want {
				t.Errorf("slot %d has a client with a loss of %v, want %v", i, losses[r.Slots[i].Client], want)
			}
		}
	}

	cfg.Fleet = &fleet.Config{} // 10 GFLOP/s, 1.25 MB/s
	e = newEngine(t, cfg)
	each, _ := e.Model().FLOPs()
	most, bytes := 0, float64(4*e.Model().NumTrainable())
	for i := range fed.Clients {
		most = max(most, fed.Clients[i].Train.Len())
	}
	r := runRounds(t, e.NewTrial(0), Plan{}, 1)[0]
	asked := float64(each)*float64(most)/10e9 + (bytes+4)/1.25e6
	for i := range r.Slots {
		j := r.Slots[i].Job
		if math.Abs(nanos.Seconds(j.Start)-asked) > 1e-8 || j.Received != j.Start {
			t.Errorf("client %d begins at %v s and has the weights at %v s, want both at %v s", j.Client, nanos.Seconds(j.Start), nanos.Seconds(j.Received), asked)
		}
	}
}

// TestLongestWaiting: each client once before any twice.
func TestLongestWaiting(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	n := len(fed.Clients) / 4
	cfg := chosen(t, fed, fleet.LongestWaiting, unequal)
	for name, cfg := range map[string]Config{"rounds": chosen(t, fed, fleet.LongestWaiting, nil), "a fleet": cfg} {
		times := make([]int, len(fed.Clients))
		for _, r := range runRounds(t, newEngine(t, cfg).NewTrial(0), Plan{}, 2*n) {
			for i := range r.Slots {
				times[r.Slots[i].Client]++
			}
			for i := range r.Lost {
				times[r.Lost[i].Client]++
			}
		}
		if slices.Max(times)-slices.Min(times) > 1 {
			t.Errorf("%s: the clients began %v times", name, times)
		}
	}
}

// TestOort compares a choice with the formulas of the paper, for clients of known utilities
// and times.
func TestOort(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	tr := newEngine(t, chosen(t, fed, fleet.Oort, nil)).NewTrial(0)
	c := tr.chooser
	tr.round = 9
	// 0 to 9: equally useful but for 9, of 1 s but for 8, which takes 4 s
	for i := range 10 {
		c.last[i], c.utility[i], c.seconds[i] = 9, 10, 1
	}
	c.utility[0], c.utility[9], c.seconds[8] = 5, 1000, 4
	bonus := math.Sqrt(0.1 * math.Log(10) / 9)
	known := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	got := c.utilities(known)
	c.Clip = 0.8 // the second highest of ten
	clipped := c.utilities(known)
	for i, want := range map[int]float64{0: bonus, 1: 1 + bonus, 8: (1 + bonus) / 16, 9: 1 + bonus} {
		if math.Abs(clipped[i]-want) > 1e-6 {
			t.Errorf("utility of client %d: %v, want %v", i, clipped[i], want)
		}
	}
	if want := 5./995 + bonus; math.Abs(got[1]-want) > 1e-6 || math.Abs(got[9]-1-bonus) > 1e-6 {
		t.Errorf("utilities without a clip: %v and %v, want %v and %v", got[1], got[9], want, 1+bonus)
	}
	// half of the choices explore: clients that were drawn before are those that come close
	c.Exploration, c.ExplorationDecay = 0.5, 1
	all := make([]int32, len(fed.Clients))
	for i := range all {
		all[i] = int32(i)
	}
	fresh, trials := 0, 2000
	for n := range trials {
		picked := c.oort(clock.Choice{Clients: all, Number: 3}, kernels.Key(1, uint64(n)))
		if len(picked) != 3 || slices.Contains(picked, 0) || slices.Contains(picked, 8) {
			t.Fatalf("picked %v", picked)
		}
		for _, client := range picked {
			if client >= 10 {
				fresh++
			}
		}
	}
	if share := float64(fresh) / float64(3*trials); math.Abs(share-0.5) > 4*math.Sqrt(0.25/6000) {
		t.Errorf("%v of the clients are new, want half", share)
	}
	// the pacer: utilities that fall raise the quantile
	c.PaceRounds = 2
	for round, want := range []float32{0.3, 0.3, 0.3, 0.35, 0.35, 0.35} {
		slot := Slot{Client: 1, TrainExamples: 10, squaredLoss: []float64{4, 4, 1, 1, 1, 1}[round], Seconds: 1}
		if c.learnUtilities([]Slot{slot}, nil); math.Abs(float64(c.pacer[0]-want)) > 1e-6 {
			t.Errorf("after round %d the quantile is %v, want %v", round, c.pacer[0], want)
		}
	}
	if c.utility[1] != 10 {
		t.Errorf("utility of 10 samples with losses of 1: %v", c.utility[1])
	}
}

// TestTiers: a round has clients of one tier, and tiers are drawn in proportion to their
// losses.
func TestTiers(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 40, 30)
	cfg := chosen(t, fed, fleet.Tiers, func(c *Config) {
		c.Fleet = &fleet.Config{Devices: "classes", Shares: []float64{1, 1}, FLOPS: []float64{1e9, 1e6}}
		c.Sampler.Tiers = 4
	})
	e := newEngine(t, cfg)
	tr := e.NewTrial(0)
	for _, r := range runRounds(t, tr, Plan{}, 6) {
		for i := range r.Slots {
			if e.tiers[r.Slots[i].Client] != e.tiers[r.Slots[0].Client] {
				t.Errorf("round %d has tiers %d and %d", r.Round, e.tiers[r.Slots[0].Client], e.tiers[r.Slots[i].Client])
			}
		}
	}
	expected := e.expectedSeconds()
	for a := range expected {
		for b := range expected {
			if e.tiers[a] < e.tiers[b] && expected[a] > expected[b] {
				t.Fatalf("client %d of tier %d takes %v s, client %d of tier %d %v s", a, e.tiers[a], expected[a], b, e.tiers[b], expected[b])
			}
		}
	}
	tr.chooser.losses = []float32{1, 2, 3, -1} // the last counts as 3
	all := make([]int32, len(fed.Clients))
	for i := range all {
		all[i] = int32(i)
	}
	const trials = 9000
	var times [4]float64
	for n := range trials {
		times[e.tiers[tr.chooser.tier(clock.Choice{Clients: all, Number: 4}, kernels.Key(1, uint64(n)))[0]]]++
	}
	for i, want := range []float64{1. / 9, 2. / 9, 3. / 9, 3. / 9} {
		if share := times[i] / trials; math.Abs(share-want) > 0.02 {
			t.Errorf("tier %d is drawn in %v of the rounds, want %v", i, share, want)
		}
	}
}

// TestSamplersAreChecked refuses choices that cannot be made.
func TestSamplersAreChecked(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	for want, cfg := range map[string]Config{
		`sampling = "best": must be one of without, with, poisson, power, oort, longest_waiting, tiers`: chosen(t, fed, "best", nil),
		`sampling = "oort": its clients are not drawn at random`:                                        chosen(t, fed, fleet.Oort, func(c *Config) { c.Poisson = true }),
		`sampling = "oort": the account of dp.*`:                                                        chosen(t, fed, fleet.Oort, func(c *Config) { c.Privacy = &Privacy{Clip: 1} }),
		`sampling = "power": a round waits for the losses of its candidates`:                            chosen(t, fed, fleet.Power, inBuffer),
		`sampling = "tiers": tiers are of clients with unequal devices`:                                 chosen(t, fed, fleet.Tiers, nil),
		`sampler.candidates = 3: must be at least 4`:                                                    chosen(t, fed, fleet.Power, func(c *Config) { c.Sampler.Candidates = 3 }),
		`sampler.tiers = 9: a tier of the`:                                                              chosen(t, fed, fleet.Tiers, func(c *Config) { unequal(c); c.Sampler.Tiers = 9 }),
	} {
		e, err := New(cfg)
		if err == nil {
			e.Close()
		}
		if !contains(err, want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
