package nn

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// direction draws a direction of the model's parameters, as long as weights are.
func direction(m *Model, key uint64) []float32 {
	v, s := m.NewParams(), kernels.NewStream(key, 9)
	ts := m.Export(v)
	for _, t := range ts {
		for i := range t.Data {
			t.Data[i] = float32(0.3 * s.NormFloat64())
		}
	}
	if err := m.Import(v, ts); err != nil {
		panic(err)
	}
	return v
}

// testHessian compares some elements of every tensor of H v with curve's, for the step that
// Hessian takes.
func testHessian(t *testing.T, m *Model, b *Batch, curve func(w, v []Tensor, step float64, p, e int) float64) {
	t.Helper()
	w, v, got := m.NewParams(), direction(m, 1), m.NewParams()
	m.Init(w, 5)
	n, want := m.Buffers().Lo, map[[2]int]float64{}
	step := hessianStep * (1 + kernels.Norm(w[:n])) / kernels.Norm(v[:n])
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		m.NewWorkspace().Hessian(got, w, v, b, TrainOpts{})
		for p, h := range m.Export(got) {
			var diff, norm float64
			for e := 0; e < len(h.Data); e += max(1, len(h.Data)/sampled(8)) {
				at := [2]int{p, e}
				if _, ok := want[at]; !ok {
					want[at] = curve(m.Export(w), m.Export(v), step, p, e)
				}
				d := float64(h.Data[e]) - want[at]
				diff += d * d
				norm += want[at] * want[at]
			}
			if norm == 0 || !(math.Sqrt(diff/norm) <= 2e-3) {
				t.Errorf("%s: the product differs from the reference by %.2g of its norm %.2g", h.Name, math.Sqrt(diff/norm),
					math.Sqrt(norm))
			}
		}
		checkPadding(t, m, got)
	})
}

// TestHessian compares products with the Hessian with differences of the gradients of float64
// networks written apart.
func TestHessian(t *testing.T) {
	for _, c := range slices.Concat(imageCases, blockCases, smoothCases, graphCases, mixCases, groupedCases, seriesCases) {
		t.Run(c.name, func(t *testing.T) {
			m := c.model(t)
			b := images(m, 4)
			testHessian(t, m, b, func(w, v []Tensor, step float64, p, e int) float64 {
				return newReference(c.in, c.ops, w).curve(b, v, step, p, e)
			})
		})
	}
}

// TestLSTMHessian does the same for networks on sequences.
func TestLSTMHessian(t *testing.T) {
	for _, c := range lstmCases {
		t.Run(c.name, func(t *testing.T) {
			m := c.model(t)
			b := sequences(m, c.batch, c.mask)
			testHessian(t, m, b, func(w, v []Tensor, step float64, p, e int) float64 {
				return newLSTMReference(c.ref, w).curve(b, v, step, p, e)
			})
		})
	}
}

// smoothNets are networks with all kinds of dropout and without a kink, on which
// differences of gradients tell what the Hessian is.
func smoothNets(t *testing.T) map[string]*Model {
	t.Helper()
	nets := map[string]*Model{}
	for name, layers := range map[string][]Layer{
		"image": {
			Conv2D{Filters: 6, Kernel: 3, Same: true},
			Dropout{Rate: 0.3},
			Residual{
				Body:     []Layer{Conv2D{Filters: 18, Kernel: 3, Pad: 1, NoBias: true}, GroupNorm{Groups: 2}, Dropout{Rate: 0.2}},
				Shortcut: []Layer{Dropout{Rate: 0.4}, Conv2D{Filters: 18, Kernel: 1}},
			},
			LRN{Radius: 2, Bias: 1, Alpha: 0.3, Beta: 0.75},
			Scale{Factor: 1.5},
			AvgPool{Size: 2},
			Dropout{Rate: 0.5},
			Dense{Units: 7},
		},
		"pixels": {
			Conv2D{Filters: 18, Kernel: 3},
			Sequence{ClassToken: true},
			Positions{},
			Dropout{Rate: 0.2},
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{Dense{Units: 9}}},
				{From: []int{0}, Layers: []Layer{GRU{Hidden: 9, EveryStep: true}}},
				{From: []int{0, 1}, Join: joinConcat},
			}},
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{Steps{Take: "mean"}}},
				{From: []int{graphInput}, Layers: []Layer{Steps{Take: "first"}}},
				{From: []int{0, 1}, Join: joinAdd},
			}},
			Dense{Units: 7},
		},
		"transformer": {
			Conv2D{Filters: 21, Kernel: 2, Stride: 2},
			Sequence{ClassToken: true},
			Positions{},
			Residual{Body: []Layer{LayerNorm{}, Attention{Heads: 3}, Dropout{Rate: 0.2}}},
			Residual{Body: []Layer{
				LayerNorm{RMS: true}, Dense{Units: 19}, Activation("gelu"), Dense{Units: 21}, Activation("tanh"),
			}},
			Steps{Take: "first"},
			Dense{Units: 7},
		},
		"depthwise": {
			Conv2D{Filters: 18, Kernel: 3},
			Activation("gelu_tanh"),
			DepthwiseConv2D{Kernel: 3, Same: true},
			Activation("silu"),
			SqueezeExcitation{Units: 3},
			Activation("sigmoid"),
			Dense{Units: 7},
		},
		"tied": {
			Embedding{Dim: 21},
			Positions{},
			Residual{Body: []Layer{Attention{Heads: 3, Causal: true, MaskPadding: true}, LayerNorm{}}},
			Residual{Body: []Layer{Attention{Heads: 7, MaskPadding: true}}},
			Tied{},
		},
		"sequence": {
			Embedding{Dim: 5},
			Dropout{Rate: 0.2},
			LSTM{Hidden: 9, Layers: 3, Dropout: 0.3, EveryStep: true},
			Dropout{Rate: 0.3},
			Dense{Units: 7},
		},
	} {
		in := Shape{H: 6, W: 5, C: 2}
		classes := 7
		if name == "sequence" || name == "tied" {
			in, classes = Shape{Seq: 6, Vocab: 8}, 8
		}
		if name == "sequence" {
			classes = 7
		}
		m, err := NewModel(name, in, classes, layers...)
		if err != nil {
			t.Fatal(err)
		}
		nets[name] = m
	}
	return nets
}

// batchOf draws a batch for any model.
func batchOf(m *Model, n int) *Batch {
	if m.Input().Seq > 0 {
		return sequences(m, n, true)
	}
	return images(m, n)
}

// TestHessianDraws holds that a product sees the dropout masks and absent classes
// of its options, those of the gradient with the same options, over several chunks.
func TestHessianDraws(t *testing.T) {
	for name, m := range smoothNets(t) {
		n := m.chunk() + 5
		b := batchOf(m, n)
		for i, l := range b.Labels {
			if l == 3 {
				b.Labels[i] = 4
			}
		}
		w, v, got, want := m.NewParams(), direction(m, 2), m.NewParams(), m.NewParams()
		m.Init(w, 1)
		ws := m.NewWorkspace()
		for _, o := range []TrainOpts{
			{Dropout: -1, Key: 3, Step: 1},
			{Dropout: -1, Key: 3, Step: 2},
			{Dropout: 0.6, Key: 4, Absent: []int32{3}},
			{},
		} {
			const d = 5e-4
			kernels.Axpy(w, d, v)
			ws.Gradient(w, b, o)
			copy(want, ws.Grad())
			kernels.Axpy(w, -2*d, v)
			ws.Gradient(w, b, o)
			kernels.Axpy(w, d, v)
			kernels.Sub(want, want, ws.Grad())
			kernels.Scale(want, 1/(2*d))
			ws.Hessian(got, w, v, b, o)
			kernels.Sub(want, want, got)
			if rel := kernels.Norm(want) / kernels.Norm(got); !(rel < 5e-3) {
				t.Errorf("%s, %+v: the product is %.2g of its length away from the difference of gradients", name, o, rel)
			}
		}
	}
}

// TestHessianIsSymmetric compares u'Hv with v'Hu of networks without a kink, and holds that the bits of a
// product are the same at all assembly levels and in a workspace that was used.
func TestHessianIsSymmetric(t *testing.T) {
	nets := smoothNets(t)
	smooth := maps.Clone(nets)
	nets["plain"], nets["blocks"], nets["winograd"] = dropoutNet(t), blockNet(t), winogradNet(t)
	n := 11
	if kernelstest.Small() {
		n = 6
	}
	for name, m := range nets {
		b, o := batchOf(m, n), TrainOpts{Dropout: -1, Key: 3}
		w, u, v := m.NewParams(), direction(m, 1), direction(m, 2)
		m.Init(w, 1)
		hu, hv := m.NewParams(), m.NewParams()
		var first []float32
		kernelstest.ForEachLevel(t, func(t *testing.T) {
			ws := m.NewWorkspace()
			ws.Hessian(hu, w, u, b, o)
			train(m, ws, batchOf(m, 9))
			ws.Hessian(hv, w, v, batchOf(m, 5), TrainOpts{})
			ws.Hessian(hv, w, v, b, o)
			a, z := kernels.Dot(u, hv), kernels.Dot(v, hu)
			if smooth[name] != nil && math.Abs(a-z) > 1e-3*kernels.Norm(u)*kernels.Norm(hv) {
				t.Errorf("%s: u'Hv is %v, v'Hu is %v", name, a, z)
			}
			ws = m.NewWorkspace()
			ws.Hessian(hu, w, v, b, o)
			sameBits(t, hv, hu, name+": in a used workspace")
			if first == nil {
				first = slices.Clone(hu)
			}
			sameBits(t, hu, first, name+": "+kernels.Current().String())
		})
	}
}

// TestHessianOfNothing covers a batch without labels and a direction without
// length.
func TestHessianOfNothing(t *testing.T) {
	m := dropoutNet(t)
	w, v, h := m.NewParams(), direction(m, 1), direction(m, 2)
	m.Init(w, 1)
	ws, b := m.NewWorkspace(), images(m, 4)
	ws.Hessian(h, w, m.NewParams(), b, TrainOpts{})
	if n := kernels.Norm(h); n != 0 {
		t.Errorf("H 0 has length %v", n)
	}
	b.Labels = []int32{-1, -1, -1, -1}
	copy(h, v)
	ws.Hessian(h, w, v, b, TrainOpts{})
	if n := kernels.Norm(h); n != 0 {
		t.Errorf("without labels the product has length %v", n)
	}
}

// TestHessianAllocations checks that a product allocates nothing.
func TestHessianAllocations(t *testing.T) {
	nets := smoothNets(t)
	nets["plain"], nets["blocks"], nets["winograd"] = dropoutNet(t), blockNet(t), winogradNet(t)
	for name, m := range nets {
		w, v, h := m.NewParams(), direction(m, 1), m.NewParams()
		m.Init(w, 1)
		ws, b := m.newWorkspace(4), batchOf(m, 7) // two chunks
		product := func() { ws.Hessian(h, w, v, b, TrainOpts{Dropout: -1}) }
		product()
		if n := allocations(3, product); n != 0 {
			t.Errorf("%s: a product allocates %v times, want 0", name, n)
		}
	}
}

// TestHessianIsExact holds that a product in bf16 has the bits of the one in float32 and leaves
// weights and direction as they are, and that it is not finite where these are not.
func TestHessianIsExact(t *testing.T) {
	for name, m := range smoothNets(t) {
		b, o := batchOf(m, 9), TrainOpts{Dropout: -1, Key: 3}
		w, v, exact, got := m.NewParams(), direction(m, 1), m.NewParams(), m.NewParams()
		m.Init(w, 1)
		start, along := slices.Clone(w), slices.Clone(v)
		m.NewWorkspace().Hessian(exact, w, v, b, o)
		ws := m.WithPrecision(BF16).NewWorkspace()
		ws.Gradient(w, b, o)
		ws.Hessian(got, w, v, b, o)
		sameBits(t, got, exact, name+" in bf16")
		sameBits(t, w, start, name+": weights")
		sameBits(t, v, along, name+": direction")
		for _, x := range []float64{math.NaN(), math.Inf(1), 1e30} {
			v[0] = float32(x)
			m.NewWorkspace().Hessian(got, w, v, b, o)
			if n := kernels.Norm(got); !math.IsNaN(n) {
				t.Errorf("%s: along %v the product has length %v", name, x, n)
			}
		}
	}
}
