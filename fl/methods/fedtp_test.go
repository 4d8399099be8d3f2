package methods

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn/models"
)

// fedTPRound is a round of FedTP as fedtp_round.py reads it.
type fedTPRound struct {
	Kernel      int            `json:"kernel"`
	Heads       int            `json:"heads"`
	Size        int            `json:"size"`
	Names       []string       `json:"names"`
	Shapes      [][]int        `json:"shapes"`
	Values      [][]float32    `json:"values"`
	Projections []string       `json:"projections"`
	Layers      []fedTPLayer   `json:"layers"`
	Embeddings  [][]float32    `json:"embeddings"`
	Clients     []fedTPSamples `json:"clients"`
	LR          float64        `json:"lr"`
	Momentum    float64        `json:"momentum"`
	Steps       int            `json:"steps"`
	HyperLR     float64        `json:"hyper_lr"`
}

type fedTPSamples struct {
	X      []float32 `json:"x"`
	Labels []int32   `json:"labels"`
}

type fedTPLayer struct {
	Weight [][]float32 `json:"weight"`
	Bias   []float32   `json:"bias"`
}

// layersOf returns what a hypernetwork holds as PyTorch has it.
func layersOf(h *hypernet) []fedTPLayer {
	var all []fedTPLayer
	for _, l := range h.layers {
		plain := make([]float32, l.K*l.N)
		kernels.Unpack(plain, l.w, l.K, l.N, l.N)
		p := fedTPLayer{Bias: slices.Clone(l.b[:l.outputs])}
		for j := range l.outputs {
			row := make([]float32, l.K)
			for k := range row {
				row[k] = plain[k*l.N+j]
			}
			p.Weight = append(p.Weight, row)
		}
		all = append(all, p)
	}
	return all
}

// fedTPState returns the server's side of a trial.
func fedTPState(t *testing.T, e *fl.Engine, cfg fl.Config, s fl.Snapshot) *fedTPServer {
	t.Helper()
	at, _ := projections(e.Model())
	server := fedTP().NewSender(&cfg, at).(*fedTPServer)
	for i, a := range server.State() {
		copy(a, s.Server[i])
	}
	return server
}

// TestFedTPRoundMatchesTorch does a whole round here and in PyTorch's float64: the
// weights that are made, local steps with momentum, the mean of the shared weights, and
// the step of hypernetwork and embeddings along autograd's vector-Jacobian products.
// Each change may differ by 1e-3 of its norm.
func TestFedTPRoundMatchesTorch(t *testing.T) {
	python := findTorch(t)
	fed := fltest.OpenGlyphs(t, 9, 20)
	model := fltest.SmallTransformer(t, fed)
	c, s := fedTP().Defaults()
	s.HyperLR, s.HyperWidth, s.HyperDepth, s.Embedding = 0.3, 20, 2, 6
	cfg := fl.Config{Model: model, Data: fed, Method: fedTP(), Cohort: 4, Seed: 3, Server: &s}
	e := newEngine(t, cfg)
	tr := e.NewTrial(0)
	job := fedTPRound{Kernel: fed.H / 4, Heads: 3, Size: fed.H, LR: 0.1, Momentum: 0.9, Steps: 3, HyperLR: s.HyperLR}
	c = fullBatch(c, job.LR, job.Steps)
	c.Momentum = job.Momentum
	before, start := fedTPState(t, e, cfg, tr.Snapshot()), model.Export(tr.Weights())
	r := runRounds(t, tr, fl.Plan{Server: s, Clients: []fl.ClientParams{c}}, 1)[0]
	after, end := fedTPState(t, e, cfg, tr.Snapshot()), model.Export(tr.Weights())

	embedding := func(s *fedTPServer, client int) []float32 {
		return s.embeddings[client*s.net.inputs():][:before.net.layers[0].K]
	}
	for _, tensor := range start {
		job.Names, job.Shapes, job.Values = append(job.Names, tensor.Name), append(job.Shapes, tensor.Shape),
			append(job.Values, tensor.Data)
		if strings.HasSuffix(tensor.Name, "in_proj_weight") {
			job.Projections = append(job.Projections, tensor.Name)
		}
	}
	job.Layers = layersOf(before.net)
	for _, slot := range r.Slots {
		b := fltest.Batch(t, model, fed.Clients[slot.Client].Train)
		job.Clients = append(job.Clients, fedTPSamples{b.X, b.Labels})
		job.Embeddings = append(job.Embeddings, embedding(before, slot.Client))
	}
	var want struct {
		Values     [][]float64 `json:"values"`
		Sent       [][]float64 `json:"sent"`
		Embeddings [][]float64 `json:"embeddings"`
		Layers     []struct {
			Weight [][]float64 `json:"weight"`
			Bias   []float64   `json:"bias"`
		} `json:"layers"`
	}
	runTorch(t, python, filepath.Join("testdata", "fedtp_round.py"), job, &want)

	compare := func(what string, from, got []float32, want []float64) {
		t.Helper()
		var diff, norm float64
		for i := range want {
			diff += math.Pow(float64(got[i])-want[i], 2)
			norm += math.Pow(want[i]-float64(from[i]), 2)
		}
		if rel := math.Sqrt(diff / norm); !(rel < 1e-3) || len(got) != len(want) {
			t.Errorf("the change of %s differs from PyTorch's by %.2g of its norm", what, rel)
		}
	}
	for i := range start {
		compare(start[i].Name, start[i].Data, end[i].Data, want.Values[i])
	}
	was, is := layersOf(before.net), layersOf(after.net)
	for i := range was {
		compare("biases", was[i].Bias, is[i].Bias, want.Layers[i].Bias)
		compare("weights", slices.Concat(was[i].Weight...), slices.Concat(is[i].Weight...),
			slices.Concat(want.Layers[i].Weight...))
	}
	drawn := map[int]bool{}
	for i, slot := range r.Slots {
		drawn[slot.Client] = true
		compare("an embedding", embedding(before, slot.Client), embedding(after, slot.Client), want.Embeddings[i])
		made := make([]float32, before.net.head().N)
		before.project(made, slot.Client)
		compare("what is sent", make([]float32, len(made)), made[:len(want.Sent[i])], want.Sent[i])
	}
	for client := range fed.Clients {
		if !drawn[client] && !slices.Equal(embedding(before, client), embedding(after, client)) {
			t.Errorf("the embedding of client %d, which was not drawn, has changed", client)
		}
	}
}

// TestFedTPRefuses wants one line for what cannot be trained.
func TestFedTPRefuses(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 9, 20)
	model := fltest.SmallTransformer(t, fed)
	_, huge := fedTP().Defaults()
	huge.HyperWidth, huge.HyperDepth = 65536, 100
	frozen, err := model.WithTrainable([]string{"*.bias"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cfg  fl.Config
		want string
	}{
		{fl.Config{Model: fltest.SmallCNN(t, fed)}, `method "fedtp": model layers has no self-attention`},
		{
			fl.Config{Model: frozen},
			`method "fedtp": client.trainable leaves no queries, keys and values of model layers to train`,
		},
		{fl.Config{Model: model, Server: &huge}, `method "fedtp" keeps 4`},
	} {
		if tt.cfg.Server != nil && memory.Available() == memory.Unknown {
			continue
		}
		tt.cfg.Data, tt.cfg.Method, tt.cfg.Cohort = fed, fedTP(), 2
		if _, err := fl.New(tt.cfg); err == nil || !strings.HasPrefix(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: fedTP(), Cohort: 2})
	plan := defaultPlan(fedTP())
	plan.Server.Embedding = 64
	_, err = e.NewTrial(0).Round(t.Context(), plan)
	if want := "round 0: server.embedding = 64: the servers of this study have 128"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := fedTP().CheckShards(hyper.DefaultClient(), fl.Updates{}); err == nil ||
		!strings.HasPrefix(err.Error(), `the server of method "fedtp" makes`) {
		t.Errorf("rounds that are cut: error %v", err)
	}
}

// TestFedTPSends: clients that were never drawn have models of their own, an
// evaluation without a state measures those of a trial that has not begun, a round
// that nobody survives changes nothing, and training that starts from given weights
// sends them to all.
func TestFedTPSends(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 9, 20)
	model := fltest.SmallTransformer(t, fed)
	cfg := fl.Config{Model: model, Data: fed, Method: fedTP(), Cohort: 3, Seed: 8}
	e := newEngine(t, cfg)
	tr, plan := e.NewTrial(0), defaultPlan(fedTP())
	measured := func(e *fl.Engine, s *fl.State) *fl.Evaluation {
		v, err := e.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{Clients: plan.Clients, State: s})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := measured(e, tr.State())
	if again := measured(e, nil); first.PersonalizedTest.Loss != again.PersonalizedTest.Loss ||
		first.PersonalizedTest.Loss == first.GlobalTest.Loss {
		t.Errorf("before the first round clients score %v with the trial's state, %v without one, the global model %v",
			first.PersonalizedTest.Loss, again.PersonalizedTest.Loss, first.GlobalTest.Loss)
	}
	diverging := defaultPlan(fedTP())
	diverging.Clients[0].LR = 1e30
	if r := runRounds(t, tr, diverging, 1)[0]; r.Dropped != 3 ||
		measured(e, tr.State()).PersonalizedTest.Loss != first.PersonalizedTest.Loss {
		t.Errorf("%d of 3 clients diverge, and models change", r.Dropped)
	}
	start := model.NewParams()
	model.Init(start, 77)
	copy(tr.Weights(), start)
	given := newEngine(t, fl.Config{Model: model.WithStart(start), Data: fed, Method: fedTP(), Cohort: 3})
	if v := measured(given, nil); v.PersonalizedTest.Loss != v.GlobalTest.Loss {
		t.Errorf("models that begin with given weights score %v, those weights %v",
			v.PersonalizedTest.Loss, v.GlobalTest.Loss)
	}
}

// BenchmarkFedTP is what the server of vit-tiny adds to a round of 10 clients, beside
// their training: the projections of one client, and the server's step.
func BenchmarkFedTP(b *testing.B) {
	model, err := models.New("vit-tiny", models.Options{})
	if err != nil {
		b.Fatal(err)
	}
	_, p := fedTP().Defaults()
	at, _ := projections(model)
	const cohort = 10
	s := fedTP().NewSender(&fl.Config{
		Model: model, Server: &p,
		Data: &data.Federation{Clients: make([]data.Client, cohort)},
	}, at)
	server, w := s.(*fedTPServer), model.NewParams()
	b.Run("begin", func(b *testing.B) {
		for b.Loop() {
			s.Begin(w, 1)
		}
	})
	b.Run("project", func(b *testing.B) {
		made := make([]float32, server.net.head().N)
		for b.Loop() {
			server.project(made, 3)
		}
	})
	b.Run("step", func(b *testing.B) {
		own := &fl.Own{Weights: slices.Repeat([]float64{1}, cohort), Changes: make([]float32, cohort*s.OwnLen())}
		for i := range cohort {
			own.Clients = append(own.Clients, i)
		}
		for b.Loop() {
			s.Step(w, &fl.Update{Mean: model.NewParams(), Own: own, Weight: cohort, Taken: cohort}, p)
		}
	})
}

// findTorch returns a Python that can import torch, or skips the test.
func findTorch(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c",
			"import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)").Run() == nil {
			return python
		}
	}
	t.Skip("no python3 here can import torch; install Debian's python3-torch to compare with PyTorch")
	return ""
}

// runTorch has a script answer a job.
func runTorch(t *testing.T, python, script string, job, answer any) {
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "job.json"), filepath.Join(t.TempDir(), "out.json")
	text, err := json.Marshal(job)
	if err == nil {
		err = os.WriteFile(in, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command(python, script, in, out).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", python, script, err, output)
	}
	if text, err = os.ReadFile(out); err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		t.Fatal(err)
	}
}
