package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// hostEnv makes the test binary work on a study and nothing else: the kind of
// study and its directory.
const hostEnv = "FEDFAST_TEST_STUDY"

func TestMain(m *testing.M) {
	if spec := os.Getenv(hostEnv); spec != "" {
		kind, dir, _ := strings.Cut(spec, ":")
		if err := hostStudy(kind, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 4 && os.Args[1] == "tuner" && os.Args[2] == "serve" {
		serveSpoilt(os.Args[3])
		return
	}
	os.Exit(m.Run())
}

// faultStudies are small studies that between them use all that a study records:
// rungs and stops with a client tuner, forks of trials whose clients keep states,
// compress updates or not, and a plain run of such. For their test they are killed so often.
var faultStudies = map[string]int{"sha-fedex": 7, "pbt": 5, "run": 4, "fleet": 4}

// faultSetup is the set-up of one of faultStudies.
func faultSetup(ctx context.Context, kind string) (Setup, error) {
	c := config.Default()
	c.Name, c.Method, c.Cohort, c.Seed, c.Sampling = kind, "reptile", 4, 11, "with"
	c.Model.Name = "logistic"
	c.Data.Name, c.Data.Clients, c.Data.Samples = "glyphs", 9, 30
	c.Score.Discount = 0.5
	c.Space = map[string]any{
		"client.lr":    map[string]any{"log10": []any{-4.0, 0.0}},
		"client.batch": map[string]any{"log2": []any{int64(3), int64(5)}},
		"server.lr":    map[string]any{"log10": []any{-1.0, 1.0}},
	}
	s := Setup{Workers: 2, SnapshotEvery: 15 * time.Millisecond}
	builtin := plugins.Builtin()
	switch kind {
	case "small":
		c.Tuner = config.Tuner{Name: "sha", Parallel: 1, Allow: c.Tuner.Allow, Options: map[string]any{
			"eta":          2,
			"eliminations": 2,
		}}
		c.ClientTuner = config.ClientTuner{Name: "fedex", Options: map[string]any{"configs": 3}}
		c.Budget = config.Budget{Rounds: 60, TrialRounds: 24}
		s.Tuner, s.ClientTuner, s.SnapshotEvery = builtin["sha"], builtin["fedex"], 3*time.Millisecond
	case "sha-fedex":
		c.Tuner = config.Tuner{Name: "sha", Parallel: 1, Allow: c.Tuner.Allow}
		c.ClientTuner = config.ClientTuner{Name: "fedex", Options: map[string]any{"configs": 5}}
		c.Budget = config.Budget{Rounds: 400, TrialRounds: 40}
		c.Eval.Baselines = []string{config.BaselinePooled, config.BaselineLocal}
		s.Tuner, s.ClientTuner = builtin["sha"], builtin["fedex"]
	case "pbt":
		c.Tuner = config.Tuner{Name: "pbt", Parallel: 1, Options: map[string]any{"population": 6, "interval": 8}}
		c.Budget, c.Objective = config.Budget{Rounds: 400, TrialRounds: 60}, tuners.MetricF1
		setMethod(&c, "scaffold")
		s.Tuner = builtin["pbt"]
	case "run":
		c.Rounds, c.Eval.Baselines = 400, []string{config.BaselineLocal, config.BaselinePooled}
		setMethod(&c, "scaffold")
		c.Client.LR = 0.01
	case "fleet":
		c.Tuner = config.Tuner{Name: "pbt", Parallel: 1, Options: map[string]any{"population": 4, "interval": 8}}
		c.Budget = config.Budget{Rounds: 200, TrialRounds: 40}
		setMethod(&c, "ditto")
		delete(c.Space, "server.lr")
		c.Fleet.Devices, c.Fleet.Dropout = "lognormal", 0.2
		c.Update.Sparsify, c.Update.Keep, c.Aggregator.Name = "topk", 0.1, "median"
		c.Time.Mode, c.Time.Buffer, c.Time.MaxStaleness = fleet.Buffered, 2, 2
		s.Tuner = builtin["pbt"]
	default:
		return s, fmt.Errorf("no study %q", kind)
	}
	s.Config = c
	var err error
	s.Data, s.Model, err = config.Prepare(ctx, &s.Config)
	return s, err
}

// setMethod sets the method with its own defaults.
func setMethod(c *config.Config, name string) {
	m, err := fl.MethodByName(name)
	if err != nil {
		panic(err)
	}
	c.Method, c.Sampling = name, "without" // a client with a state is once in a cohort
	c.Client.Client, c.Server = m.Defaults()
}

// eventLog is an observer that keeps the events.
type eventLog struct {
	text   bytes.Buffer
	events int
	stop   func() // called when events reaches after
	after  int
}

func (l *eventLog) Event(e Event) {
	text, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	l.text.Write(append(text, '\n'))
	if l.events++; l.events == l.after {
		l.stop()
	}
}
func (l *eventLog) Progress(Progress)   {}
func (l *eventLog) Evaluated(Evaluated) {}

// outcome is what must not depend on how often a study was interrupted.
type outcome struct {
	Result string
	Events string
}

// workOn begins a study or resumes it, and stops it after stopAfter events unless that
// is 0. It also returns the notes of its store and what it logged.
func workOn(ctx context.Context, kind, dir string, stopAfter int) (o *outcome, said string, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	st, err := store.Open(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	s, err := faultSetup(ctx, kind)
	if err != nil {
		return nil, "", err
	}
	var log bytes.Buffer
	events := &eventLog{stop: stop, after: stopAfter}
	s.Store, s.Observer, s.Log = st, events, slog.New(slog.NewTextHandler(&log, nil))
	defer func() { said = strings.Join(st.Notes(), "\n") + log.String() }()
	var text []byte
	if kind == "run" {
		r, err := Run(ctx, s)
		if err != nil {
			return nil, "", err
		}
		r.Seconds, r.RoundsPerSecond = 0, 0
		text, err = json.Marshal(r)
		if err != nil {
			return nil, "", err
		}
	} else {
		r, err := Tune(ctx, s)
		if err != nil {
			return nil, "", err
		}
		if r.WeightsSHA256 == "" || r.Best.Weights == nil {
			return nil, "", errors.New("the result has no weights")
		}
		r.Seconds, r.RoundsPerSecond = 0, 0
		text, err = json.Marshal(r)
		if err != nil {
			return nil, "", err
		}
	}
	return &outcome{string(text), events.text.String()}, "", nil
}

// hostStudy works on a study and writes its outcome next to the directory.
func hostStudy(kind, dir string) error {
	o, said, err := workOn(context.Background(), kind, dir, 0)
	fmt.Fprint(os.Stderr, said)
	if err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return os.WriteFile(dir+".outcome", text, 0o600)
}

// whole are the outcomes of studies in one go, by kind: many tests have the same one.
var whole sync.Map

// uninterrupted runs a study in one go, or returns the outcome that it had before.
func uninterrupted(t *testing.T, kind string) *outcome {
	t.Helper()
	if known, ok := whole.Load(kind); ok {
		return known.(*outcome)
	}
	o, said, err := workOn(t.Context(), kind, filepath.Join(t.TempDir(), "whole"), 0)
	if err != nil || strings.TrimSpace(said) != "" {
		t.Fatalf("%s: %v %s", kind, err, said)
	}
	whole.Store(kind, o)
	return o
}

// equal compares outcomes.
func (o *outcome) equal(t *testing.T, want *outcome, when string) {
	t.Helper()
	if o.Result != want.Result {
		t.Errorf("%s: the result differs:\n%s\n%s", when, o.Result, want.Result)
	}
	if o.Events != want.Events {
		t.Errorf("%s: the events differ", when)
	}
}

// TestFaultKillHost kills the process that works on a study at 50 random moments
// and lets others resume it.
func TestFaultKillHost(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes for many seconds")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for kind, kills := range faultStudies {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, uint64(kills)))
			want := uninterrupted(t, kind)
			dir := filepath.Join(t.TempDir(), "study")
			killed, studies := 0, 0
			for killed < kills {
				host := exec.CommandContext(t.Context(), exe)
				host.Env = append(os.Environ(), hostEnv+"="+kind+":"+dir)
				var stderr bytes.Buffer
				host.Stderr = &stderr
				if err := host.Start(); err != nil {
					t.Fatal(err)
				}
				after := time.Duration(random.Int64N(int64(500 * time.Millisecond)))
				timer := time.AfterFunc(after, func() { _ = host.Process.Kill() })
				err := host.Wait()
				timer.Stop()
				var exit *exec.ExitError
				switch {
				case errors.As(err, &exit) && exit.ExitCode() == -1:
					killed++
					continue
				case err != nil:
					t.Fatalf("after %d kills: %v\n%s", killed, err, stderr.String())
				}
				checkOutcome(t, dir, want, fmt.Sprintf("%s, study %d after %d kills", kind, studies, killed))
				studies++
				dir = fmt.Sprintf("%s-%d", dir, studies)
			}
			if err := hostStudy(kind, dir); err != nil {
				t.Fatal(err)
			}
			checkOutcome(t, dir, want, fmt.Sprintf("%s, the last study after %d kills", kind, killed))
			t.Logf("%s: %d kills in %d studies", kind, killed, studies+1)
		})
	}
}

// checkOutcome compares what a host wrote.
func checkOutcome(t *testing.T, dir string, want *outcome, when string) {
	t.Helper()
	text, err := os.ReadFile(dir + ".outcome")
	if err != nil {
		t.Fatal(err)
	}
	var got outcome
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	got.equal(t, want, when)
}
