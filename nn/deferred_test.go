package nn

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// wideNet is a network with a layer wide enough to defer its steps.
func wideNet(t testing.TB, p Precision) *Model {
	t.Helper()
	m, err := NewModel("wide", Shape{H: 8, W: 8, C: 2}, 7,
		Conv2D{Filters: 16, Kernel: 3, Same: true}, ReLU{}, Flatten{}, Dropout{Rate: 0.1}, Dense{Units: 2048}, ReLU{}, Dropout{Rate: 0.5}, Dense{Units: 7})
	if err != nil {
		t.Fatal(err)
	}
	return m.WithPrecision(p)
}

// wideBatches are the batches of a client: full ones, one without labels, and a last one that
// is smaller.
func wideBatches(m *Model, batch, steps int) []*Batch {
	var all []*Batch
	for i := range steps {
		b := images(m, batch)
		for j := range b.X {
			b.X[j] += float32((i+j)%5) / 8
		}
		for j := range b.Labels {
			b.Labels[j] = int32((i + j) % m.Classes())
		}
		all = append(all, b)
	}
	for i := range all[2].Labels {
		all[2].Labels[i] = -1
	}
	last := all[steps-1]
	last.N = (batch + 1) / 2
	return all
}

// wideRun takes a client's steps by a rule, deferred or not, and returns the weights
// before and after them. late reports whether any layer did defer them.
func wideRun(t *testing.T, m *Model, ws *Workspace, rule Optimizer, batches []*Batch, begin bool) (first, w []float32, late bool) {
	t.Helper()
	w = m.NewParams()
	m.Init(w, 9)
	first = slices.Clone(w)
	opt, rate := rule, rule.LR
	opt.Velocity, opt.Anchor = m.NewParams(), first
	o := TrainOpts{Key: 4, Dropout: -1}
	if begin {
		ws.Begin(w, batches[0].N, len(batches), o, &opt)
	}
	late = len(ws.late.layers) > 0
	for i, b := range batches {
		o.Step, opt.LR = uint32(i), rate/float32(1+i)
		ws.Step(w, b, o, &opt)
	}
	i := slices.IndexFunc(m.nodes, func(nd node) bool { return nd.size() >= deferredFloats })
	at := m.nodes[i].offset
	if still := slices.Equal(w[at:at+deferredFloats], first[at:at+deferredFloats]); still != late {
		t.Errorf("the wide layer's weights stay: %v, deferred: %v", still, late)
	}
	ws.End()
	return first, w, late
}

// length returns the root of the mean square of the distance of two vectors.
func length(a, b []float32) float64 {
	var sum float64
	for i, v := range a {
		sum += math.Pow(float64(v-b[i]), 2)
	}
	return math.Sqrt(sum / float64(len(a)))
}

// TestBegin checks that deferred steps are those taken at once but for rounding, by every
// rule that can be deferred, with a batch without labels and several chunks.
func TestBegin(t *testing.T) {
	if kernelstest.Emulated() {
		t.Skip("wide layers take minutes under emulation")
	}
	for _, rule := range []Optimizer{
		{SGD: SGD{LR: 0.1, Momentum: 0.9}},
		{SGD: SGD{LR: 0.1, Momentum: 0.9, WeightDecay: 0.01}},
		{SGD: SGD{LR: 0.1, Momentum: 0.5, WeightDecay: 0.01, Mu: 0.3, Nesterov: true}},
	} {
		t.Run(fmt.Sprintf("%+v", rule.SGD), func(t *testing.T) {
			m := wideNet(t, FP32)
			batches := wideBatches(m, 6, 9)
			first, want, _ := wideRun(t, m, m.NewWorkspace(), rule, batches, false)
			ws := m.NewWorkspace()
			_, got, late := wideRun(t, m, ws, rule, batches, true)
			if !late {
				t.Error("no layer defers its steps")
			}
			far := length(want, first)
			if d := length(got, want); d > 1e-4*far {
				t.Errorf("deferred steps lead %.3g away from those at once, which lead %.3g away", d, far)
			}
			_, again, _ := wideRun(t, m, ws, rule, batches, true)
			sameBits(t, again, got, "again in the same workspace")
			_, again, _ = wideRun(t, m, m.newWorkspace(4), rule, batches, true)
			sameBits(t, again, got, "in chunks of 4")

			if kernelstest.Emulated() { // it takes minutes; narrower layers are compared on all levels
				return
			}
			low := wideNet(t, BF16)
			_, plain, _ := wideRun(t, low, low.NewWorkspace(), rule, batches, false)
			_, got, late = wideRun(t, low, low.NewWorkspace(), rule, batches, true)
			if !late {
				t.Error("no layer defers its steps in bf16")
			}
			if d, other := length(got, want), length(plain, want); d > 1.2*other {
				t.Errorf("deferred steps in bf16 lead %.3g away from those in float32, those at once %.3g", d, other)
			}
			_, again, _ = wideRun(t, low, low.newWorkspace(4), rule, batches, true)
			sameBits(t, again, got, "bf16 in chunks of 4")
		})
	}
}

// TestBeginLevels checks that deferred steps come to the same weights on all levels.
func TestBeginLevels(t *testing.T) {
	if kernelstest.Emulated() {
		t.Skip("wide layers take minutes under emulation")
	}
	for _, p := range []Precision{FP32, BF16, BF16AMX} {
		var want []float32
		kernelstest.ForEachLevel(t, func(t *testing.T) {
			m := wideNet(t, p)
			_, got, _ := wideRun(t, m, m.NewWorkspace(), Optimizer{SGD: SGD{LR: 0.1, Momentum: 0.9}}, wideBatches(m, 2, 4), true)
			if want == nil {
				want = got
			}
			sameBits(t, got, want, fmt.Sprintf("%v on level %v", p, kernels.Current()))
		})
	}
}

// TestBeginNot checks what is taken at once all the same.
func TestBeginNot(t *testing.T) {
	m := wideNet(t, FP32)
	frozen, err := m.WithTrainable([]string{"dense*"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	w := m.NewParams()
	m.Init(w, 9)
	good := Optimizer{SGD: SGD{LR: 0.1, Momentum: 0.9}, Velocity: m.NewParams()}
	with := func(f func(o *Optimizer)) Optimizer {
		o := good
		f(&o)
		return o
	}
	for name, c := range map[string]struct {
		m            *Model
		batch, steps int
		o            TrainOpts
		opt          Optimizer
		want         bool
	}{
		"as it is":              {m, 4, 10, TrainOpts{}, good, true},
		"large batch":           {m, 21, 4, TrainOpts{}, good, false},
		"small batch":           {m, 20, 4, TrainOpts{}, good, true},
		"large batch in bf16":   {m.WithPrecision(BF16), 21, 4, TrainOpts{}, good, false},
		"small batch in bf16":   {m.WithPrecision(BF16), 20, 4, TrainOpts{}, good, true},
		"few steps":             {m, 4, 3, TrainOpts{}, good, false},
		"many rows":             {m, 4, 90, TrainOpts{}, good, false},
		"many operations":       {m, 20, 6, TrainOpts{}, good, true},
		"more operations":       {m, 20, 7, TrainOpts{}, good, false},
		"many in bf16":          {m.WithPrecision(BF16), 20, 13, TrainOpts{}, good, true},
		"more in bf16":          {m.WithPrecision(BF16), 20, 14, TrainOpts{}, good, false},
		"no momentum":           {m, 4, 10, TrainOpts{}, with(func(o *Optimizer) { o.Momentum = 0 }), false},
		"no momentum in bf16":   {m.WithPrecision(BF16), 4, 10, TrainOpts{}, with(func(o *Optimizer) { o.Momentum = 0 }), true},
		"Adam":                  {m, 4, 10, TrainOpts{}, with(func(o *Optimizer) { o.Adam.On = true }), false},
		"clipped":               {m, 4, 10, TrainOpts{}, with(func(o *Optimizer) { o.ClipNorm = 1 }), false},
		"later steps":           {m, 4, 10, TrainOpts{}, with(func(o *Optimizer) { o.Steps = 1 }), false},
		"decay of biases":       {m, 4, 10, TrainOpts{}, with(func(o *Optimizer) { o.Biases = m.Biases() }), false},
		"no memory":             {m, 4, 10, TrainOpts{}, with(func(o *Optimizer) { o.Velocity = nil }), false},
		"anchor at the weights": {m, 4, 10, TrainOpts{}, with(func(o *Optimizer) { o.Mu, o.Anchor = 1, slices.Clone(w) }), true},
		"anchor elsewhere":      {m, 4, 10, TrainOpts{}, with(func(o *Optimizer) { o.Mu, o.Anchor = 1, m.NewParams() }), false},
		"frozen parameters":     {frozen, 4, 10, TrainOpts{}, good, false},
		"a part alone":          {m, 4, 10, TrainOpts{Only: m.Head(1)}, good, false},
		"held":                  {m, 4, 10, TrainOpts{Hold: []Span{{0, 16}}}, good, false},
		"shifted":               {m, 4, 10, TrainOpts{Shift: w}, good, false},
		"probed":                {m, 4, 10, TrainOpts{Probe: &Displacement{}}, good, false},
	} {
		ws := c.m.NewWorkspace()
		ws.Begin(w, c.batch, c.steps, c.o, &c.opt)
		if got := len(ws.late.layers) > 0; got != c.want {
			t.Errorf("%s: deferred %v", name, got)
		}
		ws.End()
	}
}
