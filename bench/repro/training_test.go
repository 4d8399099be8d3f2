package repro

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
)

// TestConfigs looks at what the papers say, and at how it is scaled.
func TestConfigs(t *testing.T) {
	load := func(name string, o Options) (*config.Config, []string) {
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
	c, _ := load("fedex-table1/femnist-iid/rs/global/alone", Options{})
	if c.Tuner.Name != "random" || c.ClientTuner.Name != "" || c.Target != "global" || c.Data.IID == nil || !*c.Data.IID || c.Seed != 3 || c.Budget != (config.Budget{Rounds: 2000, TrialRounds: 200}) {
		t.Errorf("%+v", c)
	}
	c, notes := load("fedex-table1/cifar10-iid/sha/personalized/fedex", Options{Scale: 0.05, Sets: []string{"cohort=5"}})
	if c.Budget != (config.Budget{Rounds: 200, TrialRounds: 40}) || c.Cohort != 5 || c.ClientTuner.Name != "fedex" || !slices.Contains(notes, "set by hand: cohort=5") {
		t.Errorf("%+v, %q", c, notes)
	}
	c, notes = load("fedtune-table1/fmnist/global", Options{Scale: 0.25, Sets: []string{"method=fedadagrad", "server.lr=0.1"}})
	if c.Method != "fedadagrad" || c.Server.Tau != 1e-3 || c.Server.LR != 0.1 || c.Client.LR != 0.002 || !slices.Contains(notes, "set by hand: method=fedadagrad") {
		t.Errorf("another method has not its own defaults: %+v, %q", c.Server, notes)
	}
	c, _ = load("fedex-table1/cifar10-iid/sha/personalized/fedex", Options{AsPaper: true})
	if _, tuned := c.Space["client.mu"]; tuned || c.Space["server.lr"] == nil || c.Model.Name != "mcmahan-cifar-cnn" || c.Objective != "loss" || c.ClientTuner.Options["as_paper"] != true {
		t.Errorf("as the paper has it: %+v", c)
	}
	c, _ = load("fathom-table1/clients200/fedavg", Options{})
	if c.Cohort != 200 || c.Rounds != 2000 || c.Eval.Goal != 0.86 || c.Client.LR != 0.1 || c.Client.Batch != 20 || !c.Client.Wrap {
		t.Errorf("%+v", c)
	}
	c, _ = load("fathom-table1/clients200/fathom", Options{Scale: 0.2})
	if c.Cohort != 40 || c.Budget.TrialRounds != 400 || c.Eval.Goal != 0.7 || c.Tuner.Options["clip_logs"] != false {
		t.Errorf("%+v", c)
	}
	c, notes = load("fathom-table1/base/fathom", Options{AsPaper: true})
	if c.Tuner.Options["as_paper"] != true || !c.Client.Floor || slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "as the authors' code") }) {
		t.Errorf("%+v, %q", c.Tuner.Options, notes)
	}
	c, _ = load("fedtune-table1/fmnist/table", Options{Scale: 0.25})
	if c.Rounds != 125 || !slices.Equal(c.Data.Sizes, []int{25, 50, 100, 150, 200, 250}) || c.Tuner.Options["samples"] != "25, 50, 100, 150, 200, 250" || c.Tuner.Options["rounds"] != int64(5) {
		t.Errorf("%+v", c)
	}
}

// TestDigest: neither the seed nor the place of the data changes the name of the
// settings; everything else does.
func TestDigest(t *testing.T) {
	name := func(change func(*config.Config)) string {
		c := config.Default()
		c.Tuner.Options = map[string]any{"samples": "1"}
		change(&c)
		d, err := digest(&c)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same := name(func(*config.Config) {})
	if got := name(func(c *config.Config) { c.Seed, c.Data.Path, c.Tuner.Options["table"] = 9, "/there", "0.1 1 1 1 1" }); got != same {
		t.Errorf("seed, path and table change the name: %s, %s", same, got)
	}
	if got := name(func(c *config.Config) { c.Cohort = 11 }); got == same {
		t.Error("the cohort does not change the name")
	}
	if got := name(func(c *config.Config) { c.Tuner.Options["samples"] = "2" }); got == same {
		t.Error("an option does not change the name")
	}
	if got := name(func(c *config.Config) { c.Select = config.SelectPaper }); got == same {
		t.Error("the choice of the returned model does not change the name")
	}
}

// TestRecordedDigests: the settings of recorded seeds, most of which are older
// than some keys, have the names under which they were recorded, so that the same
// command resumes them; none but those on privacy, which are no paper's, chose among finalists.
func TestRecordedDigests(t *testing.T) {
	all, err := Find("../../bench/results/repro", "../../bench/results/methods")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Head.Seed != 1 {
			continue
		}
		c, err := config.Load(config.Source{Text: m.Head.Config})
		if err != nil {
			t.Fatal(err)
		}
		got, err := digest(c)
		if err != nil || c.Select != selects(m.Head.Training) || got != m.Head.Digest {
			t.Errorf("%s: select = %q and the name %s, want %s; %v", m.Head.Training, c.Select, got, m.Head.Digest, err)
		}
	}
	trainings, err := trainingsOf(Cells())
	if err != nil {
		t.Fatal(err)
	}
	for _, training := range trainings {
		c, _, err := training.config(Options{}, 1, "")
		if err != nil {
			t.Fatal(err)
		}
		if c.Select != selects(training.Key) {
			t.Errorf("%s: select = %q", training.Key, c.Select)
		}
	}
}

// selects is how the study of a training chooses what it returns.
func selects(training string) string {
	if strings.HasPrefix(training, "dp-tuners-") || strings.HasPrefix(training, "board-") {
		return config.SelectFinalists
	}
	return config.SelectPaper
}
