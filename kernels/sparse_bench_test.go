package kernels_test

import (
	"fmt"
	"testing"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// BenchmarkSparse measures what a gradient after a max-pool takes in a convolution
// of 32 channels and 64 filters on rows of 24 pixels: the lists of two rows of
// pixels, the weights' gradient of six rows and the input's of one, with nearly a
// third of the maxima without gradient.
func BenchmarkSparse(b *testing.B) {
	for _, l := range kernels.Supported() {
		if err := kernels.SetLevel(l); err != nil {
			b.Fatal(err)
		}
		for _, size := range []int{3, 5} {
			b.Run(fmt.Sprintf("kernel=%d/isa=%s", size, l), func(b *testing.B) { benchmarkSparse(b, size) })
		}
	}
}

func benchmarkSparse(b *testing.B, size int) {
	const channels = 32
	c := newSparseCase(64, 12, 3, 3)
	xRow := (24 + size - 1) * channels
	x := alignedRandom(10*xRow + 16)
	lists := newFilterLists(c, xRow, channels)
	entries := int(c.pixels.Start[len(c.pixels.Start)-1])
	b.Run("lists", func(b *testing.B) {
		for b.Loop() {
			for row := range 2 {
				kernels.ListMaxima(&c.pixels, 24*row, c.grad[:12*64], c.idx[:12*64], row)
			}
		}
		perSecond(b, "Gvalues/s", 12*64)
	})
	b.Run("filters", func(b *testing.B) {
		for b.Loop() {
			lists.Reset()
			for row := range 6 {
				kernels.AppendByFilter(lists, &c.pixels, 24*row, 24, row*xRow, channels)
			}
		}
		perSecond(b, "Gentries/s", entries)
	})
	rows, groups := kernels.SparseRows(size, size), kernels.SparseGroups(size)
	sums, w := tensor.Aligned(64*rows*size*groups*16), alignedRandom(64*size*groups*16)
	b.Run("weights", func(b *testing.B) {
		s := kernels.SparseWeights{
			Rows: rows, Cols: size, Groups: groups, Lists: lists, X: x, XRow: xRow, Pixel: channels,
			Sums: sums,
		}
		for b.Loop() {
			kernels.SparseWeightsAdd(&s)
		}
		perSecond(b, "GFLOPS", 2*entries*rows*size*groups*16)
	})
	b.Run("input", func(b *testing.B) {
		dx := tensor.Aligned(xRow)
		s := kernels.SparseInput{
			Cols: size, Groups: groups, Lists: &c.pixels, Pixels: 24, W: w, DX: dx, Pixel: channels,
			Fresh: true,
		}
		for b.Loop() {
			for row := range 6 {
				s.First = 24 * row
				kernels.SparseInputAdd(&s)
			}
		}
		perSecond(b, "GFLOPS", 2*entries*size*groups*16)
	})
}

// alignedRandom returns random numbers in memory as networks have it.
func alignedRandom(n int) []float32 {
	x, r := tensor.Aligned(n), newRand(1)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func perSecond(b *testing.B, unit string, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, unit)
}
