package studydir

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study"
)

func TestStudyKeepsItsFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	path := Default(day, "my study/1")
	if path != filepath.Join("studies", "2026-11-21-my-study-1") {
		t.Errorf("the default is %s", path)
	}
	c := study.DefaultConfig()
	c.Name = "x"
	d, err := Create(path, &c, map[string]string{"go": "1"})
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	d.Event(study.Event{Event: "round", Trial: 2, Round: 1, TrainLoss: &nan})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); err == nil || !strings.Contains(err.Error(), "an unfinished study") {
		t.Errorf("an unfinished study gives %v", err)
	}
	if err := d.Result(map[string]float64{"a": math.Inf(1)}); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); err == nil || !strings.Contains(err.Error(), "a finished study") {
		t.Errorf("a finished study gives %v", err)
	}
	if _, err := Create(path, &c, nil); err == nil {
		t.Error("a second study was begun in the directory")
	}
	for name, want := range map[string]string{MetricsFile: `{"event":"round","trial":2,"round":1,"train_loss":null}` + "\n", ResultFile: "{\n  \"a\": null\n}\n"} {
		if text, err := os.ReadFile(filepath.Join(path, name)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v, want %q", name, text, err, want)
		}
	}
	if _, err := study.Load(study.Source{File: filepath.Join(path, ConfigFile)}); err != nil {
		t.Error(err)
	}
	if next := Default(day, "my study/1"); next != path+"-2" {
		t.Errorf("the next default is %s", next)
	}
}

func TestStudyWithoutEventsLeavesNothing(t *testing.T) {
	root := t.TempDir()
	c := study.DefaultConfig()
	for _, path := range []string{filepath.Join(root, "new"), root} {
		d, err := Create(path, &c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}

func TestMetricsErrorStands(t *testing.T) {
	c := study.DefaultConfig()
	d, err := Create(t.TempDir(), &c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.metrics.Close(); err != nil {
		t.Fatal(err)
	}
	d.Event(study.Event{})
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), MetricsFile) {
		t.Errorf("a failed write gives %v", err)
	}
}
