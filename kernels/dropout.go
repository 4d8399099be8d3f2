package kernels

import (
	"math"
	"math/bits"

	"github.com/fedfast/fedfast/kernels/det"
)

// dropoutTable holds the dropout of one level.
type dropoutTable struct {
	// apply does len(src) elements from the first word of block on; dst is as long
	// as src.
	apply func(dst, src []float32, d dropout)
}

// dropout is what apply reads; its layout is known to _asm.
type dropout struct {
	keys      [2 * philoxRounds]uint32 // round keys
	block     uint64                   // words 0 and 1 of the first counter
	stream    uint64                   // words 2 and 3 of every counter
	threshold uint32                   // words below it drop their element
	scale     float32                  // of the elements that are kept
}

var dropouts dropoutTable

const msgDropout = "kernels: Dropout with a rate outside [0, 1)"

// Dropout drops elements of src with probability 0 <= p < 1 and scales the others
// by 1/(1-p): element i is kept, and dst[i] becomes src[i]/(1-p), if word i%4 of
// Philox(counter {i/4, stream}, key), each number as two words with the low one
// first, is at least p*2^32; else dst[i] is 0. The choice depends on nothing else,
// so the same call on the gradient is the backward pass. p = 0 copies. dst must be
// as long as src and may be src itself.
func Dropout(dst, src []float32, p float32, key uint64, stream uint64) {
	if len(dst) != len(src) {
		panic(msgLengths)
	}
	if !(p >= 0 && p < 1) {
		panic(msgDropout)
	}
	raceRead(src)
	raceWrite(dst)
	if p == 0 {
		copy(dst, src)
		return
	}
	d := dropout{stream: stream, threshold: uint32(math.Ceil(float64(p) * (1 << 32))), scale: KeepScale(p)}
	k0, k1 := uint32(key), uint32(key>>32)
	for r := range philoxRounds {
		d.keys[2*r], d.keys[2*r+1] = k0, k1
		k0 += philoxW0
		k1 += philoxW1
	}
	const block = mapBlock / 2
	for len(src) > block {
		callDropout(dst[:block], src[:block], d)
		dst, src = dst[block:], src[block:]
		d.block += block / 4
	}
	if len(src) > 0 {
		callDropout(dst, src, d)
	}
}

// KeepScale returns what Dropout with rate p multiplies the elements by that it
// keeps, 1/(1-p).
func KeepScale(p float32) float32 { return float32(1 / (1 - float64(p))) }

//go:noinline
func callDropout(dst, src []float32, d dropout) { dropouts.apply(dst, src, d) }

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
