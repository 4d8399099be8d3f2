package tensor

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// BenchmarkWinograd measures the three passes of the convolutions that the rule of
// Winograd is about, directly and by F(2x2, 3x3), in billions of multiplications
// and additions of the direct form a second of the thread's processor time.
func BenchmarkWinograd(b *testing.B) {
	for _, c := range []struct {
		h, c, n, images int
		same            bool
	}{
		{32, 64, 64, 1, true}, {16, 128, 128, 4, true}, {8, 256, 256, 16, true}, {4, 512, 512, 16, true}, // resnet18-gn
		{16, 32, 64, 4, true}, {8, 64, 64, 16, true}, // fedex-cifar-cnn
		{32, 32, 64, 1, true}, {16, 64, 64, 4, true}, // fedtune-4conv2dense
		{26, 32, 64, 1, false}, // reddi-emnist-cnn
	} {
		v := NewConv(c.h, c.h, c.c, c.n, 3, 3, 1, c.same)
		s := kernels.NewStream(1, 2)
		x, w, dy := draw(s, c.images*(c.h+2)*(c.h+3)*c.c), draw(s, v.Rows()*v.N), draw(s, c.images*v.OH*(v.OW+4)*c.n)
		y, gw := make([]float32, c.images*v.OH*v.OW*c.n), make([]float32, len(w))
		f, _ := v.Winograd()
		back, _ := v.WinogradInput()
		direct := v.Input()
		flipped := make([]float32, direct.Size())
		direct.Flip(flipped, w)
		scratch := make([]float32, max(f.Space(c.images), back.Space(c.images)))
		dx := make([]float32, c.images*c.h*c.h*c.c)
		xRow, dyRow := (c.h+3)*c.c, (v.OW+4)*c.n
		xSize, dySize := c.h*xRow, v.OH*dyRow
		name := fmt.Sprintf("shape=%dx%dx%d-%d/isa=%s/", c.h, c.h, c.c, c.n, kernels.Current())
		half, fast, fastBack := v.BF16(false), f.BF16(false), back.BF16(false)
		pairs, flippedPairs := make([]float32, half.WeightSize()), make([]float32, half.FlippedSize())
		rounded := make([]float32, max(half.Space(), fast.Space(c.images), fastBack.Space(c.images)))
		passes := map[string]func(){
			"y/direct-bf16": func() {
				half.Load(pairs, w)
				for i := range c.images {
					half.Image(x[i*xSize:], xRow, rounded)
					half.ForwardRows(y[i*v.OH*v.OW*c.n:], v.OW*c.n, 0, v.OH, pairs, nil, false, rounded)
				}
			},
			"y/winograd-bf16": func() {
				for i := range c.images {
					fast.Input(rounded, c.images, i, x[i*xSize:], xRow, false)
				}
				fast.Forward(Images{Data: y, Sample: v.OH * v.OW * c.n, Row: v.OW * c.n}, c.images, rounded, w, nil, false)
			},
			"dx/direct-bf16": func() {
				direct.Flip(flipped, w)
				half.Flip(flippedPairs, flipped)
				for i := range c.images {
					half.BackwardInput(dx[i*c.h*c.h*c.c:], c.h*c.c, dy[i*dySize:], dyRow, flippedPairs, rounded)
				}
			},
			"dx/winograd-bf16": func() {
				for i := range c.images {
					fastBack.Input(rounded, c.images, i, dy[i*dySize:], dyRow, false)
				}
				fastBack.Forward(Images{Data: dx, Sample: c.h * c.h * c.c, Row: c.h * c.c}, c.images, rounded, w, nil, false)
			},
			"dw/direct-bf16": func() {
				for i := range c.images {
					half.BackwardWeights(gw, x[i*xSize:], xRow, dy[i*dySize:], dyRow, i > 0, rounded)
				}
			},
			"dw/winograd-bf16": func() {
				for i := range c.images {
					fast.Input(rounded, c.images, i, x[i*xSize:], xRow, true)
				}
				fast.BackwardWeights(gw, nil, Images{Data: dy, Sample: dySize, Row: dyRow}, c.images, rounded, true, true)
			},
			"y/direct": func() {
				for i := range c.images {
					v.Forward(y[i*v.OH*v.OW*c.n:], v.OW*c.n, x[i*xSize:], xRow, w, nil, false)
				}
			},
			"y/winograd": func() {
				for i := range c.images {
					f.Input(scratch, c.images, i, x[i*xSize:], xRow, false)
				}
				f.Forward(Images{Data: y, Sample: v.OH * v.OW * c.n, Row: v.OW * c.n}, c.images, scratch, w, nil, false)
			},
			"dx/direct": func() {
				for i := range c.images {
					direct.Forward(dx[i*c.h*c.h*c.c:], c.h*c.c, dy[i*dySize:], dyRow, flipped)
				}
			},
			"dx/winograd": func() {
				for i := range c.images {
					back.Input(scratch, c.images, i, dy[i*dySize:], dyRow, false)
				}
				back.Forward(Images{Data: dx, Sample: c.h * c.h * c.c, Row: c.h * c.c}, c.images, scratch, w, nil, false)
			},
			"dw/direct": func() {
				for i := range c.images {
					v.BackwardWeights(gw, x[i*xSize:], xRow, dy[i*dySize:], dyRow, i > 0)
				}
			},
			"dw/winograd": func() {
				for i := range c.images {
					f.Input(scratch, c.images, i, x[i*xSize:], xRow, true)
				}
				f.BackwardWeights(gw, nil, Images{Data: dy, Sample: dySize, Row: dyRow}, c.images, scratch, true, true)
			},
		}
		for _, pass := range []string{
			"y/direct", "y/winograd", "y/direct-bf16", "y/winograd-bf16", "dx/direct", "dx/winograd", "dx/direct-bf16",
			"dx/winograd-bf16",
			"dw/direct", "dw/winograd", "dw/direct-bf16", "dw/winograd-bf16",
		} {
			if strings.HasSuffix(pass, "bf16") && kernels.Current() == kernels.Generic {
				continue
			}
			b.Run(name+"pass="+pass, func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				start := threadTime()
				for b.Loop() {
					passes[pass]()
				}
				spent := threadTime() - start
				// The direct form takes 2 multiplications and additions for each
				// weight and output.
				b.ReportMetric(2*float64(c.images*v.OH*v.OW*c.n*v.Rows())*float64(b.N)/float64(spent.Nanoseconds()), "GFLOPS")
			})
		}
	}
}
