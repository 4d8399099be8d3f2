package kernels_test

import (
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// TestPhiloxKnownAnswers holds the vectors that the authors' Random123 1.14 lists
// for philox4x32 10 in tests/kat_vectors.
func TestPhiloxKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
			[2]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := kernels.Philox(c.ctr, c.key); got != c.want {
			t.Errorf("Philox(%08x, %08x) = %08x, want %08x", c.ctr, c.key, got, c.want)
		}
	}
}

func TestKeyDistinguishesTuples(t *testing.T) {
	seen := map[uint64][]uint64{}
	for _, parts := range [][]uint64{{}, {0}, {0, 0}, {0, 1}, {1, 0}, {1}, {2}, {1, 1}, {0, 0, 0}, {1 << 63}} {
		k := kernels.Key(parts...)
		if other, ok := seen[k]; ok {
			t.Errorf("Key(%v) = Key(%v) = %#x", parts, other, k)
		}
		seen[k] = parts
	}
}
