package nn

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// softplus is log(1+e^x), which is not 0 at 0.
func softplus(x float32) (y, slope float32) {
	e := math.Exp(float64(x))
	return float32(math.Log1p(e)), float32(e / (1 + e))
}

// TestElementwise trains through a function of a program's own, behind images and vectors of
// channels that are padded, and wants a wrong slope to be found.
func TestElementwise(t *testing.T) {
	for scale, want := range map[float32]string{1: "<nil>", 1.5: "conv1.weight: along a direction the loss has "} {
		f := func(x float32) (y, slope float32) {
			y, slope = softplus(x)
			return y, scale * slope
		}
		e := Elementwise{Name: "softplus", F: f, Torch: "F.softplus(%s)"}
		m, err := NewModel("own", Shape{H: 6, W: 5, C: 2}, 4, Conv2D{Filters: 5, Kernel: 3}, e, GroupNorm{Groups: 1},
			Flatten{}, Dense{Units: 7}, e, Dense{Units: 4})
		if err != nil {
			t.Fatal(err)
		}
		w, s := m.NewParams(), kernels.NewStream(3, 0)
		m.Init(w, 1)
		b := &Batch{N: 6, X: make([]float32, 6*60), Labels: []int32{0, 1, 2, 3, 0, 1}}
		for i := range b.X {
			b.X[i] = 2*s.Float32() - 1
		}
		if err := m.NewWorkspace().CheckGradient(w, b); !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("the slope times %v: %v, want %s", scale, err, want)
		}
		if _, err := m.Narrow(0.5); err != nil {
			t.Error(err)
		}
	}
}
