package kernels_test

import (
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
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

// TestPackT transposes blocks of larger matrices, between guard words.
func TestPackT(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(20)
		sweep(func(k int) {
			for _, n := range []int{1, 16, 17, 62} {
				srcRows, dstRows := k+k%3, kernels.Pad(n)+k%2
				src := kernelstest.Random(r, kernels.Pad(n)*srcRows, k%16)
				dst := kernelstest.Random(r, kernels.Pad(k)*dstRows, (k+5)%16)
				old := append([]float32(nil), dst.Data...)
				kernels.PackT(dst.Data, dstRows, src.Data, srcRows, k, n)
				dst.Check(t, "dst")
				for at, got := range dst.Data {
					row, j := at/(16*dstRows)*16+at%16, at/16%dstRows
					want := float32(0)
					switch {
					case j >= kernels.Pad(n):
						want = old[at]
					case row < k:
						want = src.Data[j/16*srcRows*16+row*16+j%16]
					}
					if got != want {
						t.Fatalf("k=%d n=%d: element (%d,%d) = %v, want %v", k, n, j, row, got, want)
					}
				}
			}
		})
	})
}

// TestCopyRows copies rows of all widths between guard words, and nothing between the
// rows.
func TestCopyRows(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(21)
		for _, m := range []int{0, 1, 3, 40} {
			for _, n := range []int{0, 1, 16, 23, 32, 80} {
				ldd, lds := n+m%3, n+5
				dst, src := kernelstest.Random(r, m*ldd, n%16), kernelstest.Random(r, m*lds, 3)
				want := append([]float32(nil), dst.Data...)
				for i := range m {
					copy(want[i*ldd:][:n], src.Data[i*lds:])
				}
				kernels.CopyRows(dst.Data, ldd, src.Data, lds, m, n)
				dst.Check(t, "dst")
				for i, got := range dst.Data {
					if got != want[i] {
						t.Fatalf("%d rows of %d: float %d is %v, want %v", m, n, i, got, want[i])
					}
				}
			}
		}
	})
}

func numbered(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i + 1)
	}
	return x
}
