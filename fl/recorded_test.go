package fl

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// TestRecordedRegressions: mean squared errors give the scores of the rounds and the summaries that
// whole measurements give, to the bit, and neither MAE nor R2.
func TestRecordedRegressions(t *testing.T) {
	r := Recorded{Seed: 1, Cohort: 4, Val: []int{4, 9, 2, 7, 5, 3}, Numbers: true}
	mse := []float64{0.3, 1.7, 0.1, 2.9, 0, 0.7}
	whole := func(c int) Score {
		return Score{Error: math.Sqrt(mse[c]), Loss: mse[c], Fit: Fit{MSE: mse[c], MAE: 0.2, Mean: 0.1, Square: 3}}
	}
	for round := range 20 {
		for _, o := range []ScoreOptions{{}, {Uniform: true}, {Clients: 2}} {
			clients := r.Clients(0, round)
			live := &RoundResult{
				Round: round, draws: kernels.Key(r.Seed, 0, uint64(round), purposeScore), numbers: true,
				Slots: make([]Slot, len(clients)),
			}
			for i, c := range clients {
				live.Slots[i] = Slot{Client: c, ValExamples: r.Val[c], Before: whole(c), Dropped: i == 1}
			}
			want, got := live.Score(false, o), r.Score(0, round, mse, []int{1}, o)
			if o.Clients == 0 && got.Error < 1e5 {
				t.Errorf("round %d, %+v: %v with a client that was dropped", round, o, got.Error)
			}
			if got.Error != want.Error || got.Metric("rmse") != want.Metric("rmse") {
				t.Errorf("round %d, %+v: %v, want %v", round, o, got.Error, want.Error)
			}
		}
	}
	all := make([]clientScores, len(mse))
	for c := range all {
		all[c].globalTest = setScore{Score: whole(c), n: r.Val[c]}
	}
	want := summarize(all, func(c *clientScores) setScore { return c.globalTest })
	got := Summarize(mse, r.Val, true)
	if got.Error != want.Error || got.Unweighted != want.Unweighted || got.Worst != want.Worst ||
		got.MAE != nil || got.R2 != nil {
		t.Errorf("%+v, want %+v", got, want)
	}
}
