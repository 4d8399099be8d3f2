package deal

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/list"
)

// HeldClasses returns how many of the classes a client of heterogeneity index
// hi in [0, 1] holds: c with hi = 1 - (c-1)/(classes-1), rounded to the
// nearest integer, at least 1. (FedTune)
func HeldClasses(hi float64, classes int) int {
	return max(1, int(math.Floor(1.5+float64((1-hi)*float64(classes-1)))))
}

// tries is how often Classes draws anew which classes clients hold.
const tries = 16

// Classes deals to client i sizes[i] samples of held[i] classes, at least one
// of each and as evenly as the samples allow, in random order. Clients take the
// classes with the most samples left, the largest client first. short is the
// number of samples that are missing because the classes ran out.
func Classes(labels []int32, classes int, held, sizes []int, key uint64) (dealt [][]int32, short int) {
	lists := byClass(labels, classes, key)
	var best []quota
	for try := range tries {
		quotas, missing := heldQuotas(lists, held, sizes, draw.New(key, purposeClass, uint64(try)))
		if best == nil || missing < short {
			best, short = quotas, missing
		}
		if short == 0 {
			break
		}
	}
	return take(lists, best, key), short
}

// heldQuotas draws who holds which classes and settles the quotas.
func heldQuotas(lists [][]int32, held, sizes []int, ties *draw.Stream) (quotas []quota, short int) {
	left := list.Of(lists, func(list []int32) int { return len(list) })
	order := list.Made(len(sizes), func(i int) int { return i })
	slices.SortStableFunc(order, func(i, j int) int { return sizes[j] - sizes[i] })
	quotas = make([]quota, len(sizes))
	for _, i := range order {
		quotas[i] = quota{mostLeft(left, held[i], ties), Even(held[i], sizes[i]), slices.Repeat([]int{1}, held[i]), slices.Repeat([]int{sizes[i]}, held[i])}
		for j, c := range quotas[i].classes {
			left[c] -= quotas[i].counts[j]
		}
	}
	return quotas, settle(quotas, left)
}

// Like deals to client i up to sizes[i] samples in the proportions of mixes[i], the
// counts of classes that it holds, and of no other class, in random order. Where
// clients want more of a class than there is, all get the same share of what they
// want of it, and no more of their other classes: so a client's samples are as its
// mix as far as the class lasts. Every number is what this says, rounded up or down.
// short is how many samples are missing, and off how far the classes of a client's
// samples are from its mix on average before they are rounded, as total variation.
func Like(labels []int32, mixes [][]int, sizes []int, key uint64) (dealt [][]int32, short int, off float64) {
	if len(mixes) == 0 {
		return nil, 0, 0
	}
	lists := byClass(labels, len(mixes[0]), key)
	wanted := make([]float64, len(lists))
	for i, mix := range mixes {
		for c, x := range proportions(mix) {
			wanted[c] += float64(x * float64(sizes[i]))
		}
	}
	left := make([]int, len(lists))
	lasts := make([]float64, len(lists)) // which part of what is wanted there is
	for c, list := range lists {
		left[c], lasts[c] = len(list), 1
		if have := float64(len(list)); have < wanted[c] {
			lasts[c] = have / wanted[c]
		}
	}
	quotas := make([]quota, len(sizes))
	for i, mix := range mixes {
		own := proportions(mix)
		parts, sum := make([]float64, len(own)), 0.0
		for c, x := range own {
			parts[c] = float64(x * float64(sizes[i]) * lasts[c])
			sum += parts[c]
		}
		quotas[i] = rounded(parts, sum)
		for j, c := range quotas[i].classes {
			left[c] -= quotas[i].counts[j]
			short -= quotas[i].counts[j]
		}
		short += sizes[i]
		for c, x := range own {
			if sum > 0 {
				off += math.Abs(x-parts[c]/sum) / 2 / float64(len(mixes))
			}
		}
	}
	short += settle(quotas, left)
	return take(lists, quotas, key), short, off
}

// proportions returns the shares of counts; all are 0 if there are none.
func proportions(counts []int) []float64 {
	total := list.Sum(counts, func(n int) int { return n })
	return list.Of(counts, func(n int) float64 { return float64(n) / float64(max(1, total)) })
}

// rounded returns a quota of integers that sum to that of the parts, rounded
// down: each is its part rounded up or down, by the largest remainder, of equal ones
// the first, and may become the other one.
func rounded(parts []float64, sum float64) quota {
	const slack = 1e-6 // far above what rounding adds, far below a remainder that counts
	var q quota
	var remainders []float64
	rest := int(sum + slack)
	for c, x := range parts {
		if x <= slack {
			continue
		}
		whole := int(x + slack)
		most := whole
		if x-float64(whole) > slack {
			most++
		}
		q.classes, q.counts, remainders = append(q.classes, c), append(q.counts, whole), append(remainders, x-float64(whole))
		q.least, q.most = append(q.least, whole), append(q.most, most)
		rest -= whole
	}
	order := list.Made(len(q.classes), func(j int) int { return j })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for _, j := range order[:min(max(0, rest), len(order))] {
		q.counts[j] = q.most[j]
	}
	return q
}

// quota is how many samples of which classes a client gets, and the fewest and most
// that it may.
type quota struct {
	classes, counts, least, most []int
}

// mostLeft returns the n classes with most samples left, equal ones in random
// order.
func mostLeft(left []int, n int, ties *draw.Stream) []int {
	shuffled := list.Made(len(left), func(c int) int32 { return int32(c) })
	ties.Shuffle(shuffled)
	slices.SortStableFunc(shuffled, func(a, b int32) int { return cmp.Compare(left[b], left[a]) })
	return list.Made(n, func(j int) int { return int(shuffled[j]) })
}

// take deals the samples of the classes by the quotas.
func take(lists [][]int32, quotas []quota, key uint64) [][]int32 {
	dealt := make([][]int32, len(quotas))
	for i, q := range quotas {
		for j, c := range q.classes {
			n := q.counts[j]
			dealt[i] = append(dealt[i], lists[c][:n]...)
			lists[c] = lists[c][n:]
		}
	}
	mixed(dealt, key)
	return dealt
}
