package repro

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// TestCells checks the catalogue: every cell that can be run has a configuration that holds, as published and scaled.
func TestCells(t *testing.T) {
	names := map[string]bool{}
	keys := map[string]*Training{}
	for _, c := range Cells() {
		if names[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		names[c.Name] = true
		if c.Training == nil {
			if c.Why == "" {
				t.Errorf("%s: nothing says why it cannot be run", c.Name)
			}
			continue
		}
		if _, ok := places[c.Training.Needs]; !ok || fullSets[c.Training.Needs].classes == 0 {
			t.Errorf("%s: data %q are not known", c.Name, c.Training.Needs)
		}
		if have := keys[c.Training.Key]; have != nil {
			if have.Mode != c.Training.Mode || !slices.Equal(have.Sets, c.Training.Sets) || have.Trials != c.Training.Trials {
				t.Errorf("%s: another training has the key %s", c.Name, c.Training.Key)
			}
			continue
		}
		keys[c.Training.Key] = c.Training
		for _, o := range []Options{{}, {Scale: 0.1}, {AsPaper: true}} {
			if _, _, err := c.Training.config(o, 1, ""); err != nil {
				t.Errorf("%s %+v: %v", c.Name, o, err)
			}
		}
	}
	for _, training := range keys {
		if s := keys[training.Shares]; training.Shares != "" && s == nil {
			t.Errorf("%s shares the rounds of %s, which is none", training.Key, training.Shares)
		}
	}
	for _, claim := range Comparisons() {
		if !names[claim.New] || !names[claim.Old] {
			t.Errorf("%s compares %s and %s, which are not both cells", claim.Name, claim.New, claim.Old)
		}
	}
	if n := len(names); n < 40+24*2 {
		t.Errorf("only %d cells", n)
	}
}

// TestConfigs looks at what the papers say, and at how it is scaled.
func TestConfigs(t *testing.T) {
	config := func(name string, o Options) (*study.Config, []string) {
		t.Helper()
		cells, err := Select(name)
		if err != nil {
			t.Fatal(err)
		}
		c, notes, err := cells[0].Training.config(o, 3, "")
		if err != nil {
			t.Fatal(err)
		}
		return c, notes
	}
	c, _ := config("fedex-table1/femnist-iid/rs/global/alone", Options{})
	if c.Tuner.Name != "random" || c.ClientTuner.Name != "" || c.Target != "global" || !c.Data.IID || c.Seed != 3 || c.Budget != (study.Budget{Rounds: 2000, TrialRounds: 200}) {
		t.Errorf("%+v", c)
	}
	c, notes := config("fedex-table1/cifar10-iid/sha/personalized/fedex", Options{Scale: 0.05, Sets: []string{"cohort=5"}})
	if c.Budget != (study.Budget{Rounds: 200, TrialRounds: 40}) || c.Cohort != 5 || c.ClientTuner.Name != "fedex" || !slices.Contains(notes, "set by hand: cohort=5") {
		t.Errorf("%+v, %q", c, notes)
	}
	c, _ = config("fedex-table1/cifar10-iid/sha/personalized/fedex", Options{AsPaper: true})
	if _, tuned := c.Space["server.lr"]; tuned || c.Objective != "loss" || c.ClientTuner.Options["as_paper"] != true {
		t.Errorf("as the paper has it: %+v", c)
	}
	c, _ = config("fathom-table1/clients200/fedavg", Options{})
	if c.Cohort != 200 || c.Rounds != 2000 || c.Eval.Goal != 0.86 || c.Client.LR != 0.1 || c.Client.Batch != 20 || !c.Client.Wrap {
		t.Errorf("%+v", c)
	}
	c, _ = config("fathom-table1/clients200/fathom", Options{Scale: 0.2})
	if c.Cohort != 40 || c.Budget.TrialRounds != 400 || c.Eval.Goal != 0.7 || c.Tuner.Options["clip_logs"] != false {
		t.Errorf("%+v", c)
	}
	c, notes = config("fathom-table1/base/fathom", Options{AsPaper: true})
	if c.Tuner.Options["as_paper"] != true || !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "also with --as-paper") }) {
		t.Errorf("%+v, %q", c.Tuner.Options, notes)
	}
	c, _ = config("fedtune-table1/fmnist/table", Options{Scale: 0.25})
	if c.Rounds != 125 || !slices.Equal(c.Data.Sizes, []int{25, 50, 100, 150, 200, 250}) || c.Tuner.Options["samples"] != "25, 50, 100, 150, 200, 250" || c.Tuner.Options["rounds"] != int64(5) {
		t.Errorf("%+v", c)
	}
}

// TestDigest: neither the seed nor the place of the data changes the name of the settings; everything else does.
func TestDigest(t *testing.T) {
	name := func(change func(*study.Config)) string {
		c := study.DefaultConfig()
		c.Tuner.Options = map[string]any{"samples": "1"}
		change(&c)
		d, err := digest(&c)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same := name(func(*study.Config) {})
	if got := name(func(c *study.Config) { c.Seed, c.Data.Path, c.Tuner.Options["table"] = 9, "/there", "0.1 1 1 1 1" }); got != same {
		t.Errorf("seed, path and table change the name: %s, %s", same, got)
	}
	if got := name(func(c *study.Config) { c.Cohort = 11 }); got == same {
		t.Error("the cohort does not change the name")
	}
	if got := name(func(c *study.Config) { c.Tuner.Options["samples"] = "2" }); got == same {
		t.Error("an option does not change the name")
	}
}

// here makes a place for data that need no files.
func here(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	places["glyphs"] = place{files: []string{"x"}, elsewhere: dir}
	t.Cleanup(func() { delete(places, "glyphs") })
}

// small is a study of successive halving on embedded data.
func small(target, tuning string) *Training {
	t := &Training{
		Key: "small-" + target + "-" + tuning, Mode: study.ModeTune, Preset: "quickstart", Needs: "glyphs", Trials: 2, Shrink: shrinkFedex, Tuner: "sha", ClientTuner: "none",
		Sets: []string{
			"target=" + target, "score.both=true", "eval.every=4", "eval.clients=4", "model=logistic", "data.clients=8", "data.samples=30", "cohort=3",
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
				Name: "fedex-table1/cifar10-iid/sha/" + target + "/" + tuning, Training: small(target, tuning), Measure: returnedError(target), Unit: "%",
				Published: &Published{Mean: 20, SD: 1, Trials: 2}, Picture: "small/" + target, Target: target,
			})
		}
	}
	return cells
}

// runner trains in this process.
type runner struct {
	t     *testing.T
	alone bool // never shares rounds
	ran   []string
}

func (r *runner) Open(ctx context.Context, c *study.Config) (*data.Federation, error) {
	fed, _, err := study.Prepare(ctx, c)
	return fed, err
}

func (r *runner) Train(ctx context.Context, j *Job) (err error) {
	r.ran = append(r.ran, j.Training.Key)
	fed, model, err := study.Prepare(ctx, j.Config)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, j.Study)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if j.From != "" && !r.alone {
		from, err := store.Look(ctx, j.From)
		if err != nil {
			return err
		}
		if err := errors.Join(study.Share(ctx, from, s, j.Config), from.Close()); err != nil {
			return err
		}
	}
	setup := study.Setup{Config: *j.Config, Data: fed, Model: model, Tuner: plugins.Builtin()[j.Config.Tuner.Name], Store: s, KeepTrials: j.Keep, Workers: 2}
	if j.Config.ClientTuner.Name != "" {
		setup.ClientTuner = plugins.Builtin()[j.Config.ClientTuner.Name]
	}
	_, err = study.Tune(ctx, setup)
	return err
}

func runAll(t *testing.T, jobs []*Job, r Runner) []*Metrics {
	t.Helper()
	var all []*Metrics
	for _, j := range jobs {
		m, err := j.Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// TestRunAndReport runs a small table twice, with and without sharing rounds: the numbers are the same, and those of the files too.
func TestRunAndReport(t *testing.T) {
	here(t)
	cells := smallCells()
	dir := t.TempDir()
	o := Options{Trials: 2}
	jobs, left, err := Plan(cells, o, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 8 || len(left) > 0 {
		t.Fatalf("%d jobs, want 8", len(jobs))
	}
	shared := runAll(t, jobs, &runner{t: t})
	others, _, err := Plan(cells, o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range runAll(t, others, &runner{t: t, alone: true}) {
		m.End.Seconds, shared[i].End.Seconds = 0, 0
		if !reflect.DeepEqual(m.End, shared[i].End) {
			t.Errorf("%s: shared %+v, alone %+v", m.Head.Training, shared[i].End, m.End)
		}
		for k := range m.Trials {
			if a, b := m.Trials[k], shared[i].Trials[k]; !reflect.DeepEqual(a.Global, b.Global) || !reflect.DeepEqual(a.Personalized, b.Personalized) || !reflect.DeepEqual(a.Configs, b.Configs) {
				t.Errorf("%s: arm %d differs", m.Head.Training, k)
			}
		}
	}
	fedex := shared[1]
	if fedex.Head.Training != "small-personalized-fedex" || len(fedex.Trials) != 9 || len(fedex.Trials[0].Configs) != 27 || len(fedex.Trials[0].Configs[0]) != len(fedex.Trials[0].ConfigParams) {
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
	if len(merged.Rows) != 4 || merged.Rows[0].Sample.N != 2 || len(merged.Verdicts) != 2 || merged.Verdicts[0].Gain.N != 2 {
		t.Errorf("%+v", merged.Rows)
	}
	curves := merged.Curves()
	if len(curves) != 2 || len(curves[0].Series) != 2 || len(curves[0].Series[1].Trials[2]) == 0 {
		t.Fatalf("%+v", curves)
	}
	var svg, csv strings.Builder
	if err := errors.Join(curves[0].WriteSVG(&svg), curves[0].WriteCSV(&csv)); err != nil || !strings.Contains(svg.String(), "<path") || !strings.HasPrefix(csv.String(), "method,trial,rounds,") {
		t.Errorf("%v", err)
	}
	if _, err := NewReport(cells, append(found, found[0])); err == nil || !strings.Contains(err.Error(), "is there twice") {
		t.Errorf("one trial twice: %v", err)
	}
	found[0].Head.Digest = "other"
	if _, err := NewReport(cells, found); err == nil || !strings.Contains(err.Error(), "different settings") {
		t.Errorf("other settings: %v", err)
	}
}

// TestPlan checks the order of jobs and their shards.
func TestPlan(t *testing.T) {
	here(t)
	jobs, _, err := Plan(smallCells(), Options{Trials: 3, Scale: 0.5}, "out")
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	seen := map[*Job]int{}
	for i, j := range jobs {
		at[j.Study] = i
		if j.From != "" {
			source, ok := at[j.From]
			if !ok || !jobs[source].Keep || jobs[source].group != j.group || jobs[source].Trial != j.Trial {
				t.Errorf("%s, trial %d, shares %s", j.Training.Key, j.Trial, j.From)
			}
		}
	}
	for i := 1; i <= 4; i++ {
		for _, j := range jobs {
			if j.In(Shard{i, 4}) {
				seen[j]++
			}
		}
	}
	for _, j := range jobs {
		if seen[j] != 1 {
			t.Errorf("%s, trial %d, is in %d shards", j.Training.Key, j.Trial, seen[j])
		}
	}
	tables, _, err := Plan([]Cell{{Name: "a", Training: &Training{Key: "t", Mode: study.ModeTune, Preset: "quickstart", Needs: "glyphs", OneTable: true, Shrink: shrinkFedex}}}, Options{Trials: 3}, "out")
	if err != nil {
		t.Fatal(err)
	}
	if tables[2].table != tables[0] || tables[2].group != tables[0].group {
		t.Errorf("the third trial looks up the table of %+v", tables[2].table)
	}
	missing := &Training{Key: "m", Mode: study.ModeTune, Preset: "quickstart", Needs: "cifar100", Trials: 1, Shrink: shrinkFedex}
	some, left, err := Plan(append(smallCells(), Cell{Name: "b", Training: missing}), Options{Trials: 1}, "out")
	if err != nil || len(some) != 4 || !slices.Equal(left, []string{"m"}) {
		t.Errorf("%d jobs, without %q: %v", len(some), left, err)
	}
	if _, _, err := Plan([]Cell{{Name: "b", Training: missing}}, Options{}, "out"); err == nil || !strings.Contains(err.Error(), "data cifar100: ") {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{"0/2", "3/2", "1", "a/b", "1/0", "-1/3"} {
		if _, err := ParseShard(text); err == nil {
			t.Errorf("%q is a shard", text)
		}
	}
}

// TestIntervals compares with FedEx's Table 2, which prints 90 % Student-t intervals of the standard deviations in Table 1.
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		n        int
		sd, half float64
	}{{5, 10.03, 9.56}, {5, 17.57, 16.75}, {5, 1.68, 1.60}, {10, 4.56, 2.64}, {10, 1.31, 0.76}} {
		// n numbers of that standard deviation: one at each side of the mean and the others on it.
		xs := make([]float64, c.n)
		xs[0] = c.sd * math.Sqrt(float64(c.n-1)/2)
		xs[1] = -xs[0]
		s := sampleOf(xs)
		if math.Abs(s.SD-c.sd) > 1e-9 || math.Abs(s.Half-c.half) > 0.006 {
			t.Errorf("n = %d, sd %v: %+v, want %v", c.n, c.sd, s, c.half)
		}
	}
	if s := sampleOf(nil); s.N != 0 || !math.IsNaN(s.Mean) {
		t.Errorf("of nothing: %+v", s)
	}
}

func TestVerdicts(t *testing.T) {
	row := func(values []float64, failed ...int) *Row {
		r := &Row{Values: values, Cell: Cell{Published: &Published{Mean: values[0]}}}
		for i := range values {
			r.Reached = append(r.Reached, !slices.Contains(failed, i))
		}
		return r
	}
	nan := math.NaN()
	for name, c := range map[string]struct {
		fresh, old *Row
		higher     bool
		holds      string
		order      string
		gain       float64
		n          int
		bound      bool
	}{
		"yes":      {row([]float64{10, 11, 12}), row([]float64{20, 21.5, 22}), false, "yes", "same", 31.5/3 - 0.0, 3, false},
		"no":       {row([]float64{20, 21.5, 22}), row([]float64{10, 11, 12}), false, "no, the opposite", "same", -10.5 + 1.0/3, 3, false},
		"higher":   {row([]float64{80, 82}), row([]float64{70, 71}), true, "yes", "same", 10.5, 2, false},
		"chance":   {row([]float64{1, 20, 3}), row([]float64{9, 9, 9}), false, "in the mean, not beyond chance", "same", 1, 3, false},
		"one":      {row([]float64{10, nan}), row([]float64{9, 3}), false, "cannot be said from one trial (it speaks against it)", "same", -1, 1, false},
		"bound":    {row([]float64{10, 10}), row([]float64{400, 400}, 1), false, "in the mean, not beyond chance", "same", 390, 2, true},
		"no goals": {row([]float64{400, 400}, 0, 1), row([]float64{400, 400}, 0, 1), false, "cannot be said: no trial reached the goal", "", nan, 0, false},
	} {
		v := verdictOf(Comparison{Higher: c.higher}, c.fresh, c.old)
		switch name {
		case "yes", "no": // the means of 10, 10.5 and 10
			c.gain = math.Copysign(30.5/3, c.gain)
		case "bound": // equal gains have no spread
			c.holds = "yes"
		}
		if v.Holds() != c.holds || v.Order() != c.order && name != "no" || v.Gain.N != c.n || v.Bound != c.bound || math.Abs(v.Gain.Mean-c.gain) > 1e-9 {
			t.Errorf("%s: %q, order %q, %+v", name, v.Holds(), v.Order(), v)
		}
	}
}

// TestOnline follows two rungs by hand: all trials first, then those that went on.
func TestOnline(t *testing.T) {
	list := func(xs ...float64) []*float64 {
		var out []*float64
		for _, x := range xs {
			out = append(out, &x)
		}
		return out
	}
	m := &Metrics{Trials: []TrialLine{
		{Number: 0, Rungs: []study.Rung{{Round: 2}}, Personalized: list(0.9, 0.8), Global: list(0.9, 0.9)},
		{
			Number: 1, Rungs: []study.Rung{{Round: 2}, {Round: 4}}, Personalized: list(0.85, 0.7, 0.75, 0.5), Global: list(0.99, 0.98, 0.97, 0.96),
			Test: []study.CurvePoint{{Round: 2, TestError: 0.6}, {Round: 4, TestError: 0.55}},
		},
		{Number: 2, Rungs: []study.Rung{{Round: 2}}, Personalized: list(0.6, 0.65), Global: list(0.95, 0.94)},
	}}
	got := m.Online(tuners.TargetPersonalized)
	want := []Step{{1, 90, math.NaN()}, {2, 80, math.NaN()}, {4, 70, 60}, {5, 60, math.NaN()}, {8, 50, 55}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i, w := range want {
		if g := got[i]; g.Rounds != w.Rounds || math.Abs(g.Value-w.Value) > 1e-9 || math.IsNaN(g.Test) != math.IsNaN(w.Test) || !math.IsNaN(w.Test) && math.Abs(g.Test-w.Test) > 1e-9 {
			t.Errorf("point %d: %v, want %v", i, g, w)
		}
	}
	if got := m.Online(tuners.TargetGlobal); len(got) != 2 || got[0].Rounds != 1 || got[1].Rounds != 8 || got[1].Value != 90 {
		t.Errorf("global: %v", got)
	}
}

func TestDamagedMetrics(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":                                     "the first or the last line",
		`{"kind":"head","format":1}` + "\n":    "the first or the last line",
		`{"kind":"head","format":2}` + "\n":    "metrics of form 2; this version reads form 1",
		`{"kind":"tail"}` + "\n":               `its kind is "tail"`,
		"nonsense\n":                           ":1: not a line of metrics",
		`{"kind":"trial","number":"x"}` + "\n": ":1: json",
	} {
		path := filepath.Join(dir, "m.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadMetrics(path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Find(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no metrics below") {
		t.Errorf("got %v", err)
	}
}

func TestSelect(t *testing.T) {
	if cells, err := Select("fathom-table1/lr0.05"); err != nil || len(cells) != 4 {
		t.Errorf("%d cells, %v", len(cells), err)
	}
	if _, err := Select("fathom-table1/lr0.5"); err == nil || !strings.Contains(err.Error(), `did you mean "fathom-table1/lr0.05"`) {
		t.Errorf("got %v", err)
	}
	if _, _, err := Plan(later(), Options{}, "out"); err == nil || !strings.Contains(err.Error(), "perfedrlnas cannot be run: ") {
		t.Errorf("got %v", err)
	}
}

func TestLocate(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"femnist/train/a.json", "shakespeare/moby/raw_data.txt.gz"} {
		path := filepath.Join(root, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][2]string{{root, "femnist"}, {filepath.Join(root, "femnist"), "femnist"}} {
		if got, err := Locate("leaf-femnist", c[0]); err != nil || got != filepath.Join(root, c[1]) {
			t.Errorf("%s: %s, %v", c[0], got, err)
		}
	}
	if got, err := Locate("leaf-shakespeare", root); err != nil || filepath.Base(got) != "raw_data.txt.gz" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := Locate("cifar100", root); err == nil || !strings.Contains(err.Error(), "there is no train.bin.gz or train.bin in") {
		t.Errorf("got %v", err)
	}
	if _, err := Locate("stackoverflow", ""); err == nil || !strings.Contains(err.Error(), "no directory was named with --data") {
		t.Errorf("got %v", err)
	}
}
