package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
	"github.com/fedfast/fedfast/tuners/internal/test/rogue"
)

// TestMain makes this test binary its own tuner: `serve NAME` serves the fake,
// `launch` is a host that is going to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		if os.Args[2] == "mute" {
			time.Sleep(time.Minute)
		}
		tuners.Serve(fake{name: os.Args[2]})
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "rogue" {
		rogue.Serve(os.Args[2])
		return
	}
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "launch") {
		launchAndWait(os.Args[1] == "launch-unsignalled")
		return
	}
	os.Exit(m.Run())
}

// fake is a tuner whose session counts its calls; what it does at a count is set by
// FAKE, a list like "3=crash,5=hang". A trap springs once: it is remembered by a
// file in FAKE_DIR, which every process of one test shares.
type fake struct{ name string }

func (f fake) Describe(context.Context) (tuners.Description, error) {
	name := f.name
	if name == "liar" {
		name = "someone-else"
	}
	return tuners.Description{
		Name: name, Version: "9", Trials: true, Rounds: true, Controls: []string{"client.*"}, Probes: []string{"p", "q"},
	}, nil
}

func (f fake) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	if req.Budget.Rounds == 13 {
		return nil, errors.New("validation is out of order")
	}
	if req.Budget.Rounds == 14 {
		return nil, nil
	}
	return []tuners.Problem{{Key: "k", Message: fmt.Sprintf("%d dims, %s, %s", len(req.Space), req.Options,
		req.Objective.Direction)}}, nil
}

func (f fake) Work(_ context.Context, req tuners.ValidateRequest) (tuners.Work, error) {
	return tuners.Work{Trials: 3, Rounds: 4, Clients: 5, Examples: 60.5, Points: []tuners.Params{
		req.Options,
		{"z": tuners.Bool(true)},
	}}, nil
}

func (f fake) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	s := &fakeSession{req: req}
	if req.State != nil {
		if err := json.Unmarshal(req.State, &s.calls); err != nil {
			return nil, err
		}
	}
	return s, nil
}

type fakeSession struct {
	req   tuners.OpenRequest
	calls int
}

func (s *fakeSession) Probes() []string { return []string{"q"} }

// spring does what FAKE says for this call.
func (s *fakeSession) spring() error {
	s.calls++
	for trap := range strings.SplitSeq(os.Getenv("FAKE"), ",") {
		at, what, _ := strings.Cut(trap, "=")
		if n, err := strconv.Atoi(at); err != nil || n != s.calls {
			continue
		}
		if what != "always" {
			f, err := os.OpenFile(filepath.Join(os.Getenv("FAKE_DIR"), at), os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				continue // it sprang before
			}
			_ = f.Close()
		}
		switch what {
		case "crash", "always":
			panic("the fake crashes")
		case "exit":
			os.Exit(7)
		case "hang":
			time.Sleep(time.Minute)
		case "error":
			return errors.New("the fake is unwilling")
		}
	}
	return nil
}

func (s *fakeSession) Suggest(context.Context, int) ([]tuners.Decision, error) {
	if err := s.spring(); err != nil {
		return nil, err
	}
	d := tuners.NewDraws(s.req.Seed, s.calls, 0, "fake")
	return []tuners.Decision{{Kind: tuners.Start, Trial: s.calls / 2, ToRound: 1, Params: s.req.Space.Sample(d)}}, nil
}

func (s *fakeSession) Report(context.Context, tuners.TrialReport) error { return s.spring() }

func (s *fakeSession) PlanRound(_ context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	fmt.Fprintf(os.Stderr, "planning round %d\n", r.Round)
	if r.Purpose == tuners.Test {
		return tuners.Plan{Clients: []tuners.Params{{"client.n": tuners.Num(float64(s.calls))}}}, nil
	}
	if err := s.spring(); err != nil {
		return tuners.Plan{}, err
	}
	return tuners.Plan{Clients: []tuners.Params{{"client.n": tuners.Num(float64(s.calls))}}}, nil
}

func (s *fakeSession) ObserveRound(_ context.Context, o tuners.Observation) error {
	if len(o.Slots) != 2 || o.Slots[0].Probes["q"] != 0.25 || !o.Slots[1].Dropped || o.Aggregates["a"] != 1 {
		return fmt.Errorf("observed %+v", o)
	}
	return s.spring()
}

func (s *fakeSession) State() []byte { return []byte(strconv.Itoa(s.calls)) }

func (s *fakeSession) Close(context.Context) error { return nil }

// selfPaths serves this binary's fakes as built-in tuners and looks for external
// ones in dirs.
func selfPaths(t testing.TB, dirs ...string) host.Paths {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return host.Paths{Dirs: dirs, Builtin: []string{"fake", "liar", "mute"}, Serve: []string{self, "serve"}}
}

// launch starts the fake with traps.
func launch(t *testing.T, o host.Options, traps string) *host.Plugin {
	t.Helper()
	ref, err := host.Find("fake", selfPaths(t))
	if err != nil {
		t.Fatal(err)
	}
	o.Env = append(o.Env, "FAKE="+traps, "FAKE_DIR="+t.TempDir())
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p, err := host.Launch(t.Context(), ref, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// oneLine checks that err is a single line that contains all of the words.
func oneLine(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q lacks %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %q", err)
	}
}

// journal is a log that tests can read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) has(s string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(j.text.String(), s)
}

// eventually waits for a condition that other processes bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 2000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s did not happen within 20 s", what)
}
