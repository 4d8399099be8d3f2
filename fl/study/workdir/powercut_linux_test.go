package workdir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/internal/test/powercut"
)

// powerEnv makes TestPowerWorker work on a study: its command and its folder.
const powerEnv = "FEDFAST_TEST_POWER"

// powerStudy is where the study is in the folder.
var powerStudy = filepath.Join("studies", "s")

// powerSeeds stands above it.
var powerSeeds = Seeds{Command: config.ModeTune, Seeds: 3, Config: "x"}

// powerConfig is a study that writes all that a study can, as fast as can be.
func powerConfig(t *testing.T) *config.Config {
	t.Helper()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: []string{
		"model=logistic", "data.clients=6", "data.samples=10", "cohort=2", "rounds=5",
		"budget.rounds=12", "budget.trial_rounds=6", "tuner.options.eliminations=1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// powerWork works on a study to its end, and returns what it came to and how many
// rounds had been recorded before, -1 when the study was found to be finished.
func powerWork(ctx context.Context, t *testing.T, mode, path string, o Options) (came string, rounds int, err error) {
	t.Helper()
	rounds = -1
	o.Ready = func(ctx context.Context, s *study.Setup) error {
		s.SnapshotEvery = 1 // after each round
		rounds, err = recordedRounds(ctx, t, s.Store)
		return err
	}
	var end any
	if mode == config.ModeRun {
		var r *result.RunResult
		if r, err = Run(ctx, path, powerConfig(t), o); err == nil {
			r.Seconds, r.RoundsPerSecond = 0, 0
			end = r
		}
	} else {
		var r *result.Result
		if r, err = Tune(ctx, path, powerConfig(t), o); err == nil {
			r.Seconds, r.RoundsPerSecond = 0, 0
			end = r
		}
	}
	if err != nil {
		return "", rounds, err
	}
	text, err := json.Marshal(end)
	return string(text), rounds, err
}

// recordedRounds counts the rounds of all trials, and checks that no snapshot is of
// one that is not recorded.
func recordedRounds(ctx context.Context, t *testing.T, s *store.Store) (all int, err error) {
	t.Helper()
	last, err := s.LastRounds(ctx, "round")
	if err != nil {
		return 0, err
	}
	for _, n := range last {
		all += n
	}
	names, err := s.Snapshots()
	for _, name := range names {
		var trial, round int
		if _, err := fmt.Sscanf(strings.Replace(name, "best-", "trial-", 1), "trial-%d-round-%d", &trial,
			&round); err == nil && round > last[trial] {
			t.Errorf("there is a snapshot %s, but only %d rounds of the trial are recorded", name, last[trial])
		}
	}
	return all, err
}

// mark makes a file that is there from now on, whatever happens.
func mark(t *testing.T, path string) {
	t.Helper()
	if err := wholefile.Write(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPowerWorker is the program whose machine loses its power: it writes a file of
// seeds, works on a study, interrupts and resumes it.
func TestPowerWorker(t *testing.T) {
	mode, dir, ok := strings.Cut(os.Getenv(powerEnv), ":")
	if !ok {
		t.Skip("it is the program that other tests trace")
	}
	path := filepath.Join(dir, powerStudy)
	if err := powerSeeds.Write(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := here()
	o.Observer = &breaker{left: 3, cancel: cancel}
	if _, _, err := powerWork(ctx, t, mode, path, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	mark(t, filepath.Join(dir, "interrupted"))
	if _, _, err := powerWork(t.Context(), t, mode, path, here()); err != nil {
		t.Fatal(err)
	}
	mark(t, filepath.Join(dir, "finished"))
}

// powerFiles returns those files of a study that must not depend on how often it
// was interrupted, and checks that the others are whole.
func powerFiles(t *testing.T, path string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range []string{ConfigFile, MetricsFile, ModelFile, SurvivorFile, LuckiestFile} {
		text, err := os.ReadFile(filepath.Join(path, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		found[name] = string(text)
	}
	for _, name := range []string{EnvFile, ResultFile} {
		if text, err := os.ReadFile(filepath.Join(path, name)); err != nil || !json.Valid(text) {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.Contains(e.Name(), "damaged") {
			t.Errorf("%s is left", e.Name())
		}
	}
	return found
}

// TestPowerCut cuts the power of the machine of a study after each call that
// writes, and resumes it from what the disk may then hold.
func TestPowerCut(t *testing.T) {
	memory := "/dev/shm" // where a sync takes no time
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		memory = t.TempDir()
	}
	for _, mode := range []string{config.ModeTune, config.ModeRun} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			log, err := powercut.Trace(dir, exe, []string{"-test.run=^TestPowerWorker$"},
				append(os.Environ(), powerEnv+"="+mode+":"+dir))
			if errors.Is(err, powercut.ErrUnavailable) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := powerWork(t.Context(), t, mode, filepath.Join(t.TempDir(), powerStudy), here())
			if err != nil {
				t.Fatal(err)
			}
			whole := powerFiles(t, filepath.Join(dir, powerStudy))
			states := log.States(func(name string) bool { return filepath.Base(name) == "study.lock" })
			some, every := powercut.EachCut(states), 1
			if testing.Short() {
				every = 9
			}
			for i := 0; i < len(some); i += every {
				afterPowerCut(t, memory, &some[i], mode, want, whole)
			}
			t.Logf("%d states, of which every %d. of %d cuts was resumed", len(states), every, len(some))
		})
	}
}

// afterPowerCut resumes a study from what a power cut left of it.
func afterPowerCut(t *testing.T, memory string, s *powercut.State, mode, want string, whole map[string]string) {
	t.Helper()
	dir, err := os.MkdirTemp(memory, "fedfast-test-") //nolint:usetesting // in memory, and gone at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	o := here()
	o.Log = slog.New(slog.NewTextHandler(&said, nil))
	path := filepath.Join(dir, powerStudy)
	interrupted, finished := exists(filepath.Join(dir, "interrupted")), exists(filepath.Join(dir, "finished"))
	if seeds, err := ReadSeeds(filepath.Dir(path)); err == nil && *seeds != powerSeeds || err != nil &&
		(interrupted || !errors.Is(err, os.ErrNotExist)) {
		t.Errorf("%s: the seeds are %v, %v", s.When, seeds, err)
	}
	got, rounds, err := powerWork(t.Context(), t, mode, path, o)
	if err != nil {
		t.Errorf("%s: %v", s.When, err)
		return
	}
	if interrupted && rounds == 0 || finished && rounds >= 0 {
		t.Errorf("%s: the study had %d rounds recorded; it was interrupted: %v, finished: %v", s.When, rounds, interrupted,
			finished)
	}
	if got != want {
		t.Errorf("%s: the result differs:\n%s\n%s", s.When, got, want)
	}
	if said.Len() > 0 {
		t.Errorf("%s: said %s", s.When, said.String())
	}
	for name, text := range powerFiles(t, path) {
		if text != whole[name] {
			t.Errorf("%s: %s differs", s.When, name)
		}
	}
}
