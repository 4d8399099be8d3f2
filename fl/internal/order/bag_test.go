package order

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// TestBag compares the set with a list.
func TestBag(t *testing.T) {
	for _, n := range []int{1, 2, 3, 64, 100} {
		s, list := NewBag[int32](n, nil, nil), []int{}
		for i := range n {
			list = append(list, i)
		}
		draws := kernels.NewStream(1, uint64(n))
		for range 200 {
			client := draws.IntN(n)
			if at, in := slices.BinarySearch(list, client); in {
				s.Take(client)
				list = slices.Delete(list, at, at+1)
			} else {
				s.Put(client)
				list = slices.Insert(list, at, client)
			}
			if s.Len() != len(list) {
				t.Fatalf("%d members, want %d", s.Len(), len(list))
			}
			for rank, want := range list {
				if got := s.At(int32(rank)); got != want {
					t.Fatalf("member %d of %v is %d", rank, list, got)
				}
			}
		}
	}
}

// TestRanking compares a ranking with a sorted list.
func TestRanking(t *testing.T) {
	var r Ranking
	var list []Ranked
	draws := kernels.NewStream(2, 1)
	compare := func(a, b Ranked) int {
		switch {
		case a == b:
			return 0
		case a.Before(b):
			return -1
		}
		return 1
	}
	for i := range 8000 {
		x := Ranked{Weight: 1 + int64(draws.IntN(50)), Client: int32(draws.IntN(2000))}
		at, in := slices.BinarySearchFunc(list, x, compare)
		switch {
		case !in:
			r.Put(x)
			list = slices.Insert(list, at, x)
		case i > 4000:
			r.Take(x)
			list = slices.Delete(list, at, at+1)
		}
		if i == 6000 {
			r.Fill(list)
		}
		if i%500 > 0 {
			continue
		}
		sum, above := int64(0), map[int64]int64{}
		for rank, want := range list {
			if r.At(rank) != want || r.Find(sum) != want || r.Find(sum+want.Weight-1) != want {
				t.Fatalf("rank %d has %v, %v and %v, want %v", rank, r.At(rank), r.Find(sum), r.Find(sum+want.Weight-1), want)
			}
			sum += want.Weight
			above[want.Weight] = sum
		}
		for cut, want := range above {
			if r.Above(cut) != want {
				t.Fatalf("%d above %d, want %d", r.Above(cut), cut, want)
			}
		}
		if r.Len() != len(list) {
			t.Fatalf("%d, want %d", r.Len(), len(list))
		}
	}
}
