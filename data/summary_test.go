package data

import (
	"math"
	"testing"
)

func mustSummarize(t testing.TB, fed *Federation) Summary {
	t.Helper()
	s, err := Summarize(fed)
	must(t, err)
	return s
}

func TestSummarize(t *testing.T) {
	src := line(30) // classes 0, 1, 2, 0, ...
	fed := &Federation{Classes: 5, Clients: []Client{
		{ID: "a", Train: span(src, 0, 9), Val: span(src, 9, 3), Test: span(src, 12, 3)},
		{ID: "b", Train: chosen(src, []int32{0, 3, 6, 9})},
		{ID: "c", Train: chosen(src, []int32{1, 4}), Test: chosen(src, []int32{2, 5})},
	}, Unseen: []Client{{ID: "d", Test: span(src, 20, 7)}}}
	got := mustSummarize(t, fed)
	entropy := got.MeanEntropy
	if want := (math.Log(3) + 0 + math.Log(2)) / 3; math.Abs(entropy-want) > 1e-12 {
		t.Errorf("mean entropy %v, must be %v", entropy, want)
	}
	// Together: 9, 7, 7 samples of the three classes.
	if want := -(9*math.Log(9./23) + 14*math.Log(7./23)) / 23; math.Abs(got.Entropy-want) > 1e-12 {
		t.Errorf("entropy %v, must be %v", got.Entropy, want)
	}
	got.Entropy, got.MeanEntropy = 0, 0
	if want := (Summary{
		Clients: 3, Unseen: 1, Classes: 3,
		Train: Sizes{15, 2, 4, 9}, Val: Sizes{3, 0, 0, 3}, Test: Sizes{5, 0, 2, 3}, All: Sizes{23, 4, 4, 15},
		UnseenTest: Sizes{7, 7, 7, 7},
	}); got != want {
		t.Errorf("summary %+v\nmust be %+v", got, want)
	}
	if empty := mustSummarize(t, &Federation{Classes: 3}); empty != (Summary{}) {
		t.Errorf("summary of no clients: %+v", empty)
	}
}
