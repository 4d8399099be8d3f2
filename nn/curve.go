package nn

import (
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// GELU multiplies x by the share of a standard normal distribution that is below it
// (Hendrycks and Gimpel 2016); Tanh takes the approximation by a hyperbolic tangent,
// as PyTorch's approximate="tanh" does.
type GELU struct{ Tanh bool }

// SiLU is x sigmoid(x), also called swish.
type SiLU struct{}

// HardSwish is x min(max(x+3, 0), 6)/6 (Howard et al. 2019).
type HardSwish struct{}

// HardSigmoid is min(max(x+3, 0), 6)/6.
type HardSigmoid struct{}

// Logistic is the sigmoid 1/(1+e^-x).
type Logistic struct{}

// Tanh is the hyperbolic tangent.
type Tanh struct{}

// Kind returns "gelu".
func (GELU) Kind() string { return "gelu" }

// Abilities returns what the layer can do.
func (l GELU) Abilities() Abilities {
	return Abilities{Narrow: Follow, Torch: func(t *Torch) {
		how := ""
		if l.Tanh {
			how = `, approximate="tanh"`
		}
		t.Set("F.gelu(%s%s)", t.X, how)
	}}
}

// Kind returns "silu".
func (SiLU) Kind() string { return "silu" }

// Abilities returns what the layer can do.
func (SiLU) Abilities() Abilities {
	return Abilities{Narrow: Follow, Torch: TorchFunction("F.silu")}
}

// Kind returns "hardswish".
func (HardSwish) Kind() string { return "hardswish" }

// Abilities returns what the layer can do.
func (HardSwish) Abilities() Abilities {
	return Abilities{Narrow: Follow, Torch: TorchFunction("F.hardswish")}
}

// Kind returns "hardsigmoid".
func (HardSigmoid) Kind() string { return "hardsigmoid" }

// Abilities returns what the layer can do.
func (HardSigmoid) Abilities() Abilities {
	return Abilities{Narrow: Follow, Torch: TorchFunction("F.hardsigmoid")}
}

// Kind returns "sigmoid".
func (Logistic) Kind() string { return "sigmoid" }

// Abilities returns what the layer can do.
func (Logistic) Abilities() Abilities {
	return Abilities{Narrow: Follow, Torch: TorchFunction("torch.sigmoid")}
}

// Kind returns "tanh".
func (Tanh) Kind() string { return "tanh" }

// Abilities returns what the layer can do.
func (Tanh) Abilities() Abilities {
	return Abilities{Narrow: Follow, Torch: TorchFunction("torch.tanh")}
}

// Bind fixes the layer for its input.
func (l GELU) Bind(in Flow) (Bound, error) {
	if l.Tanh {
		return bindCurve(kernels.CurveGELUTanh, in, l)
	}
	return bindCurve(kernels.CurveGELU, in, l)
}

// Bind fixes the layer for its input.
func (l SiLU) Bind(in Flow) (Bound, error) { return bindCurve(kernels.CurveSiLU, in, l) }

// Bind fixes the layer for its input.
func (l HardSwish) Bind(in Flow) (Bound, error) { return bindCurve(kernels.CurveHardSwish, in, l) }

// Bind fixes the layer for its input.
func (l HardSigmoid) Bind(in Flow) (Bound, error) {
	return bindCurve(kernels.CurveHardSigmoid, in, l)
}

// Bind fixes the layer for its input.
func (l Logistic) Bind(in Flow) (Bound, error) { return bindCurve(kernels.CurveSigmoid, in, l) }

// Bind fixes the layer for its input.
func (l Tanh) Bind(in Flow) (Bound, error) { return bindCurve(kernels.CurveTanh, in, l) }

func bindCurve(c kernels.Curve, in Flow, l Layer) (Bound, error) {
	if in.Vocab > 0 || in.Raw {
		return nil, fmt.Errorf("a layer of type %s cannot be the first one", l.Kind())
	}
	return &boundCurve{curve: c, in: in}, nil
}

type boundCurve struct {
	curve kernels.Curve
	bent  func(x float32) (y, slope float32) // instead of a curve
	in    Flow
}

func (b *boundCurve) Out() Flow { return b.in }

func (b *boundCurve) Params() []Param { return nil }

// Traits: what Backward needs is the slope, which the layer keeps.
func (b *boundCurve) Traits() Traits {
	return Traits{PerSample: b.in.Image(), Extra: max(1, b.in.Seq) * b.in.H * b.in.W * b.in.Ld(), Tangents: true}
}

// FLOPs returns 0: the few operations for each value are not counted.
func (b *boundCurve) FLOPs() int64 { return 0 }

func (b *boundCurve) NewState(e *Env) State {
	s := &curveState{b: b, over: !e.Tangents && b.in.Seq > 0 && givesAway(e.before), slope: newAct(e.Arena, b.in, e.Samples, Border{}, 0, e.Tangents)}
	if !s.over {
		s.y = e.Output()
	}
	if e.Tangents {
		s.tangents = newCurveTangents(b, e)
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
	case *denseBF16:
		return !s.b.relu
	case *attentionState:
		return true
	}
	return false
}

type curveState struct {
	b        *boundCurve
	y, slope Act
	over     bool           // the output takes the place of the input
	tangents *curveTangents // nil without
}

func (s *curveState) Forward(r *Run, x Act, lo, hi int) Act {
	f := s.b.in
	if s.over {
		s.y = x
	}
	if r.V == nil && f.packed(x) && f.packed(s.y) && f.packed(s.slope) {
		s.values(r, f.values(s.y, lo, hi), f.values(s.slope, lo, hi), f.values(x, lo, hi))
		return s.y
	}
	for i := f.Rows(lo); i < f.Rows(hi); i++ {
		for row := range f.H {
			n := f.W * f.Ld()
			y, slope, in := s.y.At(i, row, 0)[:n], s.slope.At(i, row, 0)[:n], x.At(i, row, 0)[:n]
			s.values(r, y, slope, in)
			if r.V != nil {
				s.forwardTangents(s.y.Tangent().At(i, row, 0)[:n], s.slope.Tangent().At(i, row, 0)[:n], y, slope, in, x.Tangent().At(i, row, 0)[:n])
			}
		}
	}
	return s.y
}

// values computes rows of outputs, and their slopes where Backward will follow.
func (s *curveState) values(r *Run, y, slope, x []float32) {
	if s.b.bent != nil {
		for i, v := range x {
			y[i], slope[i] = s.b.bent(v)
		}
		return
	}
	if s.b.curve == kernels.CurveGELU && !r.Train {
		kernels.GELU(y, x)
		return
	}
	kernels.Curves(s.b.curve, y, slope, x)
	s.clearPadding(y)
}

// clearPadding keeps the channels of padding at zero where the activation of zero is
// something else.
func (s *curveState) clearPadding(y []float32) {
	c, ld := s.b.in.C, s.b.in.Ld()
	if c == ld || s.b.curve != kernels.CurveSigmoid && s.b.curve != kernels.CurveHardSigmoid {
		return
	}
	for ; len(y) > 0; y = y[ld:] {
		clear(y[c:ld])
	}
}

func (s *curveState) Backward(r *Run, dy Act, lo, hi int) Act {
	f := s.b.in
	if r.V == nil && f.packed(dy) && f.packed(s.slope) {
		g := f.values(dy, lo, hi)
		kernels.Mul(g, g, f.values(s.slope, lo, hi))
		return dy
	}
	for i := f.Rows(lo); i < f.Rows(hi); i++ {
		for row := range f.H {
			g := dy.At(i, row, 0)[:f.W*f.Ld()]
			if r.V != nil {
				s.backwardTangents(dy.Tangent().At(i, row, 0)[:len(g)], g, i, row)
			}
			kernels.Mul(g, g, s.slope.At(i, row, 0)[:len(g)])
		}
	}
	return dy
}
