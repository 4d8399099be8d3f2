package nn

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// drawn returns initial weights and two vectors of their size.
func drawn(m *Model) (w, a, b []float32) {
	w, a, b = m.NewParams(), m.NewParams(), m.NewParams()
	m.Init(w, 1)
	m.Init(a, 2)
	m.Init(b, 3)
	return w, a, b
}

// TestOnlyASpanIsTrained compares a step of a span, layer by layer and for all but
// the head, with the same span of a whole step.
func TestOnlyASpanIsTrained(t *testing.T) {
	forEachNet(t, func(t *testing.T, m *Model) {
		ws := m.NewWorkspace()
		b := images(m, 9)
		start, _, velocity := drawn(m)
		s := SGD{LR: 0.1, Momentum: 0.5, WeightDecay: 0.01}
		o := TrainOpts{Key: 7, Dropout: -1}
		whole := slices.Clone(start)
		ws.Step(whole, b, o, &Optimizer{SGD: s, Velocity: slices.Clone(velocity), Steps: 1})
		ws.Gradient(start, b, o)
		grad := slices.Clone(ws.Grad())
		head := m.Head(1)
		if head.Hi != m.Size() || head.Len() <= 0 || m.Head(100) != (Span{0, m.Size()}) || m.Head(2).Lo >= head.Lo {
			t.Fatalf("heads: %v of 1 layer, %v of 2, %v of 100", head, m.Head(2), m.Head(100))
		}
		for _, only := range []Span{head, m.Head(2), {m.Head(2).Lo, head.Lo}, {0, head.Lo}} {
			o.Only = only
			w := slices.Clone(start)
			ws.Step(w, b, o, &Optimizer{SGD: s, Velocity: slices.Clone(velocity), Steps: 1})
			sameBits(t, w[only.Lo:only.Hi], whole[only.Lo:only.Hi], "trained span")
			sameBits(t, w[:only.Lo], start[:only.Lo], "before the span")
			sameBits(t, w[only.Hi:], start[only.Hi:], "behind the span")
			ws.Gradient(start, b, o)
			sameBits(t, ws.Grad()[only.Lo:only.Hi], grad[only.Lo:only.Hi], "gradient of the span")
		}
	})
}

// TestShiftAndDisplacement compares Step with its halves and float64.
func TestShiftAndDisplacement(t *testing.T) {
	forEachRule(t, func(t *testing.T, rule Optimizer) {
		forEachNet(t, func(t *testing.T, m *Model) { testShiftAndDisplacement(t, m, rule) })
	})
}

func testShiftAndDisplacement(t *testing.T, m *Model, rule Optimizer) {
	ws := m.NewWorkspace()
	b := images(m, 9)
	start, shift, anchor := drawn(m)
	probe := &Displacement{Anchor: anchor}
	o := TrainOpts{Key: 7, Dropout: -1}
	got, v := slices.Clone(start), make([]float32, 2*m.Size())
	want, vw := slices.Clone(start), make([]float32, 2*m.Size())
	probe.Prior = true
	for k := range 2 {
		o.Step = uint32(k)
		before := slices.Clone(want)
		ws.Gradient(want, b, o)
		g := slices.Clone(ws.Grad())
		kernels.Add(g, g, shift)
		rule.after(k, vw, anchor).Step(want, g)
		with := o
		with.Shift, with.Probe = shift, probe
		probe.Reset()
		ws.Step(got, b, with, rule.after(k, v, anchor))
		sameBits(t, got, want, "weights")
		prior, ok := probe.PriorCosine()
		if !ok {
			t.Error("no displacement before the step")
		}
		for _, at := range []struct {
			w   []float32
			got float64
		}{{want, probe.Cosine()}, {before, prior}} {
			var gg, gd, dd float64
			for i, x := range g {
				d := float64(anchor[i]) - float64(at.w[i])
				gg += float64(x) * float64(x)
				gd += float64(x) * d
				dd += d * d
			}
			if cos := gd / math.Sqrt(gg*dd); math.Abs(at.got-cos) > 1e-5 {
				t.Errorf("step %d: cosine %v, want %v", k, at.got, cos)
			}
		}
	}
}

// TestClip compares steps of a whole network and of spans with the equations in
// float64: the gradient of what is trained, with the shift and the proximal term,
// is scaled to the norm, and weight decay is not.
func TestClip(t *testing.T) {
	forEachNet(t, func(t *testing.T, m *Model) {
		ws := m.NewWorkspace()
		b := images(m, 9)
		start, shift, anchor := drawn(m)
		head := m.Head(1)
		for _, only := range []Span{{}, head, {0, head.Lo}} {
			at := only
			if only.empty() {
				at = Span{0, m.Size()}
			}
			for _, s := range []SGD{
				{LR: 0.5, ClipNorm: 0.01},
				{LR: 0.5, ClipNorm: 0.01, WeightDecay: 0.03, Mu: 0.7},
				{LR: 0.5, ClipNorm: 1e6, WeightDecay: 0.03, Mu: 0.7},
			} {
				o := TrainOpts{Key: 7, Dropout: -1}
				ws.Gradient(start, b, o)
				var norm float64
				g := make([]float64, m.Size())
				for i := at.Lo; i < at.Hi; i++ {
					g[i] = float64(ws.Grad()[i]) + float64(shift[i]) + float64(s.Mu)*(float64(start[i])-float64(anchor[i]))
					norm += g[i] * g[i]
				}
				norm = math.Sqrt(norm)
				share := min(1, float64(s.ClipNorm)/norm)
				o.Only, o.Shift = only, shift
				w := slices.Clone(start)
				ws.Step(w, b, o, &Optimizer{SGD: s, Anchor: anchor})
				var wrong, size float64
				for i := range w {
					want := 0.0
					if at.Lo <= i && i < at.Hi {
						want = -float64(s.LR) * (share*g[i] + float64(s.WeightDecay)*float64(start[i]))
					}
					got := float64(w[i]) - float64(start[i])
					wrong += (got - want) * (got - want)
					size += want * want
				}
				if wrong := math.Sqrt(wrong / size); wrong > 1e-4 {
					t.Errorf("%+v of %v, norm %.3g: the change differs by %.2g of its norm", s, only, norm, wrong)
				}
			}
		}
	})
}

// TestProbeBits compares the probe of a plain step, which a large dense layer takes
// in one pass, with that of a step that is taken part by part because a span of the
// parameters is named: all of them. Every bit must be the same.
func TestProbeBits(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for _, hidden := range []int{33, 128, 530} {
			m, err := NewModel("test", Shape{H: 9, W: 11, C: 3}, 7, Dense{Units: hidden}, ReLU{}, Dense{Units: 40}, ReLU{},
				Dense{Units: 7})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{1, 5, 20} {
				for _, s := range []SGD{{LR: 0.1}, {LR: 0.1, WeightDecay: 0.02}, {LR: 0.1, Momentum: 0.9}, {LR: 0.1, Mu: 0.3}} {
					start, _, anchor := drawn(m)
					b := images(m, n)
					var weights [2][]float32
					var probes [2]Displacement
					for i, only := range []Span{{}, {0, m.Size()}} {
						w, v := slices.Clone(start), m.NewParams()
						probes[i].Anchor = anchor
						ws := m.NewWorkspace()
						for k := range 2 {
							ws.Step(w, b, TrainOpts{Probe: &probes[i], Only: only}, &Optimizer{
								SGD: s, Velocity: v, Anchor: anchor,
								Steps: k,
							})
						}
						weights[i] = w
					}
					sameBits(t, weights[0], weights[1], "weights")
					if a, b := probes[0].sums, probes[1].sums; a != b || a[0] == 0 {
						t.Errorf("%d units, batch %d, %+v: sums %v, part by part %v", hidden, n, s, a, b)
					}
				}
			}
		}
	})
}

// TestAbsentClasses compares loss and gradients with those of a network whose
// output layer has zeros for the absent classes, so that their logits are 0 and
// pass no gradient on.
func TestAbsentClasses(t *testing.T) {
	m := dropoutNet(t)
	ws := m.NewWorkspace()
	b := images(m, 9)
	absent := []int32{1, 4}
	for i, l := range b.Labels {
		if slices.Contains(absent, l) {
			b.Labels[i] = 0
		}
	}
	w, _, _ := drawn(m)
	ts := m.Export(w)
	last := len(ts) - 2 // weight and bias of the output layer
	clearAbsent := func(ts []Tensor) {
		for _, tensor := range ts[last:] {
			per := len(tensor.Data) / m.Classes()
			for _, class := range absent {
				clear(tensor.Data[int(class)*per:][:per])
			}
		}
	}
	clearAbsent(ts)
	zeroed := m.NewParams()
	if err := m.Import(zeroed, ts); err != nil {
		t.Fatal(err)
	}
	want := ws.Gradient(zeroed, b, TrainOpts{})
	wanted := m.Export(ws.Grad())
	clearAbsent(wanted)
	got := ws.Gradient(w, b, TrainOpts{Absent: absent})
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for i, g := range m.Export(ws.Grad()) {
		if !slices.Equal(g.Data, wanted[i].Data) {
			t.Errorf("%s: the gradient is %v, want %v", g.Name, g.Data, wanted[i].Data)
		}
	}
	if all := ws.Evaluate(w, b); all == got {
		t.Errorf("holding classes changes nothing: %+v", all)
	}
}

// TestLogitBias compares loss and gradients with those of a network whose output layer has
// the bias in its own, and of one whose logits of a class are far below the others where
// the class is left out, under the plain loss and under one with weights.
func TestLogitBias(t *testing.T) {
	weighted, err := dropoutNet(t).WithLoss(Loss{Weights: []float64{1, 2, 0.5, 1, 3, 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*Model{dropoutNet(t), weighted} {
		ws, b := m.NewWorkspace(), images(m, 9)
		for i, l := range b.Labels {
			b.Labels[i] = min(l, 5) // of class 6 there is none
		}
		bias := []float32{0.5, -1, 0.25, -0.5, 0, 1, float32(math.Inf(-1))}
		w, _, _ := drawn(m)
		ts := m.Export(w)
		own := ts[len(ts)-1].Data
		for c := range own {
			own[c] += max(bias[c], -1000)
		}
		shifted := m.NewParams()
		if err := m.Import(shifted, ts); err != nil {
			t.Fatal(err)
		}
		want := ws.Gradient(shifted, b, TrainOpts{})
		wanted := m.Export(ws.Grad())
		got := ws.Gradient(w, b, TrainOpts{LogitBias: bias})
		if math.Abs(got.Loss-want.Loss) > 1e-5 || got.Count != want.Count || got.Correct != want.Correct {
			t.Errorf("got %+v, want %+v", got, want)
		}
		for i, g := range m.Export(ws.Grad()) {
			for j, x := range g.Data {
				if math.Abs(float64(x-wanted[i].Data[j])) > 1e-6 {
					t.Fatalf("%s: the gradient is %v, want %v", g.Name, x, wanted[i].Data[j])
				}
			}
		}
		if all := ws.Evaluate(w, b); all.Loss == got.Loss {
			t.Errorf("the bias changes nothing: %+v", all)
		}
	}
}
