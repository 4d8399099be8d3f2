package repro

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/stats"
)

// boardOf is the recorded board.
func boardOf(t *testing.T) *Board {
	t.Helper()
	found, err := Find(filepath.Join(results, "board"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBoard(found)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBoardPage: the page has the first tables that the records give, and no other numbers.
func TestBoardPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(results, "board.md"))
	if err != nil {
		t.Fatal(err)
	}
	b := boardOf(t)
	var numbers tableNumbers
	for i, table := range b.Tables() {
		var text bytes.Buffer
		table.WriteMarkdown(&text)
		numbers.add(text.String())
		if i < 2 && !strings.Contains(string(page), text.String()) {
			t.Errorf("board.md is stale: put in what `fedfast repro merge --board` prints of %q", table.Title)
		}
	}
	_, said, _ := strings.Cut(string(page), "What it says so far:")
	said, _, _ = strings.Cut(said, "\n| method ")
	for _, m := range textNumber.FindAllStringSubmatch(said, -1) {
		if m[2] != "" && !numbers.has(m[1], m[2]) {
			t.Errorf("board.md says %s +- %s, which is in none of its tables", m[1], m[2])
		}
	}
	for _, s := range b.sets {
		for _, m := range s.methods {
			commit := m.search.Head.Environment.Revision
			if len(m.tuned) != boardSeeds || len(m.plain) != boardSeeds || commit == "" {
				t.Errorf("%s, %s: %d and %d seeds", s.Name, m.name, len(m.tuned), len(m.plain))
			}
		}
	}
}

// TestTunedValues: what the program tells of tuned values is what the records give.
func TestTunedValues(t *testing.T) {
	var want bytes.Buffer
	if err := boardOf(t).WriteValues(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../fl/study/config/tuned.csv")
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("tuned.csv is stale: write it by `fedfast repro merge --board --values`; %v", err)
	}
	n := 0
	for _, m := range papers().Board.Methods {
		n += len(config.TunedValues(m))
	}
	if lines := bytes.Count(got, []byte("\n")) - 1; n != lines {
		t.Errorf("%d values of %d lines", n, lines)
	}
}

// TestBoardCell measures a method of the board on small images: the runs have the values that the
// study returned and other splits than it, those beside them the defaults.
func TestBoardCell(t *testing.T) {
	t.Parallel()
	cells, err := Select("board/fmnist/fedprox")
	if err != nil {
		t.Fatal(err)
	}
	for i := range cells {
		small := *cells[i].Training
		if small.Values != nil {
			small.Values = cells[0].Training
		}
		small.Sets = override(slices.Clone(small.Sets), []string{
			"data.clients=10", "data.samples=40", "data.alpha=1", "cohort=4", "model=logistic",
		})
		small.Sets = slices.DeleteFunc(small.Sets, func(s string) bool { return strings.HasPrefix(s, "model.layers=") })
		cells[i].Training = &small
	}
	jobs, left, err := Plan(t.Context(), cells, Options{Seeds: 2, Scale: 0.12, Data: barsFolder(t)}, t.TempDir())
	if err != nil || len(left) > 0 || len(jobs) != 5 {
		t.Fatal(len(jobs), left, err)
	}
	all := runAll(t, jobs)
	search := all[0]
	if search.Head.Training != "board-fmnist-fedprox" || search.End.Best == nil ||
		search.End.Rounds != 7*6 || search.End.Examples == 0 || len(search.Trials) == 0 {
		t.Fatalf("%+v", search.End)
	}
	sums := map[string]bool{}
	for _, m := range all[1:] {
		c, err := config.Load(config.Source{Text: m.Head.Config})
		if err != nil {
			t.Fatal(err)
		}
		lr, mu := 0.1, 0.01 // the method's defaults
		if w := search.winner(); w != nil && strings.HasSuffix(m.Head.Training, "-tuned") {
			lr, _ = w.Params["client.lr"].Float()
			mu, _ = w.Params["client.mu"].Float()
		}
		if c.Client.LR != lr || c.Client.Mu != mu || int(c.Seed) != m.Head.Seed+1 ||
			sums[m.End.SHA256] || m.End.Best.GlobalTest == nil {
			t.Errorf("%s: lr %v for %v, mu %v for %v, seed %d of job %d",
				m.Head.Training, c.Client.LR, lr, c.Client.Mu, mu, c.Seed, m.Head.Seed)
		}
		sums[m.End.SHA256] = true
	}
	if again, err := jobs[1].Done(); err != nil || again == nil {
		t.Errorf("a finished run is not known: %v", err)
	}
	if x := less([]float64{3, 1}, []float64{1, 2}); stats.Of(x).Mean != 0.5 {
		t.Errorf("differences %v", x)
	}
}
