package tensor

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// BenchmarkFirstConv measures the forward pass and the weights' gradient of the
// models' first convolutions, of one image.
func BenchmarkFirstConv(b *testing.B) {
	for _, c := range []convCase{
		{28, 28, 1, 32, 3, 3, 1, false, 0},
		{28, 28, 1, 32, 5, 5, 1, true, 0},
		{24, 24, 3, 64, 5, 5, 1, true, 0},
		{32, 32, 3, 32, 3, 3, 1, true, 0},
	} {
		v := NewConv(c.h, c.w, c.c, c.n, c.kh, c.kw, c.stride, c.same)
		s := kernels.NewStream(1, 2)
		x, xRow := bordered(draw(s, c.h*c.w*c.c), c.h, c.w, c.c, v.Left, v.RightBorder)
		w, bias := Aligned(v.Rows()*v.N), Aligned(v.N)
		y := Aligned(v.OH * v.OW * v.N)
		copy(w, draw(s, len(w)))
		flops := 2 * v.OH * v.OW * v.Rows() * v.N
		name := fmt.Sprintf("%dx%dx%d/filters=%d/kernel=%d/isa=%s", c.h, c.w, c.c, c.n, c.kh, kernels.Current())
		for _, pass := range []string{"forward", "weights"} {
			b.Run(pass+"/"+name, func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				start := threadTime()
				for b.Loop() {
					if pass == "forward" {
						v.Forward(y, v.OW*v.N, x, xRow, w, bias, true)
					} else {
						v.BackwardWeights(w, x, xRow, y, v.OW*v.N, false)
					}
				}
				b.ReportMetric(float64(flops)*float64(b.N)/float64((threadTime()-start).Nanoseconds()), "GFLOPS")
			})
		}
	}
}
