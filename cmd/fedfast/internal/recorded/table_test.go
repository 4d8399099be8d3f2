package recorded

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// made is a table of n configurations of one learning rate, the error of which falls from
// round to round to that of its place.
func made(n int) *Table {
	t := &Table{Head: Head{
		Format: format, Name: "made", Rounds: 9, RecordEvery: 3, Clients: []Client{{"a", 10, 5}, {"b", 30, 0}, {"c", 20, 5}},
		Space:  map[string]any{"client.lr": map[string]any{"log10": []any{-4.0, 0.0}}},
		Config: "name = \"made\"\ncohort = 2\ntarget = \"global\"\nseed = 3\n[tuner]\nname = \"random\"\n[budget]\nrounds = 72\ntrial_rounds = 9\n[space]\n\"client.lr\" = {log10 = [-4, 0]}\n",
	}}
	for i := range n {
		p := tuners.Params{"client.lr": tuners.Num(math.Pow(10, -4+4*float64(i)/float64(n)))}
		t.Configurations = append(t.Configurations, p)
		r := study.Recording{Trial: i, Seed: 3, Params: p, Rounds: 9}
		row := Row{Config: i, Seed: 3, Rounds: 9}
		for _, round := range []int{0, 3, 6, 9} {
			e := 1 - float64(round*(i+1))/float64(10*n)
			r.Points = append(r.Points, study.RecordedPoint{
				Round: round, Val: []float64{e, e * e, e},
				Test: []float64{e, math.NaN(), e}, Central: math.NaN(), TrainLoss: math.NaN(), Seconds: math.NaN(),
			})
			row.Recorded, row.SHA256 = append(row.Recorded, round), append(row.SHA256, "x")
		}
		t.Trained, t.Rows = append(t.Trained, r), append(t.Rows, row)
	}
	return t
}

// opened writes a table and reads it again.
func opened(t *testing.T, n int) (*Table, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := made(n).Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return got, path
}

func TestTableIsRead(t *testing.T) {
	got, _ := opened(t, 5)
	want := made(5)
	for i := range want.Trained {
		for k, p := range want.Trained[i].Points {
			for c, e := range p.Val {
				if have := got.Trained[i].Points[k]; have.Round != p.Round || have.Val[c] != e || have.Test[c] != p.Test[c] &&
					!math.IsNaN(p.Test[c]) {
					t.Errorf("row %d: %+v, want %+v", i, have, p)
				}
			}
		}
	}
	if best, lowest := got.Best(); best != 4 || lowest != got.error(&want.Trained[4], 9) {
		t.Errorf("the best is %d with %v", best, lowest)
	}
}

// TestBadHeads: what the JSON file says is checked before it is used.
func TestBadHeads(t *testing.T) {
	_, path := opened(t, 2)
	text, err := os.ReadFile(HeadPath(path))
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(h map[string]any){
		"format 2: ":                            func(h map[string]any) { h["format"] = 2 },
		"space: ":                               func(h map[string]any) { h["space"] = map[string]any{"x": map[string]any{"log9": []int{1, 2}}} },
		"configuration 0: client.lr is missing": func(h map[string]any) { h["configurations"] = []any{map[string]any{}} },
		"client 0: negative":                    func(h map[string]any) { h["clients"] = []any{map[string]any{"val": -1}} },
		"0 rounds: must be 1 to 1048576":        func(h map[string]any) { h["rounds"] = 0 },
		"client 1: with it there are more than 268435456 samples": func(h map[string]any) {
			h["clients"].([]any)[1].(map[string]any)["test"] = 1 << 28
		},
		"row 1: it failed or diverged in no round": func(h map[string]any) { h["rows"].([]any)[1].(map[string]any)["failed"] = "why" },
		`target "both": must be "personalized", `:  func(h map[string]any) { h["target"] = "both" },
		"a table has clients":                      func(h map[string]any) { h["clients"] = nil },
		"row 0: of no configuration": func(h map[string]any) {
			h["rows"] = []any{map[string]any{"config": 7, "rounds": 9, "recorded": []int{0}, "weights_sha256": []string{""}}}
		},
		"configuration 1: no row": func(h map[string]any) { h["rows"] = h["rows"].([]any)[:1] },
		"24 rows, but the JSON file has 3 clients at 7 rounds": func(h map[string]any) {
			row := h["rows"].([]any)[0].(map[string]any)
			row["recorded"], row["weights_sha256"] = row["recorded"].([]any)[1:], row["weights_sha256"].([]any)[1:]
			row["recorded"].([]any)[0] = 0
		},
		"its SHA-256 is": func(h map[string]any) { h["parquet_sha256"] = "0" },
	} {
		var h map[string]any
		if err := json.Unmarshal(text, &h); err != nil {
			t.Fatal(err)
		}
		change(h)
		changed, err := json.Marshal(h)
		if err == nil {
			err = os.WriteFile(HeadPath(path), changed, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestPlayerTakesTheNearest(t *testing.T) {
	table, _ := opened(t, 3)
	lr := func(x float64) tuners.Params { return tuners.Params{"client.lr": tuners.Num(x)} }
	p := table.Player(3)
	for trial, want := range []struct {
		lr   float64
		row  int
		near int
	}{{1e-4, 0, 0}, {2e-4, 1, 1}, {1e-4, 2, 2}, {2e-4, 0, 3}} {
		if r := p.Take(trial, lr(want.lr)); r.Trial != want.row || p.Near != want.near {
			t.Errorf("trial %d takes row %d, near %d; want %+v", trial, r.Trial, p.Near, want)
		}
	}
	if p.Again != 1 {
		t.Errorf("%d took a used row", p.Again)
	}
}

// TestContest: ranks and wins of tuners add up, and a tuner that cannot play is left out.
func TestContest(t *testing.T) {
	table, _ := opened(t, 16)
	builtin := plugins.Builtin()
	c := Contest{Tables: []Named[*Table]{{"one", table}, {"two", table}}, Seeds: 6, Workers: 2}
	for _, name := range []string{"random", "hyperband", "pbt"} {
		c.Tuners = append(c.Tuners, Named[tuners.Tuner]{name, host.Local(builtin[name])})
	}
	s, err := c.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cells) != 4 || len(s.Ranks) != 2 || len(s.LeftOut) != 2 || !strings.Contains(s.LeftOut[0],
		"pbt on one: tuner.name") {
		t.Fatalf("%+v", s)
	}
	if sum := s.Ranks[0].Rank.Mean + s.Ranks[1].Rank.Mean; math.Abs(sum-3) > 1e-12 {
		t.Errorf("mean ranks %v", s.Ranks)
	}
	if sum := s.Ranks[0].Wins + s.Ranks[1].Wins; math.Abs(sum-1) > 1e-12 {
		t.Errorf("shares of wins %v", s.Ranks)
	}
	if r := s.Ranks[1]; r.Tuner != "hyperband" || !math.IsNaN(r.Regrets[0].Mean) || !(r.Regrets[1].Mean > 0) {
		t.Errorf("hyperband, which refuses the smallest budget: %+v", r)
	}
	for _, cell := range s.Cells {
		for i, r := range cell.Regrets {
			if few := cell.Tuner == "hyperband" && i == 0; few && r.Rounds == 0 && r.Scaled == nil {
				continue // 18 rounds are less than a bracket
			}
			if r.Trainings != trainings[i] || r.Rounds > r.Trainings*table.Rounds || len(r.Scaled) != 6 ||
				slices.Min(r.Scaled) < 0 {
				t.Errorf("%s: regrets %+v", cell.Tuner, r)
			}
		}
		first, last := cell.Regrets[1].Scaled, cell.Regrets[len(trainings)-1].Scaled
		if !(stat.Mean(last, nil) < stat.Mean(first, nil)) {
			t.Errorf("%s: regrets %v with the smallest budget, %v with the largest", cell.Tuner, first, last)
		}
	}
	again, err := c.Play(t.Context())
	if err != nil || fmt.Sprint(again.Ranks[0]) != fmt.Sprint(s.Ranks[0]) {
		t.Errorf("%+v, %v", again, err)
	}
	one := c
	one.Known, one.Tuners = s, c.Tuners[:1] // random plays again, hyperband is known
	if again, err = one.Play(t.Context()); err != nil || fmt.Sprint(again.Ranks) != fmt.Sprint(s.Ranks) ||
		len(again.Cells) != 4 {
		t.Errorf("with known results %+v, %v", again, err)
	}
	// A table on which no tuner could play takes no rank from the others.
	unplayed := *s
	unplayed.Tables, unplayed.Ranks = append(slices.Clone(s.Tables), Digest{Name: "three"}), nil
	if unplayed.rank(); fmt.Sprint(unplayed.Ranks) != fmt.Sprint(s.Ranks) {
		t.Errorf("with a table that nobody played on: %+v, want %+v", unplayed.Ranks, s.Ranks)
	}
	one.Known, one.Tuners = nil, []Named[tuners.Tuner]{c.Tuners[0], {"proxy", builtin["proxy"]}}
	again, err = one.Play(t.Context())
	if err != nil || len(again.Cells) != 2 { // one table stands for both: there is no other
		t.Fatalf("%+v, %v", again, err)
	}
	other, _ := opened(t, 16)
	one.Tables = []Named[*Table]{{"one", table}, {"two", other}}
	if again, err = one.Play(t.Context()); err != nil || len(again.Cells) != 4 || len(again.Pairs) != 1 ||
		again.Friedman.Blocks != 48 {
		t.Fatalf("%+v, %v", again, err)
	}
	shot := again.Cells[1] // one training is left of two, which the best of one training on the other table has
	if shot.Tuner != "proxy" || shot.Regrets[0].Rounds != 2*table.Rounds {
		t.Errorf("%+v", shot)
	}
	damaged := *s
	damaged.Cells = append(slices.Clone(s.Cells), s.Cells[0])
	one.Known, one.Tables = &damaged, c.Tables
	if _, err := one.Play(t.Context()); err == nil ||
		err.Error() != "the known results of random on one must be there once, with regrets of 6 seeds at 4 budgets" {
		t.Error(err)
	}
	one.Known, one.Seeds = s, 5
	if _, err := one.Play(t.Context()); err == nil || !strings.HasPrefix(err.Error(),
		"the known results are of 6 seeds ") {
		t.Error(err)
	}
	if _, err := s.Figure(); err != nil {
		t.Error(err)
	}
}
