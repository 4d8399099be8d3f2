package nn

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// imageCase is a small image network with its reference.
type imageCase struct {
	name   string
	in     Shape
	layers []Layer
	ops    []refOp
}

func conv(stride, before, after int) refOp {
	return refOp{op: "conv", stride: stride, before: before, after: after}
}

func pool(size int) refOp { return refOp{op: "pool", size: size, stride: 2} }

var relu, dense = refOp{op: "relu"}, refOp{op: "dense"}

var imageCases = []imageCase{
	{"logistic", Shape{H: 5, W: 7, C: 1}, []Layer{Flatten{}, Dense{Units: 5}}, []refOp{dense}},
	{"logistic on colours", Shape{H: 4, W: 3, C: 3}, []Layer{Dense{Units: 5}}, []refOp{dense}},
	{
		"two dense layers on a vector",
		Shape{H: 1, W: 1, C: 37},
		[]Layer{Dense{Units: 21}, ReLU{}, Dense{Units: 3}},
		[]refOp{dense, relu, dense},
	},
	{
		"dense layers without a bias",
		Shape{H: 2, W: 3, C: 5},
		[]Layer{Dense{Units: 37, NoBias: true}, ReLU{}, Dense{Units: 21, NoBias: true}, Dense{Units: 3, NoBias: true}},
		[]refOp{{op: "dense", noBias: true}, relu, {op: "dense", noBias: true}, {op: "dense", noBias: true}},
	},
	{
		"weights of more than one tile",
		Shape{H: 1, W: 1, C: 3},
		[]Layer{Dense{Units: 150}, ReLU{}, Dense{Units: 600}, ReLU{}, Dense{Units: 3}},
		[]refOp{dense, relu, dense, relu, dense},
	},
	{
		"valid convolutions, pool",
		Shape{H: 12, W: 11, C: 1},
		[]Layer{
			Conv2D{Filters: 5, Kernel: 3},
			ReLU{},
			Conv2D{Filters: 20, Kernel: 3},
			ReLU{},
			MaxPool{Size: 2},
			Flatten{},
			Dense{Units: 9},
			ReLU{},
			Dense{Units: 4},
		},
		[]refOp{conv(1, 0, 0), relu, conv(1, 0, 0), relu, pool(2), dense, relu, dense},
	},
	{
		"same 5 x 5, two pools, odd sizes",
		Shape{H: 9, W: 11, C: 3},
		[]Layer{Conv2D{Filters: 6, Kernel: 5, Same: true}, ReLU{}, MaxPool{Size: 2}, Conv2D{
			Filters: 17, Kernel: 5,
			Same: true,
		}, ReLU{}, MaxPool{Size: 2}, Dense{Units: 4}},
		[]refOp{conv(1, 2, 2), relu, pool(2), conv(1, 2, 2), relu, pool(2), dense},
	},
	{
		"even kernels, same",
		Shape{H: 6, W: 6, C: 1},
		[]Layer{
			Conv2D{Filters: 4, Kernel: 4, Same: true},
			ReLU{},
			Conv2D{Filters: 7, Kernel: 2, Same: true},
			Dense{Units: 3},
		},
		[]refOp{conv(1, 1, 2), relu, conv(1, 0, 1), dense},
	},
	{
		"strides",
		Shape{H: 13, W: 13, C: 2},
		[]Layer{
			Conv2D{Filters: 4, Kernel: 3, Stride: 2, Same: true},
			ReLU{},
			Conv2D{Filters: 5, Kernel: 3, Stride: 2},
			ReLU{},
			Conv2D{Filters: 3, Kernel: 1, Stride: 2},
			Dense{Units: 3},
		},
		[]refOp{conv(2, 1, 1), relu, conv(2, 0, 0), relu, conv(2, 0, 0), dense},
	},
	{
		"stride that leaves rows uncovered",
		Shape{H: 9, W: 9, C: 1},
		[]Layer{Conv2D{Filters: 4, Kernel: 2}, Conv2D{Filters: 5, Kernel: 2, Stride: 3}, Dense{Units: 3}},
		[]refOp{conv(1, 0, 0), conv(3, 0, 0), dense},
	},
	{
		"overlapping pool, ReLU apart",
		Shape{H: 8, W: 9, C: 1},
		[]Layer{
			Conv2D{Filters: 3, Kernel: 3},
			MaxPool{Size: 3, Stride: 2},
			ReLU{},
			Conv2D{Filters: 3, Kernel: 2},
			ReLU{},
			Dense{Units: 3},
		},
		[]refOp{conv(1, 0, 0), pool(3), relu, conv(1, 0, 0), relu, dense},
	},
	{
		"kernel larger than the image",
		Shape{H: 2, W: 3, C: 1},
		[]Layer{
			Conv2D{Filters: 4, Kernel: 7, Same: true},
			ReLU{},
			Conv2D{Filters: 3, Kernel: 5, Same: true},
			Dense{Units: 3},
		},
		[]refOp{conv(1, 3, 3), relu, conv(1, 2, 2), dense},
	},
	{
		"convolutions to one pixel",
		Shape{H: 5, W: 5, C: 1},
		[]Layer{Conv2D{Filters: 18, Kernel: 3}, ReLU{}, Conv2D{Filters: 4, Kernel: 3}, Flatten{}},
		[]refOp{conv(1, 0, 0), relu, conv(1, 0, 0)},
	},
}

func (c imageCase) model(t testing.TB) *Model {
	t.Helper()
	classes := 0
	for _, l := range c.layers {
		switch l := l.(type) {
		case Dense:
			classes = l.Units
		case Conv2D:
			classes = l.Filters
		}
	}
	m, err := NewModel("test", c.in, classes, c.layers...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// images draws a batch with every third label masked from the second on.
func images(m *Model, n int) *Batch {
	s := kernels.NewStream(11, 2)
	b := &Batch{N: n, X: make([]float32, n*m.Input().Size())}
	for i := range b.X {
		b.X[i] = float32(s.NormFloat64())
	}
	for i := range n {
		label := int32(s.IntN(m.Classes()))
		if i%3 == 1 {
			label = -1
		}
		b.Labels = append(b.Labels, label)
	}
	return b
}

// sampled is how many of a tensor's n elements a test compares with a reference
// that is slow and the same on every level.
func sampled(n int) int {
	if kernelstest.Small() {
		return max(5, n/8)
	}
	return n
}

// slopeTable holds the slopes of a slow reference by tensor and element.
type slopeTable map[[2]int]float64

// compare fails unless each tensor of a gradient differs from the reference by at
// most a share of its norm, over some of its elements.
func (s slopeTable) compare(t *testing.T, gradient []Tensor, elements int, share float64,
	slope func(p, e int) float64,
) {
	t.Helper()
	for p, g := range gradient {
		var diff, norm float64
		for e := 0; e < len(g.Data); e += max(1, len(g.Data)/sampled(elements)) {
			at := [2]int{p, e}
			if _, ok := s[at]; !ok {
				s[at] = slope(p, e)
			}
			d := float64(g.Data[e]) - s[at]
			diff += d * d
			norm += s[at] * s[at]
		}
		if norm == 0 || !(math.Sqrt(diff/norm) <= share) {
			t.Errorf("%s: gradient differs from the reference by %.2g of its norm %.2g", g.Name, math.Sqrt(diff/norm),
				math.Sqrt(norm))
		}
	}
}

// TestGradient compares loss and gradients of image networks with those
// of a float64 network written apart. The tolerance, 2e-5 of a
// tensor's norm, is some hundred roundings of a float32.
func TestGradient(t *testing.T) {
	for _, c := range slices.Concat(imageCases, blockCases, smoothCases, graphCases, mixCases, groupedCases, seriesCases) {
		t.Run(c.name, func(t *testing.T) {
			m := c.model(t)
			w := m.NewParams()
			m.Init(w, 5)
			b := images(m, 4)
			ref := newReference(c.in, c.ops, m.Export(w))
			loss := ref.loss(b)
			slopes := slopeTable{}
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				ws := m.NewWorkspace()
				r := ws.Gradient(w, b, TrainOpts{})
				if got := r.Loss / float64(r.Count); r.Count != 3 || math.Abs(got-loss) > 1e-6 {
					t.Errorf("mean loss %.9f over %d labels, want %.9f over 3", got, r.Count, loss)
				}
				slopes.compare(t, m.Export(ws.Grad()), 16, 2e-5, func(p, e int) float64 { return ref.slope(b, p, e) })
				checkPadding(t, m, ws.Grad())
			})
		})
	}
}

// TestEvaluate compares evaluation with the reference and with the loss that the
// gradient reports.
func TestEvaluate(t *testing.T) {
	for _, c := range slices.Concat(imageCases, blockCases, smoothCases, graphCases, mixCases, groupedCases, seriesCases) {
		t.Run(c.name, func(t *testing.T) {
			m := c.model(t)
			w := m.NewParams()
			m.Init(w, 6)
			b := images(m, 5)
			ref := newReference(c.in, c.ops, m.Export(w))
			want := Result{Loss: ref.loss(b) * 3, Count: 3}
			for i, label := range b.Labels {
				z := ref.logits(b.X[i*m.Input().Size():][:m.Input().Size()])
				best := 0
				for j, v := range z {
					if real(v) > real(z[best]) {
						best = j
					}
				}
				if int(label) == best {
					want.Correct++
				}
			}
			ws := m.NewWorkspace()
			got := ws.Evaluate(w, b)
			if math.Abs(got.Loss-want.Loss) > 3e-6 || got.Count != want.Count || got.Correct != want.Correct {
				t.Errorf("Evaluate gives %+v, the reference %+v", got, want)
			}
			if grad := ws.Gradient(w, b, TrainOpts{}); grad != got {
				t.Errorf("Gradient reports %+v, Evaluate %+v", grad, got)
			}
		})
	}
}
