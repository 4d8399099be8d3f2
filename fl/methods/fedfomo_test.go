package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestFedFomoByHand works rounds with small cohorts out in float64.
func TestFedFomoByHand(t *testing.T) {
	const lr, steps, rounds, clients, models = trainedRate, 2, 6, 6, 2
	setModels := func(s *fl.ServerParams) { s.Models = models }
	q := newQuadratics(t, fedFomo(), clients, 4, setModels)
	c, s := fedFomo().Defaults()
	setModels(&s)
	plan := fl.Plan{Server: s, Clients: []fl.ClientParams{fullBatch(c, lr, steps)}}
	tr := q.engine.NewTrial(0)
	v, worth := make([][]float64, clients), make([][]float64, clients)
	for i := range v {
		v[i], worth[i] = firstDims(tr.Weights()), make([]float64, clients)
	}
	loss := func(i int, w []float64) float64 {
		at := q.engine.Model().NewParams()
		for j, x := range w {
			at[j] = float32(x)
		}
		b := fltest.Batch(t, q.engine.Model(), q.fed.Clients[i].Val)
		return (&quadratic{}).Evaluate(at, b).Loss / float64(b.N)
	}
	moved := 0
	for round := range rounds {
		r := runRounds(t, tr, plan, 1)[0]
		old := slices.Clone(v)
		for _, slot := range r.Slots {
			i := slot.Client
			// The highest worth, then whoever's turn it is, counted from the client itself.
			var others []int
			for k := range clients {
				if j := (i + round*models + k) % clients; j != i {
					others = append(others, j)
				}
			}
			slices.SortStableFunc(others, func(a, b int) int {
				switch {
				case worth[i][a] > worth[i][b]:
					return -1
				case worth[i][a] < worth[i][b]:
					return 1
				}
				return 0
			})
			gain, total := map[int]float64{}, 0.0
			for _, j := range others[:models] {
				square := 0.0
				for k := range old[j] {
					square += (old[i][k] - old[j][k]) * (old[i][k] - old[j][k])
				}
				gain[j] = (loss(i, old[i]) - loss(i, old[j])) / (math.Sqrt(square) + 1e-5)
				worth[i][j] += gain[j]
				total += max(0, gain[j])
			}
			mixed := slices.Clone(old[i])
			for j, g := range gain {
				if g > 0 {
					moved++
					for k := range mixed {
						mixed[k] += g / total * (old[j][k] - old[i][k])
					}
				}
			}
			v[i] = q.trained(i, mixed, steps)
		}
	}
	if moved < 5 {
		t.Errorf("clients moved towards others %d times", moved)
	}
	kept, size := tr.Snapshot().Server[0], len(tr.Weights())
	mean, has := make([]float64, dims), map[int][]float32{}
	for i := range v {
		if d := distance(kept[i*size:], v[i]); d > 1e-4 {
			t.Errorf("client %d: its model is %v from the equations", i, d)
		}
		for j := range mean {
			mean[j] += v[i][j] / clients
		}
		has[i] = kept[i*size:][:size]
	}
	for i, got := range states(t, tr) {
		for j, x := range got[:clients] {
			if math.Abs(float64(x)-worth[i][j]) > 1e-3*(1+math.Abs(worth[i][j])) {
				t.Errorf("client %d: the model of client %d is worth %v, want %v", i, j, x, worth[i][j])
			}
		}
	}
	if d := distance(tr.Weights(), mean); d > 1e-4 {
		t.Errorf("the global model is %v from the mean of the clients'", d)
	}
	wantKept(t, q.engine, q.fed, &quadratic{}, tr, plan, has)
}
