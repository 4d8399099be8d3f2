package workdir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/nn/safetensors"
	"github.com/fedfast/fedfast/plugins"
)

// small is a study of a second.
func small(t *testing.T, sets ...string) *config.Config {
	t.Helper()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: append([]string{
		"model=logistic", "data.clients=8", "data.samples=30", "cohort=3", "rounds=9",
		"budget.rounds=12", "budget.trial_rounds=6", "tuner.options.eliminations=1",
	}, sets...)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func here() Options { return Options{Launcher: InProcess(plugins.Builtin()), Workers: 2} }

// breaker is an observer that interrupts after some rounds.
type breaker struct {
	left   int
	cancel context.CancelFunc
	mu     sync.Mutex // guards left
}

func (*breaker) Event(study.Event)         {}
func (*breaker) Evaluated(study.Evaluated) {}
func (b *breaker) Progress(study.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left--; b.left == 0 {
		b.cancel()
	}
}

// TestInterruptedStudiesResume breaks a study and a training off twice.
func TestInterruptedStudiesResume(t *testing.T) {
	c := small(t)
	for mode, work := range map[string]func(ctx context.Context, path string, o Options) (string, error){
		config.ModeTune: func(ctx context.Context, path string, o Options) (string, error) {
			r, err := Tune(ctx, path, c, o)
			if err != nil {
				return "", err
			}
			return r.WeightsSHA256, nil
		},
		config.ModeRun: func(ctx context.Context, path string, o Options) (string, error) {
			r, err := Run(ctx, path, c, o)
			if err != nil {
				return "", err
			}
			return r.WeightsSHA256, nil
		},
	} {
		dir := t.TempDir()
		want, err := work(t.Context(), filepath.Join(dir, "whole"), here())
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "broken")
		for n := range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			o := here()
			o.Workers, o.Observer = 1, &breaker{left: 2 + n, cancel: cancel}
			if _, err := work(ctx, path, o); !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: an interrupted study gives %v", mode, err)
			}
			cancel()
		}
		for range 2 { // the second call finds it finished
			if got, err := work(t.Context(), path, here()); err != nil || got != want {
				t.Errorf("%s: resumed %s, %v; want %s", mode, got, err, want)
			}
		}
		for _, name := range []string{ResultFile, MetricsFile, ModelFile, ConfigFile} {
			a, errA := os.ReadFile(filepath.Join(dir, "whole", name))
			b, errB := os.ReadFile(filepath.Join(path, name))
			same := string(a) == string(b) || name == ResultFile // which holds seconds
			if errA != nil || errB != nil || !same {
				t.Errorf("%s: %s differs, %v %v", mode, name, errA, errB)
			}
		}
	}
}

// TestEarlyInterruptsResume interrupts studies before their first event: when the
// trials of an asynchronous one are at work, and before any round.
func TestEarlyInterruptsResume(t *testing.T) {
	c := small(t, "tuner.name=asha", "tuner.parallel=3")
	want, err := Tune(t.Context(), filepath.Join(t.TempDir(), "whole"), c, here())
	if err != nil {
		t.Fatal(err)
	}
	for name, stop := range map[string]func(o *Options, cancel context.CancelFunc){
		"first round": func(o *Options, cancel context.CancelFunc) { o.Observer = &breaker{left: 1, cancel: cancel} },
		"no round": func(o *Options, cancel context.CancelFunc) {
			o.Ready = func(context.Context, *study.Setup) error { cancel(); return nil }
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		path, o := filepath.Join(t.TempDir(), "study"), here()
		stop(&o, cancel)
		if _, err := Tune(ctx, path, c, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: an interrupted study gives %v", name, err)
		}
		cancel()
		if !Holds(path) {
			t.Errorf("%s: an interrupted study is gone", name)
		}
		if r, err := Tune(t.Context(), path, c, here()); err != nil || r.WeightsSHA256 != want.WeightsSHA256 {
			t.Errorf("%s: resumed: %v", name, err)
		}
	}
}

// TestUnnamedStudiesShareNoDirectory begins two of which each had found the same
// directory free.
func TestUnnamedStudiesShareNoDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	var all [2]*Study
	for i := range all {
		c := small(t)
		s, err := Open(t.Context(), Default(time.Now(), c.Name), c, config.ModeRun, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Unnamed = true
		all[i] = s
	}
	if all[0].Path() != all[1].Path() {
		t.Fatalf("%s and %s differ before they begin", all[0].Path(), all[1].Path())
	}
	for _, s := range all {
		if _, err := s.Run(t.Context(), here()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil || !Holds(s.Path()) {
			t.Errorf("%s: %v", s.Path(), err)
		}
	}
	if all[0].Path() == all[1].Path() {
		t.Errorf("both trained in %s", all[0].Path())
	}
}

// TestGivenDataAndModel trains what no configuration names.
func TestGivenDataAndModel(t *testing.T) {
	c := small(t)
	fed, model, err := config.Prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Run(t.Context(), filepath.Join(t.TempDir(), "named"), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	given := *c
	given.Model, given.Data.Name = config.Model{}, ""
	path := filepath.Join(t.TempDir(), "given")
	o := Options{Data: fed, Model: model}
	for range 2 {
		if r, err := Run(t.Context(), path, &given, o); err != nil || r.WeightsSHA256 != want.WeightsSHA256 {
			t.Errorf("got %v, want %s", err, want.WeightsSHA256)
		}
	}
	wider, err := models.FromLayers([]models.LayerSpec{{Type: "dense", Units: 3}, {Type: "dense"}},
		nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(path, ResultFile)); err != nil { // so that there is something to do
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), path, &given, Options{Data: fed, Model: wider}); err == nil {
		t.Error("a study resumes with another model")
	}
	mine, other := *fed, *fed
	mine.Fingerprint, other.Fingerprint = "mine", "other"
	path = filepath.Join(t.TempDir(), "marked")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Run(ctx, path, &given, Options{
		Data: &mine, Model: model,
		Observer: &breaker{left: 3, cancel: cancel},
	}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), path, &given, Options{Data: &other, Model: model}); err == nil ||
		!strings.Contains(err.Error(), "other data") {
		t.Errorf("a study resumes with other data: %v", err)
	}
	if r, err := Run(t.Context(), path, &given, Options{Data: &mine, Model: model}); err != nil ||
		r.WeightsSHA256 != want.WeightsSHA256 {
		t.Errorf("resumed: %v", err)
	}
}

// TestWhatDoesNotFitIsRefused opens directories for what they do not hold.
func TestWhatDoesNotFitIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	o := here()
	if _, err := Tune(t.Context(), path, small(t), o); err != nil {
		t.Fatal(err)
	}
	var other *OtherError
	var differs *config.DiffError
	if _, err := Tune(t.Context(), path, small(t, "client.lr=0.5"), o); !errors.As(err, &other) ||
		!errors.As(err, &differs) || len(differs.Diff) != 1 {
		t.Errorf("another configuration: %v", err)
	}
	if _, err := Run(t.Context(), path, small(t), o); !errors.As(err, &other) {
		t.Errorf("another command: %v", err)
	}
	if s, err := Open(t.Context(), filepath.Join(path, "none"), nil, config.ModeRun, nil); err == nil || s != nil {
		t.Errorf("nothing to resume: %v", err)
	}
	fresh := filepath.Join(t.TempDir(), "new")
	if _, err := Tune(t.Context(), fresh, small(t), Options{}); err == nil || !strings.Contains(err.Error(),
		"no launcher") {
		t.Errorf("no launcher: %v", err)
	}
	if _, err := Tune(t.Context(), fresh, small(t, "tuner.name=nobody"), o); err == nil || !strings.Contains(err.Error(),
		`unknown tuner "nobody"`) {
		t.Errorf("an unknown tuner: %v", err)
	}
	if _, err := Run(t.Context(), fresh, small(t, "client.lr=-1"), o); err == nil || !strings.Contains(err.Error(),
		"client.lr") {
		t.Errorf("a wrong value: %v", err)
	}
	if exists(fresh) {
		t.Error("what did not begin left a directory")
	}
	stop := errors.New("stop")
	o.Ready = func(context.Context, *study.Setup) error { return stop }
	if _, err := Run(t.Context(), fresh, small(t), o); !errors.Is(err, stop) || exists(fresh) {
		t.Errorf("a study that its caller stopped: %v, left %v", err, exists(fresh))
	}
	if _, err := safetensors.Read(filepath.Join(path, ModelFile), mustModel(t, small(t))); err != nil {
		t.Error(err)
	}
}

func mustModel(t *testing.T, c *config.Config) *nn.Model {
	t.Helper()
	var fed *data.Federation
	fed, m, err := config.Prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_ = fed.Close() // it is in memory
	return m
}
