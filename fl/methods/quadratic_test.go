package methods

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/trainer"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// dims is the number of weights that the quadratics are about; nothing depends on
// the others.
const dims = 48

// quadratic is a trainer of strictly convex quadratics instead of a network: an
// example with pixels x and label y has the loss sum_j a (w_j - x_j)^2 / 2, where a
// depends on y, so that clients differ in their optima and in their curvatures.
type quadratic struct{ grad []float32 }

func curvature(label int32) float64 { return 0.1 + math.Pow(float64(label%5)/4, 6)*2.5 }

func (q *quadratic) Gradient(w []float32, b *nn.Batch, _ nn.TrainOpts) nn.Result {
	if q.grad == nil {
		q.grad = make([]float32, len(w))
	}
	a, c := q.batch(b)
	for j, x := range w[:dims] {
		q.grad[j] = float32(a * (float64(x) - c[j]))
	}
	return q.Evaluate(w, b)
}

// batch returns the mean curvature of a batch and the optimum of its mean loss.
func (q *quadratic) batch(b *nn.Batch) (a float64, c []float64) {
	c = make([]float64, dims)
	for e := range b.N {
		k := curvature(b.Labels[e])
		a += k
		for j := range c {
			c[j] += k * pixel(b, e, j)
		}
	}
	for j := range c {
		c[j] /= a
	}
	return a / float64(b.N), c
}

// pixel returns one of some pixels around the middle of an image.
func pixel(b *nn.Batch, example, j int) float64 {
	inputs := len(b.X) / b.N
	return float64(b.X[example*inputs+inputs/2+7*j%(inputs/2)])
}

func (q *quadratic) Step(w []float32, b *nn.Batch, o nn.TrainOpts, opt *nn.Optimizer) nn.Result {
	r := q.Gradient(w, b, o)
	if o.Shift != nil {
		kernels.Add(q.grad, q.grad, o.Shift)
	}
	opt.Step(w, q.grad)
	return r
}

func (q *quadratic) Hessian(dst, _, v []float32, b *nn.Batch, _ nn.TrainOpts) {
	clear(dst)
	a, _ := q.batch(b)
	for j, x := range v[:dims] {
		dst[j] = float32(a * float64(x))
	}
}

func (q *quadratic) Grad() []float32 { return q.grad }

func (q *quadratic) Begin([]float32, int, int, nn.TrainOpts, *nn.Optimizer) {}

func (q *quadratic) End() {}

func (q *quadratic) Evaluate(w []float32, b *nn.Batch) nn.Result {
	r := nn.Result{Count: b.N}
	for e := range b.N {
		for j, x := range w[:dims] {
			d := float64(x) - pixel(b, e, j)
			r.Loss += curvature(b.Labels[e]) * d * d / 2
		}
	}
	return r
}

// quadratics is a federation of them with its closed forms.
type quadratics struct {
	engine *fl.Engine
	fed    *data.Federation
	// Client i's mean training loss is alpha_i |w - c_i|^2 / 2 plus a constant;
	// share_i is its share of the training examples.
	alpha, share []float64
	c            [][]float64
	// The same of the validation examples.
	valAlpha []float64
	valC     [][]float64
}

// newQuadratics opens clients whose batches are all of their examples; server sets what the
// server is built with.
func newQuadratics(t *testing.T, m fl.Method, clients, cohort int, server ...func(*fl.ServerParams)) *quadratics {
	t.Helper()
	whole := *fltest.OpenGlyphs(t, 6*clients, 14)
	whole.Clients = whole.Clients[:clients]
	fed := &whole
	model := fltest.SmallCNN(t, fed)
	q := &quadratics{fed: fed}
	_, built := m.Defaults()
	for _, set := range server {
		set(&built)
	}
	q.engine = newEngine(t, fl.Config{
		Model: model, Data: fed, Method: m, Cohort: cohort, Seed: 3, Workers: 2,
		Server: &built, NewTrainer: func() trainer.Trainer { return &quadratic{} },
	})
	total := 0
	of := func(v data.View) (float64, []float64) {
		return (&quadratic{}).batch(fltest.Batch(t, model, v))
	}
	for i := range fed.Clients {
		a, c := of(fed.Clients[i].Train)
		q.alpha, q.c = append(q.alpha, a), append(q.c, c)
		a, c = of(fed.Clients[i].Val)
		q.valAlpha, q.valC = append(q.valAlpha, a), append(q.valC, c)
		total += fed.Clients[i].Train.Len()
	}
	for i := range fed.Clients {
		q.share = append(q.share, float64(fed.Clients[i].Train.Len())/float64(total))
	}
	if slices.Max(q.alpha) < 1.3*slices.Min(q.alpha) {
		t.Fatalf("the clients' curvatures %v are too much alike", q.alpha)
	}
	return q
}

// optimum minimizes the mean of the clients' losses, each scaled by weight.
func (q *quadratics) optimum(weight func(i int) float64) []float64 {
	w := make([]float64, len(q.c[0]))
	var sum float64
	for i, c := range q.c {
		k := weight(i) * q.alpha[i]
		sum += k
		for j := range w {
			w[j] += k * c[j]
		}
	}
	for j := range w {
		w[j] /= sum
	}
	return w
}

// distance is the largest difference of weights from what they should be.
func distance(w []float32, want []float64) float64 {
	var most float64
	for j, x := range w[:dims] {
		most = max(most, math.Abs(float64(x)-want[j]))
	}
	return most
}

// fullBatch are K local steps on all examples at once.
func fullBatch(c fl.ClientParams, lr float64, steps int) fl.ClientParams {
	c.LR, c.Steps, c.Batch, c.Dropout = lr, steps, 1000, 0
	return c
}

func TestDriftIsCorrectedOnQuadratics(t *testing.T) {
	const lr, steps = 0.2, 8
	uniform := func(int) float64 { return 1 }
	for _, tt := range []struct {
		method   fl.Method
		cohort   int
		rounds   int
		weighted bool
		server   func(s *fl.ServerParams)
	}{
		{scaffold(), 6, 150, false, func(*fl.ServerParams) {}},
		{scaffold(), 6, 150, true, func(*fl.ServerParams) {}},
		{scaffold(), 2, 500, false, func(*fl.ServerParams) {}},
		{fedDyn(), 6, 150, false, func(s *fl.ServerParams) { s.Alpha = 0.5 }},
		{fedDyn(), 6, 150, true, func(s *fl.ServerParams) { s.Alpha = 0.5 }},
		{fedDyn(), 2, 500, false, func(s *fl.ServerParams) { s.Alpha = 0.5 }},
		{fedDynChoice(), 2, 500, false, func(s *fl.ServerParams) { s.Alpha = 0.5 }},
	} {
		q := newQuadratics(t, tt.method, 6, tt.cohort)
		c, s := tt.method.Defaults()
		tt.server(&s)
		s.Weighted = tt.weighted
		tr := q.engine.NewTrial(0)
		plan := fl.Plan{Server: s, Clients: []fl.ClientParams{fullBatch(c, lr, steps)}}
		if strings.HasPrefix(tt.method.Name, "feddyn") {
			plan.Clients[0].Steps = 20 // near the local optimum
		}
		runRounds(t, tr, plan, tt.rounds)
		weight := uniform
		if tt.weighted {
			weight = func(i int) float64 { return q.share[i] }
		}
		if d := distance(tr.Weights(), q.optimum(weight)); d > 1e-3 {
			t.Errorf("%s, cohort %d, weighted %v: it ends %v from the optimum", tt.method.Name, tt.cohort, tt.weighted, d)
		}
	}
	// FedAvg's fixed point weighs clients by 1 - (1 - lr alpha_i)^K instead.
	q := newQuadratics(t, FedAvg(), 6, 6)
	tr := q.engine.NewTrial(0)
	runRounds(t, tr, fl.Plan{
		Server:  hyper.DefaultServer(),
		Clients: []fl.ClientParams{fullBatch(hyper.DefaultClient(), lr, steps)},
	}, 300)
	biased := q.optimum(func(i int) float64 {
		return q.share[i] * (1 - math.Pow(1-lr*q.alpha[i], steps)) / q.alpha[i]
	})
	if d := distance(tr.Weights(), biased); d > 1e-4 {
		t.Errorf("fedavg ends %v from its fixed point", d)
	}
	if d := distance(tr.Weights(), q.optimum(func(i int) float64 { return q.share[i] })); d < 0.01 {
		t.Errorf("fedavg ends %v from the optimum: the quadratics are too easy to tell methods apart", d)
	}
}

// TestVisitsByHand works one or two rounds of the other methods out in float64.
func TestVisitsByHand(t *testing.T) {
	const lr, steps = 0.2, 3
	// After steps of contraction k towards c, w is at c + k^n (w - c).
	shrink := func(w, c, k float64, n int) float64 { return c + math.Pow(k, float64(n))*(w-c) }
	for _, tt := range []struct {
		name   string
		method fl.Method
		params func(c *fl.ClientParams, s *fl.ServerParams)
		// next is the weight after a round, of client i at coordinate j.
		next func(q *quadratics, i, j int, w float64) float64
		mean bool // uniform weights
	}{
		{
			"perfedavg",
			perFedAvg(),
			func(c *fl.ClientParams, _ *fl.ServerParams) { c.InnerLR = 0.3 },
			func(q *quadratics, i, j int, w float64) float64 {
				a := q.alpha[i]
				return shrink(w, q.c[i][j], 1-lr*a*(1-0.3*a)*(1-0.3*a), steps)
			}, true,
		},
		{
			"perfedavg first order",
			perFedAvg(),
			func(c *fl.ClientParams, _ *fl.ServerParams) { c.InnerLR, c.FirstOrder = 0.3, true },
			func(q *quadratics, i, j int, w float64) float64 {
				a := q.alpha[i]
				return shrink(w, q.c[i][j], 1-lr*a*(1-0.3*a), steps)
			}, true,
		},
		{
			"maml",
			maml(),
			func(c *fl.ClientParams, s *fl.ServerParams) { c.InnerLR, c.InnerSteps, s.LR = lr, steps, 0.5 },
			func(q *quadratics, i, j int, w float64) float64 {
				k := 1 - lr*q.alpha[i]
				return w - 0.5*math.Pow(k, steps)*q.valAlpha[i]*(shrink(w, q.c[i][j], k, steps)-q.valC[i][j])
			}, true,
		},
		{
			"maml first order",
			maml(),
			func(c *fl.ClientParams, s *fl.ServerParams) {
				c.InnerLR, c.InnerSteps, c.FirstOrder, s.LR = lr, steps, true, 0.5
			},
			func(q *quadratics, i, j int, w float64) float64 {
				return w - 0.5*q.valAlpha[i]*(shrink(w, q.c[i][j], 1-lr*q.alpha[i], steps)-q.valC[i][j])
			}, true,
		},
		{
			"maml with Adam: a first step is lr (1-b1) g / (sqrt(b2 tau^2 + (1-b2) g^2) + tau)",
			mamlAdam(),
			func(c *fl.ClientParams, s *fl.ServerParams) {
				c.InnerLR, c.InnerSteps, s.LR, s.Tau = lr, steps, 1e4, 1e3
			},
			func(q *quadratics, i, j int, w float64) float64 { // so large a tau leaves half of g
				k := 1 - lr*q.alpha[i]
				g := math.Pow(k, steps) * q.valAlpha[i] * (shrink(w, q.c[i][j], k, steps) - q.valC[i][j])
				return w - 1e4*0.1*g/(1e3*(math.Sqrt(0.99)+1))
			}, true,
		},
		{
			"feddyn's plain clients, which are fedavg's",
			fedDynChoice(),
			func(c *fl.ClientParams, _ *fl.ServerParams) { c.Plain = true },
			func(q *quadratics, i, j int, w float64) float64 {
				return shrink(w, q.c[i][j], 1-lr*q.alpha[i], steps)
			}, true,
		},
		{
			"pfedme",
			pFedMe(),
			func(c *fl.ClientParams, s *fl.ServerParams) {
				c.Lambda, c.InnerLR, c.InnerSteps, s.LR = 3, 0.1, 2, 0.7
			},
			func(q *quadratics, i, j int, w float64) float64 {
				wi, theta := w, w
				for range steps {
					for range 2 {
						theta -= 0.1 * (q.alpha[i]*(theta-q.c[i][j]) + 3*(theta-wi))
					}
					wi -= lr * 3 * (wi - theta)
				}
				return w + 0.7*(wi-w)
			}, true,
		},
		{
			"ditto's global model",
			ditto(),
			func(c *fl.ClientParams, _ *fl.ServerParams) { c.PersonalLR = 0.05 },
			func(q *quadratics, i, j int, w float64) float64 {
				return shrink(w, q.c[i][j], 1-lr*q.alpha[i], steps)
			}, false,
		},
		{
			"fedpa before it samples",
			fedPA(),
			func(_ *fl.ClientParams, s *fl.ServerParams) { s.BurnIn = 1 },
			func(q *quadratics, i, j int, w float64) float64 {
				return shrink(w, q.c[i][j], 1-lr*q.alpha[i], steps)
			}, false,
		},
		{
			"fedpa with one sample",
			fedPA(),
			func(c *fl.ClientParams, _ *fl.ServerParams) { c.BurnIn, c.Window = 1, 2 },
			func(q *quadratics, i, j int, w float64) float64 { // the mean of steps 2 and 3
				k := 1 - lr*q.alpha[i]
				return (shrink(w, q.c[i][j], k, 2) + shrink(w, q.c[i][j], k, 3)) / 2
			}, false,
		},
	} {
		q := newQuadratics(t, tt.method, 6, 6)
		c, s := tt.method.Defaults()
		tt.params(&c, &s)
		c = fullBatch(c, lr, steps)
		tr := q.engine.NewTrial(0)
		start := slices.Clone(tr.Weights())
		runRounds(t, tr, fl.Plan{Server: s, Clients: []fl.ClientParams{c}}, 1)
		want := make([]float64, dims)
		for j := range want {
			for i := range q.alpha {
				p := q.share[i]
				if tt.mean {
					p = 1 / float64(len(q.alpha))
				}
				want[j] += p * tt.next(q, i, j, float64(start[j]))
			}
		}
		if d := distance(tr.Weights(), want); d > 1e-3 {
			t.Errorf("%s: one round ends %v from the equations", tt.name, d)
		}
	}
}

// TestDittoKeepsItsModels follows every v_i over rounds with small cohorts.
func TestDittoKeepsItsModels(t *testing.T) {
	q := newQuadratics(t, ditto(), 8, 2)
	c, s := ditto().Defaults()
	c = fullBatch(c, 0.2, 3)
	c.Lambda, c.PersonalLR, c.PersonalEpochs = 0.7, 0.1, 4
	tr := q.engine.NewTrial(0)
	v := map[int][]float64{}
	for range 4 {
		w := slices.Clone(tr.Weights())
		r := runRounds(t, tr, fl.Plan{Server: s, Clients: []fl.ClientParams{c}}, 1)[0]
		for _, slot := range r.Slots {
			i := slot.Client
			if v[i] == nil {
				v[i] = make([]float64, dims)
				for j := range dims {
					v[i][j] = float64(w[j])
				}
			}
			for range 4 { // one step an epoch
				for j := range dims {
					v[i][j] -= 0.1 * (q.alpha[i]*(v[i][j]-q.c[i][j]) + 0.7*(v[i][j]-float64(w[j])))
				}
			}
		}
	}
	if len(v) == 8 || len(v) == 2 {
		t.Fatalf("%d clients were drawn: want some twice and some never", len(v))
	}
	kept := states(t, tr)
	if len(kept) != len(v) {
		t.Fatalf("%d clients keep a model, %d were drawn", len(kept), len(v))
	}
	for i, got := range kept {
		if v[i] == nil {
			t.Fatalf("client %d has a model and was not drawn", i)
		}
		if d := distance(got, v[i]); d > 1e-4 {
			t.Errorf("client %d: its model is %v from the equations", i, d)
		}
	}
	// Personalized scores are the scores of v_i, and of w for clients never drawn.
	e, err := q.engine.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{Clients: []fl.ClientParams{c}, State: tr.State()})
	if err != nil {
		t.Fatal(err)
	}
	var want, n float64
	for i := range q.alpha {
		at32 := slices.Clone(tr.Weights())
		for j, x := range v[i] {
			at32[j] = float32(x)
		}
		val := q.fed.Clients[i].Val
		want += (&quadratic{}).Evaluate(at32, fltest.Batch(t, q.engine.Model(), val)).Loss
		n += float64(val.Len())
	}
	if got := e.PersonalizedVal.Loss; math.Abs(got-want/n) > 1e-3*want/n {
		t.Errorf("personalized loss %v, want %v", got, want/n)
	}
}
