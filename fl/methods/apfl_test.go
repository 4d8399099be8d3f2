package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
)

// TestAPFLByHand works two rounds out in float64.
func TestAPFLByHand(t *testing.T) {
	const lr, steps, rounds = 0.2, 3, 2
	for _, adapt := range []bool{true, false} {
		q := newQuadratics(t, apfl(), 6, 6)
		c, s := apfl().Defaults()
		c = fullBatch(c, lr, steps)
		c.Alpha, c.AlphaAdapt = 0.4, adapt
		plan := fl.Plan{Server: s, Clients: []fl.ClientParams{c}}
		tr := q.engine.NewTrial(0)
		w := make([]float64, dims)
		for j := range w {
			w[j] = float64(tr.Weights()[j])
		}
		v, alpha := map[int][]float64{}, map[int]float64{}
		for i := range q.c {
			v[i], alpha[i] = slices.Clone(w), 0.4
		}
		for range rounds {
			next := make([]float64, dims)
			for i := range q.c {
				wi := slices.Clone(w)
				for range steps {
					slope := 0.0
					for j := range wi {
						away := v[i][j] - wi[j]
						grad := q.alpha[i] * (alpha[i]*v[i][j] + (1-alpha[i])*wi[j] - q.c[i][j])
						slope += away * grad
						wi[j] -= lr * q.alpha[i] * (wi[j] - q.c[i][j])
						v[i][j] -= lr * alpha[i] * grad
					}
					if adapt {
						alpha[i] = min(1, max(0, alpha[i]-lr*slope))
					}
				}
				for j := range next {
					next[j] += wi[j] / float64(len(q.c))
				}
			}
			w = next
		}
		runRounds(t, tr, plan, rounds)
		if d := distance(tr.Weights(), w); d > 1e-4 {
			t.Errorf("adapt %v: the global model is %v from the equations", adapt, d)
		}
		has := map[int][]float32{}
		for i, kept := range states(t, tr) {
			if d := distance(kept, v[i]); d > 1e-4 {
				t.Errorf("adapt %v, client %d: its own model is %v from the equations", adapt, i, d)
			}
			if got := float64(kept[len(tr.Weights())]); math.Abs(got-alpha[i]) > 1e-4 {
				t.Errorf("adapt %v, client %d: alpha is %v, want %v", adapt, i, got, alpha[i])
			}
			has[i] = slices.Clone(tr.Weights())
			for j := range dims {
				has[i][j] = float32(alpha[i]*v[i][j] + (1-alpha[i])*w[j])
			}
		}
		if adapt && math.Abs(alpha[0]-0.4) < 0.01 {
			t.Errorf("alpha has hardly moved: %v", alpha)
		}
		wantKept(t, q.engine, q.fed, &quadratic{}, tr, plan, has)
	}
}
