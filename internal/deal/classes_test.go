package deal

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// mixesOf counts the classes of every client.
func mixesOf(labels []int32, dealt [][]int32) [][]int {
	mixes := make([][]int, len(dealt))
	for i, samples := range dealt {
		mixes[i] = make([]int, 10)
		for _, s := range samples {
			mixes[i][labels[s]]++
		}
	}
	return mixes
}

// held counts the classes that are not 0.
func held(mix []int) (n int) {
	for _, m := range mix {
		if m > 0 {
			n++
		}
	}
	return n
}

func TestHeldClasses(t *testing.T) {
	for _, tt := range []struct {
		hi            float64
		classes, want int
	}{
		{0, 10, 10},
		{1, 10, 1},
		{0.2, 10, 8},
		{0.4, 10, 6},
		{0.6, 10, 5},
		{0.8, 10, 3},
		{0.5, 2, 2},
		{0.51, 2, 1},
		{0.8, 62, 13},
		{0.3, 1, 1},
	} {
		if got := HeldClasses(tt.hi, tt.classes); got != tt.want {
			t.Errorf("a client of index %v holds %d of %d classes, must hold %d", tt.hi, got, tt.classes, tt.want)
		}
	}
}

func TestShards(t *testing.T) {
	labels := someLabels(5500)
	for _, tt := range []struct {
		sizes  []int
		shards int
	}{{alike(50, 110), 2}, {alike(50, 100), 2}, {alike(7, 31), 1}, {
		LogNormal(50, 5000, 20, 1, 2),
		2,
	}, {[]int{4, 1000, 3}, 3}} {
		dealt := Shards(labels, 10, tt.sizes, tt.shards, 8)
		checkDealt(t, dealt, len(labels), tt.sizes)
		for i, mix := range mixesOf(labels, dealt) {
			// The rarest class has a 1/11 of what is dealt, so a run shorter than
			// that spans two at most.
			if tt.sizes[i]/tt.shards < sum(tt.sizes)/11-30 && held(mix) > 2*tt.shards {
				t.Errorf("client %d has %d classes of %d shards", i, held(mix), tt.shards)
			}
		}
		if !slices.Equal(dealt[2], Shards(labels, 10, tt.sizes, tt.shards, 8)[2]) ||
			slices.Equal(dealt[2], Shards(labels, 10, tt.sizes, tt.shards, 9)[2]) {
			t.Error("the key does not decide what is dealt")
		}
	}
	// A hundred clients with two shards each hold few classes, as in McMahan et al.
	few := 0
	dealt := Shards(labels, 10, alike(100, 55), 2, 1)
	for _, mix := range mixesOf(labels, dealt) {
		if held(mix) <= 2 {
			few++
		}
	}
	if few < 80 {
		t.Errorf("%d of 100 clients have two classes or one", few)
	}
	if first := labels[dealt[0][0]]; held(mixesOf(labels, dealt[:1])[0]) > 1 &&
		!slices.ContainsFunc(dealt[0][:20], func(s int32) bool { return labels[s] != first }) {
		t.Error("a client's samples are sorted by class")
	}
}

func TestClasses(t *testing.T) {
	labels := someLabels(5500) // class 0 has 1000, the others 500
	for name, tt := range map[string]struct {
		held, sizes []int
	}{
		"all samples, two each":  {alike(50, 2), alike(50, 110)},
		"all samples, ten each":  {alike(50, 10), alike(50, 110)},
		"one each":               {alike(50, 1), alike(50, 100)},
		"five, log-normal":       {alike(30, 5), LogNormal(30, 5500, 10, 1, 4)},
		"one to four, power law": {[]int{1, 2, 3, 4, 1, 2, 3, 4, 1, 2}, PowerLaw(10, 2000, 10, 0.5, 4)},
		"one sample of a class":  {[]int{10, 3}, []int{10, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			dealt, short := Classes(labels, 10, tt.held, tt.sizes, 5)
			if short != 0 {
				t.Fatalf("%d short", short)
			}
			checkDealt(t, dealt, len(labels), tt.sizes)
			for i, mix := range mixesOf(labels, dealt) {
				if held(mix) != tt.held[i] {
					t.Errorf("client %d holds %d classes, must hold %d: %v", i, held(mix), tt.held[i], mix)
				}
			}
			again, _ := Classes(labels, 10, tt.held, tt.sizes, 5)
			other, _ := Classes(labels, 10, tt.held, tt.sizes, 6)
			if !slices.Equal(dealt[1], again[1]) || slices.Equal(dealt[1], other[1]) {
				t.Error("the key does not decide what is dealt")
			}
		})
	}
}

// TestClassesRunShort asks for what the classes cannot give: what is dealt is
// still of the clients' classes, and what is missing is counted.
func TestClassesRunShort(t *testing.T) {
	labels := someLabels(5500)
	dealt, short := Classes(labels, 10, alike(10, 1), alike(10, 550), 1)
	// Nine clients get 500 of 550; one, or none if the big class is held twice,
	// all.
	total := 0
	for i, samples := range dealt {
		total += len(samples)
		if mix := mixesOf(labels, dealt)[i]; held(mix) != 1 {
			t.Errorf("client %d holds %v", i, mix)
		}
	}
	if short == 0 || total+short != 5500 {
		t.Errorf("%d dealt, %d short", total, short)
	}
}

func TestLike(t *testing.T) {
	labels := someLabels(1100) // class 0 has 200, the others 100
	mixes := [][]int{{0, 30, 10, 0, 0, 0, 0, 0, 0, 0}, {500, 500, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}
	dealt, short, off := Like(labels, mixes, []int{40, 100, 50}, 2)
	checkDealt(t, dealt, len(labels), []int{40, 100, 50})
	got := mixesOf(labels, dealt)
	want := [][]int{{0, 30, 10, 0, 0, 0, 0, 0, 0, 0}, {50, 50, 0, 0, 0, 0, 0, 0, 0, 0}, {5, 5, 5, 5, 5, 5, 5, 5, 5, 5}}
	for i := range want {
		if short != 0 || !slices.Equal(got[i], want[i]) {
			t.Errorf("client %d got %v, must get %v; %d short", i, got[i], want[i], short)
		}
	}
	if off != 0 {
		t.Errorf("the classes last, and clients are %v off", off)
	}
	if dealt, short, _ := Like(labels, nil, nil, 1); len(dealt) != 0 || short != 0 {
		t.Errorf("no clients got %v", dealt)
	}
	// 240 of class 1 are wanted, there are 100: each client gets 100/240 of what it wants
	// of it, and of its other classes what it wants.
	mixes = [][]int{{0, 1, 1, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 9, 1, 1, 0, 0, 0, 0, 0, 0}}
	dealt, short, off = Like(labels, mixes, []int{100, 100, 110}, 2)
	wantOff := (0.5 - (100./240*50)/(100./240*50+50) + 0 + 9./11 - (100./240*90)/(100./240*90+20)) / 3
	if got := mixesOf(labels, dealt); got[0][1] < 20 || got[0][1] > 21 || got[0][2] != 50 || got[1][1] < 41 ||
		got[1][1] > 42 || got[2][1] < 37 || got[2][1] > 38 || got[2][2] != 10 || math.Abs(off-wantOff) > 1e-12 {
		t.Errorf("got %v, %v off, must be %v off", got, off, wantOff)
	}
	if short != 310-sum([]int{len(dealt[0]), len(dealt[1]), len(dealt[2])}) {
		t.Errorf("%d short of 310: %d, %d, %d", short, len(dealt[0]), len(dealt[1]), len(dealt[2]))
	}
}

// TestLikeIsRounded deals sets of many forms: each client gets of each class what its
// mix and what there is of the class say, rounded up or down, and so in all.
func TestLikeIsRounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes, clients := rapid.IntRange(1, 12).Draw(t, "classes"), rapid.IntRange(1, 40).Draw(t, "clients")
		var labels []int32
		supply := make([]int, classes)
		for c := range supply {
			supply[c] = rapid.IntRange(0, 60).Draw(t, "samples of a class")
			labels = append(labels, slices.Repeat([]int32{int32(c)}, supply[c])...)
		}
		mixes, sizes := make([][]int, clients), make([]int, clients)
		wanted := make([]float64, classes)
		for i := range mixes {
			mixes[i] = rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 1, 2, 7, 40}), classes, classes).Draw(t, "mix")
			sizes[i] = rapid.IntRange(0, 30).Draw(t, "size")
			for c, n := range mixes[i] {
				wanted[c] += float64(n*sizes[i]) / float64(max(1, sum(mixes[i])))
			}
		}
		dealt, short, _ := Like(labels, mixes, sizes, 3)
		taken, total := map[int32]bool{}, 0
		for i, samples := range dealt {
			got := make([]int, classes)
			for _, s := range samples {
				if taken[s] {
					t.Fatalf("sample %d is dealt twice", s)
				}
				taken[s] = true
				got[labels[s]]++
			}
			var all float64
			for c, n := range mixes[i] {
				want := float64(n*sizes[i]) / float64(max(1, sum(mixes[i])))
				if wanted[c] > 0 {
					want *= min(1, float64(supply[c])/wanted[c])
				}
				if all += want; math.Abs(float64(got[c])-want) > 1-1e-7 {
					t.Errorf("client %d got %d of class %d, must be %v up or down", i, got[c], c, want)
				}
			}
			if len(samples) != int(all+1e-6) {
				t.Errorf("client %d got %d samples, must be %v rounded down", i, len(samples), all)
			}
			total += len(samples)
		}
		if short != sum(sizes)-total {
			t.Errorf("%d dealt of %d, %d short", total, sum(sizes), short)
		}
	})
}

// TestSettleIsBest compares with every way to fill small quotas.
func TestSettleIsBest(t *testing.T) {
	for seed := range uint64(300) {
		dice := func(n int) int { seed = seed*6364136223846793005 + 1442695040888963407; return int(seed>>33) % n }
		supply := []int{dice(5), dice(5), dice(5)}
		left := slices.Clone(supply)
		var quotas []quota
		var sizes []int
		for range 3 {
			q := quota{classes: []int{dice(3)}, counts: []int{dice(5)}}
			if other := dice(3); other != q.classes[0] {
				q.classes, q.counts = append(q.classes, other), append(q.counts, dice(5))
			}
			for j, c := range q.classes {
				left[c] -= q.counts[j]
			}
			q.least, q.most = make([]int, len(q.classes)), slices.Repeat([]int{sum(q.counts)}, len(q.classes))
			quotas, sizes = append(quotas, q), append(sizes, sum(q.counts))
		}
		want := sum(sizes) - mostFilled(quotas, sizes, supply)
		if got := settle(quotas, left); got != want {
			t.Fatalf("%d short, must be %d: supply %v, quotas %+v", got, want, supply, quotas)
		}
		for c, n := range left {
			if n < 0 {
				t.Fatalf("class %d is overdrawn by %d", c, -n)
			}
		}
	}
}

// mostFilled returns how many samples clients can get of their classes, by
// trying all ways.
func mostFilled(quotas []quota, sizes, supply []int) int {
	if len(quotas) == 0 {
		return 0
	}
	best := 0
	q := quotas[0]
	for a := 0; a <= min(sizes[0], supply[q.classes[0]]); a++ {
		most := 0
		if len(q.classes) > 1 {
			most = min(sizes[0]-a, supply[q.classes[1]])
		}
		rest := slices.Clone(supply)
		rest[q.classes[0]] -= a
		if len(q.classes) > 1 {
			for b := 0; b <= most; b++ {
				after := slices.Clone(rest)
				after[q.classes[1]] -= b
				best = max(best, a+b+mostFilled(quotas[1:], sizes[1:], after))
			}
			continue
		}
		best = max(best, a+mostFilled(quotas[1:], sizes[1:], rest))
	}
	return best
}
