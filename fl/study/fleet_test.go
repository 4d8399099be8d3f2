package study

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	_ "github.com/fedfast/fedfast/internal/test/glyphs"
	"github.com/fedfast/fedfast/plugins"
)

// fleetSetup is a run on a fleet of unequal devices whose clients vanish.
func fleetSetup(t *testing.T, change func(*config.Config)) Setup {
	t.Helper()
	c := config.Default()
	c.Name, c.Cohort, c.Rounds, c.Seed, c.Client.LR = "fleet", 6, 12, 5, 0.05
	c.Model.Name = "logistic"
	c.Data.Name, c.Data.Clients, c.Data.Samples = "glyphs", 24, 30
	c.Fleet.Devices, c.Fleet.Dropout, c.Fleet.Availability, c.Fleet.On, c.Fleet.Off = "lognormal", 0.2, "markov", 30, 30
	c.Fleet.FLOPS = []float64{1e6}
	c.Eval.Every = 4
	change(&c)
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	s := Setup{Config: c, SnapshotEvery: time.Millisecond}
	var err error
	if s.Data, s.Model, err = config.Prepare(t.Context(), &s.Config); err != nil {
		t.Fatal(err)
	}
	return s
}

func buffered(c *config.Config) {
	c.Time.Mode, c.Time.Buffer, c.Time.MaxStaleness = fleet.Buffered, 3, 4
}

func deadline(c *config.Config) {
	c.Time.Overselect, c.Time.Deadline, c.Time.MinUpdates = 1.5, 8, 2
}

// ended is what must not depend on workers, snapshots and interruptions.
func ended(t *testing.T, r *result.RunResult) string {
	t.Helper()
	r.Seconds, r.RoundsPerSecond = 0, 0
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFleetRunsAreRepeatable: the same result for any number of workers, and after a
// resumption at every few rounds.
func TestFleetRunsAreRepeatable(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"buffered": buffered, "deadline": deadline,
		"states": func(c *config.Config) {
			buffered(c)
			setMethod(c, "ditto")
		}, "window": func(c *config.Config) {
			c.Time.Mode, c.Time.Window, c.Time.MaxStaleness = fleet.Window, 5, 4
		}, "partial": func(c *config.Config) {
			deadline(c)
			c.Time.Partial, c.Client.Epochs = true, 20
		}, "oort": func(c *config.Config) {
			buffered(c)
			c.Sampling = fleet.Oort
		}, "power": func(c *config.Config) {
			deadline(c)
			setMethod(c, "ditto")
			c.Sampling = fleet.Power
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(workers int) string {
				s := fleetSetup(t, change)
				s.Workers = workers
				r, err := Run(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				if r.Fleet.Lost() == 0 || r.Fleet.Vanished == 0 || r.Fleet.Clock <= 0 ||
					(r.Fleet.Late == 0) == (s.Config.Time.Deadline > 0) || (r.Fleet.Staleness == 0) == s.Config.Time.Asynchronous() {
					t.Errorf("what it takes of the fleet is dull: %+v", r.Fleet)
				}
				return ended(t, r)
			}
			want := run(1)
			for _, workers := range []int{2, 7} {
				if got := run(workers); got != want {
					t.Errorf("%d workers: %s, want %s", workers, got, want)
				}
			}
			s := fleetSetup(t, change)
			dir := t.TempDir()
			for rounds := 1; ; rounds += 2 {
				r := interruptedRun(t, s, dir, rounds)
				if r == nil {
					continue
				}
				if got := ended(t, r); got != want {
					t.Errorf("resumed: %s, want %s", got, want)
				}
				break
			}
		})
	}
}

// interruptedRun begins or resumes a run and ends it after a number of its rounds; nil is a
// run that has not come to its end.
func interruptedRun(t *testing.T, s Setup, dir string, rounds int) *result.RunResult {
	t.Helper()
	st, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.Store, s.Observer = st, &eventLog{stop: stop, after: rounds}
	r, err := Run(ctx, s)
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	return r
}

// TestFleetRecords looks at the record of a run with a deadline: the jobs of each round lie
// within it, and their fates are counted.
func TestFleetRecords(t *testing.T) {
	s := fleetSetup(t, deadline)
	s.Store = openStore(t, t.TempDir())
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var rounds []result.RoundRow
	if err := result.Rounds(t.Context(), s.Store,
		func(row result.RoundRow) error { rounds = append(rounds, row); return nil }); err != nil {
		t.Fatal(err)
	}
	before, lost := 0.0, 0
	updates := map[int]float64{}
	for _, row := range rounds {
		f := row.Fleet
		if f == nil || len(f.Jobs) != row.Clients+f.Lost() || math.Abs(float64(f.Clock)-before-row.Seconds) > 1e-9 {
			t.Fatalf("round %d: %+v", row.Round, row.Measured)
		}
		for i, j := range f.Jobs {
			if j.Fate == "" {
				updates[j.Client]++
			}
			if float64(j.Start) < before || j.End > f.Clock && j.Fate != "vanished" || (j.Fate == "") != (i < row.Clients) ||
				j.End < j.Computed || j.Computed < j.Received || j.Received < j.Start {
				t.Errorf("round %d from %v to %v s has a job %+v", row.Round, before, float64(f.Clock), j)
			}
		}
		before, lost = float64(f.Clock), lost+f.Lost()
	}
	if len(rounds) != 12 || r.Fleet.Clock != before || r.Fleet.Lost() != lost {
		t.Errorf("%d rounds to %v s with %d lost jobs, the result has %+v", len(rounds), before, lost, r.Fleet)
	}
	sum, squares, most := 0.0, 0.0, 0.0
	for _, n := range updates {
		sum, squares, most = sum+n, squares+n*n, max(most, n)
	}
	clients := len(s.Data.Clients)
	if f := r.Fleet; f.Clients != clients || f.Contributed != len(updates) || f.MostUpdates != int(most) ||
		math.Abs(f.Fairness-sum*sum/float64(clients)/squares) > 1e-12 {
		t.Errorf("participation: %+v, want %d clients with %v updates", f, len(updates), updates)
	}
	if n := len(r.Curve); n != 3 || r.Curve[2].Clock == nil || *r.Curve[2].Clock != before {
		t.Errorf("the curve is %+v", r.Curve)
	}
}

// TestSimulatedTimeMeasuresAndEnds measures every few simulated seconds, and ends a run at
// a simulated time; a goal has one.
func TestSimulatedTimeMeasuresAndEnds(t *testing.T) {
	every, most := 10.0, 60.0
	s := fleetSetup(t, func(c *config.Config) {
		deadline(c)
		c.Rounds, c.Eval.Every, c.Eval.EverySeconds, c.Eval.Goal, c.Time.Seconds = 50, 0, every, 1e-9, most
	})
	s.Config.Eval.Goal = 0
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Fleet.Clock < most || r.Rounds >= 50 || r.Fleet.Clock-most > 30 {
		t.Errorf("it ends at %v s, after %d rounds", r.Fleet.Clock, r.Rounds)
	}
	last := 0.0
	for _, p := range r.Curve {
		if math.Floor(*p.Clock/every) <= math.Floor(last/every) {
			t.Errorf("it measures at %v and at %v s", last, *p.Clock)
		}
		last = *p.Clock
	}
	if len(r.Curve) < 3 {
		t.Errorf("it measures %d times in %v s", len(r.Curve), r.Fleet.Clock)
	}
	s = fleetSetup(t, func(c *config.Config) { buffered(c); c.Eval.Every, c.Eval.Goal = 1, 1e-9 })
	if r, err = Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if p := result.Reached(r.Curve, 1e-9); p != nil && (r.SecondsToGoal == nil || *r.SecondsToGoal != *p.Clock) {
		t.Errorf("the goal is reached at %v, the result has %v", *p.Clock, r.SecondsToGoal)
	}
}

// TestFleetFailsATrial ends a trial whose rounds fail again and again.
func TestFleetFailsATrial(t *testing.T) {
	s := fleetSetup(t, func(c *config.Config) {
		deadline(c)
		c.Time.Deadline, c.Time.MaxFailed = 1e-6, 2
	})
	if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "training failed in round 1: ") ||
		!strings.Contains(err.Error(), "too many rounds failed in a row: 3 rounds had fewer updates than the minimum of 2") {
		t.Errorf("got error %v", err)
	}
}

// TestFedExOnAFleet: FedEx follows jobs that are late, lost or stale, with the same result
// for any number of workers, and after a resumption at every few events.
func TestFedExOnAFleet(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"buffered": buffered, "deadline": deadline,
		"async": func(c *config.Config) {
			c.Time.Mode, c.Time.MaxStaleness, c.Sampling = fleet.Async, 4, fleet.LongestWaiting
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(workers, after int, st *store.Store) (*result.Result, error) {
				s := fleetSetup(t, change)
				s.Workers, s.Store = workers, st
				s.Tuner, s.ClientTuner = plugins.Builtin()["sha"], plugins.Builtin()["fedex"]
				s.Config.Tuner.Name, s.Config.ClientTuner.Name = "sha", "fedex"
				s.Config.ClientTuner.Options = map[string]any{"configs": int64(5)}
				s.Config.Tuner.Options = map[string]any{"eliminations": int64(1)}
				s.Config.Budget = config.Budget{Rounds: 22, TrialRounds: 10}
				s.Config.Space = map[string]any{
					"client.lr":     map[string]any{"log10": []any{-3.0, 0.0}},
					"client.epochs": map[string]any{"int": []any{int64(1), int64(4)}},
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if after > 0 {
					s.Observer = &eventLog{stop: stop, after: after}
				}
				r, err := Tune(ctx, s)
				if err != nil && ctx.Err() == nil {
					t.Fatal(err)
				}
				return r, err
			}
			want, _ := run(1, 0, nil)
			got, _ := run(3, 0, nil)
			if got.WeightsSHA256 != want.WeightsSHA256 || want.Trials[0].Fleet.Lost() == 0 {
				t.Errorf("3 workers: %s, 1 worker: %s", got.WeightsSHA256, want.WeightsSHA256)
			}
			dir := t.TempDir()
			for after := 2; ; after += 3 {
				st := openStore(t, dir)
				r, err := run(1, after, st)
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
				if err != nil {
					continue
				}
				if r.WeightsSHA256 != want.WeightsSHA256 {
					t.Errorf("resumed: %s, want %s", r.WeightsSHA256, want.WeightsSHA256)
				}
				break
			}
		})
	}
}

// TestTuneOnAFleet tunes asynchronous trainings, and refuses a client tuner that would miss
// clients.
func TestTuneOnAFleet(t *testing.T) {
	tune := func(workers int) (*result.Result, error) {
		s := fleetSetup(t, buffered)
		s.Workers, s.Tuner = workers, plugins.Builtin()["sha"]
		s.Config.Budget = config.Budget{Rounds: 60, TrialRounds: 12}
		s.Config.Space = map[string]any{"client.lr": map[string]any{"log10": []any{-3.0, 0.0}}}
		if workers == 0 {
			s.ClientTuner = plugins.Builtin()["fedpop"]
		}
		return Tune(t.Context(), s)
	}
	want, err := tune(1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tune(3)
	if err != nil {
		t.Fatal(err)
	}
	if got.WeightsSHA256 != want.WeightsSHA256 ||
		got.Trials[got.Best.Number].Fleet.Clock != want.Trials[want.Best.Number].Fleet.Clock ||
		want.Trials[0].Fleet.Clock == 0 {
		t.Errorf("3 workers: %s, 1 worker: %s", got.WeightsSHA256, want.WeightsSHA256)
	}
	if _, err := tune(0); err == nil || !strings.Contains(err.Error(), "it needs every client of a round") {
		t.Errorf("with a client tuner: %v", err)
	}
}
