package nn

import (
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
)

// TestPooledGradient compares networks whose convolutions take the gradient of the
// maxima with the same networks on the whole gradient: a pool whose windows may
// reach over the edge, which they do not here, gets no such convolution.
func TestPooledGradient(t *testing.T) {
	net := func(whole bool) *Model {
		pool := MaxPool{Size: 2, Same: whole}
		m, err := NewModel("test", Shape{H: 20, W: 12, C: 2}, 5,
			Conv2D{Filters: 24, Kernel: 3}, ReLU{}, Conv2D{Filters: 20, Kernel: 3}, ReLU{}, pool,
			Conv2D{Filters: 40, Kernel: 5, Same: true}, ReLU{}, pool, Dropout{Rate: 0.3},
			Conv2D{Filters: 12, Kernel: 3, Same: true, NoBias: true}, ReLU{}, MaxPool{Size: 2, Stride: 2, Same: whole},
			Dense{Units: 5})
		if err != nil {
			t.Fatal(err)
		}
		pooled := 0
		for _, nd := range m.nodes {
			if c, ok := nd.Bound.(*boundConv); ok {
				c.fast = winogradPlan{} // its gradients have other bits
				if c.pooled {
					pooled++
				}
			}
		}
		if want := map[bool]int{false: 3}[whole]; pooled != want {
			t.Fatalf("%d convolutions take the gradient of maxima, want %d", pooled, want)
		}
		return m
	}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		m, whole := net(false), net(true)
		b := images(m, 11)
		got, want := train(m, m.newWorkspace(4), b), train(whole, whole.NewWorkspace(), b)
		sameBits(t, got, want, "weights")
	})
}

// TestThinGradient compares a network whose convolution goes by what a ReLU leaves
// of its gradient with one that is told not to.
func TestThinGradient(t *testing.T) {
	net := func() (*Model, *boundConv) {
		m, err := NewModel("test", Shape{H: 9, W: 8, C: 3}, 5,
			Conv2D{Filters: 40, Kernel: 3, Same: true}, ReLU{}, Conv2D{Filters: 30, Kernel: 5, Same: true}, ReLU{},
			LRN{Radius: 2, Bias: 1, Alpha: 0.1, Beta: 0.75}, Dropout{Rate: 0.2}, Dense{Units: 5})
		if err != nil {
			t.Fatal(err)
		}
		return m, m.nodes[1].Bound.(*boundConv)
	}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		m, _ := net()
		whole, conv := net()
		if !conv.thin {
			t.Fatal("the convolution does not know that a ReLU follows")
		}
		conv.thin = false
		b, ws := images(m, 11), m.newWorkspace(4)
		got, want := train(m, ws, b), train(whole, whole.NewWorkspace(), b)
		if !ws.states[1].(*convState).sparse.thin {
			t.Fatal("the ReLU left most of the gradient, so nothing was tested")
		}
		sameBits(t, got, want, "weights")
	})
}
