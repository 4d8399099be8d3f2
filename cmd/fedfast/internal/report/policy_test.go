package report_test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	_ "github.com/fedfast/fedfast/internal/test/glyphs"
)

// TestPolicies lays out a study that searches a network for each client: the page shows
// how likely each option is over the rounds, by the names of the model's options, and
// how far the clients are apart, in one picture each.
func TestPolicies(t *testing.T) {
	c, err := config.Load(config.Source{Preset: "cifar10-nas", Sets: []string{
		"data.name=glyphs", "data.partition=", "data.alpha=0", "data.clients=6", "data.samples=30", "cohort=2",
		"client.batch=8", "client.epochs=1",
		"client.lr_length=2", "eval.clients=1", "finalists.snapshots=1", "budget.rounds=2", "budget.trial_rounds=2",
	}})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "study")
	tune(t, dir, c, 0)
	page := write(t, dir)
	f := read(t, page)
	for _, want := range []string{
		"Client tuner: probability of each option",
		"Client tuner: standard deviation of these probabilities", "stage1.width 32", "stage4.expansion 4",
		"Client tuner: divergence",
	} {
		if !strings.Contains(f.text, want) {
			t.Errorf("it does not show %s", want)
		}
	}
	if n := strings.Count(page, "Heat map of probability for 1 values of rounds of the trial and 53 of option"); n != 1 {
		t.Errorf("%d maps of probabilities with 38 options and 15 gaps between the choices", n)
	}
	if strings.Contains(f.text, "entry of") {
		t.Error("a choice has a picture of its own, too")
	}
	sum := 0.0
	for _, option := range []string{"2", "3", "4"} {
		row := regexp.MustCompile(`stage2\.expansion ` + option + `<td>([0-9.]+)`).FindStringSubmatch(page)
		if row == nil {
			t.Fatalf("no row of stage2.expansion %s", option)
		}
		p, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += p
	}
	if sum < 0.999 || sum > 1.001 {
		t.Errorf("the probabilities of a choice add up to %v", sum)
	}
}

// TestPoliciesOfLayers names the options of a network in the study file by those that
// clients were given.
func TestPoliciesOfLayers(t *testing.T) {
	c, err := config.Load(config.Source{Text: `
method = "supernet"
cohort = 3
data = { name = "glyphs", clients = 6, samples = 30 }
budget = { rounds = 6, trial_rounds = 6 }
tuner = { name = "random", allow = ["client_key"], options = { trials = 1 } }
client_tuner.name = "perfedrlnas"
[[model.layers]]
type = "dense"
name = "hidden"
units = { choices = [16, 48] }
[[model.layers]]
type = "relu"
[[model.layers]]
type = "dense"
`})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "study")
	tune(t, dir, c, 0)
	f := read(t, write(t, dir))
	for _, want := range []string{"hidden.units 16", "hidden.units 48"} {
		if !strings.Contains(f.text, want) {
			t.Errorf("it does not show %s", want)
		}
	}
}
