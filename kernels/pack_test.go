package kernels_test

import (
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

func TestPad(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 16, 16: 16, 17: 32, 62: 64} {
		if got := kernels.Pad(n); got != want {
			t.Errorf("Pad(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestPackUnpack(t *testing.T) {
	for k := range 20 {
		for n := 1; n < 50; n++ {
			lds := n + 3
			src := numbered(k*lds + n)
			packed := numbered(k * kernels.Pad(n))
			kernels.Pack(packed, src, k, n, lds)
			for r := range k {
				for j := range kernels.Pad(n) {
					want := float32(0)
					if j < n {
						want = src[r*lds+j]
					}
					if got := packed[j/16*k*16+r*16+j%16]; got != want {
						t.Fatalf("k=%d n=%d: packed element (%d,%d) = %v, want %v", k, n, r, j, got, want)
					}
				}
			}
			back := make([]float32, k*lds+n)
			kernels.Unpack(back, packed, k, n, lds)
			for i, got := range back {
				want := src[i]
				if i%lds >= n || i >= k*lds {
					want = 0
				}
				if got != want {
					t.Fatalf("k=%d n=%d: unpacked float %d = %v, want %v", k, n, i, got, want)
				}
			}
		}
	}
}

func numbered(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i + 1)
	}
	return x
}
