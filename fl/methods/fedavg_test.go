package methods

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestFedAvgWeights compares FedAvg's model with the mean of the clients' in float64: by their
// samples, and equally without server.weighted.
func TestFedAvgWeights(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 40)
	for _, weighted := range []bool{true, false} {
		m := FedAvg()
		var mu sync.Mutex
		var trained [][]float32
		var samples []float64
		m.Local = func(l *fl.Local) error {
			err := uniformSGD(l)
			mu.Lock()
			defer mu.Unlock()
			trained = append(trained, slices.Clone(l.Weights))
			samples = append(samples, float64(fed.Clients[l.Client].Train.Len()))
			return err
		}
		model := fltest.SmallCNN(t, fed)
		tr, plan := newEngine(t, fl.Config{
			Model: model, Data: fed, Method: m, Cohort: 4,
			Seed: 4,
		}).NewTrial(0), defaultPlan(m)
		if !plan.Server.Weighted {
			t.Fatal("clients are not weighted by their samples by default")
		}
		plan.Server.Weighted = weighted
		runRounds(t, tr, plan, 1)
		if slices.Min(samples) == slices.Max(samples) {
			t.Fatal("clients have equally many samples")
		}
		for i, got := range tr.Weights() {
			sum, all := 0.0, 0.0
			for k, w := range trained {
				p := 1.0
				if weighted {
					p = samples[k]
				}
				sum, all = sum+p*float64(w[i]), all+p
			}
			if math.Abs(float64(got)-sum/all) > 1e-6*(1+math.Abs(sum/all)) {
				t.Fatalf("weighted %v: parameter %d is %v, want %v", weighted, i, got, sum/all)
			}
		}
	}
}
