package deal

import (
	"slices"

	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/list"
)

// Shards sorts the samples by class, cuts them into runs and deals shards runs
// at random to each client, so that it has few classes; those of client i have
// sizes[i] samples together and differ by at most one. The order of a client's
// samples is random. What the sizes leave over is drawn at random; they must
// not sum to more than len(labels). (McMahan et al. 2017)
func Shards(labels []int32, classes int, sizes []int, shards int, key uint64) [][]int32 {
	total := 0
	for _, size := range sizes {
		total += size
	}
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
