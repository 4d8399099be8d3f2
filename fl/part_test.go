package fl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
)

// TestTreeIsTheSame adds up leaves in any order, also with neighbours added up before,
// and compares with the tree's definition: halves at the largest power of two.
func TestTreeIsTheSame(t *testing.T) {
	s := kernels.NewStream(7, 0)
	for leaves := 1; leaves <= 21; leaves++ {
		values := make([]float32, leaves)
		for i := range values {
			values[i] = s.Float32() * float32(int(1)<<s.IntN(20))
		}
		var sum func(v []float32) float32
		sum = func(v []float32) float32 {
			if len(v) == 1 {
				return v[0]
			}
			half := 1
			for 2*half < len(v) {
				half *= 2
			}
			return sum(v[:half]) + sum(v[half:])
		}
		for _, size := range []int{1, 2, 4, 8} { // of what comes as one
			n := (leaves + size - 1) / size
			freed := 0
			tr := newTree(n, func(*part) { freed++ })
			for _, leaf := range draw(s, n, n) {
				x := sum(values[leaf*size : min((leaf+1)*size, leaves)])
				tr.add(leaf, &part{Sum: slices.Repeat([]float32{x}, 16), Weight: 1, Taken: 1})
			}
			if got, want := tr.root.Sum[0], sum(values); got != want || tr.root.Taken != n || freed != n-1 {
				t.Errorf("%d leaves, %d at once: sum %v of %d, want %v; %d freed", leaves, size, got, tr.root.Taken, want, freed)
			}
		}
	}
}

func TestShards(t *testing.T) {
	for _, tt := range []struct{ cohort, n, parts, first int }{
		{10, 4, 1, 10},
		{16, 1, 1, 16},
		{17, 2, 2, 16},
		{100, 1, 1, 100},
		{100, 2, 2, 64},
		{100, 3, 4, 32},
		{100, 7, 7, 16},
		{100, 99, 7, 16},
		{1000, 5, 8, 128},
	} {
		spans := shard.Split(tt.cohort, tt.n)
		if len(spans) != tt.parts || spans[0] != (shard.Span{Hi: tt.first}) || spans[len(spans)-1].Hi != tt.cohort {
			t.Errorf("a cohort of %d is split into %v for %d", tt.cohort, spans, tt.n)
		}
		for i, s := range spans {
			if i > 0 && spans[i-1].Hi != s.Lo {
				t.Errorf("a cohort of %d is split into %v", tt.cohort, spans)
			}
		}
	}
}

// others are engines elsewhere; what goes there and comes back passes through its
// binary form.
type others struct {
	engines []*Engine
	parts   int
	next    atomic.Int64
	trained atomic.Int64 // parts
}

func (o *others) Shards(int, int, int) int { return o.parts }

func (o *others) Exams(int) int { return o.parts }

func (o *others) one() *Engine { return o.engines[int(o.next.Add(1))%len(o.engines)] }

func (o *others) Train(ctx context.Context, s shard.Round, read func(io.Reader) error) error {
	o.trained.Add(1)
	s.Weights = slices.Clone(s.Weights)
	var b bytes.Buffer
	if err := o.one().Train(ctx, s, &b); err != nil {
		return err
	}
	return read(&b)
}

func (o *others) Measure(ctx context.Context, x shard.Exam, read func(io.Reader) error) error {
	var b bytes.Buffer
	if err := o.one().Measure(ctx, x, &b); err != nil {
		return err
	}
	return read(&b)
}

// gathering is a method with a second sum, whose chains it tells.
func gathering(tell func(client int, delta []float32, weight float64)) Method {
	m := momentum()
	m.Name = "gathering"
	m.Gather = func(extra, delta []float32, l *Local) {
		kernels.Axpy(extra, 0.5, delta)
		tell(l.Client, delta, l.Weight)
	}
	m.NewServer = func(size int) Server { return &gatheringServer{momentumServer{make([]float32, size)}} }
	return m
}

type gatheringServer struct{ momentumServer }

func (s *gatheringServer) Step(w []float32, u *Update, p ServerParams) {
	kernels.Axpy(w, -0.01, u.Extra)
	s.momentumServer.Step(w, u, p)
}

// TestRoundsInPartsAreTheSame trains cohorts by any number of workers, and in any
// number of parts by engines elsewhere: the same bits, of weights, of what the slots
// measured and of evaluations. The sum of the clients is compared with that of each
// group's chain and the tree of these.
func TestRoundsInPartsAreTheSame(t *testing.T) {
	fed := *fltest.OpenGlyphs(t, 48, 12)
	fed.Clients = slices.Repeat(fed.Clients, 2)
	model := fltest.SmallCNN(t, &fed)
	var mu sync.Mutex
	for _, cohort := range []int{5, 16, 40} {
		deltas := map[int][]float32{}
		weights := map[int]float64{}
		keep := false
		method := gathering(func(client int, delta []float32, weight float64) {
			mu.Lock()
			defer mu.Unlock()
			if keep {
				deltas[client], weights[client] = slices.Clone(delta), weight
			}
		})
		config := func(workers int) Config {
			return Config{Method: method, Model: model, Data: &fed, Cohort: cohort, Seed: 3, Workers: workers}
		}
		client, server := method.Defaults()
		client.LR, client.Epochs, client.Batch = 0.1, 1, 4
		plan := Plan{Server: server, Clients: []ClientParams{client}, Probes: []string{
			"val_error_before", "val_error_after",
			signAgreement, smoothedCosine, minCosine,
		}}
		train := func(e *Engine) (*Trial, []*RoundResult, *Evaluation) {
			tr := e.NewTrial(1)
			results := runRounds(t, tr, plan, 3)
			v, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{Clients: plan.Clients, Server: &plan.Server, Round: 3})
			if err != nil {
				t.Fatal(err)
			}
			return tr, results, v
		}
		keep = true
		one := newEngine(t, config(1))
		first, err := one.NewTrial(1).trainedOnce(t, plan)
		if err != nil {
			t.Fatal(err)
		}
		keep = false
		if want := sumOf(first.Slots, deltas, weights); !slices.Equal(first.Sum, want) {
			t.Errorf("cohort %d: the sum of the clients is another one than that of the chains", cohort)
		}
		tr, results, v := train(one)
		check := func(what string, e *Engine) {
			t.Helper()
			again, others, u := train(e)
			if !slices.Equal(again.Weights(), tr.Weights()) {
				t.Errorf("cohort %d, %s: other weights", cohort, what)
			}
			for i := range results {
				if a, b := resultText(others[i]), resultText(results[i]); a != b {
					t.Errorf("cohort %d, %s, round %d: %s, want %s", cohort, what, i, a, b)
				}
			}
			if !reflect.DeepEqual(u, v) {
				t.Errorf("cohort %d, %s: evaluated as %+v, want %+v", cohort, what, u, v)
			}
		}
		check("5 workers", newEngine(t, config(5)))
		for _, parts := range []int{1, 2, 99} {
			o := &others{engines: []*Engine{one, newEngine(t, config(3))}, parts: parts}
			c := config(1)
			c.Elsewhere = o
			check("in parts", newEngine(t, c))
			if want := 3 * len(shard.Split(cohort, parts)); int(o.trained.Load()) != want {
				t.Errorf("cohort %d: %d parts were trained, want %d", cohort, o.trained.Load(), want)
			}
		}
	}
}

// TestStatisticsInParts holds that running statistics of clients that others train add up
// to the same bits.
func TestStatisticsInParts(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 48, 20)
	config := Config{Model: fltest.SmallNormalized(t, fed), Data: fed, Method: average(), Cohort: 36, Seed: 4, Workers: 1}
	plan := Plan{}
	one := newEngine(t, config)
	want := one.NewTrial(1)
	runRounds(t, want, plan, 2)
	config.Elsewhere = &others{engines: []*Engine{one, newEngine(t, config)}, parts: 3}
	got := newEngine(t, config).NewTrial(1)
	runRounds(t, got, plan, 2)
	if !slices.Equal(got.Weights(), want.Weights()) {
		t.Error("other weights")
	}
}

// trainedOnce trains a cohort without the server's step.
func (t *Trial) trainedOnce(tb testing.TB, plan Plan) (*part, error) {
	r := &round{Trial: t, plan: plan}
	var err error
	if r.slots, err = t.slots(tb.Context(), plan); err != nil {
		return nil, err
	}
	return r.train(tb.Context())
}

// sumOf sums changes by groups of 16 slots, in each the most work first.
func sumOf(slots []Slot, deltas map[int][]float32, weights map[int]float64) []float32 {
	if len(slots) > 16 {
		half := 16
		for 2*half < len(slots) {
			half *= 2
		}
		left, right := sumOf(slots[:half], deltas, weights), sumOf(slots[half:], deltas, weights)
		for i := range left {
			left[i] += right[i]
		}
		return left
	}
	slots = slices.Clone(slots)
	slices.SortStableFunc(slots, func(a, b Slot) int {
		return b.Params.Examples(b.TrainExamples) - a.Params.Examples(a.TrainExamples)
	})
	sum := make([]float32, len(deltas[slots[0].Client]))
	for _, s := range slots {
		kernels.Axpy(sum, float32(weights[s.Client]), deltas[s.Client])
	}
	return sum
}

// resultText tells all that a round measured.
func resultText(r *RoundResult) string {
	var b bytes.Buffer
	for i := range r.Slots {
		numbersOf(reflect.ValueOf(r.Slots[i]), func(v reflect.Value) {
			if v.Kind() == reflect.Float64 {
				fmt.Fprintf(&b, " %x", math.Float64bits(v.Float()))
			} else {
				fmt.Fprintf(&b, " %v", v)
			}
		})
	}
	fmt.Fprint(&b, r.aggregates, r.Steps, r.Examples, r.Dropped, r.TrainLoss)
	return b.String()
}

// TestPartsAreChecked reads parts and scores that are cut off or damaged.
func TestPartsAreChecked(t *testing.T) {
	sent := &part{Sum: []float32{1, 2}, Weight: 3, Taken: 1, Slots: []Slot{{
		Client: 4, TrainLoss: math.NaN(),
		Before: Score{Fit: Fit{MSE: 2}}, Dropped: true,
	}}, Lo: 16}
	scores := []clientScores{{globalVal: setScore{Score{Error: 0.5, Fit: Fit{Mean: 1}}, 3, []maskedScore{{0.25, 2}}}}}
	var p, s bytes.Buffer
	if err := sent.writeTo(&p); err != nil {
		t.Fatal(err)
	}
	if err := writeScores(&s, scores); err != nil {
		t.Fatal(err)
	}
	got, err := readPart(bytes.NewReader(p.Bytes()))
	if err != nil || !math.IsNaN(got.Slots[0].TrainLoss) {
		t.Fatalf("%+v, %v", got, err)
	}
	got.Slots[0].TrainLoss, sent.Slots[0].TrainLoss = 0, 0
	if !reflect.DeepEqual(got, sent) {
		t.Errorf("%+v arrived, %+v was sent", got, sent)
	}
	if got, err := readScores(bytes.NewReader(s.Bytes())); err != nil || !reflect.DeepEqual(got, scores) {
		t.Errorf("%+v arrived, %+v was sent: %v", got, scores, err)
	}
	for _, text := range [][]byte{p.Bytes(), s.Bytes()} {
		for i := range text {
			damaged := slices.Clone(text)
			damaged[i] ^= 4
			for what, read := range map[string]func([]byte) error{
				"part":   func(b []byte) error { _, err := readPart(bytes.NewReader(b)); return err },
				"scores": func(b []byte) error { _, err := readScores(bytes.NewReader(b)); return err },
			} {
				if read(damaged) == nil || read(text[:i]) == nil {
					t.Fatalf("%s with byte %d wrong, or without the rest, are read", what, i)
				}
			}
		}
	}
}

// TestPartsThatDoNotFit has an engine refuse what it cannot train.
func TestPartsThatDoNotFit(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 48, 12)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 20, Seed: 3})
	w := model.NewParams()
	for _, p := range []shard.Round{
		{Weights: w[1:], Lo: 0, Hi: 16},
		{Weights: w, Lo: 8, Hi: 16},
		{Weights: w, Lo: 16, Hi: 32},
		{Weights: w, Lo: 16, Hi: 16},
		{Weights: w, Lo: 0, Hi: 16, Plan: shard.Plan{Probes: []string{"none"}}},
	} {
		if err := e.Train(t.Context(), p, io.Discard); err == nil {
			t.Errorf("a shard of [%d,%d) with %d weights is trained", p.Lo, p.Hi, len(p.Weights))
		}
	}
	for _, x := range []shard.Exam{
		{Weights: w[1:]},
		{Weights: w, Clients: []int{-1}},
		{Weights: w, Clients: []int{0}, Unseen: true},
		{Weights: w, Clients: []int{0, 1}, PersonalVal: true},
	} {
		if err := e.Measure(t.Context(), x, io.Discard); err == nil {
			t.Errorf("an exam of %v with %d weights is held", x.Clients, len(x.Weights))
		}
	}
	kept := newEngine(t, Config{Method: keeping(), Model: model, Data: fed, Cohort: 20, Seed: 3})
	if err := kept.Train(t.Context(), shard.Round{Weights: w, Lo: 0, Hi: 16}, io.Discard); err == nil {
		t.Error("clients with a state are trained in a part")
	}
	if err := keeping().CheckShards(hyper.DefaultClient(), Updates{}); err == nil ||
		average().CheckShards(hyper.DefaultClient(), Updates{}) != nil {
		t.Errorf("methods whose rounds cannot be split: %v", err)
	}
}
