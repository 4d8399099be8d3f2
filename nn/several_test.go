package nn

import (
	"fmt"
	"testing"
)

// TestSeveralSamplesAtATime holds that layers on small images, which take several samples at
// a time, and those on larger ones, which make what layers read again, train to the bits of
// one sample after another, or two in bf16, whose last layer pairs them.
func TestSeveralSamplesAtATime(t *testing.T) {
	for _, c := range [][2]int{{8, 1}, {8, 2}, {24, 1}} {
		side, stride := c[0], c[1]
		m, err := NewModel("test", Shape{H: side, W: side, C: 3}, 3,
			Conv2D{Filters: 20, Kernel: 3, Pad: 1, Stride: 2, NoBias: true}, GroupNorm{Groups: 5}, Activation("hardswish"), DepthwiseConv2D{Kernel: 5, Pad: 2, Stride: stride},
			GroupNorm{Groups: 2}, ReLU{}, SqueezeExcitation{Units: 6}, Conv2D{Filters: 33, Kernel: 1}, ReLU{},
			Residual{Body: []Layer{Conv2D{Filters: 40, Kernel: 1}, GroupNorm{Groups: 5}, Activation("hardswish"), DepthwiseConv2D{Kernel: 3, Pad: 1, NoBias: true}, Activation("hardswish"), Conv2D{Filters: 33, Kernel: 1}}},
			DepthwiseConv2D{Kernel: 3, Stride: 2, Same: true}, Dense{Units: 3})
		if err != nil {
			t.Fatal(err)
		}
		b := images(m, 15)
		for _, p := range []Precision{FP32, BF16} {
			m := m.WithPrecision(p)
			few := 1
			if p == BF16 {
				few = 2
			}
			sameBits(t, train(m, m.NewWorkspace(), b), train(m, m.newWorkspace(few), b), fmt.Sprintf("side %d, stride %d in %v", side, stride, p))
		}
	}
}
