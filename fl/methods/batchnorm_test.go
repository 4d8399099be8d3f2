package methods

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/fltest"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// recorded is what clients began and ended a round with.
type recorded struct {
	mu         sync.Mutex
	start, end map[int][]float32
	weight     map[int]float64
}

// record wraps a method so that the weights of clients are recorded.
func record(m fl.Method) (fl.Method, *recorded) {
	r := &recorded{start: map[int][]float32{}, end: map[int][]float32{}, weight: map[int]float64{}}
	local := m.Local
	m.Local = func(l *fl.Local) error {
		start := slices.Clone(l.Weights)
		err := local(l)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.start[l.Client], r.end[l.Client], r.weight[l.Client] = start, slices.Clone(l.Weights), l.Weight
		return err
	}
	return m, r
}

// mean returns the weighted mean of what a round's clients ended with at a place.
func (r *recorded) mean(round *fl.RoundResult, at int) float64 {
	var sum, weights float64
	for _, s := range round.Slots {
		sum += r.weight[s.Client] * float64(r.end[s.Client][at])
		weights += r.weight[s.Client]
	}
	return sum / weights
}

// TestStatisticsAreAveraged holds that the running statistics are the means of the
// clients', whatever the method and its server make of weights, and that they move.
func TestStatisticsAreAveraged(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	model := fltest.SmallNormalized(t, fed)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		if m.Subnet != nil || m.Trains != nil || m.NewSender != nil || strings.HasSuffix(m.Name, "fednas") {
			return
		}
		m, r := record(m)
		e := newEngine(t, fl.Config{Model: model, Data: fed, Method: m, Cohort: 4, Seed: 11, Workers: 1})
		tr := e.NewTrial(3)
		before := slices.Clone(tr.Weights())
		for range 2 {
			round := runRounds(t, tr, defaultPlan(m), 1)[0]
			moved := 0
			for at := model.Buffers().Lo; at < model.Size(); at++ {
				if got, want := float64(tr.Weights()[at]), r.mean(round, at); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("statistic %d is %v, the mean of the clients' is %v", at, got, want)
				}
				if tr.Weights()[at] != before[at] {
					moved++
				}
			}
			if moved < model.NumBuffers()/2 {
				t.Errorf("%d of %d statistics moved", moved, model.NumBuffers())
			}
		}
	})
}

// TestStatisticsKeepThePromises: the same bits for any number of workers and after a
// snapshot, whatever becomes of the statistics.
func TestStatisticsKeepThePromises(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	model := fltest.SmallNormalized(t, fed)
	seen := map[string]string{}
	for _, what := range []string{fl.StatisticsAverage, fl.StatisticsKeep, fl.StatisticsAffineShared, fl.StatisticsBatch} {
		t.Run(what, func(t *testing.T) {
			cfg := fl.Config{Model: model, Data: fed, Method: FedAvg(), Statistics: what, Cohort: 6, Seed: 11, Workers: 1}
			plan := defaultPlan(cfg.Method)
			e := newEngine(t, cfg)
			tr := e.NewTrial(3)
			runRounds(t, tr, plan, 2)
			snap := written(t, tr.Snapshot())
			runRounds(t, tr, plan, 2)
			want := model.SHA256(tr.Weights())
			cfg.Workers = 4
			e4 := newEngine(t, cfg)
			many := e4.NewTrial(3)
			runRounds(t, many, plan, 4)
			again, err := e4.Restore(snap)
			if err != nil {
				t.Fatal(err)
			}
			runRounds(t, again, plan, 2)
			for _, tr := range []*fl.Trial{many, again} {
				if sha := model.SHA256(tr.Weights()); sha != want {
					t.Errorf("weights %s, want %s", sha, want)
				}
			}
			if before, ok := seen[want]; ok {
				t.Errorf("it trains to the weights of %s", before)
			}
			seen[want] = what
		})
	}
}

// TestStatisticsOfTheBatch holds that the statistics of a new model are the means of the
// cohort's, each of one pass over its training samples, and that training is what it is
// with averaged ones.
func TestStatisticsOfTheBatch(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 6, 100) // two batches a client
	model := fltest.SmallNormalized(t, fed)
	cfg := fl.Config{Model: model, Data: fed, Method: FedAvg(), Cohort: 4, Seed: 11, Workers: 2}
	average := newEngine(t, cfg).NewTrial(0)
	cfg.Statistics = fl.StatisticsBatch
	tr := newEngine(t, cfg).NewTrial(0)
	runRounds(t, average, defaultPlan(cfg.Method), 3)
	last := runRounds(t, tr, defaultPlan(cfg.Method), 3)[2]
	at := model.Buffers().Lo
	if !slices.Equal(tr.Weights()[:at], average.Weights()[:at]) {
		t.Error("other weights than with averaged statistics")
	}
	want, weights := make([]float64, model.Size()), 0.0
	shape, ws := model.Input(), model.NewWorkspace()
	for _, s := range last.Slots {
		train, w := fed.Clients[s.Client].Train, slices.Clone(tr.Weights())
		var seen int
		for lo := 0; lo < train.Len(); lo += 64 {
			n := min(64, train.Len()-lo)
			pos := make([]int32, n)
			for i := range pos {
				pos[i] = int32(lo + i)
			}
			seen += n
			b := &nn.Batch{N: n, X: make([]float32, n*shape.H*shape.W*shape.C), Labels: make([]int32, n), Share: float64(n) / float64(seen)}
			if err := train.Fill(pos, b.X, nil, b.Labels, nil); err != nil {
				t.Fatal(err)
			}
			ws.Evaluate(w, b)
		}
		weights += float64(seen)
		for i, x := range w {
			want[i] += float64(seen) * float64(x)
		}
	}
	for i := at; i < model.Size(); i++ {
		if got := float64(tr.Weights()[i]); math.Abs(got-want[i]/weights) > 1e-6*(1+math.Abs(got)) {
			t.Fatalf("statistic %d is %v, want %v", i, got, want[i]/weights)
		}
	}
}

// unreadable is a server after whose second step the clients' samples cannot be read.
type unreadable struct {
	fl.Server
	fed   *data.Federation
	times *int
}

// Step takes the samples away behind the step.
func (s unreadable) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	s.Server.Step(w, u, p)
	if *s.times++; *s.times == 2 {
		lost := data.NewLazyVectors(1, 2, func(int) ([]float32, []int32, error) { return nil, nil, errors.New("the disk is gone") })
		for i := range s.fed.Clients {
			c := &s.fed.Clients[i]
			c.Train = lost.View(i, c.Train.Len())
		}
	}
}

// TestStatisticsOfTheBatchThatFail holds that a trial whose new statistics cannot be computed is
// as it was before the round, so that it goes on from there.
func TestStatisticsOfTheBatchThatFail(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 6, 100)
	m, err := fl.MethodByName("fedadam")
	if err != nil {
		t.Fatal(err)
	}
	times, server := 0, m.NewServer
	m.NewServer = func(size int) fl.Server { return unreadable{server(size), fed, &times} }
	cfg := fl.Config{Model: fltest.SmallNormalized(t, fed), Data: fed, Method: m, Statistics: fl.StatisticsBatch, Cohort: 4, Seed: 11, Workers: 2}
	tr := newEngine(t, cfg).NewTrial(0)
	plan, clients := defaultPlan(m), slices.Clone(fed.Clients)
	plan.Probes = []string{"cos_delta_smoothed"}
	runRounds(t, tr, plan, 1)
	before := binaryOf(t, tr.Snapshot())
	if _, err := tr.Round(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Fatal(err)
	}
	if after := binaryOf(t, tr.Snapshot()); !bytes.Equal(after, before) {
		t.Error("the trial is not as it was before the round")
	}
	copy(fed.Clients, clients)
	runRounds(t, tr, plan, 1)
}

// TestClientsKeepNormalizations holds that a client goes on from its own values, that the
// shared ones are broadcast, and that norms leave the former out.
func TestClientsKeepNormalizations(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 30)
	model := fltest.SmallNormalized(t, fed)
	for what, own := range map[string][]nn.Span{
		fl.StatisticsKeep: append(model.Normalizations(), model.Buffers()), fl.StatisticsAffineShared: {model.Buffers()},
	} {
		m, r := record(FedAvg())
		e := newEngine(t, fl.Config{Model: model, Data: fed, Method: m, Statistics: what, Cohort: len(fed.Clients), Seed: 2})
		tr := e.NewTrial(0)
		runRounds(t, tr, defaultPlan(m), 1)
		ends, sent := r.end, slices.Clone(tr.Weights())
		r.end = map[int][]float32{}
		round := runRounds(t, tr, defaultPlan(m), 1)[0]
		for _, s := range round.Slots {
			norm, at := 0.0, 0
			for i, w := range r.start[s.Client] {
				for at < len(own) && i >= own[at].Hi {
					at++
				}
				want := sent[i]
				if at < len(own) && i >= own[at].Lo {
					want = ends[s.Client][i]
				} else {
					d := float64(w) - float64(r.end[s.Client][i])
					norm += d * d
				}
				if w != want {
					t.Fatalf("%s: client %d begins with %v at %d, want %v", what, s.Client, w, i, want)
				}
			}
			if math.Abs(math.Sqrt(norm)-s.DeltaNorm) > 1e-4*s.DeltaNorm {
				t.Errorf("%s: the norm of the change is %v, of the shared weights' %v", what, s.DeltaNorm, math.Sqrt(norm))
			}
		}
	}
}

// TestBatchNormRefusals wants one line for what batch normalization does not go with.
func TestBatchNormRefusals(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 30)
	model, plain := fltest.SmallNormalized(t, fed), fltest.SmallCNN(t, fed)
	vectors, err := models.FromLayers([]models.LayerSpec{{Type: "dense", Units: 5}, {Type: "batchnorm"}, {Type: "dense"}}, model.Input(), fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model      *nn.Model
		method     fl.Method
		statistics string
		dp         *fl.Privacy
		want       string
	}{
		{model, FedAvg(), "", &fl.Privacy{Clip: 1}, "dp: model layers has batch normalization, whose statistics mix samples and are neither clipped nor noised; use groupnorm"},
		{model, heteroFL(), "", nil, `model layers has batch normalization, and method "heterofl" trains sub-networks, whose statistics are others; use groupnorm`},
		{model, scaffold(), "keep", nil, `norm.statistics = "keep": clients of method "scaffold" keep or send more than their weights, of the whole network; use "average" or "affine-shared"`},
		{model, fedBN(), "average", nil, `norm.statistics = "average": method "fedbn" has "keep"; leave it out`},
		{plain, FedAvg(), "keep", nil, `norm.statistics = "keep": model layers has no batch normalization; use a model that has, or leave it out`},
		{model, FedAvg(), "none", nil, `norm.statistics = "none": must be average, keep, affine-shared or batch`},
	} {
		_, err := fl.New(fl.Config{Model: c.model, Data: fed, Method: c.method, Statistics: c.statistics, Privacy: c.dp, Cohort: 2})
		if err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	e := newEngine(t, fl.Config{Model: vectors, Data: fed, Method: FedAvg(), Cohort: 2})
	plan := defaultPlan(FedAvg())
	n := fed.Clients[0].Train.Len()
	for _, batch := range []int{1, n - 1} {
		plan.Clients[0].Batch = batch
		_, err := e.NewTrial(0).Round(t.Context(), plan)
		if err == nil || !strings.Contains(err.Error(), "batch normalization of vectors needs 2 or more") || strings.Contains(err.Error(), "\n") {
			t.Errorf("batches of %d: error %v", batch, err)
		}
	}
	plan.Clients[0].Wrap = true
	runRounds(t, e.NewTrial(0), plan, 1)
}
