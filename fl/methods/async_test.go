package methods

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// synchronous are the methods that an asynchronous server refuses.
var synchronous = []string{
	"afl", "directfednas", "fedamp", "feddyn", "feddynchoice", "fedfomo", "fednas", "fedpa",
	"fedrolex", "fedtp", "heterofl", "ifca", "mifa", "mimelite", "qfedavg", "scaffold", "supernet",
}

// TestAsynchronousMethods, with clients of many speeds: a method either refuses an
// asynchronous server with its reason, also where it is wrapped, or keeps the promises: the
// same bits for any number of workers, and after snapshots that went through a file.
func TestAsynchronousMethods(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		wrapped := m
		wrapped.Local = func(l *fl.Local) error { return m.Local(l) }
		cfg := fl.Config{
			Model: modelOf(t, m, fed), Data: fed, Method: wrapped, Cohort: 6, Seed: 8, KeepOptimizer: keeps(m),
			Fleet: &fleet.Config{}, Time: fleet.DefaultTime(),
		}
		cfg.Time.Mode, cfg.Time.Buffer, cfg.Time.MaxStaleness = fleet.Buffered, 3, 2
		if slices.Contains(synchronous, m.Name) {
			e, err := fl.New(cfg)
			if err == nil {
				e.Close()
			}
			if want := `method "` + m.Name + `" cannot be asynchronous: ` + m.Synchronous; m.Synchronous == "" || err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want %q", err, want)
			}
			return
		}
		plan := variedPlan(m, 1)
		plan.Probes = everyProbe
		if keeps(m) {
			plan.Clients[0].OptimizerState = "keep"
		}
		const steps = 5
		type outcome struct {
			sha   string
			slots [][]fl.Slot
		}
		stale := 0
		run := func(workers int, broken bool) (o outcome) {
			cfg.Workers = workers
			e := newEngine(t, cfg)
			tr := e.NewTrial(1)
			for range steps {
				r := runRounds(t, tr, plan, 1)[0]
				o.slots = append(o.slots, r.Slots)
				for i := range r.Slots {
					stale += r.Slots[i].Job.Staleness
				}
				if !broken {
					continue
				}
				s := written(t, tr.Snapshot())
				if n, most := len(binaryOf(t, s)), e.MostBytes(); int64(n) > most {
					t.Fatalf("a snapshot has %d bytes, of at most %d", n, most)
				}
				e = newEngine(t, cfg)
				var err error
				if tr, err = e.Restore(s); err != nil {
					t.Fatal(err)
				}
			}
			o.sha = e.Model().SHA256(tr.Weights())
			return o
		}
		want := run(1, false)
		if stale == 0 {
			t.Error("no update is stale")
		}
		for name, got := range map[string]outcome{"7 workers": run(7, false), "2 workers, snapshots": run(2, true)} {
			if got.sha != want.sha {
				t.Errorf("%s: it trains to %s, want %s", name, got.sha, want.sha)
			}
			if !reflect.DeepEqual(got.slots, want.slots) {
				t.Errorf("%s: its slots differ", name)
			}
		}
	})
}
