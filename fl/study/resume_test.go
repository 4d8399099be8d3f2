package study

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// openStore opens a store that the test closes.
func openStore(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finish runs a study that is kept in dir, and closes its store.
func finish(t *testing.T, s Setup, dir string) *result.Result {
	t.Helper()
	s.Store = openStore(t, dir)
	r, err := Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

// counting counts the client tasks of a method and panics in one of them.
type counting struct {
	tasks   atomic.Int64
	panicAt int64
}

// method is Reptile with such tasks.
func (c *counting) method(t *testing.T) *fl.Method {
	t.Helper()
	m := mustMethod(t, "reptile")
	train := m.Local
	m.Local = func(l *fl.Local) error {
		if c.tasks.Add(1) == c.panicAt {
			panic("out of luck")
		}
		return train(l)
	}
	return &m
}

// TestResumeTrainsOnlyTheRest breaks a study off and counts the client tasks of
// the processes that resume it: with a snapshot after each round and at each
// stop, no round is trained twice.
func TestResumeTrainsOnlyTheRest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	total := int64(0)
	work := func(stopAfter int) (*result.Result, error) {
		s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3, 1e-3), rung: 3, to: 5})
		s.ClientTuner = &slotTuner{}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		st := openStore(t, dir)
		defer func() { _ = st.Close() }()
		counted := &counting{}
		s.method, s.Store, s.Observer, s.SnapshotEvery = counted.method(t), st, &eventLog{stop: stop, after: stopAfter},
			time.Nanosecond
		r, err := Tune(ctx, s)
		total += counted.tasks.Load()
		if r != nil {
			total -= int64(evalTasks(r))
		}
		return r, err
	}
	for _, events := range []int{1, 2, 5, 6, 9, 13} {
		if _, err := work(events); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d events: %v", events, err)
		}
	}
	r, err := work(0)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(r.Rounds * 3); total != want || r.Rounds != 3*3+2 {
		t.Errorf("%d client tasks for %d rounds, want %d", total, r.Rounds, want)
	}
	before := total
	again, err := work(0)
	if err != nil {
		t.Fatal(err)
	}
	if total+int64(evalTasks(again)) != before || again.WeightsSHA256 != r.WeightsSHA256 ||
		glyphStudy(t, nil).Model.SHA256(again.Best.Weights) != r.WeightsSHA256 {
		t.Errorf("a finished study trains: %d tasks, then %d", before, total)
	}
}

// evalTasks is how many client tasks train for the personalized scores.
func evalTasks(r *result.Result) int {
	n := 0
	for _, f := range r.Finalists {
		n += f.Clients
	}
	seen := map[moment]bool{}
	for _, m := range r.Models() {
		if at := (moment{m.Number, m.Round}); !seen[at] {
			seen[at] = true
			n += m.Evaluation.PersonalizedTest.Clients
		}
	}
	return n
}

func TestConfigThatDiffersIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	work := func(change func(*Setup)) error {
		s := glyphStudy(t, &script{params: learningRates(0.1), rung: 1, to: 2})
		change(&s)
		s.Store = openStore(t, dir)
		defer func() { _ = s.Store.Close() }()
		_, err := Tune(t.Context(), s)
		return err
	}
	if err := work(func(*Setup) {}); err != nil {
		t.Fatal(err)
	}
	err := work(func(s *Setup) { s.Config.Cohort, s.Config.Client.LR = 4, 0.25 })
	var config *config.DiffError
	if !errors.As(err, &config) || len(config.Diff) != 2 || config.Diff[0] != "client.lr: recorded 0.1, now 0.25" ||
		config.Diff[1] != "cohort: recorded 3, now 4" {
		t.Errorf("got %v", err)
	}
	if err := work(func(*Setup) {}); err != nil {
		t.Error(err)
	}
}

// TestOtherDataIsRefused: a study is not resumed on other data than it began on;
// where one of them has no fingerprint, as drawn data, it is resumed.
func TestOtherDataIsRefused(t *testing.T) {
	for _, tt := range []struct{ name, began, now, want string }{
		{"same", "a", "a", ""},
		{
			"other", "a", "b",
			"contains a study that started with other data than those at its data.path: then glyphs of 8 clients",
		},
		{"not recorded", "", "b", ""},
		{"drawn", "a", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "study")
			work := func(fingerprint string, stopAfter int) error {
				s := glyphStudy(t, &script{params: learningRates(0.1, 0.2), rung: 2, to: 4})
				data := *s.Data // which other tests share
				data.Fingerprint = fingerprint
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				s.Data, s.Observer, s.Store = &data, &eventLog{stop: stop, after: stopAfter}, openStore(t, dir)
				defer func() { _ = s.Store.Close() }()
				_, err := Tune(ctx, s)
				return err
			}
			if err := work(tt.began, 3); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			err := work(tt.now, 0)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err := work(tt.began, 0); err != nil {
				t.Errorf("with the former data again: %v", err)
			}
		})
	}
}

// TestOtherFleetIsRefused: a study is not resumed with other devices in the fleet's file.
func TestOtherFleetIsRefused(t *testing.T) {
	dir := t.TempDir()
	devices := filepath.Join(dir, "devices.csv")
	work := func(speed string, stopAfter int) error {
		text := "client,flops,down,up\na," + speed + ",1e6,1e6\n"
		if err := os.WriteFile(devices, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := glyphStudy(t, &script{params: learningRates(0.1), rung: 2, to: 4})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s.Config.Sampling, s.Config.Fleet = "without", fleet.Config{Devices: devices, Assign: "draw"}
		s.Observer, s.Store = &eventLog{stop: stop, after: stopAfter}, openStore(t, filepath.Join(dir, "study"))
		defer func() { _ = s.Store.Close() }()
		_, err := Tune(ctx, s)
		return err
	}
	if err := work("1e9", 3); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := work("2e9", 0); err == nil || !strings.Contains(err.Error(), "other contents of the files in [fleet]") {
		t.Errorf("with a faster device: %v", err)
	}
	if err := work("1e9", 0); err != nil {
		t.Errorf("with the former device again: %v", err)
	}
}

// TestPanicFailsItsTrial lets one client task panic: its trial fails, the study
// goes on, also in another process.
func TestPanicFailsItsTrial(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	var log bytes.Buffer
	events := &eventLog{}
	work := func(panicAt int64) (*result.Result, error) {
		s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3, 1e-3), rung: 3, to: 5})
		counted := &counting{}
		counted.panicAt = panicAt
		s.method, s.Observer, s.Log = counted.method(t), events, slog.New(slog.NewTextHandler(&log, nil))
		s.Store = openStore(t, dir)
		defer func() { _ = s.Store.Close() }()
		return Tune(t.Context(), s)
	}
	// The second client of trial 1's second round.
	r, err := work(3*3 + 3 + 2)
	if err != nil {
		t.Fatal(err)
	}
	failed := r.Trials[1]
	if failed.Failed != "round 2: panic in a client task: out of luck" || failed.Rounds != 1 || len(failed.Rungs) != 0 {
		t.Errorf("the trial is %+v", failed)
	}
	if r.Survivor == nil || r.Survivor.Number == 1 || r.Trials[r.Survivor.Number].Rounds != 5 {
		t.Errorf("the survivor is %+v", r.Survivor)
	}
	if !strings.Contains(log.String(), "(*counting).method") || !strings.Contains(events.text.String(),
		`{"event":"fail","trial":1,"round":1,"reason":"round 2: panic`) {
		t.Errorf("log %s, events %s", log.String(), events.text.String())
	}
	again, err := work(0)
	if err != nil || again.WeightsSHA256 != r.WeightsSHA256 || again.Trials[1].Failed != failed.Failed {
		t.Errorf("from the record: %+v, %v", again, err)
	}
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	trials, err := v.Table(t.Context(), "trials")
	if err != nil || trials.Rows[1][3] != "failed" {
		t.Errorf("the record says %v, %v", trials, err)
	}
}

// TestNonfinite trains one trial with a learning rate at which every client
// diverges, under both policies.
func TestNonfinite(t *testing.T) {
	for policy, want := range map[string]string{
		config.NonfiniteDrop: "",
		config.NonfiniteFail: "round 1: the results of 3 clients are not finite",
	} {
		s := glyphStudy(t, &script{params: learningRates(1e-3, 1e30), rung: 2, to: 3})
		s.Config.Nonfinite = policy
		s.Config.Space = map[string]any{"client.lr": map[string]any{"log10": []any{-4.0, 30.0}}}
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Trials[1]; got.Failed != want || want == "" && got.Dropped != 2*3 {
			t.Errorf("%s: the trial is %+v", policy, got)
		}
		if policy == config.NonfiniteFail && (r.Best.Number != 0 || r.Survivor.Number != 0) {
			t.Errorf("the best is trial %d", r.Best.Number)
		}
	}
}

// forker runs trial 0 to round 2, forks it with the params of trial 1, and runs
// both to round 4. Then it stops 0, forks it once more, and runs that on.
type forker struct{ script }

func (f *forker) Describe(context.Context) (tuners.Description, error) {
	return tuners.Description{Name: "forker", Trials: true, Fork: true}, nil
}

func (f *forker) Open(_ context.Context, r tuners.OpenRequest) (tuners.Session, error) {
	s := &f.script
	s.mangle = func(step int, _ []tuners.Decision) []tuners.Decision {
		return [][]tuners.Decision{
			{{Kind: tuners.Start, Params: s.params[0], ToRound: 2}},
			{{Kind: tuners.Fork, Trial: 1, Source: 0, Params: s.params[1], ToRound: 4}, {Kind: tuners.Resume, ToRound: 4}},
			{
				{Kind: tuners.Stop},
				{Kind: tuners.Fork, Trial: 2, Source: 0, Params: s.params[0], ToRound: 5},
				{Kind: tuners.Release},
			},
			{{Kind: tuners.Done, Best: 2}},
		}[step]
	}
	return &scriptSession{script: s, space: r.Space, scores: map[int]float64{}}, nil
}

// TestForkIsExact compares forked trials with the same training done by hand,
// with a client tuner whose state goes along, interrupted anywhere.
func TestForkIsExact(t *testing.T) {
	lrs := []float64{0.05, 0.02}
	set := func() Setup {
		s := glyphStudy(t, &forker{script{params: learningRates(lrs...)}})
		s.ClientTuner = &slotTuner{}
		setMethod(&s.Config, "scaffold")
		return s
	}
	s := set()
	engine, err := s.engine()
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	run := func(tr *fl.Trial, lr float64, to int) *fl.Trial {
		t.Helper()
		for tr.Rounds() < to {
			plan := fl.Plan{Server: s.Config.Server}
			for slot := range s.Config.Cohort {
				c := s.Config.Client.Client
				c.LR = lr * (1 + 0.1*float64(slot))
				plan.Clients = append(plan.Clients, c)
			}
			if _, err := tr.Round(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
		}
		return tr
	}
	fork := func(tr *fl.Trial, number int) *fl.Trial {
		t.Helper()
		snap := tr.Snapshot()
		snap.Number = number
		copied, err := engine.Restore(snap)
		if err != nil {
			t.Fatal(err)
		}
		return copied
	}
	zero := run(engine.NewTrial(0), lrs[0], 2)
	run(fork(zero, 1), lrs[1], 4)
	last := run(fork(run(zero, lrs[0], 4), 2), lrs[0], 5)
	want := s.Model.SHA256(last.Weights())

	dir := filepath.Join(t.TempDir(), "study")
	var whole string
	for stopAfter := range 14 {
		s := set()
		ctx, stop := context.WithCancel(t.Context())
		if stopAfter > 0 {
			s.Store = openStore(t, dir)
		}
		events := &eventLog{stop: stop, after: stopAfter}
		s.Observer = events
		r, err := Tune(ctx, s)
		stop()
		if s.Store != nil {
			if err := s.Store.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if errors.Is(err, context.Canceled) && stopAfter > 0 {
			continue
		}
		if err != nil {
			t.Fatalf("after %d events: %v", stopAfter, err)
		}
		if r.SurvivorSHA256 != want || *r.Trials[1].Source != 0 || *r.Trials[2].Source != 0 || r.Rounds != 2+2+2+1 {
			t.Errorf("after %d events: the fork has %s after %d rounds, by hand %s", stopAfter, r.SurvivorSHA256, r.Rounds, want)
		}
		if stopAfter == 0 {
			whole = events.text.String()
		} else if whole != events.text.String() {
			t.Errorf("after %d events the events differ:\n%s\n%s", stopAfter, events.text.String(), whole)
		}
	}
	if zero.Rounds() != 4 {
		t.Error("the source has run on")
	}
}
