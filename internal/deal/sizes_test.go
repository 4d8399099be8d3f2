package deal

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/draw"
)

func sum(sizes []int) (total int) {
	for _, s := range sizes {
		total += s
	}
	return total
}

func TestSizesAreExact(t *testing.T) {
	for _, clients := range []int{1, 2, 7, 100, 999} {
		for _, total := range []int{clients * 10, clients*10 + 1, clients*17 + 5, 60_000} {
			for name, sizes := range map[string][]int{
				"even": Even(clients, total), "log-normal 0.3": LogNormal(clients, total, 10, 0.3, 1),
				"log-normal 4": LogNormal(clients, total, 10, 4, 1), "power law 1.2": PowerLaw(clients, total, 10, 1.2, 1),
				"power law 9": PowerLaw(clients, total, 10, 9, 1),
			} {
				if len(sizes) != clients || sum(sizes) != total || slices.Min(sizes) < 10 {
					t.Errorf("%s: %d clients of at least %d sum to %d, must be %d and %d", name, len(sizes),
						slices.Min(sizes), sum(sizes), clients, total)
				}
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("10 clients of 10 shared 99 samples")
		}
	}()
	PowerLaw(10, 99, 10, 1, 1)
}

// TestSizesFollowTheirLaws checks the moments of log-normal sizes and the ranks
// of a power law.
func TestSizesFollowTheirLaws(t *testing.T) {
	const clients, total = 2000, 50_000_000
	for _, sigma := range []float64{0.2, 1, 2} {
		var mean, square float64
		for _, s := range LogNormal(clients, total, 0, sigma, 3) {
			mean += math.Log(float64(s)) / clients
			square += math.Log(float64(s)) * math.Log(float64(s)) / clients
		}
		if got := math.Sqrt(square - mean*mean); math.Abs(got/sigma-1) > 0.06 {
			t.Errorf("the logarithms of log-normal sizes have deviation %v, must be near %v", got, sigma)
		}
	}
	sizes := PowerLaw(50, total, 0, 1.5, 3)
	if slices.IsSortedFunc(sizes, func(a, b int) int { return b - a }) {
		t.Error("the ranks are not at random")
	}
	slices.Sort(sizes)
	for r := 1; r <= 50; r++ {
		if got, want := float64(sizes[50-r])/float64(sizes[49]), math.Pow(float64(r), -1.5); math.Abs(got-want) > 1e-6 {
			t.Errorf("rank %d has %v of the first, must have %v", r, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		weights      []float64
		total, least int
		want         []int
	}{
		{[]float64{1, 1, 1}, 10, 0, []int{4, 3, 3}},
		{[]float64{1, 2, 3}, 7, 0, []int{1, 2, 4}}, // 1.17, 2.33, 3.5
		{[]float64{1, 10, 100}, 111, 20, []int{20, 20, 71}},
		{[]float64{1, 5, 10}, 40, 10, []int{10, 10, 20}}, // 2.5, 12.5, 25: then 10 and 20 of 30
		{[]float64{3, 1}, 20, 10, []int{10, 10}},
		{nil, 0, 5, []int{}},
	} {
		if got := share(tt.weights, tt.total, tt.least); !slices.Equal(got, tt.want) {
			t.Errorf("share(%v, %d, %d) = %v, must be %v", tt.weights, tt.total, tt.least, got, tt.want)
		}
	}
}

// TestSkewBits holds sizes and what is dealt to what every CPU must give.
func TestSkewBits(t *testing.T) {
	labels := someLabels(5000)
	var h uint64
	add := func(sizes []int) {
		shards := Shards(labels, 10, sizes, 3, 6)
		classes, _ := Classes(labels, 10, alike(40, 4), sizes, 6)
		for _, dealt := range [][][]int32{shards, classes} {
			for i, samples := range dealt {
				for _, s := range samples {
					h = draw.Key(h, uint64(i), uint64(s))
				}
			}
		}
	}
	add(LogNormal(40, 4800, 10, 1, 6))
	add(PowerLaw(40, 4800, 10, 0.7, 6))
	if want := uint64(0x5ead55c76b92cec9); h != want {
		t.Errorf("dealt samples hash to %#x, must be %#x", h, want)
	}
}
