package report_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/store"
)

// record writes the record of a study as the driver would, with the given number of
// arms, of which the first third runs the full number of rounds. The scores depend on
// the learning rate alone.
func record(t *testing.T, arms, rounds int) string {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	add := func(kind string, trial, round int, v any) {
		data, err := json.Marshal(v)
		if err == nil {
			err = s.Append(kind, trial, round, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := config.Encode(small(t))
	if err != nil {
		t.Fatal(err)
	}
	add("study", -1, 0, map[string]any{"name": "big", "mode": "tune", "config": string(text), "trial_rounds": rounds, "version": 1})
	add("session", -1, 0, map[string]any{"version": "devel", "workers": 2})
	theta := make([]float64, 27)
	for k := range arms {
		lr := math.Pow(10, -4+4*float64(k)/float64(arms))
		add("trial", k, 0, map[string]any{"params": map[string]any{"client.lr": lr, "client.momentum": float64(k*7%arms) / float64(arms), "server.momentum": []float64{0, 0.9}[k%2], "optimizer": []string{"sgd", "adam"}[k%2]}})
		last := rounds
		if k%3 > 0 {
			last = rounds / 4
		}
		for r := 1; r <= last; r++ {
			for j := range theta {
				theta[j] = math.Round(1e4*math.Abs(math.Sin(float64(r*j+k)))) / 1e4
			}
			score := 0.2 + 0.1*math.Abs(math.Log10(lr)+2) + 0.3/float64(r) + 0.02*math.Sin(float64(r*k))
			add("plan", k, r, map[string]any{"Server": nil, "Clients": []any{map[string]any{"client.lr": lr}}, "Table": nil, "Notes": map[string]any{"theta": theta, "entropy": []float64{3 / float64(r)}}})
			add("round", k, r, map[string]any{
				"score": score, "train_loss": 2 * score, "steps": 9, "examples": 90, "dropped": 0, "clients": []int{1, 2, 3},
				"test_error": score + 0.01, "test_spread": map[string]any{"p10": score / 2, "p50": score, "p90": score * 1.5},
			})
			if r == rounds/4 || r == rounds {
				add("rung", k, r, map[string]any{"score": score})
			}
		}
	}
	add("fail", arms-1, rounds/4, map[string]any{"reason": "round 3: <out of luck>"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSizeOfAReport holds that 27 arms of 200 rounds make a page below 2 MB.
func TestSizeOfAReport(t *testing.T) {
	page := write(t, record(t, 27, 200))
	if len(page) > 2e6 {
		t.Errorf("%d bytes", len(page))
	}
	f := read(t, page)
	f.holds(t, "failed", "round 3: <out of luck>", "Interrupted after ", "failed trials", "completed")
	if strings.Contains(page, "<out of luck>") {
		t.Error("a reason became a tag")
	}
}

// TestManyRoundsAreThinned holds that a curve has no more points than a picture can
// show.
func TestManyRoundsAreThinned(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	if few, many := len(write(t, record(t, 3, 400))), len(write(t, record(t, 3, 2000))); float64(many) > 1.5*float64(few) {
		t.Errorf("400 rounds make %d bytes, 2,000 rounds %d", few, many)
	}
}

// TestImportance holds that the learning rate is what matters where nothing else does.
func TestImportance(t *testing.T) {
	page := write(t, record(t, 40, 8))
	_, page, _ = strings.Cut(page, "<caption>importance, %</caption>")
	table, _, _ := strings.Cut(page, "</table>")
	var names []string
	sum := 0.0
	for row := range strings.SplitSeq(table, `<th scope="row">`) {
		cells := strings.Split(strings.TrimSpace(row), "<td>")
		if len(cells) < 4 {
			continue
		}
		x, err := strconv.ParseFloat(cells[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		names, sum = append(names, fmt.Sprintf("%s %.0f", cells[0], x)), sum+x
	}
	if len(names) != 4 || !strings.HasPrefix(names[0], "client.lr ") || sum < 99.9 || sum > 100.1 || strings.Contains(page, "Importances are not shown") {
		t.Errorf("importances %q, together %v", names, sum)
	}
}
