package kernels_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// floats reads data as float32 bits, so that the fuzzer reaches every NaN, infinity
// and subnormal number.
func floats(data []byte) []float32 {
	x := make([]float32, len(data)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return x
}

// addFloats adds seeds of n values around the vector widths.
func addFloats(f *testing.F, lengths ...int) {
	r := newRand(20)
	for _, n := range lengths {
		var data []byte
		for _, v := range spread(r, n, 0).Data {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		f.Add(data)
	}
}

// onLevels calls f on every level.
func onLevels(t *testing.T, f func()) {
	old := kernels.Current()
	defer func() {
		if err := kernels.SetLevel(old); err != nil {
			t.Fatal(err)
		}
	}()
	for _, l := range kernels.Supported() {
		if err := kernels.SetLevel(l); err != nil {
			t.Fatal(err)
		}
		f()
	}
}

func FuzzActivations(f *testing.F) {
	addFloats(f, 0, 1, 7, 8, 9, 15, 16, 17, 33)
	f.Fuzz(func(t *testing.T, data []byte) {
		src := floats(data)
		onLevels(t, func() {
			for _, a := range activations {
				dst := make([]float32, len(src))
				a.f(dst, src)
				for i, x := range src {
					expect(t, a.name, i, dst[i], a.oracle(x))
				}
			}
		})
	})
}

func FuzzSoftmaxXent(f *testing.F) {
	addFloats(f, 1, 2, 10, 15, 16, 17, 62)
	f.Fuzz(func(t *testing.T, data []byte) {
		row := floats(data)
		n := len(row)
		if n == 0 {
			return
		}
		label := int(data[0]) % n
		want, wantLoss, wantCorrect := softmaxRowOracle(row, label, 0.5)
		onLevels(t, func() {
			grad := make([]float32, kernels.Pad(n))
			loss, correct := kernels.SoftmaxXent(grad, row, kernels.Pad(n), 1, n, []int32{int32(label)}, 0.5)
			if (correct == 1) != wantCorrect || (loss == loss) != (wantLoss == wantLoss) {
				t.Fatalf("%v: loss %v, correct %d, want %v, %v", kernels.Current(), loss, correct, wantLoss, wantCorrect)
			}
			if loss == loss && loss != wantLoss {
				t.Fatalf("%v: loss %v, want %v", kernels.Current(), loss, wantLoss)
			}
			for j, w := range want {
				if !equal(grad[j], w) {
					t.Fatalf("%v: gradient %d is %v, want %v", kernels.Current(), j, grad[j], w)
				}
			}
		})
	})
}

func FuzzReductions(f *testing.F) {
	addFloats(f, 0, 1, 8, 15, 16, 17, 48, 70)
	f.Fuzz(func(t *testing.T, data []byte) {
		x := floats(data[:min(len(data), 4*kernels.ReduceBlock)])
		square := lanesOracle(len(x), func(lane float32, i int) float32 { return fma(x[i], x[i], lane) })
		onLevels(t, func() {
			if got := float32(kernels.Dot(x, x)); !equal(got, square) {
				t.Fatalf("%v: dot %v, want %v", kernels.Current(), got, square)
			}
		})
	})
}
