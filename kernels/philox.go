package kernels

import (
	"math/bits"

	"github.com/fedfast/fedfast/kernels/det"
)

// The multipliers and key increments of Philox4x32 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011).
const (
	philoxM0, philoxM1 = 0xD2511F53, 0xCD9E8D57
	philoxW0, philoxW1 = 0x9E3779B9, 0xBB67AE85
	philoxRounds       = 10
)

// Philox returns the four words that Philox4x32-10 gives for counter ctr under key.
func Philox(ctr [4]uint32, key [2]uint32) [4]uint32 {
	for range philoxRounds {
		h0, l0 := bits.Mul32(philoxM0, ctr[0])
		h1, l1 := bits.Mul32(philoxM1, ctr[2])
		ctr = [4]uint32{h1 ^ ctr[1] ^ key[0], l1, h0 ^ ctr[3] ^ key[1], l0}
		key[0] += philoxW0
		key[1] += philoxW1
	}
	return ctr
}

// Key mixes parts (seed, trial, round, slot, client, purpose and the like) into the
// key of a generator. Different tuples, also of different lengths, give unrelated
// keys. Each part passes det.Mix.
func Key(parts ...uint64) uint64 {
	h := det.Mix(uint64(len(parts)) ^ 0x6A09E667F3BCC909) // sqrt 2, so that no small part undoes it
	for _, p := range parts {
		h = det.Mix(h ^ det.Mix(p))
	}
	return h
}
