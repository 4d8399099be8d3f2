// Package deal deals the samples of a set to clients: at random, by mixes or
// numbers of classes, in sizes that are alike, given or follow a law. What it
// returns depends on its arguments alone, on every CPU.
package deal

import (
	"slices"

	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/list"
)

// Purposes keep the streams of one key apart.
const (
	purposeOrder uint64 = iota + 1
	purposeMix
	purposeClass
	purposeWithin
	purposeSize
	purposeRun
)

// IID deals samples 0 to n-1 at random: client i gets sizes[i] of them, no
// sample goes to two. The sizes must not sum to more than n.
func IID(n int, sizes []int, key uint64) [][]int32 {
	order := list.Made(n, func(i int) int32 { return int32(i) })
	draw.New(key, purposeOrder).Shuffle(order)
	dealt := make([][]int32, len(sizes))
	for i, size := range sizes {
		dealt[i], order = order[:size:size], order[size:]
	}
	return dealt
}

// Dirichlet draws for each client how it mixes the classes: a Dirichlet draw
// whose mean are the classes' shares of labels and whose concentration is
// alpha > 0. (Hsu, Qi, Brown 2019)
func Dirichlet(labels []int32, classes, clients int, alpha float64, key uint64) [][]float64 {
	parameters := make([]float64, classes)
	for _, l := range labels {
		parameters[l]++
	}
	for i, count := range parameters {
		parameters[i] = alpha * (count / float64(len(labels)))
	}
	mixes := make([][]float64, clients)
	for i := range mixes {
		mixes[i] = make([]float64, classes)
		draw.New(key, purposeMix, uint64(i)).Dirichlet(mixes[i], parameters)
	}
	return mixes
}

// ByMix deals sizes[i] samples to client i by the clients' class mixes without
// dealing one twice: clients that have not got all take turns, and each draws a
// class by its mix among the classes that have samples left (in proportion to
// what is left if its mix has none of them), then the next sample of that class
// in random order. A client's samples are put into random order in the end: what
// it drew last is of the classes that lasted. The sizes must not sum to more than
// len(labels), nor a mix to another number than 1. strayed is the share of samples,
// in 0..1, that are expected to be of another class than their client's mix asked
// for, since that had run out.
func ByMix(labels []int32, mixes [][]float64, sizes []int, key uint64) (dealt [][]int32, strayed float64) {
	dealt = make([][]int32, len(mixes))
	if len(mixes) == 0 {
		return dealt, 0
	}
	n := 0
	left := byClass(labels, len(mixes[0]), key)
	draws := list.Made(len(mixes), func(i int) *draw.Stream { return draw.New(key, purposeClass, uint64(i)) })
	for turn := range slices.Max(sizes) {
		for i, mix := range mixes {
			if turn >= sizes[i] {
				continue
			}
			c := pick(left, mix, draws[i].Float64())
			for class, samples := range left {
				if len(samples) == 0 {
					strayed += mix[class]
				}
			}
			n++
			dealt[i] = append(dealt[i], left[c][0])
			left[c] = left[c][1:]
		}
	}
	mixed(dealt, key)
	return dealt, strayed / float64(max(1, n))
}

// byClass lists the samples of each class in random order, without those of
// label -1.
func byClass(labels []int32, classes int, key uint64) [][]int32 {
	lists := make([][]int32, classes)
	for i, l := range labels {
		if l >= 0 {
			lists[l] = append(lists[l], int32(i))
		}
	}
	for c, list := range lists {
		draw.New(key, purposeOrder, uint64(c)).Shuffle(list)
	}
	return lists
}

// pick returns the class that u in [0, 1) falls on.
func pick(left [][]int32, mix []float64, u float64) int {
	weight := func(c int) float64 { return mix[c] }
	var total float64
	for c := range left {
		if len(left[c]) > 0 {
			total += mix[c]
		}
	}
	if total == 0 {
		weight = func(c int) float64 { return float64(len(left[c])) }
		for c := range left {
			total += weight(c)
		}
	}
	u = float64(u * total)
	last := -1
	for c := range left {
		if len(left[c]) == 0 || weight(c) == 0 {
			continue
		}
		last = c
		if u -= weight(c); u < 0 {
			break
		}
	}
	if last < 0 {
		panic("partition: more samples to deal than there are")
	}
	return last
}

// Shards sorts the samples by class, cuts them into runs and deals shards runs
// at random to each client, so that it has few classes; those of client i have
// sizes[i] samples together and differ by at most one. The order of a client's
// samples is random. What the sizes leave over is drawn at random; they must
// not sum to more than len(labels). (McMahan et al. 2017)
func Shards(labels []int32, classes int, sizes []int, shards int, key uint64) [][]int32 {
	total := list.Sum(sizes, func(size int) int { return size })
	sorted := slices.Concat(byClass(kept(labels, total, key), classes, key)...)
	runs := list.Made(len(sizes)*shards, func(i int) int32 { return int32(i) })
	draw.New(key, purposeRun).Shuffle(runs)
	dealt := make([][]int32, len(sizes))
	for _, r := range runs {
		i, s := int(r)/shards, int(r)%shards
		n := (s+1)*sizes[i]/shards - s*sizes[i]/shards
		dealt[i] = append(dealt[i], sorted[:n]...)
		sorted = sorted[n:]
	}
	mixed(dealt, key)
	return dealt
}

// kept returns labels with all but n of them, drawn at random, turned to -1.
func kept(labels []int32, n int, key uint64) []int32 {
	if n == len(labels) {
		return labels
	}
	some := list.Made(len(labels), func(i int) int32 { return -1 })
	for _, at := range IID(len(labels), []int{n}, key)[0] {
		some[at] = labels[at]
	}
	return some
}

// mixed puts the samples of every client into random order.
func mixed(dealt [][]int32, key uint64) {
	for i := range dealt {
		draw.New(key, purposeWithin, uint64(i)).Shuffle(dealt[i])
	}
}
