package report_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/store"
)

// record writes the record of a study as the driver would, with the given number of
// arms, of which the first third runs the full number of rounds. The scores depend on
// the learning rate alone; they are accuracies where sets have objective=accuracy.
func record(t *testing.T, arms, rounds int, sets ...string) string {
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
	text, err := config.Encode(small(t, sets...))
	if err != nil {
		t.Fatal(err)
	}
	add("study", -1, 0, map[string]any{
		"name": "big", "mode": "tune", "config": string(text), "trial_rounds": rounds,
		"version": 1,
	})
	add("session", -1, 0, map[string]any{"version": "devel", "workers": 2})
	theta := make([]float64, 27)
	for k := range arms {
		lr := math.Pow(10, -4+4*float64(k)/float64(arms))
		add("trial", k, 0, map[string]any{"params": map[string]any{
			"client.lr":       lr,
			"client.momentum": float64(k*7%arms) / float64(arms), "server.momentum": []float64{0, 0.9}[k%2],
			"optimizer": []string{"sgd", "adam"}[k%2],
		}})
		last := rounds
		if k%3 > 0 {
			last = rounds / 4
		}
		for r := 1; r <= last; r++ {
			for j := range theta {
				theta[j] = math.Round(1e4*math.Abs(math.Sin(float64(r*j+k)))) / 1e4
			}
			score := 0.2 + 0.1*math.Abs(math.Log10(lr)+2) + 0.3/float64(r) + 0.02*math.Sin(float64(r*k))
			told := score
			if slices.Contains(sets, "objective=accuracy") {
				told = 1 - score
			}
			add("plan", k, r, map[string]any{
				"Server": nil, "Clients": []any{map[string]any{"client.lr": lr}}, "Table": nil,
				"Notes": map[string]any{"theta": theta, "entropy": []float64{3 / float64(r)}},
			})
			add("round", k, r, map[string]any{
				"score": told, "train_loss": 2 * score, "steps": 9, "examples": 90, "dropped": 0, "clients": []int{1, 2, 3},
				"test_error": score + 0.01, "test_spread": map[string]any{"p10": score / 2, "p50": score, "p90": score * 1.5},
			})
			if r == rounds/4 || r == rounds {
				add("rung", k, r, map[string]any{"score": told})
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

// importance is the table behind the picture of a study of many arms, a line for each param with
// its interval and estimate in whole percent, and the page.
func importance(t *testing.T, arms, rounds int, sets ...string) (lines []string, page string) {
	t.Helper()
	page = write(t, record(t, arms, rounds, sets...))
	_, rest, _ := strings.Cut(page, "<caption><span>importance, %</span></caption>")
	table, _, _ := strings.Cut(rest, "</table>")
	for row := range strings.SplitSeq(table, `<th scope="row">`) {
		cells := strings.Split(strings.TrimSpace(row), "<td>")
		if len(cells) < 5 {
			continue
		}
		line := []string{cells[0]}
		for _, cell := range cells[2:5] {
			x, err := strconv.ParseFloat(strings.Fields(cell)[0], 64)
			if err != nil {
				t.Fatal(err)
			}
			line = append(line, fmt.Sprintf("%.0f", x))
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return lines, page
}

// TestImportance holds that the learning rate is what matters where nothing else does, whether low
// errors or high accuracies are best, and that the order of the others, which do not matter, is
// not told.
func TestImportance(t *testing.T) {
	lines, page := importance(t, 40, 8)
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "client.lr ") {
		t.Fatalf("importances %q", lines)
	}
	sum := 0.0
	for i, line := range lines {
		var name string
		var least, most, estimate float64
		if _, err := fmt.Sscan(line, &name, &least, &most, &estimate); err != nil || least > estimate || estimate > most ||
			i == 0 && least < 50 {
			t.Errorf("%s, want an interval around an estimate: %v", line, err)
		}
		sum += estimate
	}
	if math.Abs(sum-100) > 2 || !strings.Contains(page, "The order cannot be told of ") ||
		strings.Contains(page, "of client.lr and") || !strings.Contains(page, "the 40 trials that reached round 2;") {
		t.Errorf("importances %q, together %v", lines, sum)
	}
	if up, _ := importance(t, 40, 8, "objective=accuracy"); !slices.Equal(up, lines) {
		t.Errorf("by accuracy %q, by error %q", up, lines)
	}
}

// TestTrialsOfAnImportance holds which trials count: those at the longest rung with enough, and of
// a tuner that learns from scores those before it had one.
func TestTrialsOfAnImportance(t *testing.T) {
	for _, c := range []struct {
		arms int
		sets []string
		want string
	}{
		{14, nil, "needs at least 15 trials with a score, drawn before the tuner had any (this study has 14)"},
		{15, nil, "the 15 trials that reached round 2;"},
		{43, nil, "the 15 trials that reached round 8;"},
		{43, []string{"tuner.name=asha"}, "the 15 trials that reached round 8;"},
		{43, []string{"tuner.name=tpe"}, "(this study has 1)"},
		{43, []string{"tuner.name=tpe", "tuner.options.init=20"}, "the 20 trials that reached round 2;"},
		{43, []string{"tuner.name=mine"}, "(this study has 1)"},
	} {
		if _, page := importance(t, c.arms, 8, c.sets...); !strings.Contains(page, c.want) {
			t.Errorf("%d trials, %v: the page does not say %q", c.arms, c.sets, c.want)
		}
	}
}
