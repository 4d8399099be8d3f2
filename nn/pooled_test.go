package nn

import (
	"testing"

	"github.com/fedfast/fedfast/kernels/kernelstest"
)

// TestPooledGradient compares networks whose convolutions take the gradient of the maxima with the same networks on the whole gradient: a
// pool whose windows may reach over the edge, which they do not here, gets no such convolution.
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
