package robust

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// workers runs tasks in a number of goroutines.
func workers(number int) Run {
	memories := make([]Memory, number)
	return func(n int, task func(i int, m *Memory)) {
		var next atomic.Int64
		var wg sync.WaitGroup
		for w := range number {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					task(i, &memories[w])
				}
			})
		}
		wg.Wait()
	}
}

// drawn returns updates with weights, many of whose values are equal, some -0.
func drawn(key uint64) (updates [][]float32, weights []float64, s *kernels.Stream) {
	s = kernels.NewStream(key, 0)
	m, n := 1+s.IntN(24), 1+s.IntN(40)
	for range m {
		u := make([]float32, n)
		for j := range u {
			if u[j] = float32(s.NormFloat64()); s.IntN(3) > 0 {
				u[j] = float32(s.IntN(3)-1) * float32(math.Copysign(1, s.NormFloat64()))
			}
		}
		updates, weights = append(updates, u), append(weights, float64(1+s.IntN(30)))
	}
	if m > 2 && s.IntN(2) == 0 { // two that are the same
		copy(updates[m-1], updates[0])
	}
	return updates, weights, s
}

func near(t *testing.T, what string, key uint64, got []float32, want []float64) {
	t.Helper()
	for j, x := range want {
		if math.Abs(float64(got[j])-x) > 2e-6*max(1, math.Abs(x)) {
			t.Fatalf("input %d: coordinate %d of the %s is %v, not %v", key, j, what, got[j], x)
		}
	}
}

func squaredDistance(a, b []float32) (sum float64) {
	for j := range a {
		sum += (float64(a[j]) - float64(b[j])) * (float64(a[j]) - float64(b[j]))
	}
	return sum
}

// TestDefinitions compares all with their definitions in float64 on 1,000 inputs with ties.
func TestDefinitions(t *testing.T) {
	run := workers(1)
	for key := range uint64(1000) {
		updates, weights, s := drawn(key)
		m, n := len(updates), len(updates[0])
		out, want := make([]float32, n), make([]float64, n)
		drop := s.IntN(Middle(m) + 1)
		for _, drop := range []int{drop, Middle(m)} {
			Trimmed(run, out, updates, drop)
			for j := range want {
				column := make([]float64, m)
				for i, u := range updates {
					column[i] = float64(u[j])
				}
				slices.Sort(column)
				want[j] = 0
				for _, x := range column[drop : m-drop] {
					want[j] += x / float64(m-2*drop)
				}
			}
			near(t, fmt.Sprintf("mean without %d of %d", 2*drop, m), key, out, want)
		}

		total := 0.0
		clear(want)
		for i, u := range updates {
			total += weights[i]
			for j, x := range u {
				want[j] += weights[i] * float64(x)
			}
		}
		for j := range want {
			want[j] /= total
		}
		Mean(run, out, updates, weights)
		near(t, "mean", key, out, want)

		// A score of Krum that is another one than its own by more than rounding decides.
		f := s.IntN(max(1, (m-3)/2+1))
		scores := make([]float64, m)
		for i := range updates {
			var others []float64
			for j := range updates {
				if j != i {
					others = append(others, squaredDistance(updates[i], updates[j]))
				}
			}
			slices.Sort(others)
			for _, x := range others[:min(m-1, max(1, m-f-2))] {
				scores[i] += x
			}
		}
		order := Krum(run, updates, f, m)
		for k, i := range order[1:] {
			before := order[k]
			if c := cmp.Compare(scores[before], scores[i]); c > 0 && scores[before]-scores[i] > 1e-5*scores[i] {
				t.Fatalf("input %d: update %d with the score %v comes before %d with %v", key, before, scores[before], i, scores[i])
			}
			if slices.Equal(updates[before], updates[i]) && before > i {
				t.Fatalf("input %d: of the equal updates %d and %d the later one comes first", key, i, before)
			}
		}

		steps, nu := 1+s.IntN(4), 1e-6
		clear(want)
		for range steps {
			next, sum := make([]float64, n), 0.0
			for i, u := range updates {
				d := 0.0
				for j, x := range u {
					d += (float64(x) - want[j]) * (float64(x) - want[j])
				}
				b := weights[i] / max(nu, math.Sqrt(d))
				sum += b
				for j, x := range u {
					next[j] += b * float64(x)
				}
			}
			for j := range next {
				want[j] = next[j] / sum
			}
		}
		if GeometricMedian(run, out, updates, weights, steps, nu); m > 2 { // of two, an end of the line is reached by chance
			for j := range want {
				if math.Abs(float64(out[j])-want[j]) > 1e-4 {
					t.Fatalf("input %d: coordinate %d of %d steps to the geometric median is %v, not %v",
						key, j, steps, out[j], want[j])
				}
			}
		}
	}
}

// TestNetworks sorts all columns of zeros and ones, which is enough for all columns.
func TestNetworks(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for lo := range n {
			for _, hi := range []int{lo + 1, n} {
				net := NewNetwork(n, lo, hi)
				keys := make([]int32, n*columns)
				for first := 0; first < 1<<n; first += columns {
					for i := range n {
						for c := range columns {
							keys[i*columns+c] = int32((first + c) >> i & 1)
						}
					}
					net.sort(keys)
					for c := range columns {
						ones := 0
						for i := range n {
							ones += (first + c) >> i & 1
						}
						for i := lo; i < hi; i++ {
							if want := i >= n-ones; want != (keys[i*columns+c] == 1) {
								t.Fatalf("%d places, wanted [%d,%d): %b is not sorted at %d", n, lo, hi, first+c, i)
							}
						}
					}
				}
			}
		}
	}
	if all, middle := len(NewNetwork(100, 0, 100).exchanges), len(NewNetwork(100, 49, 51).exchanges); middle >= all {
		t.Errorf("the median takes %d exchanges, a sort %d", middle, all)
	}
}

// TestWorkers wants the same bits of any number of workers, and no memory for a median.
func TestWorkers(t *testing.T) {
	updates := large(9, 70_001)
	weights := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	out := make([]float32, len(updates[0]))
	all := func(run Run) (results [][]float32, krum []int) {
		for _, f := range []func(){
			func() { Trimmed(run, out, updates, 2) },
			func() { Mean(run, out, updates, weights) },
			func() { GeometricMedian(run, out, updates, weights, 3, 1e-6) },
		} {
			f()
			results = append(results, slices.Clone(out))
		}
		return results, Krum(run, updates, 2, 5)
	}
	want, krum := all(workers(1))
	for _, number := range []int{2, 7} {
		got, other := all(workers(number))
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%d workers: result %d has other bits", number, i)
			}
		}
		if !slices.Equal(other, krum) {
			t.Errorf("%d workers: Krum takes %v, not %v", number, other, krum)
		}
	}
	var m Memory
	run := Run(func(n int, task func(i int, m *Memory)) {
		for i := range n {
			task(i, &m)
		}
	})
	Trimmed(run, out, updates, 4)
	network := testing.AllocsPerRun(1, func() { NewNetwork(9, 4, 5) })
	if got := testing.AllocsPerRun(2, func() { Trimmed(run, out, updates, 4) }); got > network+8 {
		t.Errorf("a median allocates %v times, a network %v times", got, network)
	}
}

// large returns m updates of n values.
func large(m, n int) [][]float32 {
	updates := make([][]float32, m)
	for i := range updates {
		updates[i] = make([]float32, n)
		s := kernels.NewStream(uint64(i), 3)
		for j := range updates[i] {
			updates[i][j] = s.Float32() - 0.5
		}
	}
	return updates
}

// BenchmarkRobust times 100 clients of 1.7 million weights, as leaf-femnist-cnn has.
func BenchmarkRobust(b *testing.B) {
	const m, n = 100, 1_700_000
	updates := large(m, n)
	weights := slices.Repeat([]float64{1}, m)
	out := make([]float32, n)
	run := workers(runtime.GOMAXPROCS(0))
	for name, f := range map[string]func(){
		"mean":    func() { Mean(run, out, updates, weights) },
		"median":  func() { Trimmed(run, out, updates, Middle(m)) },
		"trimmed": func() { Trimmed(run, out, updates, m/10) },
		"krum":    func() { Krum(run, updates, m/5, 1) },
		"rfa":     func() { GeometricMedian(run, out, updates, weights, 3, 1e-6) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				f()
			}
		})
	}
}
