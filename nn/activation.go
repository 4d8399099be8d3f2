package nn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// Activation is a layer that applies a function to each value, by its name: one of
// Activations, such as "silu".
type Activation string

// hardSwish goes into the group normalization before it.
const hardSwish Activation = "hardswish"

// activations has a row for each activation but ReLU, which is fused into other layers.
var activations = []activation{
	{
		name: "gelu", doc: "x times the share of a normal distribution below x",
		torch: "F.gelu(%s)", module: "nn.GELU", curve: kernels.CurveGELU,
	},
	{
		name: "gelu_tanh", kind: "gelu", doc: "gelu by an approximation with a hyperbolic tangent",
		torch: `F.gelu(%s, approximate="tanh")`, curve: kernels.CurveGELUTanh,
	},
	{name: "silu", doc: "x sigmoid(x)", torch: "F.silu(%s)", module: "nn.SiLU", curve: kernels.CurveSiLU},
	{
		name: hardSwish, doc: "x min(max(x+3, 0), 6)/6",
		torch: "F.hardswish(%s)", module: "nn.Hardswish", curve: kernels.CurveHardSwish,
	},
	{
		name: "hardsigmoid", doc: "min(max(x+3, 0), 6)/6",
		torch: "F.hardsigmoid(%s)", module: "nn.Hardsigmoid", curve: kernels.CurveHardSigmoid,
	},
	{
		name: "sigmoid", doc: "1/(1+e^-x)",
		torch: "torch.sigmoid(%s)", module: "nn.Sigmoid", curve: kernels.CurveSigmoid,
	},
	{
		name: "tanh", doc: "the hyperbolic tangent",
		torch: "torch.tanh(%s)", module: "nn.Tanh", curve: kernels.CurveTanh,
	},
	{name: "relu6", doc: "min(max(x, 0), 6)", torch: "F.relu6(%s)", module: "nn.ReLU6", lines: relu6},
}

// activation is what a function is called, and how it is computed.
type activation struct {
	name Activation
	kind string // of its layers, "" for the name
	doc  string
	// torch is the call of PyTorch, module the class of its modules.
	torch, module string
	curve         kernels.Curve
	// lines computes an activation in Go, such as one made of straight lines, instead of curve.
	lines func(x float32) (y, slope float32)
}

// Activations returns all activations without parameters but ReLU.
func Activations() []Activation {
	return list.Of(activations, func(f activation) Activation { return f.name })
}

// of returns what a name stands for, ok is false if it is unknown.
func (a Activation) of() (f activation, ok bool) {
	if i := slices.IndexFunc(activations, func(f activation) bool { return f.name == a }); i >= 0 {
		return activations[i], true
	}
	return activation{}, false
}

// Kind returns the name, and "gelu" for "gelu_tanh".
func (a Activation) Kind() string {
	if f, _ := a.of(); f.kind != "" {
		return f.kind
	}
	return string(a)
}

// Describe describes the function in a line, and returns the class of PyTorch's modules
// and the function there that are the same, such as "nn.SiLU" and "silu".
func (a Activation) Describe() (doc, module, function string) {
	f, _ := a.of()
	function, _, _ = strings.Cut(f.torch, "(")
	return f.doc, f.module, function[strings.LastIndex(function, ".")+1:]
}

// Abilities returns what the layer can do.
func (a Activation) Abilities() Abilities {
	f, _ := a.of()
	return Abilities{Narrow: Narrowing.Follow, Torch: func(t *Torch) { t.Set(f.torch, t.X) }}
}

// Bind fixes the layer for its input.
func (a Activation) Bind(in Flow) (Bound, error) {
	f, ok := a.of()
	if !ok {
		return nil, fmt.Errorf("unknown activation %q; use one of %s", a, strings.Trim(fmt.Sprint(Activations()), "[]"))
	}
	return f.bind(in, a)
}

func (f activation) bind(in Flow, l Layer) (Bound, error) {
	if in.Vocab > 0 || in.Raw {
		return nil, fmt.Errorf("a layer of type %s cannot be the first one", l.Kind())
	}
	var y, x [1]float32
	if f.lines != nil {
		y[0], _ = f.lines(0)
	} else {
		kernels.Curves(f.curve, y[:], make([]float32, 1), x[:])
	}
	return &boundActivation{activation: f, passive: passive{in}, pads: y[0] != 0 && in.C < in.Ld()}, nil
}

// Elementwise is a layer of a program's own that applies a function to each value. It has no
// parameters.
type Elementwise struct {
	Name string // what Kind returns
	// F returns the function and its slope at x.
	F func(x float32) (y, slope float32)
	// Torch is the function in PyTorch, of the input %s, such as "F.mish(%s)"; without it a model
	// cannot be exported.
	Torch string
}

// Kind returns the name.
func (e Elementwise) Kind() string { return e.Name }

// Abilities returns what the layer can do.
func (e Elementwise) Abilities() Abilities {
	a := Abilities{Narrow: Narrowing.Follow}
	if e.Torch != "" {
		a.Torch = func(t *Torch) { t.Set(e.Torch, t.X) }
	}
	return a
}

// Bind fixes the layer for its input.
func (e Elementwise) Bind(in Flow) (Bound, error) { return activation{lines: e.F}.bind(in, e) }

func relu6(x float32) (y, slope float32) {
	switch {
	case x <= 0:
		return 0, 0
	case x >= 6:
		return 6, 0
	}
	return x, 1
}

type boundActivation struct {
	passive
	activation
	pads bool // channels of padding, which it would make something else than 0
}

// Traits: what Backward needs is the slope, which the layer keeps.
func (b *boundActivation) Traits() Traits {
	return Traits{PerSample: b.in.Image(), Extra: max(1, b.in.Seq) * b.in.H * b.in.W * b.in.Ld()}
}

func (b *boundActivation) NewState(e *Env) State {
	s := &activationState{b: b, slope: newAct(e.Arena, b.in, e.Samples, Border{}, 0)}
	s.over = b.in.Seq > 0 && givesAway(e.before)
	if !s.over {
		s.y = e.Output()
	}
	return s
}

// givesAway reports whether nobody but the next layer reads what a layer made of the
// rows of sequences, nor that layer what it gets back in the backward pass but itself:
// so both may be overwritten.
func givesAway(s State) bool {
	switch s := s.(type) {
	case *denseState:
		return !s.b.relu
	case *attentionState:
		return true
	}
	return false
}

type activationState struct {
	b        *boundActivation
	y, slope Act
	over     bool // the output takes the place of the input
}

func (s *activationState) Forward(r *Run, x Act, lo, hi int) Act {
	f := s.b.in
	if s.over {
		s.y = x
	}
	if f.packed(x) && f.packed(s.y) && f.packed(s.slope) {
		s.values(r, f.values(s.y, lo, hi), f.values(s.slope, lo, hi), f.values(x, lo, hi))
		return s.y
	}
	for i := f.Rows(lo); i < f.Rows(hi); i++ {
		for row := range f.H {
			n := f.W * f.Ld()
			y, slope, in := s.y.At(i, row, 0)[:n], s.slope.At(i, row, 0)[:n], x.At(i, row, 0)[:n]
			s.values(r, y, slope, in)
		}
	}
	return s.y
}

// values computes rows of outputs, and their slopes where Backward will follow.
func (s *activationState) values(r *Run, y, slope, x []float32) {
	switch {
	case s.b.lines != nil:
		for i, v := range x {
			y[i], slope[i] = s.b.lines(v)
		}
	case s.b.curve == kernels.CurveGELU && !r.Train:
		kernels.GELU(y, x)
	default:
		kernels.Curves(s.b.curve, y, slope, x)
	}
	for ld := s.b.in.Ld(); s.b.pads && len(y) > 0; y = y[ld:] {
		clear(y[s.b.in.C:ld])
	}
}

func (s *activationState) Backward(r *Run, dy Act, lo, hi int) Act {
	f := s.b.in
	if f.packed(dy) && f.packed(s.slope) {
		g := f.values(dy, lo, hi)
		kernels.Mul(g, g, f.values(s.slope, lo, hi))
		return dy
	}
	for i := f.Rows(lo); i < f.Rows(hi); i++ {
		for row := range f.H {
			g := dy.At(i, row, 0)[:f.W*f.Ld()]
			kernels.Mul(g, g, s.slope.At(i, row, 0)[:len(g)])
		}
	}
	return dy
}
