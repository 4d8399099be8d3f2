package deal

import (
	"math"
	"slices"
	"testing"
)

// someLabels returns n labels of 10 classes, class 0 being twice as frequent.
func someLabels(n int) []int32 {
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(max(0, i%11-1))
	}
	return labels
}

// checkDealt checks the number of samples and that none is dealt twice.
func checkDealt(t *testing.T, dealt [][]int32, n int, sizes []int) {
	t.Helper()
	if len(dealt) != len(sizes) {
		t.Fatalf("%d clients, must be %d", len(dealt), len(sizes))
	}
	seen := make([]bool, n)
	for i, samples := range dealt {
		if len(samples) != sizes[i] {
			t.Fatalf("client %d has %d samples, must have %d", i, len(samples), sizes[i])
		}
		for _, s := range samples {
			if seen[s] {
				t.Fatalf("sample %d is dealt twice", s)
			}
			seen[s] = true
		}
	}
}

// alike returns the sizes of clients that all get the same.
func alike(clients, each int) []int { return slices.Repeat([]int{each}, clients) }

func TestIID(t *testing.T) {
	dealt := IID(1000, alike(33, 30), 1)
	checkDealt(t, dealt, 1000, alike(33, 30))
	if !slices.Equal(dealt[7], IID(1000, alike(33, 30), 1)[7]) || slices.Equal(dealt[7], IID(1000, alike(33, 30), 2)[7]) {
		t.Error("the key does not decide what is dealt")
	}
	uneven := []int{1, 0, 500, 3}
	checkDealt(t, IID(504, uneven, 1), 504, uneven)
	labels := someLabels(504)
	byMix, _ := ByMix(labels, Dirichlet(labels, 10, 4, 1, 2), uneven, 2)
	checkDealt(t, byMix, 504, uneven)
	checkDealt(t, IID(10, alike(3, 0), 1), 10, alike(3, 0))
}

func TestDirichletFollowsMixes(t *testing.T) {
	labels := someLabels(22_000)
	for _, alpha := range []float64{0.1, 1, 100} {
		mixes := Dirichlet(labels, 10, 50, alpha, 3)
		dealt, strayed := ByMix(labels, mixes, alike(len(mixes), 100), 3)
		checkDealt(t, dealt, len(labels), alike(50, 100))
		var apart float64 // mean distance of a client's classes from its mix
		var zero float64  // mean share of class 0, which has 2/11 of the labels
		for i, samples := range dealt {
			share := make([]float64, 10)
			for _, s := range samples {
				share[labels[s]] += 0.01
			}
			for c := range share {
				apart += math.Abs(share[c]-mixes[i][c]) / 50
			}
			zero += mixes[i][0] / 50
		}
		if apart > 0.35 { // 100 draws of 10 even classes are about 0.24 off
			t.Errorf("alpha %v: samples are %v off their mixes", alpha, apart)
		}
		if strayed != 0 && alpha > 0.1 || strayed > 0.05 { // a tenth of the samples is dealt, as much as a class has
			t.Errorf("alpha %v: %v of the samples strayed", alpha, strayed)
		}
		if alpha == 100 && math.Abs(zero-2.0/11) > 0.02 {
			t.Errorf("alpha %v: class 0 has %v of the mixes, must have 2/11", alpha, zero)
		}
	}
}

// TestByMixRunsDry deals all samples, so that classes run out.
func TestByMixRunsDry(t *testing.T) {
	labels := someLabels(1100)
	mixes := Dirichlet(labels, 10, 11, 0.01, 4)
	dealt, strayed := ByMix(labels, mixes, alike(len(mixes), 100), 4)
	checkDealt(t, dealt, 1100, alike(11, 100))
	// As much strays as the mixes ask for more than there is of a class, and what strays
	// takes away of others.
	var exceeds float64
	var wanted [10]float64
	counts := classCounts(labels)
	for _, mix := range mixes {
		for c, share := range mix {
			wanted[c] += 100 * share
		}
	}
	for c := range wanted {
		exceeds += max(0, wanted[c]-counts[c]) / 1100
	}
	if strayed < exceeds || strayed > 2*exceeds {
		t.Errorf("%v of the samples strayed, the mixes ask for %v more than there are", strayed, exceeds)
	}
	again, _ := ByMix(labels, mixes, alike(len(mixes), 100), 4)
	for i := range dealt {
		if !slices.Equal(dealt[i], again[i]) {
			t.Fatalf("client %d is dealt differently the second time", i)
		}
	}
}

// TestByMixBits holds what is dealt to what every CPU must deal.
func TestByMixBits(t *testing.T) {
	labels := someLabels(5000)
	h := uint64(14695981039346656037)
	dealt, _ := ByMix(labels, Dirichlet(labels, 10, 40, 0.3, 5), alike(40, 120), 5)
	for _, samples := range dealt {
		for _, s := range samples {
			h = (h ^ uint64(s)) * 1099511628211
		}
	}
	if want := uint64(0xea6adf17144aa605); h != want {
		t.Errorf("dealt samples hash to %#x, must be %#x", h, want)
	}
}

// classCounts counts the labels of each of ten classes.
func classCounts(labels []int32) (n [10]float64) {
	for _, l := range labels {
		n[l]++
	}
	return n
}
