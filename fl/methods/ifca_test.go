package methods

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestIFCAByHand works rounds out in float64: who chooses which model, the means over
// those, and the models that clients have.
func TestIFCAByHand(t *testing.T) {
	const lr, steps, rounds, clients, clusters = trainedRate, 3, 3, 6, 3
	for _, weighted := range []bool{false, true} {
		q := newQuadratics(t, ifca(), clients, 4, func(s *fl.ServerParams) { s.Clusters = clusters })
		c, s := ifca().Defaults()
		s.Clusters, s.Weighted = clusters, weighted
		plan := fl.Plan{Server: s, Clients: []fl.ClientParams{fullBatch(c, lr, steps)}}
		tr := q.engine.NewTrial(0)
		size := len(tr.Weights())
		snap, models := tr.Snapshot(), make([][]float64, clusters)
		if first := snap.Server[0]; slices.Equal(first[:size], first[size:2*size]) ||
			!slices.Equal(first[:size], tr.Weights()) {
			t.Error("the models do not begin with the trial's weights and with others")
		}
		for j := range models { // near the optima of some clients, or all would choose one
			for k := range dims {
				snap.Server[0][j*size+k] = float32(q.c[2*j][k])
			}
			models[j] = firstDims(snap.Server[0][j*size:])
		}
		tr, err := q.engine.Restore(snap)
		if err != nil {
			t.Fatal(err)
		}
		choice := func(i int) int {
			best := 0
			for j := range models {
				if q.trainingLoss(t, i, models[j]) < q.trainingLoss(t, i, models[best]) {
					best = j
				}
			}
			return best
		}
		chosen := map[int]bool{}
		for range rounds {
			r := runRounds(t, tr, plan, 1)[0]
			next, total := make([][]float64, clusters), make([]float64, clusters)
			for _, slot := range r.Slots {
				weight := 1.0
				if weighted {
					weight = float64(slot.TrainExamples)
				}
				j := choice(slot.Client)
				chosen[j] = true
				total[j] += weight
				if next[j] == nil {
					next[j] = make([]float64, dims)
				}
				for k, x := range q.trained(slot.Client, models[j], steps) {
					next[j][k] += weight * x
				}
			}
			for j := range next {
				for k := range next[j] {
					models[j][k] = next[j][k] / total[j]
				}
			}
		}
		has, kept := map[int][]float32{}, tr.Snapshot().Server[0]
		for j := range models {
			if d := distance(kept[j*size:], models[j]); d > 1e-4 {
				t.Errorf("weighted %v: model %d is %v from the equations", weighted, j, d)
			}
		}
		if len(chosen) < 2 {
			t.Errorf("all clients choose one model")
		}
		for i := range q.fed.Clients {
			has[i] = kept[choice(i)*size:][:size]
		}
		wantKept(t, q.engine, q.fed, &quadratic{}, tr, plan, has)
	}
	fed := fltest.OpenGlyphs(t, 6, 30)
	model := fltest.SmallCNN(t, fed)
	model = model.WithStart(model.NewParams())
	if _, err := fl.New(fl.Config{Model: model, Data: fed, Method: ifca(), Cohort: 2}); err == nil ||
		!strings.Contains(err.Error(), "begin with different random weights") {
		t.Errorf("given weights: error %v", err)
	}
}
