package nn

import (
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
)

// TestMaskedDropout compares a dropout that does the backward pass of the ReLU
// before the pool with one that draws again.
func TestMaskedDropout(t *testing.T) {
	net := func(apart bool) *Model {
		layers := []Layer{Conv2D{Filters: 20, Kernel: 3}, ReLU{}, MaxPool{Size: 2}}
		if apart {
			layers = append(layers, ReLU{}) // changes nothing, but stands between the pool and the dropout
		}
		m, err := NewModel("test", Shape{H: 9, W: 12, C: 3}, 5, append(layers, Dropout{Rate: 0.4}, Dense{Units: 5})...)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.nodes[2].Bound.(*boundDropout); !apart && (!ok || !m.nodes[2].Traits().ReadsOutput) {
			t.Fatal("the dropout does not mask")
		}
		return m
	}
	for _, rate := range []float32{-1, 0, 0.7} {
		kernelstest.ForEachLevel(t, func(t *testing.T) {
			var got [2][]float32
			for i, apart := range []bool{false, true} {
				m := net(apart)
				w, ws := m.NewParams(), m.newWorkspace(4)
				m.Init(w, 3)
				// The layer in between changes the number by which the dropout
				// draws.
				for _, s := range ws.states {
					if d, ok := s.(*dropoutState); ok {
						d.index = 7
					}
				}
				ws.Gradient(w, images(m, 6), TrainOpts{Key: 5, Dropout: rate})
				got[i] = ws.Grad()
			}
			sameBits(t, got[0], got[1], "gradient")
		})
	}
}
