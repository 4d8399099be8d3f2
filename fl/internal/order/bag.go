package order

import (
	"math/bits"

	"github.com/fedfast/fedfast/kernels"
)

// Bag is a set of the numbers 0 to n-1, from which the member of a rank, or one in proportion
// to its weight, is taken in logarithmic time: a Fenwick tree of the weights.
type Bag[T int32 | int64] struct {
	sums    []T // of the weights of the members below, from 1
	weights []T // nil for 1 each
	has     []bool
	n       int
	total   T
}

// NewBag returns the bag of all numbers below n but those that are out. Weights, if any, are
// at least 1.
func NewBag[T int32 | int64](n int, weights []T, out func(i int) bool) Bag[T] {
	b := Bag[T]{sums: make([]T, n+1), weights: weights, has: make([]bool, n)}
	for i := range n {
		if b.has[i] = out == nil || !out(i); b.has[i] {
			b.n++
			b.total += b.weight(i)
			b.sums[i+1] += b.weight(i)
		}
		if up := i + 1 + (i+1)&-(i+1); up <= n {
			b.sums[up] += b.sums[i+1]
		}
	}
	return b
}

func (b *Bag[T]) weight(i int) T {
	if b.weights == nil {
		return 1
	}
	return b.weights[i]
}

// Len returns the number of members.
func (b *Bag[T]) Len() int { return b.n }

// Has reports whether i is a member.
func (b *Bag[T]) Has(i int) bool { return b.has[i] }

// Put adds i, unless it is a member.
func (b *Bag[T]) Put(i int) {
	if !b.has[i] {
		b.change(i, 1)
	}
}

// Take removes i, unless it is not a member.
func (b *Bag[T]) Take(i int) {
	if b.has[i] {
		b.change(i, -1)
	}
}

func (b *Bag[T]) change(i, by int) {
	w := T(by) * b.weight(i)
	b.n += by
	b.total += w
	b.has[i] = by > 0
	for k := i + 1; k < len(b.sums); k += k & -k {
		b.sums[k] += w
	}
}

// At returns the member before which members of a weight of at most rank come.
func (b *Bag[T]) At(rank T) int {
	i, left := 0, rank
	for bit := 1 << (bits.Len(uint(len(b.sums))) - 1); bit > 0; bit >>= 1 {
		if k := i + bit; k < len(b.sums) && b.sums[k] <= left {
			i, left = k, left-b.sums[k]
		}
	}
	return i
}

// Below returns the weight of the members below i.
func (b *Bag[T]) Below(i int) (sum T) {
	for ; i > 0; i -= i & -i {
		sum += b.sums[i]
	}
	return sum
}

// Draw takes out a member, drawn in proportion to the weights.
func (b *Bag[T]) Draw(draws *kernels.Stream) int {
	i := b.At(T(draws.IntN(int(b.total))))
	b.change(i, -1)
	return i
}
