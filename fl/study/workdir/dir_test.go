package workdir

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/internal/test/memtest"
	"github.com/fedfast/fedfast/nn/models"
)

// begin opens a study's directory and begins to work there.
func begin(t *testing.T, path string, c *config.Config) *dir {
	t.Helper()
	env := map[string]string{"command": "run"}
	open := func() (*dir, error) { return createDir(t.Context(), path, c, env, nil) }
	if Holds(path) {
		open = func() (*dir, error) { return openDir(t.Context(), path, nil) }
	}
	d, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.begin(c, env, false); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestStudyKeepsItsFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	path := Default(day, "my study/1")
	if path != filepath.Join("studies", "2026-11-21-my-study-1") {
		t.Errorf("the default is %s", path)
	}
	c := config.Default()
	c.Name = "x"
	d := begin(t, path, &c)
	nan := math.NaN()
	d.Event(study.Event{Event: "round", Trial: 2, Round: 1, TrainLoss: &nan})
	var busy *store.BusyError
	if _, err := openDir(t.Context(), path, nil); !errors.As(err, &busy) || busy.PID != os.Getpid() {
		t.Errorf("a study at work gives %v", err)
	}
	if err := d.result(map[string]float64{"a": math.Inf(1)}); err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{MetricsFile: `{"event":"round","trial":2,"round":1,"train_loss":null}` +
		"\n", ResultFile: "{\n  \"a\": null\n}\n"} {
		if text, err := os.ReadFile(filepath.Join(path, name)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v, want %q", name, text, err, want)
		}
	}
	if _, err := config.Load(config.Source{File: filepath.Join(path, ConfigFile)}); err != nil {
		t.Error(err)
	}
	if next := Default(day, "my study/1"); next != path+"-2" {
		t.Errorf("the next default is %s", next)
	}
}

// TestMetricsGoOn writes events twice with a torn line between, as a study that
// was killed and resumed does.
func TestMetricsGoOn(t *testing.T) {
	path := t.TempDir()
	c := config.Default()
	events := func(d *dir, n int) {
		for round := range n {
			d.Event(study.Event{Event: "round", Round: round})
		}
		if err := d.store.Append("study", -1, 0, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if err := d.close(); err != nil {
			t.Fatal(err)
		}
	}
	events(begin(t, path, &c), 5)
	name := filepath.Join(path, MetricsFile)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{0, 1, len(whole) / 2, len(whole) - 1, len(whole)} {
		if err := os.WriteFile(name, whole[:left], 0o600); err != nil {
			t.Fatal(err)
		}
		events(begin(t, path, &c), 5)
		if got, err := os.ReadFile(name); err != nil || string(got) != string(whole) {
			t.Errorf("from %d bytes on: %v\n%s", left, err, got)
		}
	}
	// A file without a line's end is read no further than the line that is to come.
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	memtest.Bounded(t, 2, func() { events(begin(t, path, &c), 6) })
	if got, err := wholefile.Read(name); err != nil || strings.Count(string(got), "\n") != 6 ||
		!strings.HasPrefix(string(got), string(whole)) {
		t.Errorf("of a file of 1 TiB: %v\n%s", err, got)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(whole), `"round":2`, `"round":7`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	events(begin(t, path, &c), 4)
	if got, err := os.ReadFile(name); err != nil || strings.Count(string(got), "\n") != 4 ||
		!strings.HasPrefix(string(whole), string(got)) {
		t.Errorf("behind a wrong line: %v\n%s", err, got)
	}
}

func TestStudyWithoutEventsLeavesNothing(t *testing.T) {
	root := t.TempDir()
	c := config.Default()
	for _, path := range []string{filepath.Join(root, "new"), root} {
		if err := begin(t, path, &c).close(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}

// TestForeignFilesAreLeftAlone: a study does not begin where it would overwrite a
// file that no study wrote.
func TestForeignFilesAreLeftAlone(t *testing.T) {
	c := config.Default()
	for _, name := range files {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := createDir(t.Context(), path, &c, nil, nil); err == nil || !strings.Contains(err.Error(),
			"contains a "+name) {
			t.Errorf("%s: got %v", name, err)
		}
		if entries, err := os.ReadDir(path); err != nil || len(entries) != 1 {
			t.Errorf("%s: %v, %v are there", name, entries, err)
		}
	}
}

// TestCompleteReadsTheFiles cuts, empties and removes each file of a finished
// study.
func TestCompleteReadsTheFiles(t *testing.T) {
	path := t.TempDir()
	c := config.Default()
	d := begin(t, path, &c)
	m, err := models.New("logistic", models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	digest := "d1"
	others := []Other{{File: SurvivorFile}, {File: LuckiestFile}}
	err = errors.Join(d.result(map[string]string{"weights_sha256": digest}), d.returned(m, m.NewParams()))
	for _, o := range others {
		err = errors.Join(err, d.model(o.File, m, m.NewParams()))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.close() }()
	if !d.complete(digest, others...) || d.complete("d2", others...) {
		t.Fatal("a whole study is not complete, or that of another result is")
	}
	for _, name := range []string{ResultFile, ModelFile, SurvivorFile, LuckiestFile} {
		file := filepath.Join(path, name)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, left := range []int{0, 7, 8, len(whole) / 2, len(whole) - 2} {
			if err := os.WriteFile(file, whole[:left], 0o600); err != nil {
				t.Fatal(err)
			}
			if d.complete(digest, others...) {
				t.Errorf("with %d bytes of %s the study counts as complete", left, name)
			}
		}
		if err := os.Remove(file); err != nil || d.complete(digest, others...) {
			t.Errorf("without %s the study counts as complete, or %v", name, err)
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMetricsErrorStands(t *testing.T) {
	c := config.Default()
	d := begin(t, t.TempDir(), &c)
	if err := d.metrics.Close(); err != nil {
		t.Fatal(err)
	}
	d.Event(study.Event{})
	if err := d.close(); err == nil || !strings.Contains(err.Error(), MetricsFile) {
		t.Errorf("a failed write gives %v", err)
	}
}
