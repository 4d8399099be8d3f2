package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// TestClientsKeepHeadsOrBodies: what clients of FedPer and LG-FedAvg keep is what local SGD
// of the whole network leaves there, the server's stays the initial one, and the rest is
// averaged. The model that a client has is both together.
func TestClientsKeepHeadsOrBodies(t *testing.T) {
	whole := *fltest.OpenGlyphs(t, 36, 14)
	whole.Clients = whole.Clients[:6]
	fed := &whole
	model := fltest.SmallCNN(t, fed)
	head := model.Head(1)
	body := nn.Span{Hi: head.Lo}
	for _, tt := range []struct {
		method      fl.Method
		own, shared nn.Span
	}{{fedPer(), head, body}, {lgFedAvg(), body, head}} {
		t.Run(tt.method.Name, func(t *testing.T) {
			e := newEngine(t, fl.Config{Model: model, Data: fed, Method: tt.method, Cohort: 2, Seed: 3, Workers: 2})
			c := fullBatch(hyper.DefaultClient(), 0.1, 3)
			tr := e.NewTrial(0)
			initial := slices.Clone(tr.Weights())
			owns := map[int][]float32{}
			for range 4 {
				before := slices.Clone(tr.Weights())
				r := runRounds(t, tr, fl.Plan{Server: hyper.DefaultServer(), Clients: []fl.ClientParams{c}}, 1)[0]
				shared, total := make([]float64, tt.shared.Len()), 0.0
				for _, s := range r.Slots {
					// The same local training by hand: the whole batch three times.
					w := slices.Clone(before)
					copy(w[tt.own.Lo:], owns[s.Client])
					train := fed.Clients[s.Client].Train
					ws, velocity := model.NewWorkspace(), make([]float32, len(w))
					b := fltest.Batch(t, model, train)
					for step := range 3 {
						ws.Step(w, b, nn.TrainOpts{Step: uint32(step)}, &nn.Optimizer{
							SGD:      nn.SGD{LR: 0.1},
							Velocity: velocity, Steps: step,
						})
					}
					owns[s.Client] = slices.Clone(w[tt.own.Lo:tt.own.Hi])
					for j := range shared {
						shared[j] += float64(train.Len()) * float64(w[tt.shared.Lo+j])
					}
					total += float64(train.Len())
				}
				for j := range shared {
					if d := math.Abs(shared[j]/total - float64(tr.Weights()[tt.shared.Lo+j])); d > 1e-5 {
						t.Fatalf("weight %d of what is shared is %v from the mean of the clients'", j, d)
					}
				}
			}
			if !slices.Equal(tr.Weights()[tt.own.Lo:tt.own.Hi], initial[tt.own.Lo:tt.own.Hi]) {
				t.Error("the server's own part has changed")
			}
			if len(owns) == 6 || len(owns) == 2 {
				t.Fatalf("%d clients were drawn: want some twice and some never", len(owns))
			}
			kept := states(t, tr)
			if len(kept) != len(owns) {
				t.Fatalf("%d clients keep something, %d were drawn", len(kept), len(owns))
			}
			has := map[int][]float32{}
			for i := range fed.Clients {
				has[i] = slices.Clone(tr.Weights())
				copy(has[i][tt.own.Lo:], owns[i])
			}
			for i, got := range kept {
				for j, x := range owns[i] {
					if d := math.Abs(float64(x - got[j])); d > 1e-5 {
						t.Fatalf("client %d: weight %d of its own is %v, want %v", i, j, got[j], x)
					}
				}
			}
			wantKept(t, e, fed, model.NewWorkspace(), tr, fl.Plan{
				Server:  hyper.DefaultServer(),
				Clients: []fl.ClientParams{c},
			}, has)
		})
	}
}

// measures is what measures a model.
type measures interface {
	Evaluate(w []float32, b *nn.Batch) nn.Result
}

// wantKept compares what an engine measures of the models that clients have with models of
// its own measurement.
func wantKept(t *testing.T, e *fl.Engine, fed *data.Federation, by measures, tr *fl.Trial,
	plan fl.Plan, has map[int][]float32,
) {
	t.Helper()
	var loss, n float64
	for i := range has {
		val := fed.Clients[i].Val
		loss += by.Evaluate(has[i], fltest.Batch(t, e.Model(), val)).Loss
		n += float64(val.Len())
	}
	v, err := e.EvaluateSplit(t.Context(), tr.Weights(), "val", e.EvalSample(0),
		fl.EvalConfig{Clients: plan.Clients[:1], Server: &plan.Server, Kept: true, Round: tr.Rounds(), State: tr.State()})
	if err != nil {
		t.Fatal(err)
	}
	if want := loss / n; math.Abs(v.Loss-want) > 1e-4*want {
		t.Errorf("the models that the clients have measure a loss of %v, want %v", v.Loss, want)
	}
}
