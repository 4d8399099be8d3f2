package codec

import "math"

// Counts is the memory of TopK.
type Counts [1 << 16]int32

// TopK appends the places, ascending, of the k values of the largest magnitudes to index;
// among equal ones the lower places. It takes two passes to find the least magnitude that
// is in, whose bits it counts in two halves, and one to list.
func TopK(index []int32, x []float32, k int, counts *Counts) []int32 {
	const low = 15 // bits of the second half
	high, left := rank(counts, k, x, func(m uint32) (int, bool) { return int(m >> low), true })
	last, ties := rank(counts, left, x, func(m uint32) (int, bool) { return int(m & (1<<low - 1)), int(m>>low) == high })
	least := uint32(high<<low | last)
	for i, v := range x {
		switch m := magnitude(v); {
		case m > least:
		case m == least && ties > 0:
			ties--
		default:
			continue
		}
		index = append(index, int32(i))
	}
	return index
}

// rank counts the values by a part of their magnitude and returns the part of the k-th
// largest, with how many of that part are among the k.
func rank(counts *Counts, k int, x []float32, part func(m uint32) (int, bool)) (at, left int) {
	clear(counts[:])
	for _, v := range x {
		if p, in := part(magnitude(v)); in {
			counts[p]++
		}
	}
	for at = len(counts) - 1; at > 0 && int(counts[at]) < k; at-- {
		k -= int(counts[at])
	}
	return at, k
}

// magnitude returns bits that are ordered as |v|.
func magnitude(v float32) uint32 { return math.Float32bits(v) &^ (1 << 31) }
