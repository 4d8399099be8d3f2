package repro

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
)

// smallArm is an arm of PerFedRLNAS's experiment on embedded data.
func smallArm(arm nasArm) *Training {
	t := nasTraining(arm)
	t.Key, t.Needs = "small-"+arm.Name, "glyphs"
	t.Sets = append(t.Sets, "data.name=glyphs", "data.partition=", "data.alpha=0", "data.clients=5",
		"data.unseen_clients=1", "data.samples=20", "cohort=4", "client.batch=8", "rounds=1", "budget.rounds=1",
		"budget.trial_rounds=1", "client.lr_length=1", "client.epochs=1", "eval.clients=1")
	return t
}

// TestArmsOfSearch runs the arms that search and FedAvg: all tell the personalized
// error after the last round and the simulated seconds of each, PerFedRLNAS also every
// client's policy beside its classes, FedEx its theta, and the files say the same.
func TestArmsOfSearch(t *testing.T) {
	here(t)
	var cells []Cell
	for _, c := range nasCells() {
		for _, arm := range papers().NAS.Arms {
			if !slices.Contains([]string{"perfedrlnas", "fedavg", "fedex"}, arm.Name) {
				continue
			}
			if strings.HasPrefix(c.Name, nasTable+"/"+arm.Name+"/") && c.Training != nil {
				c.Training = smallArm(arm)
				cells = append(cells, c)
			}
		}
	}
	dir := t.TempDir()
	jobs, _, err := Plan(t.Context(), cells, Options{Seeds: 1}, dir)
	if err != nil || len(jobs) != 3 {
		t.Fatal(len(jobs), err)
	}
	all := runAll(t, jobs)
	for i, m := range all {
		if e := m.End; len(m.Trials) != 1 || len(m.Trials[0].Simulated) != 1 || len(m.Trials[0].Personalized) != 1 ||
			e.Survivor == nil || e.Survivor.Round != 1 || e.Survivor.PersonalizedTest == nil {
			t.Errorf("%+v, %+v", m.Trials, e)
		}
		if x := m.End.newClients(); !(x >= 0 && x <= 100) {
			t.Errorf("the error of the new client is %v", x)
		}
		if read, err := ReadMetrics(jobs[i].File); err != nil || !reflect.DeepEqual(read.Clients, m.Clients) {
			t.Errorf("of the file %+v, %v", read, err)
		}
	}
	search, fixed, shared := all[0], all[1], all[2]
	if len(search.Clients) != 4 || len(fixed.Clients) > 0 {
		t.Fatalf("%d and %d clients with policies", len(search.Clients), len(fixed.Clients))
	}
	if line := shared.Trials[0]; len(line.Theta) != 27 || len(line.Entropy) != 1 || len(line.Configs) > 0 {
		t.Errorf("FedEx tells %d values of theta, %d entropies and %d configurations", len(line.Theta), len(line.Entropy),
			len(line.Configs))
	}
	examples := 0
	for _, c := range search.Clients {
		options := 0
		for _, n := range c.Classes {
			examples += n
		}
		for _, chances := range c.Policy {
			sum := 0.0
			for _, p := range chances {
				sum += p
			}
			options += len(chances)
			if math.Abs(sum-1) > 1e-5 {
				t.Errorf("client %d: chances %v", c.Client, chances)
			}
		}
		if len(c.Policy) != 16 || options != 38 {
			t.Errorf("client %d: %d choices of %d options", c.Client, len(c.Policy), options)
		}
	}
	if examples != search.Head.Data.Train {
		t.Errorf("the classes count %d training examples, there are %d", examples, search.Head.Data.Train)
	}
	// A phone of 1.25 MB/s: some 170,194 parameters there and back, beside which some 10
	// examples of 3 times 15.5 MFLOP at 10 GFLOP/s are little.
	if s, _ := simulatedSeconds(fixed); s < 1.0 || s > 1.3 {
		t.Errorf("a round of FedAvg takes %v simulated seconds", s)
	}
	report, err := NewReport(cells, all)
	if err != nil || len(report.Rows) != 7 || len(report.Verdicts) != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := report.Tables()[0].Rows[0][2]; got != "not at hand" {
		t.Errorf("published is %q", got)
	}
	if tables := report.Tables(); len(tables) != 3 { // one arm each: none arm by arm
		t.Errorf("%d tables", len(tables))
	}
	found, err := Find(dir)
	if err != nil || len(found) != 3 {
		t.Error(len(found), err)
	}
}

// TestLikeness: Theorem 1 by hand. Clients 0 and 1 have like data and like policies,
// client 2 has neither.
func TestLikeness(t *testing.T) {
	sure, other := [][]float64{{0.9, 0.1}}, [][]float64{{0.2, 0.8}}
	m := &Metrics{Clients: []ClientLine{
		{Client: 0, Classes: []int{8, 2}, Policy: sure},
		{Client: 1, Classes: []int{7, 3}, Policy: [][]float64{{0.8, 0.2}}},
		{Client: 2, Classes: []int{0, 10}, Policy: other},
	}}
	if x, _ := likeness(m); math.Abs(x-1) > 1e-12 {
		t.Errorf("likeness %v, want 1", x)
	}
	m.Clients[0].Policy, m.Clients[2].Policy = other, sure
	if x, _ := likeness(m); math.Abs(x-0.5) > 1e-12 { // .32, .26 and .74 in the order 3, 1, 2
		t.Errorf("likeness %v with the policies of other data, want 0.5", x)
	}
	if x, _ := likeness(&Metrics{}); !math.IsNaN(x) {
		t.Errorf("likeness %v without clients", x)
	}
	// Disjoint mixes are log 2 apart, equal ones 0.
	if x := divergence([]int{5, 0}, []int{0, 9}); math.Abs(x-math.Ln2) > 1e-12 {
		t.Errorf("divergence %v, want log 2", x)
	}
	if x := divergence([]int{2, 4}, []int{1, 2}); x != 0 {
		t.Errorf("divergence %v of equal mixes", x)
	}
}

// TestScaledSearch: the schedule ends with the rounds at any scale, and all arms deal
// alike data.
func TestScaledSearch(t *testing.T) {
	var first *config.Config
	for _, arm := range papers().NAS.Arms {
		c, notes, err := nasTraining(arm).config(Options{Scale: 0.6}, 1, "")
		if err != nil {
			t.Fatal(err)
		}
		if c.Rounds != 180 || c.Budget != (config.Budget{Rounds: 180, TrialRounds: 180}) || c.Client.Length != 180 ||
			c.Client.Min != 0.01 || notes[len(notes)-1] != "scaled by 0.6: 180 rounds instead of 300" {
			t.Errorf("%s: %+v, %q", arm.Name, c, notes)
		}
		if first == nil {
			first = c
		}
		c.Client.HeadEpochs = 0 // of methods that part the head
		if !reflect.DeepEqual(c.Data, first.Data) || !reflect.DeepEqual(c.Client, first.Client) || c.Cohort != first.Cohort {
			t.Errorf("%s differs from %s in more than its networks: %+v", arm.Name, papers().NAS.Arms[0].Name, c)
		}
	}
}
