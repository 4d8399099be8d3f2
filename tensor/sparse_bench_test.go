package tensor

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// BenchmarkSparse measures the passes of Sparse after a max-pool with a third of
// the maxima's gradient zero, of one image, in billions of multiplications and
// additions of values that are not zero a second of the thread's processor time.
func BenchmarkSparse(b *testing.B) {
	for _, c := range []sparseCase{
		{26, 26, 32, 64, 3, false},
		{14, 14, 32, 64, 5, true},
		{16, 16, 32, 64, 3, true},
		{12, 12, 64, 64, 5, true},
	} {
		v := NewConv(c.h, c.w, c.c, c.n, c.size, c.size, 1, c.same)
		var a Arena
		p := NewSparse(v, &a, true, true, false)
		s := kernels.NewStream(3, 4)
		x, xRow := bordered(draw(s, c.h*c.w*c.c), c.h, c.w, c.c, v.Left, v.RightBorder)
		image := Aligned(len(x))
		copy(image, x)
		gb, dx := Aligned(v.N), Aligned(c.h*c.w*c.c)
		p.Load(draw(s, v.Rows()*v.N))
		rows, n := v.OH/2, v.OW/2*v.N
		grad, idx := make([]float32, rows*n), make([]uint8, rows*n)
		entries := 0
		for i := range grad {
			idx[i] = uint8(s.IntN(4))
			if s.IntN(3) > 0 {
				grad[i] = s.Float32()
				entries++
			}
		}
		p.Maxima(grad, n, idx)
		for _, pass := range []string{"lists", "weights", "input"} {
			b.Run(fmt.Sprintf("%s/%dx%dx%d/filters=%d/kernel=%d/isa=%s", pass, c.h, c.w, c.c, c.n, c.size, kernels.Current()),
				func(b *testing.B) {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					start := threadTime()
					for b.Loop() {
						switch pass {
						case "lists":
							p.Maxima(grad, n, idx)
						case "weights":
							p.BackwardWeights(gb, image, xRow)
						default:
							p.BackwardInput(dx, c.w*c.c)
						}
					}
					ns := float64((threadTime() - start).Nanoseconds()) / float64(b.N)
					b.ReportMetric(ns, "cpu-ns/op")
					b.ReportMetric(2*float64(entries*v.Rows())/ns, "GFLOPS")
				})
		}
	}
}
