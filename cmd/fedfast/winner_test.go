package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestWinnerTrainedAnew holds that the hyperparameters of a winner, trained from the beginning, come near
// the model that the study returned, where those that its trial started from do not: FedEx starts
// here at a learning rate of 0.0002 and ends at 0.05.
func TestWinnerTrainedAnew(t *testing.T) {
	dir := t.TempDir()
	study := filepath.Join(dir, "lr.toml")
	if err := os.WriteFile(study, []byte(`seed = 2
model = "logistic"
data = {name = "synthetic", clients = 60}
budget = {rounds = 80, trial_rounds = 80}
tuner = {name = "fedex", options = {independent = true, configs = 9}}
space = {client = {lr = {log10 = [-4.0, 0.0]}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	type model struct {
		Test        float64            `json:"personalized_test_error"`
		Params      map[string]float64 `json:"params"`
		StartedFrom map[string]float64 `json:"started_from"`
		Probability float64            `json:"probability"`
		Best        *model             `json:"best"`
	}
	train := func(args ...string) (m model) {
		t.Helper()
		out, err := exec.Command("fedfast", append(args, "--json")...).Output()
		if err == nil {
			err = json.Unmarshal(out, &m)
		}
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return m
	}
	best := train("tune", study, "--study", filepath.Join(dir, "found")).Best
	ended, began := best.Params["client.lr"], best.StartedFrom["client.lr"]
	if ended < 20*began || best.Probability < 0.9 {
		t.Fatalf("FedEx went from client.lr %v to %v, probability %v", began, ended, best.Probability)
	}
	anew := func(name string, more ...string) float64 {
		return train(append([]string{"run", "--from", filepath.Join(dir, "found"), "--study", filepath.Join(dir, name)},
			more...)...).Test
	}
	var off float64
	for seed := range 3 {
		off += (anew(strconv.Itoa(seed), "--set", fmt.Sprintf("seed=%d", seed), "--set", "data.seed=2") - best.Test) / 3
	}
	if math.Abs(off) > 0.02 {
		t.Errorf("with what FedEx ended with, models have %.4f more errors than the study's, which has %.4f", off, best.Test)
	}
	if start := anew("start", "--set", fmt.Sprint("client.lr=", began)); start < best.Test+0.1 {
		t.Errorf("with what FedEx started from the error is %.4f, the study's %.4f", start, best.Test)
	}
	// A comparison has the same: none of them differs in a run with them, and of others all are told.
	compared := func(name string) string {
		t.Helper()
		page := filepath.Join(dir, name+".html")
		if out, err := exec.Command("fedfast", "report", filepath.Join(dir, "found"), filepath.Join(dir, name), "--out",
			page).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(strings.Split(string(text), "<section")[1], "<wbr>", "")
	}
	if text := compared("0"); strings.Contains(text, "client.lr") || strings.Contains(text, ">rounds<") ||
		!strings.Contains(text, ">data.seed") {
		t.Errorf("the study and its winner trained anew differ: %s", text)
	}
	if text := compared("start"); !strings.Contains(text, "client.lr") ||
		!strings.Contains(text, "<td>"+fmt.Sprint(ended)+"<") || !strings.Contains(text, "<td>"+fmt.Sprint(began)+"<") {
		t.Errorf("client.lr %v and %v are not in %s", ended, began, text)
	}
	// What people read says the same.
	out, err := exec.Command("fedfast", "study", "show", filepath.Join(dir, "found")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		fmt.Sprintf("client.lr=%.3g fedex.gamma=%.3g (probability %.2f)", ended, best.Params["fedex.gamma"],
			best.Probability),
		fmt.Sprintf("client.lr=%.3g ", began),
	} {
		if !strings.Contains(string(out), line) {
			t.Errorf("study show does not say %q:\n%s", line, out)
		}
	}
	if answer, worst := strings.Index(string(out), "\nwinner "),
		strings.Index(string(out), "\nworst clients"); answer < 0 || worst < answer {
		t.Errorf("study show has no answer above the worst clients:\n%s", out)
	}
}
