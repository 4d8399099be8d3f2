package nn

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
)

// winogradNet is a small network of convolutions by Winograd's algorithm, in
// several sizes of groups, beside others.
func winogradNet(t testing.TB) *Model {
	t.Helper()
	m, err := NewModel("test", Shape{H: 21, W: 14, C: 2}, 7,
		Conv2D{Filters: 32, Kernel: 3, Same: true}, ReLU{},
		Conv2D{Filters: 32, Kernel: 3}, ReLU{}, MaxPool{Size: 2}, Dropout{Rate: 0.2},
		Residual{
			Body: []Layer{
				Conv2D{Filters: 48, Kernel: 3, Pad: 1, NoBias: true},
				GroupNorm{Groups: 2},
				ReLU{},
				Conv2D{Filters: 32, Kernel: 3, Same: true},
			},
			Shortcut: []Layer{Conv2D{Filters: 32, Kernel: 1}},
		}, ReLU{},
		Conv2D{Filters: 40, Kernel: 3, Stride: 2}, Conv2D{Filters: 33, Kernel: 3, Pad: 2}, AvgPool{}, Dense{Units: 7})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// direct makes the convolutions of a model take the direct way.
func direct(c chain) {
	for _, nd := range c {
		switch b := nd.Bound.(type) {
		case *boundConv:
			b.fast = winogradPlan{}
		case *boundResidual:
			direct(b.body.chain)
			direct(b.shortcut.chain)
		}
	}
}

// TestWinogradGradient compares a network with the same one on direct convolutions.
func TestWinogradGradient(t *testing.T) {
	fast, slow := winogradNet(t), winogradNet(t)
	direct(slow.nodes)
	w := fast.NewParams()
	fast.Init(w, 3)
	b := images(fast, 21)
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		a, z := fast.newWorkspace(16), slow.newWorkspace(5)
		r, want := a.Gradient(w, b, TrainOpts{Dropout: -1}), z.Gradient(w, b, TrainOpts{Dropout: -1})
		if math.Abs(r.Loss-want.Loss) > 1e-6*want.Loss || r.Loss == want.Loss {
			t.Errorf("loss %v, of direct convolutions %v; they should differ by roundings", r.Loss, want.Loss)
		}
		direct := slow.Export(z.Grad())
		for i, g := range fast.Export(a.Grad()) {
			var diff, norm float64
			for j, v := range direct[i].Data {
				d := float64(g.Data[j]) - float64(v)
				diff += d * d
				norm += float64(v) * float64(v)
			}
			if !(math.Sqrt(diff/norm) <= 1e-5) {
				t.Errorf("%s differs by %.2g of its norm from that of direct convolutions", g.Name, math.Sqrt(diff/norm))
			}
		}
	})
}
