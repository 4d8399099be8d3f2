package deal

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data/internal/draw"
)

// HeldClasses returns how many of the classes a client of heterogeneity index
// hi in [0, 1] holds: c with hi = 1 - (c-1)/(classes-1), to the nearest whole
// number from 1 on. (FedTune)
func HeldClasses(hi float64, classes int) int {
	return max(1, int(math.Floor(1.5+float64((1-hi)*float64(classes-1)))))
}

// tries is how often Classes draws anew which classes clients hold.
const tries = 16

// Classes deals to client i sizes[i] samples of held[i] classes, at least one
// of each and as evenly as what is there allows, in random order. Clients take
// the classes that have most left, the largest client first. short is 0 unless
// the classes run out: then so many samples are missing.
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
	left := make([]int, len(lists))
	for c, list := range lists {
		left[c] = len(list)
	}
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return sizes[j] - sizes[i] })
	quotas = make([]quota, len(sizes))
	for _, i := range order {
		quotas[i] = quota{mostLeft(left, held[i], ties), Even(held[i], sizes[i])}
		for j, c := range quotas[i].classes {
			left[c] -= quotas[i].counts[j]
		}
	}
	return quotas, settle(quotas, left, 1)
}

// Like deals to client i sizes[i] samples in the proportions of mixes[i], the
// counts of classes that it holds, and of no other class, in random order.
// short is 0 unless the classes run out: then so many samples are missing.
func Like(labels []int32, mixes [][]int, sizes []int, key uint64) (dealt [][]int32, short int) {
	if len(mixes) == 0 {
		return nil, 0
	}
	lists := byClass(labels, len(mixes[0]), key)
	left := make([]int, len(lists))
	for c, list := range lists {
		left[c] = len(list)
	}
	quotas := make([]quota, len(sizes))
	for i, mix := range mixes {
		var weights []float64
		for c, n := range mix {
			if n > 0 {
				quotas[i].classes = append(quotas[i].classes, c)
				weights = append(weights, float64(n))
			}
		}
		quotas[i].counts = share(weights, sizes[i], 0)
		for j, c := range quotas[i].classes {
			left[c] -= quotas[i].counts[j]
		}
	}
	short = settle(quotas, left, 0)
	return take(lists, quotas, key), short
}

// quota is how many samples of which classes a client gets.
type quota struct {
	classes, counts []int
}

// mostLeft returns the n classes with most samples left, equal ones in random
// order.
func mostLeft(left []int, n int, ties *draw.Stream) []int {
	shuffled := make([]int32, len(left))
	for c := range shuffled {
		shuffled[c] = int32(c)
	}
	ties.Shuffle(shuffled)
	slices.SortStableFunc(shuffled, func(a, b int32) int { return cmp.Compare(left[b], left[a]) })
	classes := make([]int, n)
	for j := range classes {
		classes[j] = int(shuffled[j])
	}
	return classes
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
