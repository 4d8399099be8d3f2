package fl

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/choose"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// chosen is a training that chooses clients.
func chosen(t *testing.T, fed *data.Federation, kind string, change func(*Config)) Config {
	cfg := Config{
		Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 4, Seed: 3,
		Sampler: fleet.DefaultSampler(), Time: fleet.DefaultTime(),
	}
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
			losses[i] = of[0]
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
			t.Errorf("client %d begins at %v s and has the weights at %v s, want both at %v s", j.Client, nanos.Seconds(j.Start),
				nanos.Seconds(j.Received), asked)
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

// TestTiers: a round has clients of one tier, whose devices are equally fast.
func TestTiers(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 40, 30)
	cfg := chosen(t, fed, fleet.Tiers, func(c *Config) {
		c.Fleet = &fleet.Config{Devices: "classes", Shares: []float64{1, 1}, FLOPS: []float64{1e9, 1e6}}
		c.Sampler.Tiers = 4
	})
	e := newEngine(t, cfg)
	of := choose.NewTiers(e.order, cfg.Sampler, nil).Tier
	for _, r := range runRounds(t, e.NewTrial(0), Plan{}, 6) {
		for i := range r.Slots {
			if first := r.Slots[0].Client; of(int32(r.Slots[i].Client)) != of(int32(first)) {
				t.Errorf("round %d has tiers %d and %d", r.Round, of(int32(first)), of(int32(r.Slots[i].Client)))
			}
		}
	}
	expected := e.expectedSeconds()
	for a := range expected {
		for b := range expected {
			if of(int32(a)) < of(int32(b)) && expected[a] > expected[b] {
				t.Fatalf("client %d of tier %d takes %v s, client %d of tier %d %v s", a, of(int32(a)), expected[a],
					b, of(int32(b)), expected[b])
			}
		}
	}
}

// TestSamplersAreChecked refuses choices that cannot be made.
func TestSamplersAreChecked(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	for want, cfg := range map[string]Config{
		`sampling = "best": must be one of without, with, size, poisson, shuffle, power, oort, longest_`: chosen(t, fed,
			"best", nil),
		`sampling = "oort": its clients are not drawn at random`: chosen(t, fed,
			fleet.Oort, func(c *Config) { c.Poisson = true }),
		`sampling = "oort": the account of dp.*`: chosen(t, fed,
			fleet.Oort, func(c *Config) { c.Privacy = &Privacy{Clip: 1} }),
		`sampling = "power": a round waits for the losses of its candidates`: chosen(t, fed,
			fleet.Power, inBuffer),
		`sampling = "tiers": tiers are of clients with unequal devices`: chosen(t, fed,
			fleet.Tiers, nil),
		`sampler.candidates = 3: must be at least 4`: chosen(t, fed,
			fleet.Power, func(c *Config) { c.Sampler.Candidates = 3 }),
		`sampler.tiers = 9: a tier of the`: chosen(t, fed,
			fleet.Tiers, func(c *Config) { unequal(c); c.Sampler.Tiers = 9 }),
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
