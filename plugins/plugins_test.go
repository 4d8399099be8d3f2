package plugins_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// TestMain lets this binary serve the built-in tuners as fedfast does: `tuner serve
// NAME`.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "tuner" && os.Args[2] == "serve" {
		tuners.Serve(frail{plugins.Builtin()[os.Args[3]]})
		return
	}
	os.Exit(m.Run())
}

// frail wraps a tuner so that its process panics at every 60th call, as often as
// there is a file in FRAIL_DIR.
type frail struct{ tuners.Tuner }

var calls atomic.Int64

func (f frail) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	s, err := f.Tuner.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	if p, ok := s.(tuners.Prober); ok {
		return struct {
			frailSession
			tuners.Prober
		}{frailSession{s}, p}, nil
	}
	return frailSession{s}, nil
}

type frailSession struct{ tuners.Session }

func (s frailSession) mayBreak() {
	if calls.Add(1) != 60 {
		return
	}
	bombs, err := filepath.Glob(filepath.Join(os.Getenv("FRAIL_DIR"), "bomb*"))
	if err == nil && len(bombs) > 0 && os.Remove(bombs[0]) == nil {
		panic("bomb")
	}
}

func (s frailSession) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	defer s.mayBreak()
	return s.Session.Suggest(ctx, n)
}

func (s frailSession) Report(ctx context.Context, r tuners.TrialReport) error {
	defer s.mayBreak()
	return s.Session.Report(ctx, r)
}

func (s frailSession) PlanRound(ctx context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	defer s.mayBreak()
	return s.Session.PlanRound(ctx, r)
}

func (s frailSession) ObserveRound(ctx context.Context, o tuners.Observation) error {
	defer s.mayBreak()
	return s.Session.ObserveRound(ctx, o)
}

// paths serves the built-ins by this binary, with external tuners from
// FEDFAST_TUNER_DIR.
func paths(t testing.TB) host.Paths {
	t.Helper()
	var names []string
	for name := range plugins.Builtin() {
		names = append(names, name)
	}
	p, err := host.DefaultPaths(names)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// launch starts a tuner by name; dir holds a file "bomb*" for each crash that is
// wanted.
func launch(t testing.TB, name, dir string) *host.Plugin {
	t.Helper()
	ref, err := host.Find(name, paths(t))
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Launch(t.Context(), ref, host.Options{
		Backoff: time.Millisecond, Logger: slog.New(slog.DiscardHandler), Env: []string{"FRAIL_DIR=" + dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

var space = tuners.Space{
	{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 5},
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "client.momentum", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Num(0), tuners.Num(0.9)}},
	{Name: "server.lr", Kind: tuners.Log10, Lo: -1, Hi: 1},
}

// surface is a validation error that falls with the rounds and is lowest at
// client.lr = 0.01, server.lr = 1, client.epochs = 2.
func surface(p tuners.Params, round int) float64 {
	c, s, e := math.Log10(p.Float("client.lr", 1))+2, math.Log10(p.Float("server.lr", 1)), p.Float("client.epochs", 1)-2
	bend := 0.05*c*c + 0.1*s*s + 0.01*e*e
	return (bend + 0.9*math.Exp(-float64(round)/10)) / (1 + bend)
}

// study plays a study of a trial tuner, with a client tuner under it unless that is
// nil, against the surface: everything that the tuners said comes back as text,
// with the scores of the first and of the best trial.
func study(t testing.TB, trials, clients tuners.Tuner, budget tuners.Budget) (transcript string, first, best float64) {
	t.Helper()
	ctx := t.Context()
	var b strings.Builder
	req := tuners.OpenRequest{Study: "test", Space: space, Budget: budget, Seed: 21, Trial: tuners.StudySession}
	if clients != nil {
		d, err := clients.Describe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if req.Space, err = space.With(d.Adds...); err != nil {
			t.Fatal(err)
		}
	}
	open := func(tuner tuners.Tuner, req tuners.OpenRequest) tuners.Session {
		problems, err := tuner.Validate(ctx, tuners.ValidateRequest{
			Space: req.Space, Options: req.Options,
			Budget: req.Budget,
		})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		s, err := tuner.Open(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	session := open(trials, req)
	type trial struct {
		params tuners.Params
		round  int
		score  float64
		client tuners.Session
	}
	running := map[int]*trial{}
	for {
		decisions, err := session.Suggest(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range decisions {
			fmt.Fprintf(&b, "%+v\n", d)
			tr := running[d.Trial]
			switch d.Kind {
			case tuners.Start:
				tr = &trial{params: d.Params}
				running[d.Trial] = tr
				if clients != nil {
					own := req
					own.Trial, own.Params = d.Trial, d.Params
					tr.client = open(clients, own)
				}
			case tuners.Resume, tuners.Fork:
			case tuners.Done:
				return b.String(), running[0].score, running[d.Best].score
			case tuners.Stop, tuners.Release, tuners.Wait:
				continue
			case tuners.Score, tuners.Local:
				t.Fatalf("unexpected %s", d.Kind)
			}
			for ; tr.round < d.ToRound; tr.round++ {
				tr.score = surface(tr.params, tr.round)
				if tr.client == nil {
					continue
				}
				plan, err := tr.client.PlanRound(ctx, tuners.PlanRequest{Trial: d.Trial, Round: tr.round, Slots: 4})
				if err != nil {
					t.Fatal(err)
				}
				o := tuners.Observation{Trial: d.Trial, Round: tr.round}
				tr.score = 0
				for i := range 4 {
					score := surface(tr.params.Merge(plan.Client(i)), tr.round)
					tr.score += score / 4
					o.Slots = append(o.Slots, tuners.Slot{Probes: map[string]float64{"val_error_after": score, "examples_val": 10}})
					fmt.Fprintf(&b, "  %s\n", plan.Client(i))
				}
				if err := tr.client.ObserveRound(ctx, o); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "  %s\n", tr.client.State())
			}
			if err := session.Report(ctx, tuners.TrialReport{Trial: d.Trial, Round: tr.round, Score: tr.score}); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&b, "%s\n", session.State())
	}
}

var budget = tuners.Budget{Rounds: 200, TrialRounds: 20}

func TestSubprocessesDecideAsTheTunersThemselves(t *testing.T) {
	builtin := plugins.Builtin()
	for _, c := range []struct{ trials, clients string }{
		{"random", ""},
		{"sha", ""},
		{"sha", "fedex"},
		{"random", "fedex"},
		{"fedex", "fedex"},
	} {
		t.Run(c.trials+" "+c.clients, func(t *testing.T) {
			var inside, outside tuners.Tuner
			if c.clients != "" {
				inside, outside = host.Local(builtin[c.clients]), launch(t, c.clients, t.TempDir())
			}
			want, _, _ := study(t, host.Local(builtin[c.trials]), inside, budget)
			got, _, _ := study(t, launch(t, c.trials, t.TempDir()), outside, budget)
			if got != want {
				t.Errorf("the subprocess decides otherwise:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestCrashesChangeNoDecision(t *testing.T) {
	want, _, _ := study(t, host.Local(plugins.Builtin()["sha"]), host.Local(plugins.Builtin()["fedex"]), budget)
	dir := t.TempDir()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("bomb", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sha, fedex := launch(t, "sha", dir), launch(t, "fedex", dir)
	got, _, _ := study(t, sha, fedex, budget)
	if n := sha.Restarts() + fedex.Restarts(); n != 3 {
		t.Errorf("%d processes were lost, want 3", n)
	}
	if got != want {
		t.Errorf("the crashes changed the study:\n%s\nwant\n%s", got, want)
	}
}

func TestBuiltinsAreNamedAsTheySay(t *testing.T) {
	for name, tuner := range plugins.Builtin() {
		d, err := tuner.Describe(t.Context())
		if err != nil || d.Name != name || d.Doc == "" || d.Version == "" {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		for _, o := range d.Options {
			if o.Doc == "" {
				t.Errorf("%s: the option %s has no doc", name, o.Name)
			}
		}
	}
}

// BenchmarkRound is what a client tuner costs a round: one PlanRound and one
// ObserveRound through the subprocess.
func BenchmarkRound(b *testing.B) {
	p := launch(b, "fedex", b.TempDir())
	params := space.Sample(tuners.NewDraws(1, 0, 0, "bench"))
	params["fedex.gamma"] = tuners.Num(0.5)
	all, err := space.With(tuners.Dim{Name: "fedex.gamma", Kind: tuners.Uniform, Hi: 1})
	if err != nil {
		b.Fatal(err)
	}
	s, err := p.Open(b.Context(), tuners.OpenRequest{Space: all, Budget: budget, Params: params})
	if err != nil {
		b.Fatal(err)
	}
	o := tuners.Observation{Slots: make([]tuners.Slot, 10)}
	for i := range o.Slots {
		o.Slots[i].Probes = map[string]float64{"val_error_after": 0.1 * float64(i), "examples_val": 10}
	}
	for b.Loop() {
		if _, err := s.PlanRound(b.Context(), tuners.PlanRequest{Round: o.Round, Slots: 10}); err != nil {
			b.Fatal(err)
		}
		if err := s.ObserveRound(b.Context(), o); err != nil {
			b.Fatal(err)
		}
		o.Round++
	}
}
