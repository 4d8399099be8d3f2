package kernels_test

import (
	"testing"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/kernelstest"
)

// TestReadProbe reads lengths around a round and around a call, at the end of an allocation.
func TestReadProbe(t *testing.T) {
	kernelstest.ForEachLevel(t, func(*testing.T) {
		x := make([]float32, 1<<19)
		for _, n := range []int{0, 1, 127, 128, 129, 255, 256, 1 << 18, 1<<18 + 128, 1 << 19} {
			kernels.ReadProbe(x[len(x)-n:])
		}
	})
}

func BenchmarkReadProbe(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		x := ones(2048 * 3136)
		b.SetBytes(int64(4 * len(x)))
		for b.Loop() {
			kernels.ReadProbe(x)
		}
	})
}
