package dehb

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// history are two rungs: of the lower one six members have scores, one failed, one has none.
func history() []population {
	scored := func(x float64, score float64) member {
		return member{At: []float64{x, x * x, 1 - x}, Outcome: record.Outcome{Reported: true, Score: score}}
	}
	low := population{Rung: 3, Members: []member{
		scored(.1, .6), scored(.2, .3), scored(.3, .9), scored(.4, .1), scored(.5, .3), scored(.6, .7),
		{At: []float64{.7, .7, .7}, Outcome: record.Outcome{Reported: true, Failed: true}},
		{At: []float64{.8, .8, .8}},
	}}
	high := population{Rung: 9, Members: []member{scored(.4, .2), scored(.2, .4), {At: []float64{.9, .9, .9}}}}
	return []population{low, high}
}

// TestPool compares with the authors' rule: the best of the lower fidelity by argsort of fitness,
// where what failed or was not evaluated has the fitness inf.
func TestPool(t *testing.T) {
	all := history()
	d := tuners.NewDraws(1, 0, 0, "test")
	for n, want := range map[int][]int{3: {3, 1, 4}, 4: {3, 1, 4, 0}, 8: {3, 1, 4, 0, 5, 2, 6, 7}} {
		got := evolution{0.5, 0.5}.pool(all, 0, n, tuners.Objective{}, d)
		if len(got) != len(want) {
			t.Fatalf("%d of %d", len(got), n)
		}
		for i, at := range want {
			if !slices.Equal(got[i], all[0].Members[at].At) {
				t.Errorf("%d: place %d is %v, want member %d", n, i, got[i], at)
			}
		}
	}
	// Two are filled up by 3 - 2 + 1 mutants of all populations.
	got := evolution{0.5, 0.5}.pool(all, 0, 2, tuners.Objective{}, d)
	if len(got) != 4 || !slices.Equal(got[1], all[0].Members[1].At) {
		t.Fatal(got)
	}
	var every [][]float64
	for _, p := range all {
		for _, m := range p.Members {
			every = append(every, m.At)
		}
	}
	for _, filler := range got[2:] {
		if len(triples(every, filler)) == 0 {
			t.Errorf("%v is no mutant of all points", filler)
		}
	}
}

// triples returns the ordered triples of different points of which a + (b - c)/2 is the mutant.
func triples(points [][]float64, mutant []float64) (out [][3]int) {
	for a := range points {
		for b := range points {
			for c := range points {
				same := a != b && a != c && b != c
				for x := range mutant {
					same = same && math.Abs(points[a][x]+(points[b][x]-points[c][x])/2-mutant[x]) < 1e-12
				}
				if same {
					out = append(out, [3]int{a, b, c})
				}
			}
		}
	}
	return out
}

// TestMutantsAndChildren: mutants are of all ordered triples alike, a child takes half of the
// coordinates from a mutant, all of the same one and one at least, and what leaves the cube is
// drawn from it.
func TestMutantsAndChildren(t *testing.T) {
	points := [][]float64{{.30, .52, .41}, {.45, .37, .58}, {.55, .61, .33}, {.62, .48, .47}}
	parent := []float64{.11, .12, .13}
	const n = 24_000
	seen := map[[3]int]int{}
	crossed := map[int]int{}
	for trial := range n {
		e := evolution{0.5, 0.5}
		found := triples(points, e.mutant(points, tuners.NewDraws(3, trial, 0, "test")))
		if len(found) != 1 {
			t.Fatalf("%v", found)
		}
		seen[found[0]]++

		child := e.child(parent, points, tuners.NewDraws(5, trial, 0, "test"))
		mask := 0
		for x := range child {
			if child[x] != parent[x] {
				mask |= 1 << x
			}
		}
		crossed[mask]++
		of := 0
		for a := range points {
			for b := range points {
				for c := range points {
					match := a != b && a != c && b != c
					for x := range child {
						if mask>>x&1 == 1 {
							match = match && math.Abs(points[a][x]+(points[b][x]-points[c][x])/2-child[x]) < 1e-12
						}
					}
					if match {
						of++
					}
				}
			}
		}
		if of == 0 {
			t.Fatalf("child %v is of no mutant", child)
		}
	}
	for triple, k := range seen {
		if math.Abs(float64(k)-n/24) > 5*math.Sqrt(n/24) {
			t.Errorf("triple %v: %d of %d", triple, k, n)
		}
	}
	if len(seen) != 24 || len(crossed) != 7 || crossed[0] != 0 {
		t.Errorf("%d triples, crossed %v", len(seen), crossed)
	}
	for mask, k := range crossed { // each coordinate with 1/2; of the eighth without any, one of three
		want := n / 8.0
		if mask == 1 || mask == 2 || mask == 4 {
			want += n / 24
		}
		if math.Abs(float64(k)-want) > 5*math.Sqrt(want) {
			t.Errorf("coordinates %03b crossed %d times, want %v", mask, k, want)
		}
	}

	far := [][]float64{{.9, .1, .5}, {.9, .1, .5}, {.1, .9, .5}} // mutants are outside in half of the cases
	outside, mean := 0, 0.0
	for trial := range n {
		child := evolution{1, 1}.child(parent, far, tuners.NewDraws(7, trial, 0, "test"))
		if x := child[0]; !(x >= 0 && x < 1) {
			t.Fatal(x)
		} else if x != .9 && math.Abs(x-.1) > 1e-12 {
			outside++
			mean += x
		}
	}
	if mean /= float64(outside); outside < n/4 || math.Abs(mean-.5) > .02 {
		t.Errorf("%d are drawn anew with a mean of %v", outside, mean)
	}
}

// TestSelection: a child takes its parent's place when it is as good.
func TestSelection(t *testing.T) {
	scored := func(x float64) record.Outcome { return record.Outcome{Reported: true, Score: x} }
	failed := record.Outcome{Reported: true, Failed: true}
	for _, c := range []struct {
		parent, child record.Outcome
		want          bool
	}{
		{record.Outcome{}, failed, true},
		{record.Outcome{}, scored(9), true},
		{failed, scored(9), true},
		{failed, failed, false},
		{scored(1), failed, false},
		{scored(1), scored(1), true},
		{scored(1), scored(.9), true},
		{scored(1), scored(1.1), false},
	} {
		if got := (&member{Outcome: c.parent}).loses(c.child, tuners.Objective{}); got != c.want {
			t.Errorf("%+v against %+v: %t", c.parent, c.child, got)
		}
	}
}

// TestPopulations: a population is as large as the most trials at its rung, and parents take turns.
func TestPopulations(t *testing.T) {
	pass := []sha.Bracket{
		{Arms: []int{4, 2, 1}, Rungs: []int{1, 2, 4}},
		{Arms: []int{3, 1}, Rungs: []int{2, 4}},
		{Arms: []int{3}, Rungs: []int{4}},
	}
	all := populations(pass, 1, 2)
	if len(all) != 3 || len(all[0].Members) != 4 || len(all[1].Members) != 3 || len(all[2].Members) != 3 {
		t.Fatalf("%+v", all)
	}
	var turns []int
	for range 5 {
		turns = append(turns, all[1].next())
	}
	if !slices.Equal(turns, []int{0, 1, 2, 0, 1}) {
		t.Errorf("%v", turns)
	}
}
