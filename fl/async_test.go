package fl

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
)

// rounds is a fleet that forces the draws of FedAvg on an asynchronous server: while it
// has made a number of steps, the clients of that round are there, and end in the order in
// which the round draws them.
type rounds struct {
	trial *Trial
}

func (r *rounds) cohort() []int { return r.trial.engine.Cohort(r.trial.number, r.trial.round) }

func (r *rounds) Available(client int, t int64) (bool, int64) {
	return slices.Contains(r.cohort(), client), t + 1
}

func (r *rounds) Run(j fleet.Job) fleet.Outcome {
	end := j.Start + 1000 + int64(slices.Index(r.cohort(), j.Client))
	return fleet.Outcome{Received: j.Start, Computed: end, End: end}
}

// keyed has a method's clients draw by the round and the client alone.
func keyed(m Method) Method {
	train := m.Local
	m.Local = func(l *Local) error {
		l.key = kernels.Key(uint64(l.Round), uint64(l.Client))
		return train(l)
	}
	return m
}

// TestBufferedIsAveraging: a buffer of a cohort, of which all begin together, has the bits
// of rounds, when both draw the same.
func TestBufferedIsAveraging(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	cfg := Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: keyed(average()), Cohort: 5, Seed: 3}
	run := func(cfg Config, force bool) (sha string, clients [][]int) {
		e := newEngine(t, cfg)
		r := &rounds{}
		if force {
			e.fleet = r
		}
		r.trial = e.NewTrial(2)
		for _, result := range runRounds(t, r.trial, Plan{}, 4) {
			var drawn []int
			for i := range result.Slots {
				drawn = append(drawn, result.Slots[i].Client)
			}
			clients = append(clients, drawn)
		}
		return e.Model().SHA256(r.trial.Weights()), clients
	}
	want, cohorts := run(cfg, false)
	cfg.Fleet, cfg.Time = &fleet.Config{}, fleet.DefaultTime()
	cfg.Time.Mode, cfg.Time.Buffer, cfg.Time.Open, cfg.Time.Weighted = fleet.Buffered, 5, 5, true
	got, drawn := run(cfg, true)
	if !slices.EqualFunc(cohorts, drawn, slices.Equal) {
		t.Fatalf("it draws %v, want %v", drawn, cohorts)
	}
	if got != want {
		t.Errorf("it trains to %s, want %s", got, want)
	}
}

// TestRoundsOnAFleetAreRounds: where nobody is late or away a fleet changes the time, not
// the weights.
func TestRoundsOnAFleetAreRounds(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	cfg := Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 5, Seed: 3}
	run := func() (string, []*RoundResult) {
		e := newEngine(t, cfg)
		tr := e.NewTrial(2)
		results := runRounds(t, tr, Plan{}, 3)
		return e.Model().SHA256(tr.Weights()), results
	}
	want, plain := run()
	if !math.IsNaN(plain[2].End) {
		t.Errorf("without a fleet a round ends at %v s", plain[2].End)
	}
	cfg.Fleet = &fleet.Config{}
	got, timed := run()
	if got != want {
		t.Errorf("it trains to %s, want %s", got, want)
	}
	for i, r := range timed {
		slowest := 0.0
		for k := range r.Slots {
			slowest = max(slowest, r.Slots[k].Seconds)
			if r.Slots[k].Client != plain[i].Slots[k].Client {
				t.Fatalf("round %d has other clients", i)
			}
		}
		if math.Abs(r.End-r.Start-slowest) > 1e-8 || i > 0 && r.Start != timed[i-1].End {
			t.Errorf("round %d lasts from %v to %v s, its slowest client %v", i, r.Start, r.End, slowest)
		}
		// the phones of a fleet without a configuration give seconds_simulated
		if was, _ := plain[i].Probe("seconds_simulated"); math.Abs(slowest-was) > 1e-6*was {
			t.Errorf("round %d takes %v s on the fleet, %v s without", i, slowest, was)
		}
	}
}

// TestStalenessWeights compares the weights of updates with their formulas, and what an
// asynchronous step does with what the client returned.
func TestStalenessWeights(t *testing.T) {
	for _, tt := range []struct {
		change func(*fleet.Time)
		want   []float64 // by staleness
	}{
		{func(c *fleet.Time) { c.Staleness = fleet.Constant }, []float64{1, 1, 1, 1}},
		{func(*fleet.Time) {}, []float64{1, 1 / math.Sqrt(2), 1 / math.Sqrt(3), 0.5}},
		{func(c *fleet.Time) { c.Exponent = 2 }, []float64{1, 1. / 4, 1. / 9, 1. / 16}},
		{
			func(c *fleet.Time) { c.Staleness, c.HingeSlope, c.HingeAfter = fleet.Hinge, 10, 1 },
			[]float64{1, 1, 1. / 11, 1. / 21},
		},
		{func(c *fleet.Time) { c.Mode = fleet.Async }, []float64{0.6, 0.6 / math.Sqrt(2), 0.6 / math.Sqrt(3), 0.3}},
	} {
		c := fleet.DefaultTime()
		c.Mode = fleet.Buffered
		tt.change(&c)
		for staleness, want := range tt.want {
			if got := c.Weight(staleness); math.Abs(got-want) > 1e-15 {
				t.Errorf("%s, %+v: the weight of staleness %d is %v, want %v", c.Mode, c, staleness, got, want)
			}
		}
	}
}

// TestAsyncStepMixes: a step of FedAsync is w <- (1 - a s) w + a s w_i, of FedBuff w <- w -
// mean of s (w_base - w_i), for updates that are stale.
func TestAsyncStepMixes(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	for _, mode := range []string{fleet.Async, fleet.Buffered} {
		cfg := Config{
			Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 6, Seed: 3,
			Fleet: &fleet.Config{}, Time: fleet.DefaultTime(),
		}
		cfg.Time.Mode, cfg.Time.Buffer = mode, 2
		returned := map[[2]int][]float32{} // by client and version
		train := cfg.Method.Local
		cfg.Workers = 1
		cfg.Method.Local = func(l *Local) error {
			err := train(l)
			returned[[2]int{l.Client, l.Round}] = slices.Clone(l.Weights)
			return err
		}
		tr := newEngine(t, cfg).NewTrial(0)
		models, stale := [][]float32{slices.Clone(tr.Weights())}, 0
		for step := range 12 {
			r := runRounds(t, tr, Plan{}, 1)[0]
			want := slices.Clone(models[step])
			for _, s := range r.Slots {
				j := s.Job
				if j.Staleness != step-j.Base {
					t.Fatalf("step %d: staleness %d from version %d", step, j.Staleness, j.Base)
				}
				stale += min(j.Staleness, 1)
				for i, x := range returned[[2]int{s.Client, j.Base}] {
					if mode == fleet.Async {
						a := float32(0.6 / math.Sqrt(float64(1+j.Staleness)))
						want[i] = (1-a)*models[step][i] + a*x
					} else {
						want[i] -= (models[j.Base][i] - x) / float32(2*math.Sqrt(float64(1+j.Staleness)))
					}
				}
			}
			for i, x := range tr.Weights() {
				if math.Abs(float64(x-want[i])) > 1e-5 {
					t.Fatalf("%s, step %d: weight %d is %v, want %v", mode, step, i, x, want[i])
				}
			}
			models = append(models, slices.Clone(tr.Weights()))
		}
		if stale < 6 {
			t.Errorf("%s: only %d updates are stale", mode, stale)
		}
	}
}

// TestSecondsPerSample: an epoch of a client lasts its samples times the seconds of one.
func TestSecondsPerSample(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 40)
	cfg := Config{
		Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 6, Seed: 3, Time: fleet.DefaultTime(),
		Fleet: &fleet.Config{SecondsPerSample: []float64{0.25}},
	}
	p, _ := cfg.Method.Defaults()
	p.Epochs = 3
	r := runRounds(t, newEngine(t, cfg).NewTrial(0), Plan{Clients: []ClientParams{p}}, 1)[0]
	for i := range r.Slots {
		s := &r.Slots[i]
		if got, want := nanos.Seconds(s.Job.Computed-s.Job.Received),
			3*0.25*float64(s.TrainExamples); math.Abs(got-want) > 1e-6 {
			t.Errorf("client %d with %d samples trains for %v s, want %v", s.Client, s.TrainExamples, got, want)
		}
	}
}

// TestMemoryOfDevices: clients whose devices have too little memory never take part, and the
// engine knows the others of a round before it.
func TestMemoryOfDevices(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 40)
	cfg := Config{
		Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 6, Seed: 3,
		Time: fleet.DefaultTime(), Batch: 10,
		Fleet: &fleet.Config{Devices: "classes", Shares: []float64{1, 1}, FLOPS: []float64{1e9, 2e9}},
	}
	need := float64(cfg.DeviceMemory(cfg.Model))
	if least := float64(4 * 3 * cfg.Model.NumParams()); need < least || need > 20*least {
		t.Fatalf("local training takes %v bytes; its weights and gradient are %v", need, least)
	}
	cfg.Fleet.Memory = []float64{need - 1, need}
	e := newEngine(t, cfg)
	f := e.fleet.(*fleet.Fleet)
	n := len(fed.Clients)
	if small := e.Small(); small == 0 || small == n || small+f.Able() != n {
		t.Fatalf("%d of %d clients are left out", small, n)
	}
	p, _ := cfg.Method.Defaults()
	seen := map[int]bool{}
	for i, r := range runRounds(t, e.NewTrial(0), Plan{Clients: []ClientParams{p}}, 12) {
		cohort := e.Cohort(0, i)
		for k := range r.Slots {
			s := &r.Slots[k]
			seen[s.Client] = true
			if d := f.Device(s.Client); s.Client != cohort[k] || d.Memory < need || d.FLOPS != 2e9 {
				t.Fatalf("round %d: client %d of memory %v trains; the cohort is %v", i, s.Client, d.Memory, cohort)
			}
		}
	}
	if len(seen) != f.Able() {
		t.Errorf("%d clients took part in 12 rounds, %d can", len(seen), f.Able())
	}
	cfg.Fleet.Memory = []float64{need - 1}
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(),
		fmt.Sprintf("fleet.memory: 0 of %d clients have the memory", n)) {
		t.Errorf("no client with enough memory: %v", err)
	}
}

// TestPartialWork: a client that would miss the deadline trains as many steps as fit, and is
// late where not one does.
func TestPartialWork(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 40)
	cfg := Config{
		Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 9, Seed: 3, Time: fleet.DefaultTime(),
		Fleet: &fleet.Config{
			Devices: "classes", Shares: []float64{1, 1, 1}, FLOPS: []float64{1e8, 2e7, 2e6},
			Down: []float64{1e9}, Up: []float64{1e9},
		},
	}
	e := newEngine(t, cfg)
	p, _ := cfg.Method.Defaults()
	p.Batch, p.Epochs = 4, 4
	step := float64(p.Batch) * e.trainFLOPs // operations
	const fit = 5.5                         // steps of the middle class before the deadline
	cfg.Time.Deadline, cfg.Time.Partial = fit*step/2e7+1e-4, true
	e = newEngine(t, cfg)
	var seen [3]int
	for _, r := range runRounds(t, e.NewTrial(0), Plan{Clients: []ClientParams{p}}, 4) {
		for i := range r.Slots {
			s := &r.Slots[i]
			whole := p.LocalSteps(s.TrainExamples)
			want, class := min(27, whole), 0
			if e.device(s.Client).FLOPS == 2e7 {
				want, class = min(5, whole), 1
			}
			if seen[class]++; s.Steps != want || s.Job.Steps != 0 && s.Job.Steps != want ||
				r.End-r.Start > cfg.Time.Deadline+1e-9 {
				t.Errorf("client %d of class %d takes %d steps (%d) of %d, want %d, in %v s", s.Client, class, s.Steps,
					s.Job.Steps, whole, want, r.End-r.Start)
			}
		}
		for i := range r.Lost {
			if seen[2]++; e.device(r.Lost[i].Client).FLOPS != 2e6 || r.Lost[i].Fate != clock.Late || r.Lost[i].Steps != 0 {
				t.Errorf("lost: %+v", r.Lost[i])
			}
		}
	}
	if slices.Min(seen[:]) == 0 {
		t.Errorf("%v clients of the classes", seen)
	}
}

// TestTimeIsChecked refuses servers that cannot work.
func TestTimeIsChecked(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	model := fltest.SmallCNN(t, fed)
	for want, change := range map[string]func(*Config){
		`time.mode = "later": must be sync, buffered, async or window`: func(c *Config) { c.Time.Mode = "later" },
		`time.mode = "buffered": needs a fleet: Config.Fleet`: func(c *Config) {
			c.Time.Mode,
				c.Fleet = fleet.Buffered, nil
		},
		`sampling: with replacement a client of a fleet cannot work twice`:          func(c *Config) { c.Replacement = true },
		`time.overselect: 18 clients at a time, glyphs has 10; lower it, or cohort`: func(c *Config) { c.Time.Overselect = 3 },
		`time.concurrency: 13 clients at a time, glyphs has 10; lower it, or cohort`: func(c *Config) {
			c.Time.Mode,
				c.Time.Concurrency = fleet.Async, 13
		},
		`time.partial: clients do fewer steps before a deadline`: func(c *Config) { c.Time.Partial = true },
		`time.partial: clients of method "average" cannot do fewer local steps: it is shy;`: func(c *Config) {
			c.Time.Partial,
				c.Time.Deadline, c.Method.Whole = true, 1, "it is shy"
		},
		`time.min_updates = 7: a round has 6 updates at most (cohort)`: func(c *Config) { c.Time.MinUpdates = 7 },
		`time.open = 7: 6 clients work at a time (time.concurrency)`: func(c *Config) {
			c.Time.Mode,
				c.Time.Open = fleet.Async, 7
		},
		`method "average" cannot be asynchronous: it is shy; use mode "sync"`: func(c *Config) {
			c.Time.Mode,
				c.Method.Synchronous = fleet.Async, "it is shy"
		},
		`client.optimizer_state = "keep" keeps a state for each client, so that each is at`: func(c *Config) {
			c.Time.Mode,
				c.Time.Buffer, c.KeepOptimizer = fleet.Buffered, 11, true
		},
	} {
		cfg := Config{
			Model: model, Data: fed, Method: average(), Cohort: 6, Seed: 3,
			Fleet: &fleet.Config{}, Time: fleet.DefaultTime(),
		}
		change(&cfg)
		e, err := New(cfg)
		if err == nil {
			e.Close()
			t.Errorf("no error, want %q", want)
		} else if !contains(err, want) {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// TestJobsTrainAsTheyBegan: a client trains with what the plan of its start has for it,
// however many steps later its update is taken, and after a snapshot.
func TestJobsTrainAsTheyBegan(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	cfg := Config{
		Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 6,
		Seed: 3, Time: fleet.DefaultTime(),
	}
	cfg.Fleet = &fleet.Config{Devices: "lognormal", FLOPS: []float64{1e7}, Dropout: 0.2}
	cfg.Time.Mode, cfg.Time.Buffer = fleet.Buffered, 2
	e := newEngine(t, cfg)
	rate := func(round, slot int) float64 { return 0.001 + 0.0001*float64(round) + 0.00001*float64(slot) }
	run := func(cut bool) string {
		tr, stale := e.NewTrial(1), 0
		for round := range 12 {
			var plan Plan
			for slot := range cfg.Time.Slots(cfg.Cohort, tr.clock.Working()) {
				c := hyper.DefaultClient()
				c.LR = rate(round, slot)
				plan.Clients = append(plan.Clients, c)
			}
			r, err := tr.Round(t.Context(), plan)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range r.Slots {
				if want := rate(s.Job.Base, s.Job.Slot); s.Params.LR != want {
					t.Fatalf("round %d: the job of slot %d of round %d has a rate of %v, want %v", round, s.Job.Slot,
						s.Job.Base, s.Params.LR, want)
				}
				stale += s.Job.Staleness
			}
			if cut {
				var file bytes.Buffer
				s := tr.Snapshot()
				if _, err := s.WriteTo(&file); err != nil {
					t.Fatal(err)
				}
				read, err := ReadSnapshot(&file)
				if err != nil {
					t.Fatal(err)
				}
				if tr, err = e.Restore(*read); err != nil {
					t.Fatal(err)
				}
			}
		}
		if stale == 0 {
			t.Error("no job began before the step before")
		}
		return e.Model().SHA256(tr.Weights())
	}
	if want, got := run(false), run(true); got != want {
		t.Errorf("with snapshots: %s, want %s", got, want)
	}
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
