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
	"github.com/fedfast/fedfast/internal/test/fltest"
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
	for _, s := range last.Slots {
		train := fed.Clients[s.Client].Train
		weights += float64(train.Len())
		for i, x := range passed(t, model, tr.Weights(), train) {
			want[i] += float64(train.Len()) * float64(x)
		}
	}
	for i := at; i < model.Size(); i++ {
		if got := float64(tr.Weights()[i]); math.Abs(got-want[i]/weights) > 1e-6*(1+math.Abs(got)) {
			t.Fatalf("statistic %d is %v, want %v", i, got, want[i]/weights)
		}
	}
}

// passed returns weights with the statistics that a pass over samples gives them.
func passed(t *testing.T, model *nn.Model, weights []float32, v data.View) []float32 {
	t.Helper()
	shape, ws, w := model.Input(), model.NewWorkspace(), slices.Clone(weights)
	for lo := 0; lo < v.Len(); lo += 64 {
		n := min(64, v.Len()-lo)
		pos := make([]int32, n)
		for i := range pos {
			pos[i] = int32(lo + i)
		}
		b := &nn.Batch{
			N: n, X: make([]float32, n*shape.H*shape.W*shape.C), Labels: make([]int32, n),
			Share: float64(n) / float64(lo+n),
		}
		if err := v.Fill(pos, b.X, nil, b.Labels, nil); err != nil {
			t.Fatal(err)
		}
		ws.Evaluate(w, b)
	}
	return w
}

// unreadable is a server after whose second step the clients' samples cannot be read.
type unreadable struct {
	fl.Server
	fed   *data.Federation
	times *int
}

// Step takes the samples away after the step.
func (s unreadable) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	s.Server.Step(w, u, p)
	if *s.times++; *s.times == 2 {
		lost := data.NewLazyVectors(1, 2, func(int) ([]float32, []int32, error) {
			return nil, nil,
				errors.New("the disk is gone")
		})
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
	cfg := fl.Config{
		Model: fltest.SmallNormalized(t, fed), Data: fed, Method: m, Statistics: fl.StatisticsBatch,
		Cohort: 4, Seed: 11, Workers: 2,
	}
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
	vectors, err := models.FromLayers([]models.LayerSpec{
		{Type: "dense", Units: 5},
		{Type: "batchnorm"},
		{Type: "dense"},
	}, model.Input(), fed.Classes)
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
		{
			model, FedAvg(), "", &fl.Privacy{Clip: 1},
			"dp: model layers has batch normalization, whose statistics mix samples and are neither clipped nor noised; use groupnorm",
		},
		{
			model, heteroFL(), "", nil,
			`model layers has batch normalization, and method "heterofl" trains sub-networks, whose statistics are others; use groupnorm`,
		},
		{
			model, scaffold(), "keep", nil,
			`norm.statistics = "keep": clients of method "scaffold" keep or send more than their weights, of the whole network; use "average" or "affine-shared"`,
		},
		{model, fedBN(), "average", nil, `norm.statistics = "average": method "fedbn" has "keep"; leave it out`},
		{
			plain, FedAvg(), "keep", nil,
			`norm.statistics = "keep": model layers has no batch normalization; use a model that has, or leave it out`,
		},
		{model, FedAvg(), "none", nil, `norm.statistics = "none": must be average, keep, affine-shared or batch`},
	} {
		_, err := fl.New(fl.Config{
			Model: c.model, Data: fed, Method: c.method,
			Statistics: c.statistics, Privacy: c.dp, Cohort: 2,
		})
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
		if err == nil || !strings.Contains(err.Error(), "batch normalization of vectors needs 2 or more") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("batches of %d: error %v", batch, err)
		}
	}
	plan.Clients[0].Wrap = true
	runRounds(t, e.NewTrial(0), plan, 1)
}

// normalized is a network for a method, with batch normalizations of a momentum: as large as it
// is, the running statistics move, while training goes by those of batches.
func normalized(t *testing.T, fed *data.Federation, method string, momentum float64) *nn.Model {
	t.Helper()
	norm := models.LayerSpec{Type: "batchnorm", Momentum: &momentum}
	named := func(s models.LayerSpec, name string) models.LayerSpec { s.Name = name; return s }
	layers := []models.LayerSpec{{
		Type: "conv", Filters: 12, Kernel: fed.H / 4, Stride: fed.H / 4,
		NoBias: true,
	}, named(norm, "a")}
	switch method {
	case "fedtp":
		layers = append(layers, models.LayerSpec{Type: "sequence"}, models.LayerSpec{Type: "positions"},
			models.LayerSpec{Type: "residual", Body: []models.LayerSpec{{Type: "attention", Heads: 3}}}, norm,
			models.LayerSpec{Type: "steps", Take: "mean"})
	case "fednas", "directfednas":
		layers = append(layers, models.LayerSpec{Type: "conv", Name: "point", Filters: 12, Kernel: 1}, named(norm, "b"),
			models.LayerSpec{Type: "mix", Name: "c", Inputs: []string{"a", "b"}, Weights: "edge"},
			models.LayerSpec{Type: "relu"}, models.LayerSpec{Type: "avgpool"})
	default:
		body := []models.LayerSpec{{Type: "conv", Filters: 12, Kernel: 3, Pad: 1, NoBias: true}, norm}
		layers = append(layers, models.LayerSpec{Type: "relu"}, models.LayerSpec{Type: "residual", Body: body},
			models.LayerSpec{Type: "relu"}, models.LayerSpec{Type: "avgpool"})
	}
	m, err := models.FromLayers(append(layers, models.LayerSpec{Type: "dense", Name: "head"}),
		nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// takesNormalized says whether a method trains a network with batch normalization.
func takesNormalized(t *testing.T, cfg fl.Config) bool {
	t.Helper()
	e, err := fl.New(cfg)
	if err == nil {
		e.Close()
		return true
	}
	if !strings.Contains(err.Error(), "batch normalization") && !strings.Contains(err.Error(), "no choices") {
		t.Fatal(err)
	}
	return false
}

// TestStatisticsAreNoParameters trains every method with running statistics that move little
// and much: parameters, and what is measured of their changes, have the same bits.
func TestStatisticsAreNoParameters(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 30)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		cfg := fl.Config{Data: fed, Method: m, Cohort: 5, Seed: 4, HeadLayers: 1}
		changed := func(at int, set func(*fl.Config)) {
			var want []float32
			var measured []float64
			for _, momentum := range []float64{0.05, 0.8} {
				c := cfg
				set(&c)
				if c.Model = normalized(t, fed, m.Name, momentum); !takesNormalized(t, c) {
					return
				}
				tr, plan := newEngine(t, c).NewTrial(0), defaultPlan(m)
				plan.Clients[0].WeightDecay = 0.01
				if !slices.Contains(m.Settings(), "client.weight_decay") {
					plan.Clients[0].WeightDecay = 0
				}
				plan.Probes = []string{
					"delta_norm", "min_cos_grad_displacement", "sign_agreement",
					"cos_delta_smoothed", "dot_delta_previous",
				}
				rounds := 3
				if slices.Contains([]string{"afl", "qfedavg", "moon", "fedntd"}, m.Name) {
					rounds = 1 // later ones evaluate the broadcast model, statistics and all
				}
				results, n := runRounds(t, tr, plan, rounds), c.Model.Buffers().Lo
				var probed []float64
				for _, r := range results {
					for _, name := range plan.Probes {
						x, _ := r.Probe(name)
						probed = append(probed, x)
					}
				}
				switch {
				case want == nil:
					want, measured = slices.Clone(tr.Weights()), probed
					continue
				case slices.Equal(tr.Weights()[n:], want[n:]):
					t.Errorf("%d: the same statistics", at)
				case !slices.Equal(tr.Weights()[:n], want[:n]):
					t.Errorf("%d: statistics change parameters", at)
				case !slices.Equal(probed, measured):
					t.Errorf("%d: statistics change probes: %v, %v", at, measured, probed)
				}
			}
		}
		changed(-1, func(*fl.Config) {})
		if m.Name == "qfedavg" || m.Name == "fedpa" {
			changed(-2, func(c *fl.Config) { c.Statistics = fl.StatisticsKeep }) // shared ones alone count
		}
		if m.Name != "fedavg" {
			return
		}
		for i, set := range []func(*fl.Config){
			func(c *fl.Config) {
				c.Aggregation = fl.DefaultAggregation()
				c.Aggregation.Name, c.Aggregation.Bound = "norm_bound", 0.05
			},
			func(c *fl.Config) { c.Aggregation = fl.DefaultAggregation(); c.Aggregation.Name = "multikrum" },
			func(c *fl.Config) { c.Aggregation = fl.DefaultAggregation(); c.Aggregation.Name = "rfa" },
			func(c *fl.Config) {
				c.Updates = fl.DefaultUpdates()
				c.Updates.Attack, c.Updates.Attackers = "alie", 0.3
			},
			func(c *fl.Config) {
				c.Updates = fl.DefaultUpdates()
				c.Updates.Attack, c.Updates.Attackers = "gaussian", 0.3
			},
			func(c *fl.Config) {
				c.Updates = fl.DefaultUpdates()
				c.Updates.Sparsify, c.Updates.Quantize = "topk", "qsgd"
			},
		} {
			changed(i, set)
		}
	})
}

// TestBoundedClientsCountInStatistics: a bound on changes holds for parameters alone.
func TestBoundedClientsCountInStatistics(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 30)
	var want []float32
	for _, bound := range []float64{1e6, 1e-3} {
		a := fl.DefaultAggregation()
		a.Name, a.Bound = "norm_bound", bound
		cfg := fl.Config{
			Model: fltest.SmallNormalized(t, fed), Data: fed, Method: FedAvg(),
			Aggregation: a, Cohort: 5, Seed: 4,
		}
		tr := newEngine(t, cfg).NewTrial(0)
		runRounds(t, tr, defaultPlan(cfg.Method), 1)
		got := tr.Weights()[cfg.Model.Buffers().Lo:]
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-5*(1+math.Abs(float64(want[i]))) {
				t.Fatalf("statistic %d is %v with a bound, %v without", i, got[i], want[i])
			}
		}
		want = slices.Clone(got)
	}
}

// TestPersonalizedModelsHaveStatistics holds that the statistics of each client's own model are
// about those of its samples in that model.
func TestPersonalizedModelsHaveStatistics(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 6, 40)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		cfg := fl.Config{
			Model: normalized(t, fed, m.Name, 0.8), Data: fed, Method: m,
			Cohort: len(fed.Clients), Seed: 4, HeadLayers: 1,
		}
		if !takesNormalized(t, cfg) || m.Name == "fedtp" { // whose models a server makes
			return
		}
		own := m.StateLen != nil && m.Kept != nil && m.StateLen(&cfg) >= cfg.Head().Lo
		var mu sync.Mutex
		var models map[int][]float32
		wrap := func(f func(*fl.Local) error) func(*fl.Local) error {
			if f == nil {
				return nil
			}
			return func(l *fl.Local) error {
				err := f(l)
				mu.Lock()
				defer mu.Unlock()
				models[l.Client] = slices.Clone(l.Weights)
				return err
			}
		}
		cfg.Method.Local, cfg.Method.Personalize, cfg.Method.Kept = wrap(m.Local), wrap(m.Personalize), wrap(m.Kept)
		e, plan := newEngine(t, cfg), defaultPlan(m)
		c := &plan.Clients[0]
		c.Batch, c.Epochs, c.PersonalEpochs = fed.Clients[0].Train.Len(), 4, min(4, 8*c.PersonalEpochs)
		models = map[int][]float32{}
		tr := e.NewTrial(0)
		runRounds(t, tr, plan, 2)
		for _, kept := range []bool{false, true} {
			if kept && !own {
				continue
			}
			models = map[int][]float32{}
			if _, err := e.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{
				Clients: plan.Clients, Server: &plan.Server,
				State: tr.State(), Kept: kept,
			}); err != nil {
				t.Fatal(err)
			}
			for client, w := range models {
				checkStatistics(t, cfg.Model, w, passed(t, cfg.Model, w, fed.Clients[client].Train))
			}
			if len(models) != len(fed.Clients) {
				t.Errorf("%d models", len(models))
			}
		}
	})
}

// checkStatistics wants running means and variances near those of a pass.
func checkStatistics(t *testing.T, model *nn.Model, got, want []float32) {
	t.Helper()
	means, far, all := [2][]float32{}, 0, 0
	wanted := model.Export(want)
	for at, p := range model.Export(got) {
		switch {
		case strings.HasSuffix(p.Name, "running_mean"):
			means = [2][]float32{p.Data, wanted[at].Data}
		case strings.HasSuffix(p.Name, "running_var"):
			for i, v := range p.Data {
				w := float64(wanted[at].Data[i])
				all++
				if ratio := float64(v) / w; !(ratio > 0.4 && ratio < 2.5) ||
					math.Abs(float64(means[0][i]-means[1][i])) > 0.7*math.Sqrt(w) {
					far++
				}
			}
		}
	}
	if all == 0 || far > all/4 {
		t.Errorf("%d of %d running means and variances are far from those of the client's samples", far, all)
	}
}
