package plan

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
)

// TestWarnings names a study of which one of three seeds diverged, and none that learned.
func TestWarnings(t *testing.T) {
	learned, lost := &result.RunResult{TrainLoss: []float64{2, 1, 0.5}}, &result.RunResult{TrainLoss: []float64{2, 1, 400}}
	bad := study{Name: "clients-20", runs: []*result.RunResult{learned, lost, learned}}
	want := []string{
		"Beware of clients-20: 1 of 3 seeds: diverged: the training loss grew from 1 to 400; try a smaller client.lr.",
	}
	if got := bad.warnings(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (&study{Name: "clients-5", runs: []*result.RunResult{learned}}).warnings(); len(got) > 0 {
		t.Errorf("%q of a study that learned", got)
	}
}
