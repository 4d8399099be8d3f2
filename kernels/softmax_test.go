package kernels_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// softmaxRowOracle returns what a row must give on assembly levels.
func softmaxRowOracle(row []float32, label int, scale float32) (grad []float32, loss float64, correct bool) {
	largest, at := float32(math.Inf(-1)), -1
	for j, x := range row {
		if x > largest || at < 0 && x == largest {
			largest, at = x, j
		}
	}
	grad = make([]float32, len(row))
	for j, x := range row {
		grad[j] = softmaxOracle(x - largest)
	}
	sum := lanesOracle(len(row), func(lane float32, j int) float32 { return lane + grad[j] })
	for j := range grad {
		grad[j] *= scale / sum
	}
	grad[label] -= scale
	return grad, det.Log(float64(sum)) + (float64(largest) - float64(row[label])), at == label
}

func TestSoftmaxXentEqualsOracle(t *testing.T) {
	const m, scale = 5, 0.2
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(7)
		eachLength(func(n, offset int) {
			if n == 0 || n > 5000 {
				return
			}
			ld := kernels.Pad(n) + 16*(n%2)
			logits, grad := kernelstest.Random(r, (m-1)*ld+n, offset), kernelstest.NewSlice((m-1)*ld+kernels.Pad(n), 15-offset)
			for i := range grad.Data {
				grad.Data[i] = 99
			}
			labels := []int32{int32(r.IntN(n)), -1, int32(n - 1), 0, int32(r.IntN(n))}
			for j := range n { // row 2: a label that wins; row 3: large differences; row 4: everything equal
				logits.Data[3*ld+j] *= 40
				logits.Data[4*ld+j] = 3
			}
			logits.Data[2*ld+n-1] = 9
			var wantLoss float64
			wantCorrect := 0
			loss, correct := kernels.SoftmaxXent(grad.Data, logits.Data, ld, m, n, labels, scale)
			logits.Check(t, "logits")
			grad.Check(t, "grad")
			for i, label := range labels {
				row, got := logits.Data[i*ld:][:n], grad.Data[i*ld:][:kernels.Pad(n)]
				want := make([]float32, n)
				if label >= 0 {
					var l float64
					var c bool
					want, l, c = softmaxRowOracle(row, int(label), scale)
					wantLoss += l
					if c {
						wantCorrect++
					}
				}
				for j, g := range got {
					if j >= n {
						if g != 0 {
							t.Fatalf("n=%d: padding column %d has gradient %v", n, j, g)
						}
						continue
					}
					if !equal(g, want[j]) {
						t.Fatalf("n=%d: gradient (%d,%d) is %v, want %v", n, i, j, g, want[j])
					}
				}
			}
			if loss != wantLoss || correct != wantCorrect {
				t.Fatalf("n=%d: loss %v, correct %d, want %v, %d", n, loss, correct, wantLoss, wantCorrect)
			}
			if l, c := kernels.SoftmaxXent(nil, logits.Data, ld, m, n, labels, scale); l != loss || c != correct {
				t.Fatalf("n=%d: without gradient loss %v, correct %d, else %v, %d", n, l, c, loss, correct)
			}
			inPlace := kernelstest.NewSlice(len(grad.Data), offset)
			copy(inPlace.Data, logits.Data)
			kernels.SoftmaxXent(inPlace.Data, inPlace.Data, ld, m, n, labels, scale)
			inPlace.Check(t, "in place")
			for i := range m {
				for j := range kernels.Pad(n) {
					if at := i*ld + j; !equal(inPlace.Data[at], grad.Data[at]) {
						t.Fatalf("n=%d: in place gradient (%d,%d) is %v, else %v", n, i, j, inPlace.Data[at], grad.Data[at])
					}
				}
			}
		})
		x, labels := make([]float32, 64), []int32{1, 2}
		noAllocation(t, func() { kernels.SoftmaxXent(x, x, 32, 2, 20, labels, 1) })
	})
}

// TestSoftmaxXentAgainstFloat64 checks the formula itself.
func TestSoftmaxXentAgainstFloat64(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(8)
		for range 50 {
			const n = 62
			x := kernelstest.Random(r, 64, 0).Data
			for j := range x {
				x[j] *= 5
			}
			label := r.IntN(n)
			var sum float64
			for _, v := range x[:n] {
				sum += math.Exp(float64(v))
			}
			grad := make([]float32, 64)
			loss, _ := kernels.SoftmaxXent(grad, x, 64, 1, n, []int32{int32(label)}, 1)
			if want := math.Log(sum) - float64(x[label]); math.Abs(loss-want) > 1e-6*(1+want) {
				t.Fatalf("loss %v, want %v", loss, want)
			}
			for j := range n {
				want := math.Exp(float64(x[j])) / sum
				if j == label {
					want--
				}
				if math.Abs(float64(grad[j])-want) > 3e-7 {
					t.Fatalf("gradient %d is %v, want %v", j, grad[j], want)
				}
			}
		}
	})
}

func TestSoftmaxXentOfDivergedModels(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for _, c := range []struct {
			name    string
			row     []float32
			label   int32
			correct int
		}{
			{"NaN elsewhere", []float32{1, nan, 3}, 2, 1},
			{"NaN at the label", []float32{1, nan, 3}, 1, 0},
			{"all NaN", []float32{nan, nan, nan}, 0, 0},
			{"+Inf", []float32{1, inf, 3}, 1, 1},
			{"all -Inf", []float32{-inf, -inf, -inf}, 0, 1},
		} {
			grad := make([]float32, 16)
			loss, correct := kernels.SoftmaxXent(grad, c.row, 16, 1, 3, []int32{c.label}, 1)
			if loss == loss || correct != c.correct {
				t.Errorf("%s: loss %v, correct %d, want NaN, %d", c.name, loss, correct, c.correct)
			}
			if g := grad[c.label]; g == g {
				t.Errorf("%s: gradient %v, want NaN", c.name, g)
			}
		}
		loss, correct := kernels.SoftmaxXent(nil, []float32{5, 5, -inf, 5}, 16, 1, 4, []int32{1}, 1)
		if math.Abs(loss-math.Log(3)) > 1e-6 || correct != 0 {
			t.Errorf("tie: loss %v, correct %d, want log 3, 0", loss, correct)
		}
		if loss, _ := kernels.SoftmaxXent(nil, []float32{500, -500}, 16, 1, 2, []int32{1}, 1); loss != 1000 {
			t.Errorf("loss %v, want 1000", loss)
		}
	})
}

// TestSoftmaxXentKeepsThePaddingZero holds the promise for rows that diverged.
func TestSoftmaxXentKeepsThePaddingZero(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for _, bad := range []float32{nan, inf, -inf} {
			for n := 1; n < 20; n++ {
				row := make([]float32, kernels.Pad(n))
				for j := range row {
					row[j] = bad
				}
				kernels.SoftmaxXent(row, row, len(row), 1, n, []int32{0}, 1)
				for j, g := range row {
					if j < n && g == g || j >= n && g != 0 {
						t.Fatalf("%d logits of %v: gradient %d is %v", n, bad, j, g)
					}
				}
			}
		}
	})
}
