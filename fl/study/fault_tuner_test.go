package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// spoilEnv describes what a tuner that this binary serves does at which of its calls, as
// "nan@3".
const spoilEnv = "FEDFAST_TEST_SPOIL"

// serveSpoilt serves a built-in tuner, spoilt as spoilEnv says.
func serveSpoilt(name string) {
	what, at, _ := strings.Cut(os.Getenv(spoilEnv), "@")
	n, err := strconv.Atoi(at)
	if err != nil {
		n = -1
	}
	tuners.Serve(spoilt{plugins.Builtin()[name], what, n})
}

// spoilt is a tuner whose sessions go wrong at one of their calls.
type spoilt struct {
	tuners.Tuner
	what string
	at   int
}

// Open opens a session that will go wrong, also when it goes on from a state.
func (s spoilt) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	session, err := s.Tuner.Open(ctx, req)
	if err != nil || s.at < 0 {
		return session, err
	}
	opened := &spoiltSession{Session: session, spoilt: s}
	if req.State != nil { // it goes wrong whenever it is asked again
		opened.calls = s.at
	}
	return opened, nil
}

type spoiltSession struct {
	tuners.Session
	spoilt spoilt
	calls  int
	huge   bool
}

// Suggest goes wrong when its time has come.
func (s *spoiltSession) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	decisions, err := s.Session.Suggest(ctx, n)
	if s.calls++; err != nil || s.calls < s.spoilt.at {
		return decisions, err
	}
	switch s.spoilt.what {
	case "nan":
		return []tuners.Decision{{
			Kind: tuners.Start, Trial: 99, ToRound: 1,
			Params: tuners.Params{"client.lr": tuners.Num(math.NaN())},
		}}, nil
	case "unknown":
		return []tuners.Decision{{Kind: tuners.Resume, Trial: 1000, ToRound: 1}}, nil
	case "huge":
		s.huge = true
	case "hang":
		time.Sleep(time.Hour)
	case "exit":
		os.Exit(0)
	case "refuse":
		return nil, errors.New("it is tired")
	case "flood":
		for range 2000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("lorem ipsum ", 100))
			fmt.Fprintln(os.Stdout, strings.Repeat("dolor sit amet ", 100))
		}
	}
	return decisions, nil
}

// Close goes wrong, too.
func (s *spoiltSession) Close(ctx context.Context) error {
	switch s.spoilt.what {
	case "cling":
		time.Sleep(time.Hour)
	case "sore":
		return errors.New("it was not my turn")
	}
	return s.Session.Close(ctx)
}

// State is the state of the session, or too much.
func (s *spoiltSession) State() []byte {
	if s.huge {
		return make([]byte, 100<<20)
	}
	return s.Session.State()
}

// launchTuner starts a built-in tuner in a process of this binary.
func launchTuner(t *testing.T, name, spoil string, restarts int) *host.Plugin {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := host.Find(name, host.Paths{
		Builtin: slices.Sorted(maps.Keys(plugins.Builtin())), Serve: []string{exe, "tuner", "serve"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Launch(t.Context(), ref, host.Options{
		Backoff: time.Millisecond, Restarts: restarts, CallTimeout: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
		Env: []string{spoilEnv + "=" + spoil},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// tuneWith plays the small study of the faults with these tuners.
func tuneWith(ctx context.Context, dir string, tuner, client tuners.Tuner) (o *outcome, err error) {
	st, err := store.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	s, err := faultSetup(ctx, "small")
	if err != nil {
		return nil, err
	}
	events := &eventLog{}
	s.Store, s.Observer, s.Tuner, s.ClientTuner = st, events, tuner, client
	r, err := Tune(ctx, s)
	if err != nil {
		return nil, err
	}
	r.Seconds, r.RoundsPerSecond = 0, 0
	text, err := json.Marshal(r)
	return &outcome{string(text), events.text.String()}, err
}

// deadly is a tuner whose process is killed before every call of its sessions.
type deadly struct {
	*host.Plugin
	kills *atomic.Int64
}

// Open opens a session that kills.
func (d deadly) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	d.kill()
	s, err := d.Plugin.Open(ctx, req)
	return &deadlySession{s, d}, err
}

// kill ends the running process.
func (d deadly) kill() {
	pid := d.PID()
	if pid == 0 {
		return
	}
	if p, err := os.FindProcess(pid); err == nil && p.Kill() == nil {
		d.kills.Add(1)
	}
}

type deadlySession struct {
	tuners.Session
	of deadly
}

func (s *deadlySession) Probes() []string { return s.Session.(tuners.Prober).Probes() }

func (s *deadlySession) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	s.of.kill()
	return s.Session.Suggest(ctx, n)
}

func (s *deadlySession) Report(ctx context.Context, r tuners.TrialReport) error {
	s.of.kill()
	return s.Session.Report(ctx, r)
}

func (s *deadlySession) PlanRound(ctx context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	s.of.kill()
	return s.Session.PlanRound(ctx, r)
}

func (s *deadlySession) ObserveRound(ctx context.Context, o tuners.Observation) error {
	s.of.kill()
	return s.Session.ObserveRound(ctx, o)
}

func (s *deadlySession) Close(ctx context.Context) error {
	s.of.kill()
	return s.Session.Close(ctx)
}

// TestFaultKillTuner kills the processes of both tuners of a study before every one
// of their calls.
func TestFaultKillTuner(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes for many seconds")
	}
	want := uninterrupted(t, "small")
	var kills atomic.Int64
	// The sessions of trials that run side by side share a process: a call may lose
	// it to the kills of others again and again.
	tuner, client := launchTuner(t, "sha", "", 1000), launchTuner(t, "fedex", "", 1000)
	got, err := tuneWith(t.Context(), filepath.Join(t.TempDir(), "study"), deadly{tuner, &kills}, deadly{client, &kills})
	if err != nil {
		t.Fatal(err)
	}
	got.equal(t, want, fmt.Sprintf("after %d kills of its tuners", kills.Load()))
	if n := tuner.Restarts() + client.Restarts(); kills.Load() < 50 || n < 50 {
		t.Errorf("%d kills, %d restarts", kills.Load(), n)
	}
}

// TestFaultBadTuner breaks studies by tuners that go wrong, each in its way: the
// error names what it was, and the study goes on from where it was with a tuner
// that is right.
func TestFaultBadTuner(t *testing.T) {
	want := uninterrupted(t, "small")
	for _, c := range []struct {
		what, want string // no want: the study does not mind
		is         error
	}{
		{"nan", "bad answer to Suggest", rules.ErrBadAnswer},
		{"unknown", "trial 1000 does not exist", rules.ErrBadAnswer},
		{"huge", "has 104857600 bytes; at most 16777216 are allowed", nil},
		{"hang", "no response to Suggest within 2s, 3 times in a row", host.ErrLost},
		{"exit", "process exited during Suggest", host.ErrLost},
		{"refuse", "it is tired", nil},
		{"flood", "", nil},
		{"cling", "", nil}, // its session does not close
		{"sore", "", nil},  // closing it is an error
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && c.what == "hang" {
				t.Skip("it takes seconds")
			}
			dir := filepath.Join(t.TempDir(), "study")
			builtin := plugins.Builtin()
			got, err := tuneWith(t.Context(), dir, launchTuner(t, "sha", c.what+"@2", 2), builtin["fedex"])
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				got.equal(t, want, c.what)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `tuner "sha"`) ||
				strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v, want one line with %s", err, c.want)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v does not wrap %v", err, c.is)
			}
			// The same again, when the study goes on: its trials are known to the
			// study, but not to the new process.
			if _, err = tuneWith(t.Context(), dir, launchTuner(t, "sha", c.what+"@2", 2), builtin["fedex"]); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Fatalf("when it goes on: %v, want %s", err, c.want)
			}
			got, err = tuneWith(t.Context(), dir, builtin["sha"], builtin["fedex"])
			if err != nil {
				t.Fatal(err)
			}
			if got.Result != want.Result {
				t.Errorf("the study that was broken ends otherwise:\n%s\n%s", got.Result, want.Result)
			}
		})
	}
}
