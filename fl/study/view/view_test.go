package view_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/measure"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/plugins"
)

// small is a study of three trials, two of which run on at a rung.
func small(t *testing.T, sets ...string) *config.Config {
	t.Helper()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: append([]string{
		"model=logistic", "data.clients=8", "data.samples=30", "cohort=3", "eval.every=2",
		"budget.rounds=12", "budget.trial_rounds=6", "tuner.options.eliminations=1", "client_tuner.options.configs=3",
	}, sets...)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// observer calls a function for each event.
type observer struct{ event func(study.Event) }

func (o observer) Event(e study.Event)     { o.event(e) }
func (observer) Progress(study.Progress)   {}
func (observer) Evaluated(study.Evaluated) {}

func tune(ctx context.Context, dir string, c *config.Config, event func(study.Event)) (*result.Result, error) {
	return workdir.Tune(ctx, dir, c, workdir.Options{Launcher: workdir.InProcess(plugins.Builtin()), Observer: observer{event}})
}

func look(t *testing.T, dir string) *view.Study {
	t.Helper()
	v, err := view.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

func overview(t *testing.T, v *view.Study) *view.Overview {
	t.Helper()
	o, err := v.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// brief tells of an overview what tests look at.
func brief(o *view.Overview) string {
	return fmt.Sprintf("%s of %s by process %d: %d of %d rounds, best %+v, %d trials, %v, %d entries", o.State, o.Mode, o.PID, o.Rounds, o.Budget, o.Best, len(o.Trials), o.Worked, o.Seq)
}

func since(t *testing.T, v *view.Study, after int64, limit int) []result.Entry {
	t.Helper()
	entries, err := v.Since(t.Context(), after, limit)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// metrics are the lines of a study's metrics.jsonl.
func metrics(t *testing.T, dir string) (events []study.Event) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, workdir.MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was read only
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e study.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// TestStudyIsSeenWhileItRuns looks at a study at work, interrupted and finished.
func TestStudyIsSeenWhileItRuns(t *testing.T) {
	dir, c := filepath.Join(t.TempDir(), "study"), small(t)
	ctx, stop := context.WithCancel(t.Context())
	events := 0
	var running *view.Overview
	_, err := tune(ctx, dir, c, func(study.Event) {
		if events++; events == 8 {
			v := look(t, dir)
			for running = overview(t, v); running.Rounds < 1 && ctx.Err() == nil; running = overview(t, v) {
				time.Sleep(5 * time.Millisecond) // rounds wait for each other, up to 100 ms
			}
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if running == nil || running.State != view.Running || running.PID != os.Getpid() || running.Rounds < 1 || len(running.Trials) == 0 {
		t.Errorf("at work: %s", brief(running))
	}
	v := look(t, dir)
	part := overview(t, v)
	if part.State != view.Interrupted || part.PID != 0 || part.Best == nil || part.Best.Returned || part.Rounds < running.Rounds || part.Budget != 12 || part.Worked <= 0 {
		t.Errorf("interrupted: %s", brief(part))
	}
	checkStanding(t, v, part)
	if n := len(since(t, v, part.Seq, 1000)); n != 0 {
		t.Errorf("%d entries behind the last one", n)
	}
	r, err := tune(t.Context(), dir, c, func(study.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	whole := overview(t, v)
	checkFinished(t, whole, r)
	if len(whole.Sessions) != 2 || whole.Sessions[0].Workers == 0 || !whole.Started.Equal(part.Started) {
		t.Errorf("sessions %+v", whole.Sessions)
	}
	checkSince(t, v, part, whole)
	checkCurves(t, v, whole, metrics(t, dir))
}

// checkStanding compares the best trial so far with the means of the trials' newest
// rounds: it is not the one of the best single round.
func checkStanding(t *testing.T, v *view.Study, o *view.Overview) {
	t.Helper()
	best, lowest := math.Inf(1), math.Inf(1)
	for i := range o.Trials {
		rounds, err := v.Curve(t.Context(), &o.Trials[i], 0, o.Config.Score.Discount)
		if err != nil {
			t.Fatal(err)
		}
		sum, n := 0.0, 0
		for _, r := range rounds {
			lowest = min(lowest, r.Score)
			if r.Round > o.Trials[i].Rounds-5 {
				sum, n = sum+r.Score, n+1
			}
		}
		if n == 5 || n > 0 && len(o.Trials[i].Rungs) > 0 {
			best = min(best, sum/float64(n))
		}
	}
	if b := o.Best; !(math.Abs(b.Score-best) < 1e-12) || b.Score < lowest || b.Rounds < 1 || b.Clients != o.Config.Cohort {
		t.Errorf("best so far %+v, want a score of %v, not below %v", b, best, lowest)
	}
}

// checkFinished compares an overview with the end that the study returned.
func checkFinished(t *testing.T, o *view.Overview, r *result.Result) {
	t.Helper()
	if o.State != view.Completed || o.Rounds != r.Rounds || len(o.Suggested()) != len(r.Trials) || o.Tune == nil || o.Run != nil || o.Mode != config.ModeTune {
		t.Fatalf("finished: %s", brief(o))
	}
	if b := o.Best; b.Trial != r.Best.Number || b.Round != r.Best.Round || b.Score != r.Best.Score || !b.Returned {
		t.Errorf("best %+v, want %+v", b, r.Best)
	}
	if len(o.Finalists) != len(r.Finalists) || o.Finalists[0].Score != r.Finalists[0].Score {
		t.Errorf("finalists %+v, want %+v", o.Finalists, r.Finalists)
	}
	spent, stopped, first := 0, 0, []int(nil)
	ref := o.Trials[len(o.Trials)-1]
	if !ref.Reference || ref.Number != r.Reference.Number || ref.State != view.Completed {
		t.Errorf("the configured values: %+v, want %+v", ref, r.Reference.Trial)
	}
	for i, trial := range o.Suggested() {
		want := r.Trials[i]
		if trial.Number != i || !trial.Params.Equal(want.Params) || trial.Rounds != want.Rounds || *trial.Score() != want.Score || len(trial.Rungs) != len(want.Rungs) {
			t.Errorf("trial %d: %+v, want %+v", i, trial, want)
		}
		if trial.State == view.Pruned {
			stopped++
		}
		for _, rung := range trial.Rungs {
			spent = max(spent, rung.Spent)
		}
		first = append(first, trial.Rungs[0].Spent)
	}
	if !slices.IsSorted(first) { // all are sent to their first rung in the order of their numbers
		t.Errorf("rounds spent for first rungs: %v, which depends on which trial was the faster one", first)
	}
	if spent != r.Rounds || stopped == 0 {
		t.Errorf("%d rounds spent in the end, want %d; %d trials stopped", spent, r.Rounds, stopped)
	}
}

// checkSince reads what came after an overview at once and in small steps.
func checkSince(t *testing.T, v *view.Study, part, whole *view.Overview) {
	t.Helper()
	all := since(t, v, part.Seq, 1000)
	var steps []result.Entry
	for after := part.Seq; ; {
		next := since(t, v, after, 3)
		if len(next) == 0 {
			break
		}
		steps = append(steps, next...)
		after = next[len(next)-1].Seq
	}
	rounds := 0
	for i, e := range all {
		if e.Kind == store.KindRound {
			rounds++
		}
		if i >= len(steps) || steps[i].Seq != e.Seq || steps[i].Kind != e.Kind {
			t.Fatalf("entry %d differs in steps: %+v", i, e)
		}
	}
	rounds -= whole.Tune.Reference.Trial.Rounds // which are not of the budget
	if len(steps) != len(all) || rounds != whole.Rounds-part.Rounds || all[len(all)-1].Stored == nil {
		t.Errorf("%d entries, in steps %d; %d rounds, want %d", len(all), len(steps), rounds, whole.Rounds-part.Rounds)
	}
}

// checkCurves compares the curves with the lines that the study wrote.
func checkCurves(t *testing.T, v *view.Study, o *view.Overview, events []study.Event) {
	t.Helper()
	all, err := v.Curves(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range o.Trials {
		trial := &o.Trials[i]
		curve, err := v.Curve(t.Context(), trial, 0, o.Config.Score.Discount)
		if err != nil {
			t.Fatal(err)
		}
		if lines(all[i]) != lines(curve) {
			t.Errorf("trial %d: read with all others %v, alone %v", i, all[i], curve)
		}
		n := 0
		for _, e := range events {
			if e.Event != "round" || e.Trial != i {
				continue
			}
			got := curve[n]
			n++
			measured := !math.IsNaN(got.TestError)
			if got.Round != e.Round || got.Mean != *e.Score || got.TrainLoss != *e.TrainLoss || got.Clients != len(e.Clients) || measured != (e.TestError != nil) || measured && got.TestError != *e.TestError {
				t.Errorf("trial %d, round %d: %+v, want %+v", i, e.Round, got, e)
			}
		}
		if n != len(curve) || n != trial.Rounds {
			t.Errorf("trial %d: %d rounds, want %d of %d", i, len(curve), n, trial.Rounds)
		}
		tail, err := v.Curve(t.Context(), trial, 1, o.Config.Score.Discount)
		if err != nil || len(tail) != n-1 || tail[0].Mean != curve[1].Mean {
			t.Errorf("trial %d behind round 1: %v, %v", i, tail, err)
		}
		plans := 0
		if trial.Reference { // has no client tuner
			n = 0
		}
		if err := v.Plans(t.Context(), i, 0, func(e *result.Entry) error {
			if plans++; e.Round != plans || len(e.Plan.Clients) == 0 {
				t.Errorf("plan %d: %+v", plans, e)
			}
			return nil
		}); err != nil || plans != n {
			t.Errorf("trial %d: %d plans of %d rounds: %v", i, plans, n, err)
		}
	}
}

// lines tell of rounds what a curve is drawn of.
func lines(rounds []view.Round) string {
	var text strings.Builder
	for _, r := range rounds {
		fmt.Fprintln(&text, r.Seq, r.Round, r.Mean, r.TrainLoss, r.TestError, r.TestSpread != nil)
	}
	return text.String()
}

// TestRunIsSeen looks at a plain training, which has no rungs.
func TestRunIsSeen(t *testing.T) {
	dir, c := filepath.Join(t.TempDir(), "study"), small(t, "rounds=5")
	r, err := workdir.Run(t.Context(), dir, c, workdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := overview(t, look(t, dir))
	if o.State != view.Completed || o.Mode != config.ModeRun || o.Run == nil || o.Run.WeightsSHA256 != r.WeightsSHA256 || o.Rounds != 5 || o.Budget != 5 || o.Best != nil {
		t.Error(brief(o))
	}
	if len(o.Trials) != 1 || o.Trials[0].State != view.Completed || o.Trials[0].To != 5 {
		t.Errorf("trials %+v", o.Trials)
	}
}

// TestTrialIsInterrupted looks at a trial on its way to a rung while a process holds the
// study, and after that has ended.
func TestTrialIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	text, err := config.Encode(small(t))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		kind         string
		trial, round int
		data         string
	}{
		{store.KindStudy, -1, 0, fmt.Sprintf(`{"name":"one","mode":"tune","config":%q,"trial_rounds":6}`, text)},
		{store.KindSession, -1, 0, `{"workers":2,"error_measure":"rmse"}`},
		{store.KindSuggest, -1, 0, `{"n":2,"decisions":[{"kind":"start","trial":0,"to_round":3},{"kind":"start","trial":1,"to_round":3}]}`},
		{store.KindTrial, 0, 0, `{"params":{"client.lr":0.1}}`},
		{store.KindTrial, 1, 0, `{"params":{"client.lr":0.2}}`},
		{store.KindRound, 0, 1, `{"score":0.5,"train_loss":2,"clients":[1]}`},
	} {
		if err := st.Append(r.kind, r.trial, r.round, []byte(r.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Flush(); err != nil {
		t.Fatal(err)
	}
	if o := overview(t, look(t, dir)); o.Measure() != result.MeasureRMSE || o.Scale().Percent {
		t.Errorf("before its end its errors are %q, %v", o.Measure(), o.Scale())
	}
	states := func() string {
		o := overview(t, look(t, dir))
		return fmt.Sprintln(o.State, o.Trials[0].State, o.Trials[1].State)
	}
	if got := states(); got != "running running running\n" {
		t.Errorf("at work: %s", got)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if got := states(); got != "interrupted interrupted interrupted\n" {
		t.Errorf("after its end: %s", got)
	}
}

func TestNoStudyIsSeen(t *testing.T) {
	if _, err := view.Look(t.Context(), t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestNothingIsRecorded: a study that is beginning, and one that was interrupted then,
// say so.
func TestNothingIsRecorded(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	shows := func(want string) {
		t.Helper()
		if _, _, err := view.Open(t.Context(), dir); err == nil || err.Error() != dir+": "+want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	shows("study is starting; nothing is recorded yet")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	shows("study was interrupted before anything was recorded; start it again with `fedfast study resume " + dir + "`")
}

// TestDifferences are in points where errors are shares, as is what a tuned model gains.
func TestDifferences(t *testing.T) {
	for want, got := range map[string]string{
		"equal":                       view.Difference(0, nil, true),
		"equal to within 17.5 points": view.Difference(0, new(0.175), true),
		"equal to within 0.25":        view.Difference(0, new(0.25), false),
		"1.5 ± 2.0 points lower":      view.Difference(-0.015, new(0.02), true),
		"0.5 higher":                  view.Difference(0.5, nil, false),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	c := config.Default()
	for measure, want := range map[string]string{"": "2.9 ± 2.2 points lower", result.MeasureRMSE: "0.029 ± 0.022 lower"} {
		r := &result.Result{Baseline: &result.BaselineResult{Target: "global", Gain: new(0.0288), GainHalf: new(0.0216)}}
		r.Measure = measure
		if got := (&view.Overview{Config: &c, Tune: r}).Versus(); !strings.Contains(got, want) {
			t.Errorf("measure %q: gain %q, want %q", measure, got, want)
		}
	}
}

// TestVerdictsOnFederation has each form of the verdict, of one study and of several seeds, in the error and in an
// objective that is taken of probabilities.
func TestVerdictsOnFederation(t *testing.T) {
	study := func(objective string, gain, half, auc float64) *view.Overview {
		c := config.Default()
		c.Objective = objective
		measures := &measure.Measures{Values: map[string]measure.Value{"roc_auc": {Value: new(0.8)}}}
		r := &result.RunResult{Without: []result.Comparand{
			{Name: "local", Test: 0.5},
			{
				Name: "federated", Test: 0.5 - gain,
				OverLocal:       &result.Gain{Gain: gain, Half: new(half), Better: 60, Clients: 60},
				ROCAUCOverLocal: &result.Gain{Gain: auc, Half: new(half), Better: 3, Clients: 4},
			},
			{Name: "pooled", Test: 0.1, OverLocal: &result.Gain{Gain: 0.4, Clients: 60}},
		}}
		r.Evaluation = &fl.Evaluation{GlobalTest: fl.Summary{Measures: measures}}
		return &view.Overview{Config: &c, Run: r}
	}
	for want, s := range map[string]view.Seeds{
		"federation pays: 60 of 60 clients gain, 47.0 ± 3.0 points lower error than alone": {study("error", 0.47, 0.03, 0)},
		"whether federation pays cannot be told: 60 of 60 clients gain, 1.0 ± 3.0 points higher error than alone": {
			study("error", -0.01, 0.03, 0),
		},
		"training alone is better than federation: 60 of 60 clients gain, 28.0 ± 5.7 points higher error than alone": {
			study("error", -0.28, 0.057, 0),
		},
		"federation pays: 3 of 4 clients gain, 0.100 ± 0.020 higher mean ROC AUC of clients than alone": {
			study("roc_auc", -0.28, 0.02, 0.1),
		},
		"training alone is better than federation: " +
			"3 of 4 clients gain, 0.100 ± 0.020 lower mean ROC AUC of clients than alone": {
			study("roc_auc", 0.28, 0.02, -0.1),
		},
		"federation pays: 180 of 180 clients in 3 seeds gain, 47.0 ± 3.4 points lower error than alone": {
			study("error", 0.45, 1, 0), study("error", 0.47, 1, 0), study("error", 0.49, 1, 0),
		},
		"whether federation pays cannot be told: " +
			"120 of 120 clients in 2 seeds gain, 5.0 ± 31.6 points lower error than alone": {
			study("error", 0, 1, 0), study("error", 0.1, 1, 0),
		},
	} {
		if got := strings.Join(s.Federation(), "\n"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := (view.Seeds{{Config: new(config.Default()), Run: &result.RunResult{}}}).Federation(); got != nil {
		t.Errorf("without baselines: %q", got)
	}
}
