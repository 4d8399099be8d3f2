package choose

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/kernels/det"
)

// mixed is a fleet with jobs of many times, some of which fail, and clients that come and go:
// two of three are there, each for 40 ns or more.
type mixed struct{ scale int64 }

func (m mixed) Available(client int, t int64) (bool, int64) {
	hour := t / (40 * m.scale)
	return det.Mix(uint64(client)<<32|uint64(hour))>>32%3 > 0, (hour + 1) * 40 * m.scale
}

func (m mixed) Run(j fleet.Job) fleet.Outcome {
	draw := det.Mix(j.Sequence)
	end := j.Start + (1+int64(draw%50))*m.scale
	return fleet.Outcome{Received: j.Start, Computed: end, End: end, Failed: draw>>32%8 == 0}
}

// choosers returns the choosers of a federation.
func choosers(clients int) map[string]func() Chooser {
	seconds, speeds, samples := make([]float64, clients), make([]float64, clients), make([]int64, clients)
	for i := range seconds {
		seconds[i], speeds[i], samples[i] = det.Unit(det.Mix(uint64(i))), 1+float64(i%7), 1+int64(i%5)
	}
	of, weights := NewOrder(seconds), Weights(speeds)
	return map[string]func() Chooser{
		fleet.LongestWaiting: func() Chooser { return NewLongest(clients, keyed) },
		fleet.Oort:           func() Chooser { return NewOort(fleet.DefaultSampler(), weights, keyed) },
		fleet.Tiers:          func() Chooser { return NewTiers(of, fleet.Sampler{Tiers: 3}, keyed) },
		fleet.Power: func() Chooser {
			p := NewPower(samples, fleet.Sampler{}, keyed)
			losses := make([]float64, clients)
			p.Losses = func(_ context.Context, clients []int32) ([]float64, error) {
				for i, client := range clients {
					losses[i] = det.Unit(uint64(client) << 40)
				}
				return losses[:len(clients)], nil
			}
			return p
		},
	}
}

// run is a schedule with its chooser.
type run struct {
	Chooser
	*clock.Schedule
	results []Result
	round   int
}

func begin(cfg clock.Config, f clock.Fleet, c Chooser) *run {
	r := &run{Chooser: c, Schedule: clock.New(cfg, f, c)}
	if p, ok := c.(*Power); ok {
		p.Ask = func(candidates []int32) []int32 { return r.Ask(candidates, free) }
	}
	return r
}

func free(int, int, int) clock.Load { return clock.Load{} }

// next makes a step, from whose jobs the chooser learns.
func (r *run) next(t testing.TB, learn bool) *clock.Step {
	step, err := r.Next(t.Context(), free)
	if err != nil {
		t.Fatal(err)
	}
	if !learn {
		return step
	}
	r.results = r.results[:0]
	for _, jobs := range [][]clock.Job{step.Taken, step.Lost} {
		for i := range jobs {
			j := &jobs[i]
			loss := det.Unit(det.Mix(j.Sequence))
			r.results = append(r.results, Result{
				Client: int32(j.Client), Samples: 1 + j.Client%9, Loss: loss, Squared: loss,
				Seconds: float64(j.End - j.Start), Lost: j.Fate != clock.Took,
			})
		}
	}
	r.round++
	r.Learn(r.round, r.results)
	return step
}

func (r *run) State() clock.State { return r.Schedule.State() }

// modes are how a server may work.
func modes(clients, working, updates int) map[string]clock.Config {
	rounds := clock.Config{
		Clients: clients, Cohort: updates, Drawn: updates + 2, MinUpdates: 4, MaxFailed: 10,
		Deadline: 45, CohortKey: keyed2,
	}
	async := clock.Config{
		Clients: clients, Async: true, Concurrency: working, Buffer: updates, Open: 1,
		MaxStaleness: math.MaxInt, DispatchKey: 7,
	}
	held := async
	held.Hold, held.Open, held.MaxStaleness, held.Server = true, 2, 2, 1
	return map[string]clock.Config{"rounds": rounds, "updates": async, "held": held}
}

func keyed2(round int) uint64 { return uint64(round) }

// TestChoosersAreRestored has schedules end as they would have without the interruptions after
// each step, at which steps are undone and states go through JSON.
func TestChoosersAreRestored(t *testing.T) {
	for kind, chooser := range choosers(30) {
		for mode, cfg := range modes(30, 12, 5) {
			if cfg.Async && (kind == fleet.Tiers || kind == fleet.Power) {
				continue
			}
			f := mixed{1}
			whole, broken := begin(cfg, f, chooser()), begin(cfg, f, chooser())
			took := map[int]int{}
			for i := range 200 {
				want := whole.next(t, true)
				for range i % 3 {
					broken.next(t, false)
					broken.Undo()
				}
				got := broken.next(t, true)
				if got.Start != want.Start || got.End != want.End || got.Failed != want.Failed ||
					!slices.Equal(got.Taken, want.Taken) || !slices.Equal(got.Lost, want.Lost) {
					t.Fatalf("%s, %s, step %d: %+v, want %+v", kind, mode, i, got, want)
				}
				text, err := json.Marshal(broken.State())
				var state clock.State
				if err == nil {
					err = json.Unmarshal(text, &state)
				}
				again := chooser()
				if err == nil {
					err = again.Load(broken.Chooser.State())
				}
				if err != nil {
					t.Fatal(err)
				}
				broken = begin(cfg, f, again)
				broken.round = i + 1
				if err := broken.Check(state); err != nil {
					t.Fatal(err)
				}
				broken.Restore(state)
				at := map[int]bool{}
				for _, j := range want.Taken {
					if took[j.Client]++; !cfg.Async && at[j.Client] {
						t.Fatalf("%s, %s: client %d twice in a round", kind, mode, j.Client)
					}
					at[j.Client] = true
					if on, _ := f.Available(j.Client, j.Start); !on {
						t.Fatalf("%s, %s: client %d begins while it is away", kind, mode, j.Client)
					}
				}
			}
			if len(took) < 10 {
				t.Errorf("%s, %s: %d clients took part", kind, mode, len(took))
			}
		}
	}
}

// TestImpossibleChoices refuses states that no chooser has.
func TestImpossibleChoices(t *testing.T) {
	for kind, chooser := range choosers(30) {
		r := begin(modes(30, 12, 5)["rounds"], mixed{1}, chooser())
		for range 20 {
			r.next(t, true)
		}
		good := func() (state [][]float32) {
			for _, a := range r.Chooser.State() {
				state = append(state, slices.Clone(a))
			}
			return state
		}
		if err := chooser().Load(good()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := chooser().Load(append(good(), nil)); err == nil {
			t.Errorf("%s: an array too many is accepted", kind)
		}
		if kind == fleet.Power || kind == fleet.Tiers {
			continue
		}
		for name, change := range map[string]func(a []float32){
			"a client twice":   func(a []float32) { a[0] = a[1] },
			"another client":   func(a []float32) { a[0] = 30 },
			"half a client":    func(a []float32) { a[0] = 0.5 },
			"no number":        func(a []float32) { a[0] = float32(math.NaN()) },
			"a negative value": func(a []float32) { a[0] = -1 },
		} {
			bad, at := good(), 0
			if kind == fleet.Oort {
				at = 1
			}
			if change(bad[at]); chooser().Load(bad) == nil {
				t.Errorf("%s: %s is accepted", kind, name)
			}
		}
	}
}

// BenchmarkChoices has each kind of choice among a million clients, a third of which are away,
// and of which the first million jobs have learned.
func BenchmarkChoices(b *testing.B) {
	const clients = 1_000_000
	made := choosers(clients)
	for _, kind := range fleet.Samplers {
		for mode, cfg := range modes(clients, clients/100, 10) {
			if mode == "held" || cfg.Async && (kind == fleet.Tiers || kind == fleet.Power) {
				continue
			}
			if !cfg.Async {
				cfg.Cohort, cfg.Drawn, cfg.Deadline = 100, 130, 0
			}
			b.Run(fmt.Sprintf("%s/%s", kind, mode), func(b *testing.B) {
				r := begin(cfg, mixed{1e9}, made[kind]())
				events := func() (n int) {
					step := r.next(b, true)
					return 2 * (len(step.Taken) + len(step.Lost)) // each begins and ends
				}
				for n := 0; n < 2*clients; {
					n += events()
				}
				b.ReportAllocs()
				b.ResetTimer()
				n := 0
				for b.Loop() {
					n += events()
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}
