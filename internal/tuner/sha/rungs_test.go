package sha_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/sha"
)

func TestRungs(t *testing.T) {
	for _, c := range []struct {
		t, m, eta, r int
		want         []int
	}{
		{4000, 800, 3, 3, []int{89, 177, 268, 800}}, // Shakespeare and CIFAR-10 of the FedEx paper
		{2000, 200, 3, 3, []int{50, 100, 150, 200}}, // FEMNIST
		{200, 20, 3, 3, []int{5, 10, 15, 20}},
		{20, 10, 3, 1, []int{5, 10}},
		{100, 50, 2, 3, []int{4, 10, 14, 50}}, // costs 7, 3, 1: L = 4 takes 44 of 50, the other 6 buy two more rounds of the second stage
	} {
		got, _, err := sha.Rungs(c.t, c.m, c.eta, c.r)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("T=%d M=%d eta=%d R=%d: got %v, %v, want %v", c.t, c.m, c.eta, c.r, got, err, c.want)
		}
	}
}

// TestRungsByEnumeration tries all lengths (METHODS section 3's definition, word by
// word).
func TestRungsByEnumeration(t *testing.T) {
	for total := 60; total < 700; total += 7 {
		m := 50 + total/3
		if total <= m+36 {
			continue
		}
		least := (total - m) / 36
		var best [3]int
		top := -1
		for r3 := least; r3 <= least+3; r3++ {
			for r2 := least; r2 <= least+6; r2++ {
				for r1 := least; r1 <= least+20; r1++ {
					cost := 26*r3 + 8*r2 + 2*r1
					if cost <= total-m && cost >= top { // later ones are lexicographically larger
						top, best = cost, [3]int{r3, r2, r1}
					}
				}
			}
		}
		got, _, err := sha.Rungs(total, m, 3, 3)
		if err != nil {
			t.Fatal(err)
		}
		want := []int{best[0], best[0] + best[1], best[0] + best[1] + best[2], m}
		if !slices.Equal(got, want) {
			t.Errorf("T=%d M=%d: got %v, want %v", total, m, got, want)
		}
	}
}

func TestRungsErrors(t *testing.T) {
	for _, c := range []struct {
		t, m, eta, r int
		key, want    string
	}{
		{20, 20, 3, 3, "budget.rounds", "budget.rounds (20)"},
		{10, 20, 3, 3, "budget.rounds", "budget.trial_rounds (20)"},
		{40, 20, 3, 3, "budget.rounds", "27 trials of at most 20 rounds need at least 56 rounds in total, not 40"},
		{9000, 20, 3, 3, "budget.rounds", "a trial ends at round 20"},
		{100, 0, 3, 3, "budget.trial_rounds", "at least 1 round"},
		{100, 20, 1, 3, "options.eta", "at least 2, not 1"},
		{100, 20, 3, 0, "options.eliminations", "at least 1"},
		{100, 20, 10, 60, "options.eliminations", "more than 100000 trials"},
	} {
		_, key, err := sha.Rungs(c.t, c.m, c.eta, c.r)
		if err == nil || key != c.key || !strings.Contains(err.Error(), c.want) {
			t.Errorf("T=%d M=%d eta=%d R=%d: got %s: %v, want %s: ...%s", c.t, c.m, c.eta, c.r, key, err, c.key, c.want)
		}
	}
}
