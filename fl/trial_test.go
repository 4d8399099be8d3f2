package fl

import (
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/limit"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newEngine(t testing.TB, cfg Config) *Engine {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// runRounds runs rounds of a plan and returns their results.
func runRounds(t testing.TB, tr *Trial, plan Plan, rounds int) []*RoundResult {
	t.Helper()
	var results []*RoundResult
	for range rounds {
		r, err := tr.Round(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	return results
}

// mixedPlan gives every slot its own hyperparameters, so that tasks differ in
// length and kind.
func mixedPlan(slots int) Plan {
	p := Plan{
		Server: ServerParams{LR: 0.7, Momentum: 0.5, Decay: 0.99, Weighted: true},
		Probes: []string{
			"val_error_before", "val_loss_after", "delta_norm", "min_cos_grad_displacement",
			"min_cos_grad_prior_displacement", "seconds_simulated", "sign_agreement", "cos_delta_smoothed{alpha=0.7}",
		},
	}
	for i := range slots {
		p.Clients = append(p.Clients, begun(ClientParams{
			LR: 0.02 * float64(i+1), Momentum: float64(i%3) * 0.4, WeightDecay: 1e-4 * float64(i%2),
			Mu: 0.01 * float64(i%2), Epochs: 0.5 * float64(i+1), Batch: 4 + 7*i, Dropout: 0.1 * float64(i%4), Wrap: i%2 == 1,
		}))
	}
	return p
}

func TestSameBitsForAnyNumberOfWorkers(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 40)
	model := fltest.SmallCNN(t, fed)
	type outcome struct {
		sha    string
		rounds []*RoundResult
		eval   *Evaluation
	}
	var first *outcome
	for _, workers := range []int{1, 2, 4} {
		e := newEngine(t, Config{
			Model: model, Data: fed, Method: momentum(), Cohort: 7,
			Replacement: true, Seed: 11, Workers: workers,
		})
		tr := e.NewTrial(3)
		o := &outcome{rounds: runRounds(t, tr, mixedPlan(7), 4)}
		o.sha = model.SHA256(tr.Weights())
		var err error
		if o.eval, err = e.Evaluate(t.Context(), tr.Weights(),
			EvalConfig{Clients: []ClientParams{hyper.DefaultClient()}}); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = o
			continue
		}
		if o.sha != first.sha {
			t.Errorf("%d workers: weights %s, 1 worker: %s", workers, o.sha, first.sha)
		}
		if !reflect.DeepEqual(o.eval, first.eval) {
			t.Errorf("%d workers: evaluation %+v, 1 worker: %+v", workers, *o.eval, *first.eval)
		}
		for i, r := range o.rounds {
			if !reflect.DeepEqual(r.Slots, first.rounds[i].Slots) || r.TrainLoss != first.rounds[i].TrainLoss {
				t.Errorf("%d workers: round %d measures %+v, 1 worker: %+v", workers, i, r, first.rounds[i])
			}
		}
	}
}

func TestTrainingLearns(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 60)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 8, Seed: 1})
	tr := e.NewTrial(0)
	before, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c := begun(ClientParams{LR: 0.03, Momentum: 0.9, Epochs: 2, Batch: 16, Dropout: 0})
	rounds := runRounds(t, tr, Plan{Server: hyper.DefaultServer(), Clients: []ClientParams{c}}, 40)
	after, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{Clients: []ClientParams{c}})
	if err != nil {
		t.Fatal(err)
	}
	if last := rounds[len(rounds)-1].TrainLoss; last > 0.8*rounds[0].TrainLoss {
		t.Errorf("training loss went from %.3f to %.3f", rounds[0].TrainLoss, last)
	}
	if after.GlobalTest.Error > before.GlobalTest.Error-0.1 {
		t.Errorf("global test error went from %.3f to %.3f", before.GlobalTest.Error, after.GlobalTest.Error)
	}
	if after.PersonalizedTest.Clients != len(fed.Clients) || before.PersonalizedTest.Clients != 0 {
		t.Errorf("personalized scores over %d clients when asked for, %d when not; want all and 0",
			after.PersonalizedTest.Clients, before.PersonalizedTest.Clients)
	}
	g := after.GlobalTest
	if !(g.P10 <= g.P50 && g.P50 <= g.P90) {
		t.Errorf("percentiles are not in order: %+v", g)
	}
}

func TestEvaluationOnASample(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 40)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 2, Seed: 1})
	weights := e.NewTrial(0).Weights()
	var calls atomic.Int64
	got, err := e.Evaluate(t.Context(), weights, EvalConfig{Sample: 5, Done: func(_, of int) {
		if of != 5 {
			t.Errorf("told of %d clients, want 5", of)
		}
		calls.Add(1)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got.GlobalTest.Clients != 5 || calls.Load() != 5 {
		t.Errorf("measured %d clients, told of %d; want 5", got.GlobalTest.Clients, calls.Load())
	}
	all, err := e.Evaluate(t.Context(), weights, EvalConfig{Sample: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if all.GlobalTest.Clients != len(fed.Clients) {
		t.Errorf("a sample above the federation measures %d of %d clients", all.GlobalTest.Clients, len(fed.Clients))
	}
	two := []ClientParams{hyper.DefaultClient(), hyper.DefaultClient()}
	if _, err := e.Evaluate(t.Context(), weights, EvalConfig{Clients: two}); err == nil {
		t.Error("two configurations were taken for 24 clients")
	}
}

func TestSnapshotGoesOnWithTheSameBits(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{Model: model, Data: fed, Method: momentum(), Cohort: 5, Seed: 2})
	plan := mixedPlan(5)
	tr := e.NewTrial(4)
	runRounds(t, tr, plan, 2)
	snap := tr.Snapshot()
	runRounds(t, tr, plan, 2)
	again, err := e.Restore(written(t, snap))
	if err != nil {
		t.Fatal(err)
	}
	runRounds(t, again, plan, 2)
	if a, b := model.SHA256(tr.Weights()), model.SHA256(again.Weights()); a != b {
		t.Errorf("restored trial ends at %s, the uninterrupted one at %s", b, a)
	}
	other := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 5, Seed: 2})
	if _, err := other.Restore(snap); err == nil {
		t.Error("a snapshot of reptile was restored with fedavg")
	}
}

func TestDivergedClientsAreLeftOut(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 6, 30)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 3, Seed: 2})
	good := hyper.DefaultClient()
	bad := good
	bad.LR, bad.Epochs = 1e30, 3
	tr := e.NewTrial(0)
	r := runRounds(t, tr, Plan{
		Server: hyper.DefaultServer(), Clients: []ClientParams{good, bad, good},
		Probes: []string{"val_loss_after"},
	}, 1)[0]
	if r.Dropped != 1 || !r.Slots[1].Dropped || r.Slots[0].Dropped {
		t.Fatalf("dropped %d slots: %+v", r.Dropped, r.Slots)
	}
	if s := r.Slots[1].After; s.Error != 1 || s.Loss != limit.DivergedLoss {
		t.Errorf("the diverged client scores %+v, want error 1 and loss %v", s, limit.DivergedLoss)
	}
	n0, n2 := float64(r.Slots[0].TrainExamples), float64(r.Slots[2].TrainExamples)
	if want := (r.Slots[0].TrainLoss*n0 + r.Slots[2].TrainLoss*n2) / (n0 + n2); math.Abs(r.TrainLoss-want) > 1e-12*want {
		t.Errorf("training loss %v, want %v, the mean over the clients that were kept", r.TrainLoss, want)
	}
	if none := runRounds(t, e.NewTrial(1), Plan{Server: hyper.DefaultServer(), Clients: []ClientParams{bad}},
		1)[0]; none.Dropped != 3 || !math.IsNaN(none.TrainLoss) {
		t.Errorf("with all %d clients dropped the training loss is %v, want NaN", none.Dropped, none.TrainLoss)
	}
	for i, w := range tr.Weights() {
		if !det.Finite(float64(w)) {
			t.Fatalf("weight %d is %v", i, w)
		}
	}
	// The aggregate must be the mean of the other two alone.
	alone := e.NewTrial(0)
	want := slices.Clone(alone.Weights())
	w := &worker{
		ws: model.NewWorkspace(), local: model.NewParams(), velocity: model.NewParams(),
		inputs: inputSize(model.Input()), labels: 1,
	}
	var sum float64
	change := make([]float64, len(want))
	for _, slot := range []int{0, 2} {
		s := r.Slots[slot]
		key := kernels.Key(2, 0, 0, uint64(slot), uint64(s.Client))
		l, err := w.begin(localTask{engine: e, client: s.Client, params: good, weights: alone.Weights(), key: key})
		if err != nil {
			t.Fatal(err)
		}
		if err := average().Local(l); err != nil {
			t.Fatal(err)
		}
		sum += float64(s.TrainExamples)
		for i := range change {
			change[i] += float64(s.TrainExamples) * (float64(want[i]) - float64(w.local[i]))
		}
	}
	for i := range want {
		if diff := math.Abs(float64(want[i]) - change[i]/sum - float64(tr.Weights()[i])); diff > 1e-6 {
			t.Fatalf("weight %d is %v, want %v", i, tr.Weights()[i], float64(want[i])-change[i]/sum)
		}
	}
}

func TestFlatMemoryOverManyRounds(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 200
	}
	fed := fltest.OpenGlyphs(t, 8, 20)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{Model: model, Data: fed, Method: momentum(), Cohort: 3, Seed: 1, Workers: 2})
	tr := e.NewTrial(0)
	plan := Plan{
		Server:  hyper.DefaultServer(),
		Clients: []ClientParams{begun(ClientParams{LR: 0.01, Steps: 1, Batch: 4, Dropout: hyper.OwnDropout})},
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runRounds(t, tr, plan, 20)
	before := heap()
	for range rounds {
		if _, err := tr.Round(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	if after := heap(); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes over %d rounds", before, after, rounds)
	}
}

// begun gives hyperparameters that a test writes out the mark of those that began
// as the defaults. They are SGD's.
func begun(c ClientParams) ClientParams {
	v := hyper.Values{Client: c}
	all := hyper.DefaultClient()
	full := hyper.Values{Client: all}
	for _, p := range hyper.Table() {
		if strings.HasPrefix(p.Name, "client.") && !slices.Contains([]string{
			"client.optimizer", "client.optimizer_state",
			"client.beta1", "client.beta2", "client.eps", "client.lr_schedule", "client.lr_over", "client.bias_decay",
		}, p.Name) {
			reflect.ValueOf(&full).Elem().FieldByIndex(p.Index).Set(reflect.ValueOf(&v).Elem().FieldByIndex(p.Index))
		}
	}
	return full.Client
}
