package kernels_test

import (
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// TestReadProbe reads lengths around a round and around a call, at the end of an
// allocation.

func BenchmarkReadProbe(b *testing.B) {
	benchLevels(b, func(b *testing.B) {
		x := ones(2048 * 3136)
		b.SetBytes(int64(4 * len(x)))
		for b.Loop() {
			kernels.ReadProbe(x)
		}
	})
}
