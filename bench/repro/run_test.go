package repro

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	_ "github.com/fedfast/fedfast/internal/test/glyphs"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// here makes a place for data that need no files.
func here(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	papers().Data["glyphs"] = dataSet{Files: []string{"x"}, Elsewhere: dir}
	t.Cleanup(func() { delete(papers().Data, "glyphs") })
}

// small is a study of successive halving on embedded data.
func small(target, tuning string) *Training {
	t := &Training{
		Key: "small-" + target + "-" + tuning, Mode: config.ModeTune, Preset: "fashion-fedex", Needs: "glyphs", Seeds: 2,
		Shrink: shrinkFedex, Tuner: "sha", ClientTuner: "none",
		Sets: []string{
			"target=" + target, "score.both=true", "eval.every=4", "eval.clients=4", "model=logistic", "data.clients=8",
			"data.samples=30", "cohort=3",
			"budget.rounds=40", "budget.trial_rounds=8", "tuner.options.eliminations=2",
		},
	}
	if tuning == "fedex" {
		t.ClientTuner = "fedex"
	}
	if target == tuners.TargetGlobal {
		t.Shares = "small-personalized-" + tuning
	}
	return t
}

func smallCells() []Cell {
	var cells []Cell
	for _, target := range fedexTargets {
		for _, tuning := range fedexTunings {
			cells = append(cells, Cell{
				Name: "fedex-table1/cifar10-iid/sha/" + target + "/" + tuning, Training: small(target, tuning),
				Measure: returnedError(target), Unit: "%",
				Published: &Published{Mean: 20, SD: 1, Seeds: 2}, Target: target,
			})
		}
	}
	return cells
}

// runAll trains in this process.
func runAll(t *testing.T, jobs []*Job) []*Metrics {
	t.Helper()
	var all []*Metrics
	for _, j := range jobs {
		m, err := j.Run(t.Context(), workdir.Options{Launcher: workdir.InProcess(plugins.Builtin()), Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// TestRunAndReport runs a small table twice, with and without sharing rounds: the
// numbers are the same, and those of the files too.
func TestRunAndReport(t *testing.T) {
	here(t)
	cells := smallCells()
	dir := t.TempDir()
	o := Options{Seeds: 2}
	jobs, left, err := Plan(t.Context(), cells, o, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 8 || len(left) > 0 {
		t.Fatalf("%d jobs, want 8", len(jobs))
	}
	shared := runAll(t, jobs)
	others, _, err := Plan(t.Context(), cells, o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range others {
		j.From = ""
	}
	for i, m := range runAll(t, others) {
		m.End.Seconds, shared[i].End.Seconds = 0, 0
		if !reflect.DeepEqual(m.End, shared[i].End) {
			t.Errorf("%s: shared %+v, alone %+v", m.Head.Training, shared[i].End, m.End)
		}
		for k := range m.Trials {
			if a, b := m.Trials[k], shared[i].Trials[k]; !reflect.DeepEqual(a.Global, b.Global) ||
				!reflect.DeepEqual(a.Personalized, b.Personalized) || !reflect.DeepEqual(a.Configs, b.Configs) {
				t.Errorf("%s: arm %d differs", m.Head.Training, k)
			}
		}
	}
	fedex := shared[1]
	if fedex.Head.Training != "small-personalized-fedex" || len(fedex.Trials) != 9 || len(fedex.Trials[0].Configs) != 27 ||
		len(fedex.Trials[0].Configs[0]) != len(fedex.Trials[0].ConfigParams) {
		t.Errorf("arms: %+v", fedex.Trials[0])
	}
	if strings.Contains(fedex.Head.Config, dir) || fedex.Head.Data.Clients != 8 || fedex.Head.Data.Train == 0 {
		t.Errorf("%+v", fedex.Head)
	}
	for _, arm := range shared[3].Trials { // of the global target: at least the rounds to the first rung were shared
		for _, s := range arm.Seconds[:arm.Rungs[0].Round] {
			if s != nil {
				t.Errorf("arm %d: a shared round has the time %v", arm.Number, *s)
			}
		}
	}

	if err := Tidy(jobs); err != nil {
		t.Fatal(err)
	}
	if exists(jobs[0].Study) || !exists(jobs[0].File) {
		t.Error("the study is there, or its metrics are not")
	}
	found, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	direct, err := NewReport(cells, shared)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := NewReport(cells, found)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(direct.Tables(), merged.Tables()) {
		t.Errorf("from memory:\n%v\nfrom files:\n%v", direct.Tables(), merged.Tables())
	}
	if len(merged.Rows) != 4 || merged.Rows[0].Sample.N != 2 || len(merged.Verdicts) != 2 ||
		merged.Verdicts[0].Gain.N != 2 {
		t.Errorf("%+v", merged.Rows)
	}
	if _, err := NewReport(cells, append(found, found[0])); err == nil || !strings.Contains(err.Error(), "duplicate") {
		t.Errorf("one seed twice: %v", err)
	}
	found[0].Head.Digest = "other"
	if _, err := NewReport(cells, found); err == nil || !strings.Contains(err.Error(), "different settings") {
		t.Errorf("other settings: %v", err)
	}
}

// TestLoneArm runs a study of one arm under FedEx: what it leaves holds the arm, and
// theta's entropy of every round, which begins at ln k and falls, and theta in the end.
func TestLoneArm(t *testing.T) {
	here(t)
	training := small(tuners.TargetPersonalized, "fedex")
	training.Tuner, training.Sets = "random", override(training.Sets,
		[]string{"budget.rounds=8", "tuner.options.eliminations=0"})
	training.Sets = training.Sets[:len(training.Sets)-1] // an option of sha
	training.Sets = append(training.Sets, "client_tuner.options.configs=9")
	jobs, _, err := Plan(t.Context(), []Cell{{Name: "x", Training: training, Measure: survivorError(tuners.TargetGlobal)}},
		Options{Seeds: 1}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := runAll(t, jobs)[0]
	if len(m.Trials) != 1 || len(m.Trials[0].Params) == 0 || len(m.Trials[0].Test) != 2 || len(m.End.Curve) > 0 ||
		m.End.Survivor.Round != 8 {
		t.Fatalf("trials %+v, end %+v", m.Trials, m.End)
	}
	if e := m.Trials[0].Entropy; len(e) != 8 || e[0] != 2.1972 || e[7] >= e[0] {
		t.Errorf("entropies %v", e)
	}
	entropy, sum := 0.0, 0.0
	for _, p := range m.Trials[0].Theta {
		sum += p
		entropy -= p * math.Log(max(p, 1e-300))
	}
	if len(m.Trials[0].Theta) != 9 || math.Abs(sum-1) > 9e-4 || math.Abs(entropy-m.Trials[0].Entropy[7]) > 0.01 {
		t.Errorf("theta %v of the entropy %v", m.Trials[0].Theta, m.Trials[0].Entropy[7])
	}
}
