package fl

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
)

// TestPrivateScores compares private scores with their definition: the noise is that of its
// deviation, the mean is over the expected clients, and no client moves the sum by more than
// 1/2 whatever it measures.
func TestPrivateScores(t *testing.T) {
	t.Parallel()
	r := &RoundResult{}
	add := func(before, after float64, n int, dropped bool) {
		r.Slots = append(r.Slots, Slot{Before: Score{Error: before}, After: Score{Error: after}, ValExamples: n, Dropped: dropped})
	}
	add(0.25, 0.125, 10, false)
	add(1, 0.5, 1000, false)
	add(0, 0, 0, false)                     // has no validation samples
	add(0.5, 0.5, 3, true)                  // counts as 1
	add(math.NaN(), math.Inf(-1), 1, false) // counts as 1, or 0
	o := ScoreOptions{Noise: 1e-12, Expected: 8}
	if got := r.Score(false, o).Error; math.Abs(got-(0.5+(-0.25+0.5+0.5+0.5)/8)) > 1e-9 {
		t.Errorf("the score before training is %v", got)
	}
	if got := r.Score(true, o).Error; math.Abs(got-(0.5+(-0.375+0+0.5-0.5)/8)) > 1e-9 {
		t.Errorf("the score after training is %v", got)
	}
	r.Slots = nil
	sum, squares := 0.0, 0.0
	const draws = 20000
	for i := range uint64(draws) {
		r.draws = kernels.Key(1, i, purposeScore)
		x := r.Score(true, ScoreOptions{Noise: 3, Expected: 6}).Error - 0.5
		sum += x
		squares += x * x
	}
	if mean, sd := sum/draws, math.Sqrt(squares/draws); math.Abs(mean) > 6*0.5/math.Sqrt(draws) || math.Abs(sd-0.5) > 0.02 {
		t.Errorf("the noise on a score has the mean %v and the deviation %v, want 0 and 0.5", mean, sd)
	}
}

// TestPrivateErrors has the clients of a Poisson cohort draw planned slots by themselves, and
// the errors of slots that planned the same released as one sum.
func TestPrivateErrors(t *testing.T) {
	t.Parallel()
	fed := fltest.OpenGlyphs(t, 20, 60)
	model := fltest.SmallCNN(t, fed)
	for _, poisson := range []bool{false, true} {
		e := newEngine(t, Config{Model: model, Data: fed, Method: average(), Cohort: 10, Poisson: poisson, Seed: 4})
		own := map[int]map[int]bool{}
		for round := range 50 {
			cohort, taken := e.Cohort(1, round), e.PrivateSlots(1, round, 10)
			if len(taken) != len(cohort) {
				t.Fatalf("%d clients take %d slots", len(cohort), len(taken))
			}
			errors := make([]float64, len(cohort))
			group := []int{0, 1, 0, 1, 0, 1, 0, 0, 0, 0}
			want := [2]float64{}
			for i, client := range cohort {
				if own[client] == nil {
					own[client] = map[int]bool{}
				}
				own[client][taken[i]] = true
				errors[i] = float64(client) / 20
				want[group[taken[i]]] += errors[i] - 0.5
			}
			want[0], want[1] = want[0]/7+0.5, want[1]/3+0.5
			for slot, got := range e.PrivateErrors(1, round, group, taken, errors, 1e-12) {
				if math.Abs(got-want[group[slot]]) > 1e-9 {
					t.Fatalf("poisson %v, round %d, slot %d has the error %v, want %v", poisson, round, slot, got, want[group[slot]])
				}
			}
			if !poisson {
				continue
			}
			// The noise of groups is drawn for each.
			noisy := e.PrivateErrors(1, round, group, taken, errors, 1)
			if a, b := (noisy[0]-want[0])*7, (noisy[1]-want[1])*3; math.Abs(a-b) < 1e-9 || a == 0 || b == 0 {
				t.Errorf("round %d: the noise is %v and %v", round, a, b)
			}
		}
		for client, slots := range own {
			if len(slots) < 4 {
				t.Errorf("client %d takes only %d slots", client, len(slots))
			}
		}
	}
}
