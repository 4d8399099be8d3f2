package fl

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
)

func aggregation(change func(a *Aggregation)) Aggregation {
	a := DefaultAggregation()
	change(&a)
	return a
}

// TestAggregatorsAreTheSame wants the same bits for any number of workers, in shards whose
// clients' updates come back one by one, and from a snapshot in the middle.
func TestAggregatorsAreTheSame(t *testing.T) {
	t.Parallel()
	fed := *fltest.OpenGlyphs(t, 40, 15)
	model := fltest.SmallCNN(t, &fed)
	const rounds = 2
	plan := Plan{Clients: []ClientParams{begun(ClientParams{LR: 0.1, Steps: 1, Batch: 4})}}
	for name, tt := range map[string]struct {
		a Aggregation
		u Updates
	}{
		"trimmed, qsgd": {
			aggregation(func(a *Aggregation) { a.Name = "trimmed" }),
			updates(func(u *Updates) { u.Quantize = "qsgd" }),
		},
		"multikrum": {
			aggregation(func(a *Aggregation) { a.Name = "multikrum" }),
			updates(func(u *Updates) { u.Attack = "gaussian" }),
		},
		"rfa, alie": {
			aggregation(func(a *Aggregation) { a.Name = "rfa" }),
			updates(func(u *Updates) { u.Attack = "alie" }),
		},
		"mean, ipm":  {DefaultAggregation(), updates(func(u *Updates) { u.Attack = "ipm" })},
		"norm_bound": {aggregation(func(a *Aggregation) { a.Name, a.Bound = "norm_bound", 0.01 }), DefaultUpdates()},
	} {
		config := func(workers int) Config {
			return Config{
				Model: model, Data: &fed, Method: average(), Cohort: 20, Seed: 3, Workers: workers,
				Updates: tt.u, Aggregation: tt.a,
			}
		}
		one := newEngine(t, config(1))
		first := one.NewTrial(2)
		runRounds(t, first, plan, rounds)
		check := func(what string, tr *Trial) {
			t.Helper()
			if !slices.Equal(tr.Weights(), first.Weights()) {
				t.Errorf("%s, %s: other weights", name, what)
			}
		}
		seven := newEngine(t, config(7)).NewTrial(2)
		runRounds(t, seven, plan, rounds)
		check("7 workers", seven)
		half := one.NewTrial(2)
		runRounds(t, half, plan, rounds/2)
		again, err := newEngine(t, config(2)).Restore(written(t, half.Snapshot()))
		if err != nil {
			t.Fatal(err)
		}
		runRounds(t, again, plan, rounds/2)
		check("2 workers, resumed", again)
		c := config(1)
		o := &others{engines: []*Engine{one, newEngine(t, config(3))}, parts: 2}
		c.Elsewhere = o
		away := newEngine(t, c).NewTrial(2)
		runRounds(t, away, plan, rounds)
		if check("in shards", away); o.trained.Load() == 0 {
			t.Errorf("%s: no shard was trained elsewhere", name)
		}
	}
}

// TestAggregates compares what the server gets with definitions in float64, over updates of
// which some are lies and some are lost.
func TestAggregates(t *testing.T) {
	t.Parallel()
	fed := *fltest.OpenGlyphs(t, 14, 40)
	fed.Clients = fed.Clients[:10]
	model := fltest.SmallCNN(t, &fed)
	var got []float32
	lossy := sending(&got)
	lossy.Local = func(l *Local) error {
		l.Upload = l.Vector(0)
		copy(l.Upload, sentBy(l.Client, len(l.Upload)))
		if l.Client == 4 {
			l.Upload[0] = float32(math.NaN())
		}
		return nil
	}
	sorted := func(values []float64) []float64 { return slices.Sorted(slices.Values(values)) }
	mean := func(values []float64) (m float64) {
		for _, x := range values {
			m += x / float64(len(values))
		}
		return m
	}
	for name, tt := range map[string]struct {
		a    Aggregation
		u    Updates
		want func(all []float64) float64 // of a coordinate
	}{
		"median": {
			aggregation(func(a *Aggregation) { a.Name = "median" }), DefaultUpdates(),
			func(all []float64) float64 { return sorted(all)[4] },
		},
		"trimmed": {
			aggregation(func(a *Aggregation) { a.Name, a.Trim = "trimmed", 0.25 }), DefaultUpdates(),
			func(all []float64) float64 {
				return mean(sorted(all)[2:7])
			},
		},
		"median, ipm": {
			aggregation(func(a *Aggregation) { a.Name = "median" }),
			updates(func(u *Updates) { u.Attack, u.Strength = "ipm", 3 }), func(all []float64) float64 {
				return sorted(all)[4]
			},
		},
	} {
		e := newEngine(t, Config{
			Model: model, Data: &fed, Method: lossy, Cohort: 10, Seed: 4,
			Updates: tt.u, Aggregation: tt.a,
		})
		r := runRounds(t, e.NewTrial(0), Plan{}, 1)[0]
		if r.Dropped != 1 {
			t.Fatalf("%s: %d updates are lost", name, r.Dropped)
		}
		for _, at := range e.uplinkPlaces() {
			var honest []float64
			attackers := 0
			for _, s := range r.Slots {
				switch {
				case s.Dropped:
				case s.Attacker:
					attackers++
				default:
					honest = append(honest, float64(sentBy(s.Client, model.Size())[at]))
				}
			}
			if attackers == 0 && tt.u.Attack != "" {
				t.Fatal("no attacker is there")
			}
			lie := -3 * mean(honest)
			for range attackers {
				honest = append(honest, lie)
			}
			want := tt.want(honest)
			if math.Abs(float64(got[at])-want) > 1e-6 {
				t.Fatalf("%s: parameter %d moves by %v, want %v", name, at, got[at], want)
			}
			if at > 300 {
				break
			}
		}
	}
}

// uplinkPlaces are the places of the trained parameters.
func (e *Engine) uplinkPlaces() []int32 { return trainedPlaces(&e.cfg) }

// TestRobust wants the aggregators to learn where a third of the clients lie, and the mean not
// to.
func TestRobust(t *testing.T) {
	t.Parallel()
	fed := *fltest.OpenGlyphs(t, 14, 40)
	fed.Clients = fed.Clients[:10]
	model := fltest.SmallCNN(t, &fed)
	honest := func(a Aggregation) float64 { // the share of the honest clients' mean that is left
		var got []float32
		m := sending(&got)
		m.Local = func(l *Local) error { // all honest clients send much the same
			l.Upload = l.Vector(0)
			s := kernels.NewStream(uint64(l.Client), 0)
			for i := range l.Upload {
				l.Upload[i] = 1 + 0.1*float32(s.NormFloat64())
			}
			return nil
		}
		e := newEngine(t, Config{
			Model: model, Data: &fed, Method: m, Cohort: 10, Seed: 4, Aggregation: a,
			Updates: updates(func(u *Updates) { u.Attack, u.Attackers, u.Strength = "sign_flip", 0.3, 20 }),
		})
		runRounds(t, e.NewTrial(0), Plan{}, 1)
		places := e.uplinkPlaces()
		sum := 0.0
		for _, at := range places {
			sum += float64(got[at])
		}
		return sum / float64(len(places))
	}
	if share := honest(DefaultAggregation()); share > 0 {
		t.Errorf("the mean keeps %v of the honest clients' mean", share)
	}
	for _, name := range []string{"median", "trimmed", "krum", "multikrum", "rfa"} {
		if share := honest(aggregation(func(a *Aggregation) {
			switch a.Name = name; name {
			case "trimmed":
				a.Trim = 0.3
			case "krum", "multikrum":
				a.Wrong = 0.3
			case "rfa":
				a.Steps = 30
			}
		})); math.Abs(share-1) > 0.2 {
			t.Errorf("%s keeps %v of the honest clients' mean", name, share)
		}
	}
}

// TestWhatAggregatorsRefuse wants errors that name both keys.
func TestWhatAggregatorsRefuse(t *testing.T) {
	t.Parallel()
	fed := *fltest.OpenGlyphs(t, 6, 30)
	base := Config{Model: fltest.SmallCNN(t, &fed), Data: &fed, Method: average(), Cohort: 3}
	for want, change := range map[string]func(c *Config){
		`aggregator.name = "medianx": unknown name (did you mean "median"?)`: func(c *Config) { c.Aggregation.Name = "medianx" },
		`aggregator.trim = 0.2: not used with aggregator.name = "median"`: func(c *Config) {
			c.Aggregation.Name,
				c.Aggregation.Trim = "median", 0.2
		},
		`aggregator.trim = 0.5: must be in [0, 0.5)`: func(c *Config) {
			c.Aggregation.Name,
				c.Aggregation.Trim = "trimmed", 0.5
		},
		`aggregator.bound is not set: aggregator.name = "norm_bound" needs it`: func(c *Config) { c.Aggregation.Name = "norm_bound" },
		`aggregator.name = "krum": needs 5 clients in a round at least, not 3`: func(c *Config) {
			c.Aggregation.Name,
				c.Aggregation.Wrong = "krum", 0.4
		},
		`aggregator.name = "median": the noise of dp is for a sum`: func(c *Config) {
			c.Aggregation.Name,
				c.Privacy = "median", &Privacy{Clip: 1}
		},
		`aggregator.name = "rfa": clients send more than the change of their weigh`: func(c *Config) {
			c.Aggregation.Name,
				c.Method = "rfa", gathering(nil)
		},
		`update.attack = "alie": attackers know the others' updates, which are not `: func(c *Config) {
			c.Updates.Attack,
				c.Updates.Quantize = "alie", "qsgd"
		},
		`update.attack = "ipm": attackers know the others' updates, which aggregator.name = "norm_bound" does not hold`: func(c *Config) {
			c.Updates.Attack, c.Aggregation.Name, c.Aggregation.Bound = "ipm", "norm_bound", 1
		},
	} {
		c := base
		c.Updates, c.Aggregation = DefaultUpdates(), DefaultAggregation()
		change(&c)
		e, err := New(c)
		if err == nil {
			e.Close()
		}
		if !contains(err, want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	own := Aggregator{Name: "first", Doc: "the first update", Combine: func(h *Held) {
		h.Each(func(lo, hi int) { copy(h.Out[lo:hi], h.Updates[0][lo:hi]) })
	}}
	if err := RegisterAggregator(own); err != nil {
		t.Fatal(err)
	}
	if err := RegisterAggregator(own); !contains(err, "the name is taken") {
		t.Errorf("a name is taken twice: %v", err)
	}
	var got []float32
	c := base
	c.Method, c.Aggregation = sending(&got), aggregation(func(a *Aggregation) { a.Name = "first" })
	r := runRounds(t, newEngine(t, c).NewTrial(0), Plan{}, 1)[0]
	if want := sentBy(r.Slots[0].Client, c.Model.Size()); cmp.Compare(way(got, want), 0) != 0 {
		t.Errorf("the server does not get the first update")
	}
}
