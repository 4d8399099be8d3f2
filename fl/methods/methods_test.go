package methods

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// defaultPlan is a method with its own defaults, gentle enough for every one.
func defaultPlan(m fl.Method) fl.Plan {
	c, s := m.Defaults()
	c.LR, c.Epochs, c.Batch = 0.02, 2, 8
	if c.HeadEpochs > 0 {
		c.HeadEpochs = 0.5
	}
	if m.Name == "ditto" {
		c.PersonalEpochs = 0.5
	}
	return fl.Plan{Server: s, Clients: []fl.ClientParams{c}}
}

// variedPlan gives every slot its own hyperparameters, those of the method too.
func variedPlan(m fl.Method, slots int) fl.Plan {
	p := defaultPlan(m)
	base := p.Clients[0]
	p.Clients = nil
	for i := range slots {
		c := base
		c.LR, c.Epochs, c.Batch, c.Wrap = 0.01*float64(i+1), 0.5*float64(i+1), 4+3*i, i%2 == 1
		c.Lambda *= float64(i + 1)
		c.HeadEpochs *= float64(i + 1)
		c.InnerLR *= float64(i + 1)
		c.InnerSteps *= i + 1
		c.FirstOrder = c.InnerLR > 0 && m.Name != "pfedme" && i%2 == 0
		c.Window *= i + 1
		c.Rho *= float64(i + 1)
		if m.Name == "pfedme" { // neither of its loops may overshoot
			c.Lambda, c.InnerLR = 5*float64(i+1), 0.01
		}
		if m.Name == "heterofl" || m.Name == "fedrolex" {
			c.Width = widths[i%3]
		}
		if m.Name == "supernet" {
			c.SetPick(map[string]int{"depth": i % 2, "kernel": 3 + 2*(i%3%2), "width": 6 + 2*(i/2%2)})
			p.Server.Holders = true
		}
		if m.Name == "fednas" || m.Name == "directfednas" {
			c.AlphaLR, c.ClipNorm = 0.01*float64(i+1), 0.5*float64(i%2)
		}
		if m.Name == "fedprox" {
			c.Momentum, c.Nesterov, c.ClipNorm = 0.5, i%2 == 0, 0.2*float64(i)
		}
		switch m.Name {
		case "reptile":
			c.Optimizer, c.ClipNorm, c.WeightDecay, c.Mu = "adam", 0.5, 0.01, 0.1
		case "heterofl", "fedrolex", "fedrep":
			c.Optimizer, c.ClipNorm, c.WeightDecay = []string{"sgd", "adam", "adamw"}[i%3], 0.5*float64(i%2), 0.01
		}
		p.Clients = append(p.Clients, c)
	}
	return p
}

// modelOf is a network that a method can train.
func modelOf(t *testing.T, m fl.Method, fed *data.Federation) *nn.Model {
	t.Helper()
	switch m.Name {
	case "fedtp":
		return fltest.SmallTransformer(t, fed)
	case "supernet":
		return fltest.SmallSupernet(t, fed)
	case "fedbn":
		return fltest.SmallNormalized(t, fed)
	case "fednas", "directfednas":
		return fltest.SmallMixture(t, fed)
	}
	return fltest.SmallCNN(t, fed)
}

// forEachMethod runs f with every built-in method.
func forEachMethod(t *testing.T, f func(t *testing.T, m fl.Method)) {
	t.Helper()
	for _, name := range fl.Methods() {
		m, err := fl.MethodByName(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { f(t, m) })
	}
}

var everyProbe = []string{
	"val_error_before", "val_loss_after", "delta_norm", "min_cos_grad_displacement",
	"min_cos_grad_prior_displacement", "seconds_simulated",
	"sign_agreement", "cos_delta_smoothed{alpha=0.7}", "cos_delta_smoothed",
}

// TestEveryMethodKeepsThePromises, with clients that all differ: the same bits for
// any number of workers, after a snapshot that went through a file, with states
// that do not fit in memory, and whatever is measured.
func TestEveryMethodKeepsThePromises(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		model, plan := modelOf(t, m, fed), variedPlan(m, 5)
		plan.Probes = everyProbe
		type outcome struct {
			sha    string
			rounds []*fl.RoundResult
			eval   *fl.Evaluation
		}
		finish := func(e *fl.Engine, tr *fl.Trial, rounds int) outcome {
			o := outcome{rounds: runRounds(t, tr, plan, rounds)}
			o.sha = model.SHA256(tr.Weights())
			var err error
			if o.eval, err = e.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{
				Clients: plan.Clients[2:3],
				Server:  &plan.Server, State: tr.State(), Sample: 6,
			}); err != nil {
				t.Fatal(err)
			}
			return o
		}
		compare := func(what string, got, want outcome) {
			t.Helper()
			if got.sha != want.sha {
				t.Errorf("%s: weights %s, want %s", what, got.sha, want.sha)
			}
			if !reflect.DeepEqual(got.eval, want.eval) {
				t.Errorf("%s: evaluation %+v, want %+v", what, *got.eval, *want.eval)
			}
			for i, r := range got.rounds {
				w := want.rounds[len(want.rounds)-len(got.rounds)+i]
				if !reflect.DeepEqual(r.Slots, w.Slots) {
					t.Errorf("%s: round %d measures %+v, want %+v", what, r.Round, r.Slots, w.Slots)
				}
				for _, name := range everyProbe {
					a, ok := r.Probe(name)
					b, _ := w.Probe(name)
					if a != b || !ok || math.IsNaN(a) {
						t.Errorf("%s: round %d has %s = %v (%v), want %v", what, r.Round, name, a, ok, b)
					}
				}
			}
		}
		cfg := fl.Config{Model: model, Data: fed, Method: m, Cohort: 5, Seed: 11, Workers: 1}
		e := newEngine(t, cfg)
		tr := e.NewTrial(3)
		head := runRounds(t, tr, plan, 3)
		snap := tr.Snapshot()
		if n, most := len(binaryOf(t, snap)), e.MostBytes(); int64(n) > most || most > 8*int64(n)+100_000 {
			t.Errorf("its snapshot has %d bytes, of at most %d", n, most)
		}
		want := finish(e, tr, 2)

		cfg.Workers, cfg.StateMemory = 4, 1 // no state fits
		e4 := newEngine(t, cfg)
		compare("4 workers, states in a file", finish(e4, e4.NewTrial(3), 5),
			outcome{want.sha, append(head, want.rounds...), want.eval})
		again, err := e4.Restore(written(t, snap))
		if err != nil {
			t.Fatal(err)
		}
		compare("restored", finish(e4, again, 2), want)
		if again, err = e.Restore(snap); err != nil {
			t.Fatal(err)
		}
		compare("restored from memory", finish(e, again, 2), want)

		plan.Probes = nil
		plain := e4.NewTrial(3)
		runRounds(t, plain, plan, 5)
		if sha := model.SHA256(plain.Weights()); sha != want.sha {
			t.Errorf("without probes it trains to %s, with them to %s", sha, want.sha)
		}
	})
}

func TestEveryMethodLearns(t *testing.T) {
	if testing.Short() {
		t.Skip("25 rounds of every method; TestEveryMethodKeepsThePromises runs them on several workers")
	}
	fed := fltest.OpenGlyphs(t, 24, 60)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		e := newEngine(t, fl.Config{Model: modelOf(t, m, fed), Data: fed, Method: m, Cohort: 6, Seed: 1})
		plan := defaultPlan(m)
		plan.Clients[0].LR, plan.Clients[0].Dropout = 0.05, 0
		if m.Name == "pfedme" { // theta fits its last batch
			plan.Clients[0] = fullBatch(plan.Clients[0], 0.1, 8)
		}
		tr := e.NewTrial(0)
		eval := func() *fl.Evaluation {
			v, err := e.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{
				Clients: plan.Clients,
				Server:  &plan.Server, State: tr.State(),
			})
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		before := eval()
		runRounds(t, tr, plan, 25)
		after := eval()
		// MAML's weights need only be good to start from.
		if !(after.PersonalizedTest.Loss < before.PersonalizedTest.Loss) || !strings.HasPrefix(m.Name, "maml") &&
			!(after.GlobalTest.Loss < before.GlobalTest.Loss) {
			t.Errorf("the test loss went from %.3f to %.3f, that of personalized models from %.3f to %.3f",
				before.GlobalTest.Loss, after.GlobalTest.Loss, before.PersonalizedTest.Loss, after.PersonalizedTest.Loss)
		}
	})
}

// TestMethodsRefuseBadCombinations wants one line that names key and method.
func TestMethodsRefuseBadCombinations(t *testing.T) {
	for _, tt := range []struct {
		method string
		change func(c *fl.ClientParams, s *fl.ServerParams)
		want   string
	}{
		{
			"scaffold", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Momentum = 0.9 },
			`client.momentum = 0.9: method "scaffold" needs 0; its control variates`,
		},
		{
			"perfedavg", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Momentum = 0.9 },
			`client.momentum = 0.9: method "perfedavg" does not use it; leave it out, or use one of the methods afl, directfednas, `,
		},
		{
			"scaffold", func(c *fl.ClientParams, _ *fl.ServerParams) { c.ClipNorm = 1 },
			`client.clip_norm = 1: method "scaffold" needs 0; its control variates are means of gradients`,
		},
		{
			"fedpa", func(c *fl.ClientParams, _ *fl.ServerParams) { c.ClipNorm = 1 },
			`client.clip_norm = 1: method "fedpa" needs 0; clipped steps do not sample`,
		},
		{
			"pfedme", func(c *fl.ClientParams, _ *fl.ServerParams) { c.ClipNorm = 1 },
			`client.clip_norm = 1: method "pfedme" does not use it; leave it out, or use one of the methods afl, directfednas, `,
		},
		{
			"scaffold", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Optimizer = "adam" },
			`client.optimizer = "adam": method "scaffold" needs "sgd"; its control variates are means of gradients`,
		},
		{
			"fednova", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Optimizer = "adamw" },
			`client.optimizer = "adamw": method "fednova" needs "sgd"; it counts how often each gradient`,
		},
		{
			"fedpa", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Optimizer = "adam" },
			`client.optimizer = "adam": method "fedpa" needs "sgd"; Adam's steps do not sample`,
		},
		{
			"pfedme", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Optimizer = "adam" },
			`client.optimizer = "adam": method "pfedme" needs "sgd"; its steps descend`,
		},
		{
			"maml", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Optimizer = "adam" },
			`client.optimizer = "adam": method "maml" needs "sgd"; its meta-gradients`,
		},
		{
			"perfedavg", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Optimizer = "adam" },
			`client.optimizer = "adam": method "perfedavg" needs "sgd"; its meta-gradients`,
		},
		{
			"fedavg", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Optimizer = "rmsprop" },
			`client.optimizer = "rmsprop": must be one of sgd, adam, adamw`,
		},
		{
			"fedavg", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Optimizer, c.Momentum = "adam", 0.9 },
			`client.momentum = 0.9: must be 0 with client.optimizer = "adam"; use client.beta1`,
		},
		{
			"fedavg", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Beta1 = 0.8 },
			`client.beta1 = 0.8: only allowed with client.optimizer = adam or adamw`,
		},
		{"fedavg", func(c *fl.ClientParams, _ *fl.ServerParams) {
			c.Optimizer, c.Eps = "adam",
				0
		}, `client.eps = 0: must be`},
		{
			"fedavg", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Nesterov = true },
			`client.nesterov = true: requires client.momentum > 0`,
		},
		{
			"fedavg", func(c *fl.ClientParams, _ *fl.ServerParams) { c.ClipNorm = -1 },
			`client.clip_norm = -1: must be a finite number >= 0`,
		},
		{
			"maml", func(c *fl.ClientParams, _ *fl.ServerParams) { c.WeightDecay = 0.1 },
			`client.weight_decay = 0.1: method "maml" does not use it`,
		},
		{
			"feddyn", func(_ *fl.ClientParams, s *fl.ServerParams) { s.Alpha = 0 },
			`server.alpha = 0: method "feddyn" needs a finite number > 0`,
		},
		{
			"fedadam", func(_ *fl.ClientParams, s *fl.ServerParams) { s.Momentum = 0.9 },
			`server.momentum = 0.9: method "fedadam" needs 0`,
		},
		{
			"fedadagrad", func(_ *fl.ClientParams, s *fl.ServerParams) { s.Beta2 = 0.9 },
			`server.beta2 = 0.9: method "fedadagrad" does not use it; leave it out, or use one of the methods fedadam, fedyogi`,
		},
		{
			"fedyogi", func(_ *fl.ClientParams, s *fl.ServerParams) { s.Tau = 0 },
			`server.tau = 0: method "fedyogi" needs a finite number > 0`,
		},
		{
			"fedrep", func(c *fl.ClientParams, _ *fl.ServerParams) { c.HeadEpochs = 0 },
			`client.head_epochs = 0: method "fedrep" needs in (0, 1e6]`,
		},
		{
			"pfedme", func(c *fl.ClientParams, _ *fl.ServerParams) { c.InnerSteps = 0 },
			`client.inner_steps = 0: method "pfedme" needs a positive integer`,
		},
		{
			"pfedme", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Momentum = 0.9 },
			`client.momentum = 0.9: method "pfedme" does not use it`,
		},
		{
			"fednova", func(_ *fl.ClientParams, s *fl.ServerParams) { s.LR = 0.5 },
			`server.lr = 0.5: method "fednova" does not use it; leave it out, or use one of the methods fedadagrad, `,
		},
		{
			"fedper", func(c *fl.ClientParams, _ *fl.ServerParams) { c.HeadEpochs = 1 },
			`client.head_epochs = 1: method "fedper" does not use it`,
		},
		{
			"fedpa", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Window = 0 },
			`client.window = 0: method "fedpa" needs a positive integer`,
		},
		{
			"fedtp", func(_ *fl.ClientParams, s *fl.ServerParams) { s.HyperLR = 0 },
			`server.hyper_lr = 0: method "fedtp" needs a finite number > 0`,
		},
		{
			"fedtp", func(_ *fl.ClientParams, s *fl.ServerParams) { s.Embedding = 0 },
			`server.embedding = 0: method "fedtp" needs an integer in [1, 65536]`,
		},
		{
			"fedavg", func(_ *fl.ClientParams, s *fl.ServerParams) { s.HyperLR = 1 },
			`server.hyper_lr = 1: method "fedavg" does not use it; leave it out, or use method "fedtp"`,
		},
		{
			"fedavg", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Lambda = 1 },
			`client.lambda = 1: method "fedavg" does not use it`,
		},
		{
			"ditto", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Mu = 1 },
			`client.mu = 1: method "ditto" does not use it; leave it out, or use one of the methods fedprox, moon, reptile`,
		},
		{
			"moon", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Mu = 0 },
			`client.mu = 0: method "moon" needs a finite number > 0; with 0 it is method "fedavg"`,
		},
		{
			"moon", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Temperature = 0 },
			`client.temperature = 0: method "moon" needs a finite number > 0`,
		},
		{
			"fedrod", func(c *fl.ClientParams, _ *fl.ServerParams) { c.OptimizerState = "keep" },
			`client.optimizer_state = "keep": method "fedrod" needs "reset"; the optimizer of a personal head`,
		},
		{
			"apfl", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Alpha = 0 },
			`client.alpha = 0: method "apfl" needs in (0, 1]`,
		},
		{
			"fedala", func(c *fl.ClientParams, _ *fl.ServerParams) { c.ALAShare = 0 },
			`client.ala_share = 0: method "fedala" needs in (0, 1]`,
		},
		{
			"fedamp", func(_ *fl.ClientParams, s *fl.ServerParams) { s.AMPSigma = 0 },
			`server.amp_sigma = 0: method "fedamp" needs a finite number > 0`,
		},
		{"qfedavg", func(_ *fl.ClientParams, s *fl.ServerParams) { s.Q = 101 }, `server.q = 101: must be in [0, 100]`},
		{
			"afl", func(_ *fl.ClientParams, s *fl.ServerParams) { s.LambdaLR = 0 },
			`server.lambda_lr = 0: method "afl" needs a finite number > 0`,
		},
		{
			"ifca", func(_ *fl.ClientParams, s *fl.ServerParams) { s.Clusters = 0 },
			`server.clusters = 0: method "ifca" needs an integer in [1, 100]`,
		},
		{
			"fedfomo", func(_ *fl.ClientParams, s *fl.ServerParams) { s.Models = 0 },
			`server.models = 0: method "fedfomo" needs an integer in [1, 1000]`,
		},
		{
			"mimelite", func(c *fl.ClientParams, _ *fl.ServerParams) { c.Momentum = 0.9 },
			`client.momentum = 0.9: method "mimelite" needs 0; local steps use the server's momentum; set server.beta1`,
		},
		{
			"fedavgm", func(_ *fl.ClientParams, s *fl.ServerParams) { s.Alpha = 1 },
			`server.alpha = 1: method "fedavgm" does not use it; leave it out, or use one of the methods feddyn, feddynchoice`,
		},
	} {
		m, err := fl.MethodByName(tt.method)
		if err != nil {
			t.Fatal(err)
		}
		c, s := m.Defaults()
		if err := m.CheckParams(c, s); err != nil {
			t.Errorf("%s refuses its defaults: %v", tt.method, err)
		}
		tt.change(&c, &s)
		if err := m.CheckParams(c, s); err == nil || !strings.HasPrefix(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("got error %v, want %s", err, tt.want)
		}
	}
	fed := fltest.OpenGlyphs(t, 12, 30)
	for _, m := range []fl.Method{
		scaffold(), fedDyn(), ditto(), fedRep(), fedPer(), apfl(), lgFedAvg(),
		fedALA(), fedAMP(), fedFomo(),
	} {
		_, err := fl.New(fl.Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: m, Cohort: 2, Replacement: true})
		if err == nil || !strings.Contains(err.Error(), "twice in a cohort") {
			t.Errorf("%s with replacement: error %v", m.Name, err)
		}
	}
	for _, m := range []fl.Method{fedRep(), fedPer(), fedBABU(), lgFedAvg()} {
		_, err := fl.New(fl.Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: m, Cohort: 2, HeadLayers: 2})
		if err == nil || !strings.Contains(err.Error(), "head_layers = 2: model") {
			t.Errorf("%s with a model that is all head: error %v", m.Name, err)
		}
	}
}

// TestServerOptimizersByHand works the equations of Reddi et al. 2020, algorithm 2,
// out in float64 for given pseudo-gradients.
func TestServerOptimizersByHand(t *testing.T) {
	grads := [][]float64{{1, -2, 0.5}, {0.25, 1, -1}, {-3, 0, 2}, {0.5, 0.5, -0.125}}
	for name, second := range map[string]func(v, g, b2 float64) float64{
		"fedadagrad": func(v, g, _ float64) float64 { return v + g*g },
		"fedadam":    func(v, g, b2 float64) float64 { return b2*v + (1-b2)*g*g },
		"fedyogi": func(v, g, b2 float64) float64 {
			sign := 0.0
			if v > g*g {
				sign = 1
			} else if v < g*g {
				sign = -1
			}
			return v - (1-b2)*g*g*sign
		},
	} {
		m, err := fl.MethodByName(name)
		if err != nil {
			t.Fatal(err)
		}
		_, p := m.Defaults()
		if p.Tau != 1e-3 || name == "fedadagrad" != (p.Beta1 == 0) || name != "fedadagrad" &&
			(p.Beta1 != 0.9 || p.Beta2 != 0.99) {
			t.Errorf("%s starts from %+v", name, p)
		}
		p.Decay, p.Tau = 0.9, 0.02
		w := make([]float32, kernels.Width)
		s := m.NewServer(len(w))
		want, mom, v := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		for i := range v {
			v[i] = p.Tau * p.Tau
		}
		for round, g := range grads {
			mean := make([]float32, len(w))
			for i, x := range g {
				mean[i] = float32(x)
				mom[i] = p.Beta1*mom[i] + (1-p.Beta1)*x
				v[i] = second(v[i], x, p.Beta2)
				want[i] -= p.LR * math.Pow(p.Decay, float64(round)) * mom[i] / (math.Sqrt(v[i]) + p.Tau)
			}
			s.Step(w, &fl.Update{Mean: mean, Round: round}, p)
		}
		for i := range want {
			if math.Abs(float64(w[i])-want[i]) > 1e-5*math.Abs(want[i]) {
				t.Errorf("%s: weight %d is %v, want %v", name, i, w[i], want[i])
			}
		}
	}
}

func TestMethodsRefuseWhatTheyWouldIgnore(t *testing.T) {
	tests := []struct {
		method string
		mu     float64
		server fl.ServerParams
		ok     bool
	}{
		{"fedavg", 0, fl.ServerParams{LR: 1, Decay: 1, Weighted: true}, true},
		{"fedavg", 0.1, fl.ServerParams{LR: 1, Decay: 1, Weighted: true}, false},
		{"fedavg", 0, fl.ServerParams{LR: 0.5, Decay: 1, Weighted: true}, false},
		{"fedprox", 0.1, fl.ServerParams{LR: 1, Decay: 1, Weighted: true}, true},
		{"fedprox", 0, fl.ServerParams{LR: 1, Decay: 1, Weighted: true}, false},
		{"fedprox", 0.1, fl.ServerParams{LR: 1, Momentum: 0.9, Decay: 1, Weighted: true}, false},
		{"reptile", 0.1, fl.ServerParams{LR: 0.5, Momentum: 0.9, Decay: 0.99, Weighted: true}, true},
		{"reptile", 0, fl.ServerParams{LR: 0.5, Momentum: 0.9, Decay: 0.99, Weighted: true}, true},
	}
	for _, tt := range tests {
		m, err := fl.MethodByName(tt.method)
		if err != nil {
			t.Fatal(err)
		}
		c := hyper.DefaultClient()
		c.Mu = tt.mu
		if err := m.CheckParams(c, tt.server); (err == nil) != tt.ok {
			t.Errorf("%s with mu %v and server %+v: error %v", tt.method, tt.mu, tt.server, err)
		}
	}
	if _, err := fl.MethodByName("fedavgg"); err == nil || !strings.Contains(err.Error(), "fedavg, fedavgm") {
		t.Errorf("unknown method: error %v does not list the methods", err)
	}
}

// TestTraffic holds that a round counts all that its clients receive and send, also what methods pass
// besides weights and updates.
func TestTraffic(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	for _, tt := range []struct {
		method   string
		down, up int64 // in models
		set      func(s *fl.ServerParams)
	}{
		{"fedavg", 1, 1, nil},
		{"feddyn", 1, 1, nil},
		{"scaffold", 2, 1, nil},
		{"mimelite", 2, 2, nil},
		{"ifca", 3, 1, func(s *fl.ServerParams) { s.Clusters = 3 }},
		{"fedfomo", 4, 1, func(s *fl.ServerParams) { s.Models = 4 }},
	} {
		m, err := fl.MethodByName(tt.method)
		if err != nil {
			t.Fatal(err)
		}
		plan := defaultPlan(m)
		if tt.set != nil {
			tt.set(&plan.Server)
		}
		model := logisticOn(t, fed)
		e := newEngine(t, fl.Config{
			Model: model, Data: fed, Method: m, Cohort: 4, Seed: 11, Workers: 1, Server: &plan.Server,
		})
		r := runRounds(t, e.NewTrial(3), plan, 1)[0]
		each := 4 * 4 * int64(model.NumParams())
		if r.Down != tt.down*each || r.Up != tt.up*each {
			t.Errorf("%s: four clients receive %d bytes and send %d, want %d and %d models of %d", tt.method, r.Down, r.Up,
				tt.down, tt.up, each/4)
		}
	}
}
