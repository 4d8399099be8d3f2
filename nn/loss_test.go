package nn

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// lossCases are losses of every kind, on 7 outputs.
var lossCases = []struct {
	name string
	Loss
}{
	{"smoothed", Loss{Smoothing: 0.2}},
	{"weighted", Loss{Weights: []float64{1, 0, 2, 0.5, 1, 3, 0.25}}},
	{"smoothed, weighted", Loss{Smoothing: 0.1, Weights: []float64{1, 0, 2, 0.5, 1, 3, 0.25}}},
	{"sigmoid", Loss{Kind: Sigmoid}},
	{"sigmoid, weighted", Loss{Kind: Sigmoid, Weights: []float64{1, 0, 2, 0.5, 1, 3, 0.25}}},
	{"squared", Loss{Kind: Squared}},
	{"huber", Loss{Kind: Huber, Options: HuberOptions{Delta: 0.7}}},
}

// lossBatch returns a linear model of a loss, weights, and a batch of it.
func lossBatch(t *testing.T, l Loss) (*Model, []float32, *Batch) {
	t.Helper()
	m, err := NewModel("linear", Shape{H: 1, W: 1, C: 5}, 7, Dense{Units: 7})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.WithLoss(l); err != nil {
		t.Fatal(err)
	}
	s := kernels.NewStream(3, 0)
	b := &Batch{N: 70, X: make([]float32, 70*5), Labels: make([]int32, 70), Targets: make([]float32, 70*7)} // of two chunks
	for _, values := range [][]float32{b.X, b.Targets} {
		for i := range values {
			values[i] = float32(s.NormFloat64())
		}
	}
	for i := range b.Labels {
		if b.Labels[i] = int32(s.IntN(7)); i%9 == 4 {
			b.Labels[i] = -1
		}
	}
	if l.Kind == Sigmoid {
		for i, x := range b.Targets {
			b.Targets[i] = 0
			if x > 0.5 {
				b.Targets[i] = 1
			}
		}
	}
	w := m.NewParams()
	m.Init(w, 1)
	return m, w, b
}

// referenceLoss is the mean loss of a linear model in float64, from the definitions
// that PyTorch's documentation gives; w is the weight and then the bias.
func referenceLoss(l Loss, w []float64, b *Batch) float64 {
	const in, out = 5, 7
	weight := func(k int) float64 {
		if l.Weights == nil {
			return 1
		}
		return l.Weights[k]
	}
	var sum, over float64
	for i := range b.N {
		var z [out]float64
		for k := range z {
			z[k] = w[in*out+k]
			for j := range in {
				z[k] += w[k*in+j] * float64(b.X[i*in+j])
			}
		}
		total := 0.0
		for _, x := range z {
			total += math.Exp(x)
		}
		if l.kind() == CrossEntropy {
			y := int(b.Labels[i])
			if y < 0 {
				continue
			}
			sum -= (1 - l.Smoothing) * weight(y) * math.Log(math.Exp(z[y])/total)
			for k, x := range z {
				sum -= l.Smoothing / out * weight(k) * math.Log(math.Exp(x)/total)
			}
			over += weight(y)
			continue
		}
		for k, x := range z {
			y := float64(b.Targets[i*out+k])
			huber, _ := l.Options.(HuberOptions)
			switch d := math.Abs(x - y); {
			case l.Kind == Sigmoid:
				p := 1 / (1 + math.Exp(-x))
				sum -= weight(k)*y*math.Log(p) + (1-y)*math.Log(1-p)
			case l.Kind == Squared:
				sum += d * d
			case d < huber.Delta:
				sum += d * d / 2
			default:
				sum += huber.Delta * (d - huber.Delta/2)
			}
		}
		over += out
	}
	return sum / over
}

// float64s returns canonical values as float64, one tensor after the other.
func float64s(ts []Tensor) []float64 {
	var all []float64
	for _, t := range ts {
		for _, x := range t.Data {
			all = append(all, float64(x))
		}
	}
	return all
}

// slopes returns the gradient of the reference by central differences.
func slopes(l Loss, w []float64, b *Batch) []float64 {
	const h = 1e-5
	g := make([]float64, len(w))
	for i, x := range w {
		w[i] = x + h
		up := referenceLoss(l, w, b)
		w[i] = x - h
		g[i] = (up - referenceLoss(l, w, b)) / (2 * h)
		w[i] = x
	}
	return g
}

// distance returns |a - b| / |b|.
func distance(a, b []float64) float64 {
	var d, n float64
	for i := range b {
		d += (a[i] - b[i]) * (a[i] - b[i])
		n += b[i] * b[i]
	}
	return math.Sqrt(d / n)
}

// TestLossesMatchReference compares losses, their gradients and the products with
// their Hessians with those of a float64 reference.
func TestLossesMatchReference(t *testing.T) {
	for _, c := range lossCases {
		t.Run(c.name, func(t *testing.T) {
			m, w, b := lossBatch(t, c.Loss)
			ws := m.NewWorkspace()
			r := ws.Gradient(w, b, TrainOpts{})
			at := float64s(m.Export(w))
			if want := referenceLoss(c.Loss, at, b); math.Abs(r.Mean()-want) > 1e-6*want {
				t.Errorf("the mean loss is %v, want %v", r.Mean(), want)
			}
			if d := distance(float64s(m.Export(ws.Grad())), slopes(c.Loss, at, b)); !(d < 1e-5) {
				t.Errorf("the gradient differs by %.2g of its norm", d)
			}
			if e := ws.Evaluate(w, b); e != r {
				t.Errorf("an evaluation measures %+v, a step %+v", e, r)
			}

			v, product := m.NewParams(), m.NewParams()
			m.Init(v, 2)
			ws.Hessian(product, w, v, b, TrainOpts{})
			const h = 1e-3
			along := float64s(m.Export(v))
			up, down := make([]float64, len(at)), make([]float64, len(at))
			for i, x := range at {
				up[i], down[i] = x+h*along[i], x-h*along[i]
			}
			want, low := slopes(c.Loss, up, b), slopes(c.Loss, down, b)
			for i := range want {
				want[i] = (want[i] - low[i]) / (2 * h)
			}
			most := 5e-4
			if c.Kind == Huber {
				most = 0.02 // a few outputs pass the distance of the bend between the two
			}
			if d := distance(float64s(m.Export(product)), want); !(d < most) {
				t.Errorf("the product with the Hessian differs by %.2g of its norm", d)
			}
			if n := allocations(5, func() { ws.Gradient(w, b, TrainOpts{}) }); n != 0 {
				t.Errorf("a gradient allocates %v times", n)
			}
		})
	}
}

// TestPlainLossesAgree holds that the general cross-entropy without smoothing and
// with weights of 1 is the kernel's.
func TestPlainLossesAgree(t *testing.T) {
	m, w, b := lossBatch(t, Loss{})
	ones, err := m.WithLoss(Loss{Weights: []float64{1, 1, 1, 1, 1, 1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	plain, general := m.NewWorkspace(), ones.NewWorkspace()
	p, g := plain.Gradient(w, b, TrainOpts{}), general.Gradient(w, b, TrainOpts{})
	if p.Correct != g.Correct || p.Count != g.Count || math.Abs(p.Mean()-g.Mean()) > 1e-12 {
		t.Errorf("%+v is not %+v", g, p)
	}
	if d := distance(float64s(m.Export(general.Grad())), float64s(m.Export(plain.Grad()))); d > 1e-6 {
		t.Errorf("the gradients differ by %.2g", d)
	}
}

// TestMetrics holds what passes count besides the loss, on outputs that are the
// inputs.
func TestMetrics(t *testing.T) {
	m, err := NewModel("identity", Shape{H: 1, W: 1, C: 3}, 3, Dense{Units: 3})
	if err != nil {
		t.Fatal(err)
	}
	w := m.NewParams()
	ts := m.Export(w)
	ts[0].Data[0], ts[0].Data[4], ts[0].Data[8] = 1, 1, 1
	if err := m.Import(w, ts); err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	b := &Batch{N: 3, X: []float32{5, 2, 1 /**/, 4, 4, 4 /**/, nan, 1, 0}}
	b.Targets = []float32{1, 0, 1 /**/, 0, 1, 1 /**/, 1, 0, 1}
	tags, err := m.WithLoss(Loss{Kind: Sigmoid, Top: 2})
	if err != nil {
		t.Fatal(err)
	}
	// The first two of each: 0 and 1; of equal ones 0 and 1; none, since all are NaN.
	if r := tags.NewWorkspace().Evaluate(w, b); r.Recall != (recall{Labels: 6, Found: 2, Examples: 3}) || r.Count != 3 {
		t.Errorf("among the two largest: %+v, want 2 of 6 labels", r)
	}
	numbers, err := m.WithLoss(Loss{Kind: Squared})
	if err != nil {
		t.Fatal(err)
	}
	b = &Batch{N: 2, X: []float32{1, 2, 3, 4, 5, 6}, Targets: []float32{2, 2, 5, 4, 4, 4}, Outputs: make([]float32, 6)}
	want := Fit{Squares: 1 + 4 + 1 + 4, Distances: 1 + 2 + 1 + 2, Sum: 21, SquareSum: 4 + 4 + 25 + 48, Count: 6}
	if r := numbers.NewWorkspace().Evaluate(w, b); r.Fit != want || b.Outputs[5] != 6 {
		t.Errorf("fit %+v with outputs %v, want %+v", r.Fit, b.Outputs, want)
	}
}

// TestTopByOutputs counts the largest output alone where five would be all of them.
func TestTopByOutputs(t *testing.T) {
	for outputs, want := range map[int]int{1: 1, 4: 1, 5: 1, 6: 5, 500: 5} {
		m, err := NewModel("m", Shape{H: 1, W: 1, C: 3}, outputs, Dense{Units: outputs})
		if err != nil {
			t.Fatal(err)
		}
		if m, err = m.WithLoss(Loss{Kind: Sigmoid}); err != nil || m.Loss().Top != want {
			t.Errorf("%d outputs: the %d largest, want %d (%v)", outputs, m.Loss().Top, want, err)
		}
	}
}

func TestLossChecks(t *testing.T) {
	for _, c := range []struct {
		loss Loss
		want string
	}{
		{Loss{Kind: "hinge"}, `unknown loss "hinge"; use one of cross_entropy, logistic, sigmoid, squared, huber`},
		{Loss{Smoothing: 1}, "label smoothing 1: must be in [0, 1)"},
		{Loss{Kind: Squared, Smoothing: 0.1}, "smooths no labels"},
		{Loss{Kind: Huber, Options: HuberOptions{}}, "delta 0: must be above 0"},
		{Loss{Options: HuberOptions{Delta: 1}}, "options of type nn.HuberOptions"},
		{Loss{Weights: []float64{1, 2}}, "2 class weights for 7 classes: there must be one for each"},
		{Loss{Weights: make([]float64, 7)}, "all are 0"},
		{Loss{Weights: []float64{1, 1, 1, 1, 1, 1, math.NaN()}}, "class weight 6 is NaN: must be 0 or above"},
		{Loss{Kind: Squared, Weights: make([]float64, 7)}, "has no classes"},
		{Loss{Kind: Sigmoid, Top: 8}, "must be from 1 to 6"},
		{Loss{Kind: Sigmoid, Top: 7}, "recall among all 7 outputs is always 1: must be from 1 to 6"},
		{Loss{Top: 1}, "has none; leave it out"},
	} {
		if err := c.loss.Check(7); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.loss, err, c.want)
		}
	}
}
