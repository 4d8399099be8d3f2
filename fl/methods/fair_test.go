package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// trainingLoss is the mean loss of a model on a client's training samples.
func (q *quadratics) trainingLoss(t *testing.T, i int, w []float64) float64 {
	t.Helper()
	at := q.engine.Model().NewParams()
	for j, x := range w {
		at[j] = float32(x)
	}
	b := fltest.Batch(t, q.engine.Model(), q.fed.Clients[i].Train)
	return (&quadratic{}).Evaluate(at, b).Loss / float64(b.N)
}

// trainedRate is the learning rate of trained.
const trainedRate = 0.2

// trained is a model after full-batch steps of a client.
func (q *quadratics) trained(i int, w []float64, steps int) []float64 {
	at := slices.Clone(w)
	for range steps {
		for j := range at {
			at[j] -= trainedRate * q.alpha[i] * (at[j] - q.c[i][j])
		}
	}
	return at
}

func firstDims(w []float32) (first []float64) {
	for _, x := range w[:dims] {
		first = append(first, float64(x))
	}
	return first
}

// TestQFedAvgByHand works two rounds out in float64.
func TestQFedAvgByHand(t *testing.T) {
	const lr, steps = trainedRate, 3
	for _, exponent := range []float64{0, 0.5, 2} {
		for _, weighted := range []bool{false, true} {
			q := newQuadratics(t, qFedAvg(), 6, 3)
			c, s := qFedAvg().Defaults()
			s.Q, s.Weighted = exponent, weighted
			plan := fl.Plan{Server: s, Clients: []fl.ClientParams{fullBatch(c, lr, steps)}}
			tr := q.engine.NewTrial(0)
			w := firstDims(tr.Weights())
			for range 2 {
				r := runRounds(t, tr, plan, 1)[0]
				change, below := make([]float64, dims), 0.0
				for _, slot := range r.Slots {
					weight, loss := 1.0, q.trainingLoss(t, slot.Client, w)
					if weighted {
						weight = float64(slot.TrainExamples)
					}
					square := 0.0
					for j, x := range q.trained(slot.Client, w, steps) {
						d := (w[j] - x) / lr
						square += d * d
						change[j] += weight * math.Pow(loss, exponent) * d
					}
					below += weight * (exponent*math.Pow(loss, exponent-1)*square + math.Pow(loss, exponent)/lr)
				}
				for j := range w {
					w[j] -= change[j] / below
				}
			}
			if d := distance(tr.Weights(), w); d > 1e-4 {
				t.Errorf("q = %v, weighted %v: it is %v from the equations", exponent, weighted, d)
			}
		}
	}
}

// TestAFLByHand works three rounds out in float64, with cohorts of all clients and of half
// of them.
func TestAFLByHand(t *testing.T) {
	const lr, steps, rate, clients = trainedRate, 3, 0.02, 6
	for _, cohort := range []int{6, 3} {
		q := newQuadratics(t, afl(), clients, cohort)
		c, s := afl().Defaults()
		s.LambdaLR = rate
		plan := fl.Plan{Server: s, Clients: []fl.ClientParams{fullBatch(c, lr, steps)}}
		tr := q.engine.NewTrial(0)
		w, lambda := firstDims(tr.Weights()), slices.Clone(q.share)
		for range 3 {
			r := runRounds(t, tr, plan, 1)[0]
			mean, total, raised := make([]float64, dims), 0.0, slices.Clone(lambda)
			for _, slot := range r.Slots {
				i := slot.Client
				for j, x := range q.trained(i, w, steps) {
					mean[j] += lambda[i] * x
				}
				total += lambda[i]
				raised[i] += rate * clients / float64(cohort) * q.trainingLoss(t, i, w)
			}
			for j := range w {
				w[j] = mean[j] / total
			}
			// The threshold of the simplex by bisection.
			lo, hi := -10.0, slices.Max(raised)
			for range 100 {
				sum, mid := 0.0, (lo+hi)/2
				for _, x := range raised {
					sum += max(0, x-mid)
				}
				if sum > 1 {
					lo = mid
				} else {
					hi = mid
				}
			}
			for i, x := range raised {
				lambda[i] = max(0, x-hi)
			}
		}
		if d := distance(tr.Weights(), w); d > 1e-4 {
			t.Errorf("cohort %d: the model is %v from the equations", cohort, d)
		}
		moved := 0.0
		for i, x := range tr.Snapshot().Server[0] {
			if math.Abs(float64(x)-lambda[i]) > 1e-4 {
				t.Errorf("cohort %d: client %d has the weight %v, want %v", cohort, i, x, lambda[i])
			}
			moved = max(moved, math.Abs(lambda[i]-q.share[i]))
		}
		if moved < 0.05 {
			t.Errorf("cohort %d: the weights have hardly moved: %v", cohort, lambda)
		}
	}
}
