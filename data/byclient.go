package data

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/internal/list"
)

// MaxOwnClasses bounds the labels of examples that users bring.
const MaxOwnClasses = 1 << 20

// ByClient returns the samples of each client, whose name stands beside each sample:
// those before train are for training, the others for testing. The clients are sorted
// by their names; if all are integers by these, alike ones as the names are. Samples behind
// the last name are a central test set, and without any name all are dealt.
func ByClient(all View, clients []string, train int) []Examples {
	switch n := len(clients); {
	case n == 0:
		return []Examples{{Train: all.Part(0, train), Test: all.Part(train, all.Len()), Pooled: true}}
	case n < all.Len():
		return append(ByClient(all.Part(0, n), clients, n), Examples{Test: all.Part(n, all.Len()), Central: true})
	}
	samples := map[string]*[2][]int32{}
	for i, id := range clients {
		if samples[id] == nil {
			samples[id] = &[2][]int32{}
		}
		part := 0
		if i >= train {
			part = 1
		}
		samples[id][part] = append(samples[id][part], int32(i))
	}
	ids := slices.Sorted(maps.Keys(samples))
	if !slices.ContainsFunc(ids, func(id string) bool { _, err := strconv.ParseInt(id, 10, 64); return err != nil }) {
		slices.SortStableFunc(ids, func(a, b string) int {
			x, _ := strconv.ParseInt(a, 10, 64)
			y, _ := strconv.ParseInt(b, 10, 64)
			return cmp.Compare(x, y)
		})
	}
	examples := list.Of(ids, func(id string) Examples {
		return Examples{Client: id, Train: all.Pick(samples[id][0]), Test: all.Pick(samples[id][1])}
	})
	return examples
}
