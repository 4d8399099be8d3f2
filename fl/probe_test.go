package fl

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/nn"
)

func TestScores(t *testing.T) {
	for _, tt := range []struct {
		sum  nn.Result
		want Score
	}{
		{nn.Result{Loss: 6, Correct: 1, Count: 4}, Score{0.75, 1.5}},
		{nn.Result{Loss: math.NaN(), Count: 4}, Score{1, DivergedLoss}},
		{nn.Result{Loss: math.Inf(1), Correct: 4, Count: 4}, Score{0, DivergedLoss}},
		// No worse than one that is not finite.
		{nn.Result{Loss: 1e30, Count: 4}, Score{1, DivergedLoss}},
	} {
		if got := scoreOf(tt.sum); got != tt.want {
			t.Errorf("%+v scores %+v, want %+v", tt.sum, got, tt.want)
		}
	}
	if s := scoreOf(nn.Result{}); !math.IsNaN(s.Error) || !math.IsNaN(s.Loss) {
		t.Errorf("no examples score %+v, want NaN", s)
	}
}
