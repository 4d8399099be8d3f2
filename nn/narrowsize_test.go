package nn

import (
	"math"
	"testing"
)

// TestNarrowSizes holds that a sub-network of any width begins to train about where the
// whole network does: no scale that nothing undoes multiplies up.
func TestNarrowSizes(t *testing.T) {
	for name, layers := range map[string][]Layer{
		"plain": {
			Conv2D{Filters: 32, Kernel: 3, Same: true},
			ReLU{},
			Conv2D{Filters: 64, Kernel: 3, Same: true},
			ReLU{},
			MaxPool{Size: 2},
			Dense{Units: 128},
			ReLU{},
			Dense{Units: 64},
			ReLU{},
			Dense{Units: 10},
		},
		"normalised": {
			Conv2D{Filters: 32, Kernel: 3, Same: true},
			GroupNorm{Groups: 2},
			ReLU{},
			Conv2D{Filters: 64, Kernel: 3, Same: true},
			ReLU{},
			GroupNorm{Groups: 2},
			AvgPool{},
			Dense{Units: 10},
		},
		"residual": {
			Conv2D{Filters: 32, Kernel: 3, Same: true},
			ReLU{},
			Residual{Body: []Layer{Conv2D{Filters: 32, Kernel: 3, Same: true}, ReLU{}, Conv2D{
				Filters: 32, Kernel: 3,
				Same: true,
			}}},
			Residual{
				Body:     []Layer{Conv2D{Filters: 32, Kernel: 3, Same: true}},
				Shortcut: []Layer{Conv2D{Filters: 32, Kernel: 1}},
			},
			AvgPool{},
			Dense{Units: 10},
		},
		"graph": {
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{Conv2D{Filters: 32, Kernel: 3, Same: true}, ReLU{}}},
				{From: []int{0}, Layers: []Layer{Conv2D{Filters: 32, Kernel: 3, Same: true}}},
				{From: []int{0, 1}, Join: joinAdd, Layers: []Layer{Conv2D{Filters: 32, Kernel: 3, Same: true}, ReLU{}}},
				{From: []int{1, 2}, Join: joinAdd},
			}},
			AvgPool{},
			Dense{Units: 10},
		},
	} {
		m, err := NewModel(name, Shape{H: 8, W: 8, C: 3}, 10, layers...)
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range []float64{1, 0.5, 0.25, 0.125, 0.0625} {
			sub, err := m.Narrow(width)
			if err != nil {
				t.Fatal(err)
			}
			w, v := m.NewParams(), sub.NewParams()
			m.Init(w, 3)
			place, err := m.Places().Of(sub)
			if err != nil {
				t.Fatal(err)
			}
			for i, at := range place {
				if at >= 0 {
					v[i] = w[at]
				}
			}
			r := sub.NewWorkspace().Gradient(v, images(sub, 30), TrainOpts{})
			if loss := r.Loss / float64(r.Count); !(math.Abs(loss-math.Log(10)) < 0.4) {
				t.Errorf("%s at width %v begins with loss %.3f, that of a guess is %.3f", name, width, loss, math.Log(10))
			}
		}
	}
}
