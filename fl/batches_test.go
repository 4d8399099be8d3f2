package fl

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestDropLastDealsCompleteBatches: without its incomplete last batch a pass is three
// batches of seven of 25 samples, no sample twice, also where steps run on over passes.
func TestDropLastDealsCompleteBatches(t *testing.T) {
	l := &Local{Train: data.VectorView(1, make([]float32, 25), make([]int32, 25)), engine: &Engine{}, worker: &worker{}}
	for _, p := range []ClientParams{{Epochs: 3, Batch: 7, DropLast: true}, {Steps: 9, Batch: 7, DropLast: true}} {
		b := l.batches(0, p, l.Train)
		if b.left = p.Epochs; p.Steps > 0 {
			b.left = 9
		}
		if steps := p.LocalSteps(25); steps != 9 {
			t.Fatalf("%d steps", steps)
		}
		var seen map[int32]bool
		for step := range 9 {
			if step%3 == 0 {
				seen = map[int32]bool{}
			}
			for _, at := range b.next() {
				if seen[at] {
					t.Errorf("step %d: sample %d again", step, at)
				}
				seen[at] = true
			}
			if want := 7 * (step%3 + 1); len(seen) != want {
				t.Errorf("step %d: %d samples of the pass, want %d", step, len(seen), want)
			}
		}
	}
	small := l.batches(0, ClientParams{Epochs: 2, Batch: 26, DropLast: true}, l.Train)
	small.left = 2
	for pass := range 2 {
		if n := len(small.next()); n != 25 {
			t.Errorf("pass %d of a client without a complete batch has %d samples, want all 25", pass, n)
		}
	}
}

// TestClassCountsOfAnAttacker: the class counts belong to the labels that it trains with.
func TestClassCountsOfAnAttacker(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 40)
	e := &Engine{cfg: Config{Data: fed, Model: fltest.SmallCNN(t, fed)}}
	l := &Local{Train: fed.Clients[0].Train, engine: e}
	honest, err := l.ClassCounts()
	if err != nil {
		t.Fatal(err)
	}
	l.label = labelFlip.Label
	flipped, err := l.ClassCounts()
	slices.Reverse(flipped[:fed.Classes])
	if err != nil || !slices.Equal(honest, flipped) || slices.Max(honest) == 0 {
		t.Errorf("%v; of flipped labels, from the last class on: %v, %v", honest, flipped, err)
	}
}
