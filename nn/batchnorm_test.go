package nn

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

func batchNorm() BatchNorm { return BatchNorm{Momentum: 0.1} }

var batchnorm = refOp{op: "batchnorm"}

// batchCases are networks whose samples a batch normalization couples.
var batchCases = []imageCase{
	{
		"of vectors",
		Shape{H: 1, W: 1, C: 9},
		[]Layer{
			Dense{Units: 21, NoBias: true},
			batchNorm(),
			ReLU{},
			Dense{Units: 18},
			Activation("tanh"), batchNorm(),
			Dense{Units: 3},
		},
		[]refOp{{op: "dense", noBias: true}, batchnorm, relu, dense, {op: "tanh"}, batchnorm, dense},
	},
	{
		"of images",
		Shape{H: 6, W: 5, C: 2},
		[]Layer{
			Conv2D{Filters: 18, Kernel: 3, NoBias: true},
			batchNorm(),
			ReLU{},
			MaxPool{Size: 2},
			Conv2D{Filters: 5, Kernel: 1, NoBias: true},
			BatchNorm{Momentum: 0.1, NoAffine: true},
			Dense{Units: 3},
		},
		[]refOp{plainConv(1, 0, 0), batchnorm, relu, pool(2), plainConv(1, 0, 0), {op: "batchnorm", noBias: true}, dense},
	},
	{
		"of the network's input",
		Shape{H: 6, W: 5, C: 3},
		[]Layer{batchNorm(), ReLU{}, Conv2D{Filters: 4, Kernel: 3}, ReLU{}, Dense{Units: 3}},
		[]refOp{batchnorm, relu, conv(1, 0, 0), relu, dense},
	},
	{
		"of an input of vectors",
		Shape{H: 1, W: 1, C: 9},
		[]Layer{batchNorm(), Dense{Units: 18}, Activation("tanh"), Dense{Units: 3}},
		[]refOp{batchnorm, dense, {op: "tanh"}, dense},
	},
	{
		"between layers that hand gradients on",
		Shape{H: 6, W: 5, C: 2},
		[]Layer{
			Conv2D{Filters: 18, Kernel: 3, NoBias: true},
			batchNorm(),
			Activation("tanh"),
			Conv2D{Filters: 6, Kernel: 1},
			ReLU{},
			Residual{Body: []Layer{batchNorm(), ReLU{}, Conv2D{Filters: 6, Kernel: 1}, Activation("tanh")}},
			batchNorm(),
			Activation("tanh"),
			Dense{Units: 3},
		},
		[]refOp{
			plainConv(1, 0, 0), batchnorm,
			{op: "tanh"},
			conv(1, 0, 0), relu,
			{op: "residual", body: []refOp{batchnorm, relu, conv(1, 0, 0), {op: "tanh"}}},
			batchnorm,
			{op: "tanh"},
			dense,
		},
	},
	{
		"between pools",
		Shape{H: 10, W: 11, C: 2},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 3, NoBias: true},
			batchNorm(),
			ReLU{},
			MaxPool{Size: 2},
			Conv2D{Filters: 8, Kernel: 3, NoBias: true},
			batchNorm(),
			Activation("tanh"),
			AvgPool{Size: 2, Stride: 1},
			Dense{Units: 3},
		},
		[]refOp{
			plainConv(1, 0, 0), batchnorm, relu, pool(2), plainConv(1, 0, 0), batchnorm,
			{op: "tanh"},
			{op: "avgpool", size: 2, stride: 1},
			dense,
		},
	},
	{
		"within residual blocks",
		Shape{H: 6, W: 6, C: 1},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 3, Pad: 1, NoBias: true},
			batchNorm(),
			ReLU{},
			Residual{Body: []Layer{
				Conv2D{Filters: 6, Kernel: 3, Pad: 1, NoBias: true},
				batchNorm(),
				ReLU{},
				Conv2D{Filters: 6, Kernel: 3, Pad: 1, NoBias: true},
				batchNorm(),
			}},
			ReLU{},
			Residual{
				Body:     []Layer{Conv2D{Filters: 20, Kernel: 3, Stride: 2, Pad: 1, NoBias: true}, batchNorm()},
				Shortcut: []Layer{Conv2D{Filters: 20, Kernel: 1, Stride: 2, NoBias: true}, batchNorm()},
			},
			ReLU{},
			AvgPool{},
			Dense{Units: 3},
		},
		[]refOp{
			plainConv(1, 1, 1),
			batchnorm,
			relu,
			{op: "residual", body: []refOp{plainConv(1, 1, 1), batchnorm, relu, plainConv(1, 1, 1), batchnorm}},
			relu,
			{op: "residual", body: []refOp{plainConv(2, 1, 1), batchnorm}, shortcut: []refOp{plainConv(2, 0, 0), batchnorm}},
			relu,
			{op: "avgpool", size: 3, stride: 1},
			dense,
		},
	},
}

// trainBatch runs the images of a batch side by side. seen gets the batch's means and
// variances of each channel, in the order of the layers.
func (r *reference) trainBatch(ms []refImage, ops []refOp, next *int, seen *[][]float64) []refImage {
	for _, o := range ops {
		switch o.op {
		case "batchnorm":
			ms = r.batchNorm(ms, o, next, seen)
		case "residual":
			a, b := r.trainBatch(ms, o.body, next, seen), r.trainBatch(ms, o.shortcut, next, seen)
			ms = nil
			for i := range a {
				sum := newRefImage(a[i].c, a[i].h, a[i].w)
				for k := range sum.v {
					sum.v[k] = a[i].v[k] + b[i].v[k]
				}
				ms = append(ms, sum)
			}
		default:
			at := *next
			ms = slices.Clone(ms)
			for i := range ms {
				*next = at
				ms[i] = r.run(ms[i], []refOp{o}, next)
			}
		}
	}
	return ms
}

func (r *reference) batchNorm(ms []refImage, o refOp, next *int, seen *[][]float64) []refImage {
	c, n := ms[0].c, ms[0].h*ms[0].w
	w, b := slices.Repeat([]complex128{1}, c), make([]complex128, c)
	if !o.noBias {
		w, b = r.params[*next], r.params[*next+1]
		*next += 2
	}
	*next += 2
	var out []refImage
	for range ms {
		out = append(out, newRefImage(c, ms[0].h, ms[0].w))
	}
	means, variances := []float64{}, []float64{}
	for k := range c {
		var values []complex128
		for _, m := range ms {
			values = append(values, m.v[k*n:][:n]...)
		}
		mu := mean(values)
		var squares []complex128
		for _, v := range values {
			squares = append(squares, (v-mu)*(v-mu))
		}
		v := mean(squares)
		means, variances = append(means, real(mu)), append(variances, real(v)*float64(len(values))/float64(len(values)-1))
		for i := range ms {
			for p := range n {
				out[i].v[k*n+p] = (ms[i].v[k*n+p]-mu)/cmplx.Sqrt(v+1e-5)*w[k] + b[k]
			}
		}
	}
	*seen = append(*seen, means, variances)
	return out
}

func (r *reference) batchLoss(b *Batch, seen *[][]float64) complex128 {
	var ms []refImage
	size := r.in[0] * r.in[1] * r.in[2]
	for i := range b.N {
		m := newRefImage(r.in[0], r.in[1], r.in[2])
		for k := range m.v {
			c, p := k/(m.h*m.w), k%(m.h*m.w)
			m.v[k] = complex(float64(b.X[i*size+p*m.c+c]), 0)
		}
		ms = append(ms, m)
	}
	next := 0
	var sum, count complex128
	for i, z := range r.trainBatch(ms, r.ops, &next, seen) {
		if b.Labels[i] < 0 {
			continue
		}
		var total complex128
		for _, v := range z.v {
			total += cmplx.Exp(v)
		}
		sum += cmplx.Log(total) - z.v[b.Labels[i]]
		count++
	}
	return sum / count
}

// parametersOf leaves the buffers out of what Export gave; at are the places of the others.
func parametersOf(ts []Tensor) (params []Tensor, at []int) {
	for i, t := range ts {
		if !strings.Contains(t.Name, ".running_") {
			params, at = append(params, t), append(at, i)
		}
	}
	return params, at
}

// drawn returns weights whose scales and shifts are not those of the start.
func (c imageCase) drawn(t *testing.T) (*Model, []float32) {
	m := c.model(t)
	w := m.NewParams()
	m.Init(w, 5)
	s := kernels.NewStream(8, 8)
	ts := m.Export(w)
	for _, p := range ts {
		if strings.Contains(p.Name, "batchnorm") {
			for i := range p.Data {
				p.Data[i] += float32(0.2 * s.NormFloat64() * s.Float64())
			}
		}
	}
	if err := m.Import(w, ts); err != nil {
		t.Fatal(err)
	}
	return m, w
}

// TestBatchNorm compares loss, gradients and running statistics with those of a float64
// network, products with the Hessian with differences of these, and the bits of all
// levels with one another.
func TestBatchNorm(t *testing.T) {
	for _, c := range batchCases {
		t.Run(c.name, func(t *testing.T) {
			m, start := c.drawn(t)
			b := images(m, 5)
			ref := newReference(c.in, c.ops, m.Export(start))
			var seen, unread [][]float64
			loss := real(ref.batchLoss(b, &seen))
			of := func(p int) int { _, at := parametersOf(m.Export(start)); return at[p] }
			v := direction(m, 1)
			n := m.Buffers().Lo
			clear(v[n:])
			step := hessianStep * (1 + kernels.Norm(start[:n])) / kernels.Norm(v[:n])
			slopes, curves := slopeTable{}, slopeTable{}
			var first []float32
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				ws, w, product := m.NewWorkspace(), slices.Clone(start), m.NewParams()
				ws.Hessian(product, w, v, b, TrainOpts{})
				sameBits(t, w, start, "weights after a product with the Hessian")
				r := ws.Gradient(w, b, TrainOpts{Still: true})
				sameBits(t, w, start, "weights after a still gradient")
				if again := ws.Gradient(w, b, TrainOpts{}); again != r {
					t.Errorf("a gradient reports %+v, a still one %+v", again, r)
				}
				if got := r.Loss / float64(r.Count); math.Abs(got-loss) > 1e-6 {
					t.Errorf("mean loss %.9f, want %.9f", got, loss)
				}
				gradient, _ := parametersOf(m.Export(ws.Grad()))
				slopes.compare(t, gradient, 20, 3e-5, func(p, e int) float64 {
					return ref.params.slope(func() complex128 { return ref.batchLoss(b, &unread) }, of(p), e)
				})
				hessian, _ := parametersOf(m.Export(product))
				curves.compare(t, hessian, 6, 2e-3, func(p, e int) float64 {
					return ref.params.curve(func() complex128 { return ref.batchLoss(b, &unread) }, m.Export(v), step, of(p), e)
				})
				checkPadding(t, m, ws.Grad())
				checkPadding(t, m, w)
				moved(t, m, start, w, seen, 0.1)
				shared, of := slices.Clone(start), *b
				of.Share = 0.7
				if got := ws.Evaluate(shared, &of); math.Abs(got.Loss/float64(got.Count)-loss) > 1e-6 {
					t.Errorf("an evaluation by the batch has mean loss %.9f, want %.9f", got.Loss/float64(got.Count), loss)
				}
				moved(t, m, start, shared, seen, 0.7)
				all := slices.Concat(w, ws.Grad(), product)
				if first == nil {
					first = all
				}
				sameBits(t, all, first, fmt.Sprintf("level %v", kernels.Current()))
			})
		})
	}
}

// moved compares running statistics with what a pass makes of those before.
func moved(t *testing.T, m *Model, before, after []float32, seen [][]float64, share float64) {
	t.Helper()
	old, at := m.Export(before), 0
	for i, p := range m.Export(after) {
		if !strings.Contains(p.Name, ".running_") {
			continue
		}
		for c, x := range p.Data {
			want := (1-share)*float64(old[i].Data[c]) + share*seen[at][c]
			if math.Abs(float64(x)-want) > 2e-6*(1+math.Abs(want)) {
				t.Errorf("%s[%d] is %v, want %v", p.Name, c, x, want)
			}
		}
		at++
	}
}

// TestBatchNormEvaluates holds that evaluation goes by the running statistics: after many
// passes over one batch they are the batch's, and it computes what training does but for
// n/(n-1).
func TestBatchNormEvaluates(t *testing.T) {
	for _, c := range batchCases {
		m, w := c.drawn(t)
		b := images(m, 70) // more than a chunk
		ws := m.NewWorkspace()
		var r Result
		for range 60 {
			r = ws.Gradient(w, b, TrainOpts{})
		}
		if got := ws.Evaluate(w, b); math.Abs(got.Loss-r.Loss) > 0.02*r.Loss || got.Count != r.Count {
			t.Errorf("%s: evaluated %+v, trained %+v", c.name, got, r)
		}
		if m.NewWorkspace().Evaluate(w, b) != ws.Evaluate(w, b) {
			t.Errorf("%s: a workspace that trained on a larger batch evaluates differently", c.name)
		}
	}
}

// TestBatchNormSteps holds that steps leave the statistics to the passes whatever the
// optimizer does, and cumulative ones are means.
func TestBatchNormSteps(t *testing.T) {
	m, err := NewModel("test", Shape{H: 1, W: 1, C: 3}, 2, Dense{Units: 5}, BatchNorm{Cumulative: true}, ReLU{},
		Dense{Units: 2})
	if err != nil {
		t.Fatal(err)
	}
	forEachRule(t, func(t *testing.T, rule Optimizer) {
		w, plain := m.NewParams(), m.NewParams()
		m.Init(w, 3)
		anchor := m.NewParams()
		opt := rule.after(0, make([]float32, 2*m.Size()), anchor)
		opt.LR, opt.Biases, opt.BiasDecay = 0, m.Biases(), 0.5
		copy(plain, w)
		ws := m.NewWorkspace()
		for k := range 3 {
			b := images(m, 4+k)
			ws.Step(w, b, TrainOpts{}, opt)
			ws.Gradient(plain, b, TrainOpts{})
		}
		s := m.Buffers()
		sameBits(t, w[s.Lo:], plain[s.Lo:], "statistics")
		if got := m.Export(w)[6]; got.Name != "batchnorm1.num_batches_tracked" || got.Data[0] != 3 {
			t.Errorf("after three passes %s is %v", got.Name, got.Data)
		}
	})
}

func TestBatchNormRefuses(t *testing.T) {
	for _, c := range []struct {
		layer BatchNorm
		want  string
	}{
		{BatchNorm{Momentum: 1.5}, "model test: layer 2 (batchnorm): momentum 1.5; it must be in [0, 1]"},
		{
			BatchNorm{Momentum: 0.1, Cumulative: true},
			"model test: layer 2 (batchnorm): momentum 0.1; cumulative statistics have none",
		},
		{BatchNorm{Epsilon: 2}, "model test: layer 2 (batchnorm): epsilon 2; it must be at least 0 and below 1"},
	} {
		if _, err := NewModel("test", Shape{H: 1, W: 1, C: 3}, 2, Dense{Units: 5}, c.layer, Dense{Units: 2}); err == nil ||
			err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	m, _ := NewModel("test", Shape{H: 1, W: 1, C: 3}, 2, Dense{Units: 5}, batchNorm(), Dense{Units: 2})
	if _, err := m.Narrow(0.5); err == nil || !strings.Contains(err.Error(), "layer 2 (batchnorm)") {
		t.Errorf("narrowed: %v", err)
	}
}
