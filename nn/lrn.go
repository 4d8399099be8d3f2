package nn

import (
	"errors"
	"fmt"
	"math"
)

// LRN is local response normalisation across the channels of each pixel
// (Krizhevsky et al. 2012), as TensorFlow defines it:
//
//	y_c = x_c / (Bias + Alpha * sum of x_j^2 over |j - c| <= Radius)^Beta
//
// PyTorch's size is 2*Radius + 1, its alpha Alpha times that size.
type LRN struct {
	Radius      int
	Bias, Alpha float64
	// Beta is 0.25, 0.5, 0.75 or 1: powers that square roots make, with the same
	// bits on every machine.
	Beta float64
}

// Kind returns "lrn".
func (LRN) Kind() string { return "lrn" }

// Bind fixes the layer for its input.
func (l LRN) Bind(in Flow) (Bound, error) {
	quarters := int(4 * l.Beta)
	switch {
	case in.Seq > 0 || in.Raw:
		return nil, errors.New("a local response normalisation needs the image of a convolution as its input")
	case l.Radius < 0 || !(l.Bias > 0) || !(l.Alpha >= 0) || math.IsInf(l.Bias+l.Alpha, 0):
		return nil, fmt.Errorf("radius %d, bias %v, alpha %v; radius and alpha must be at least 0, bias above 0", l.Radius, l.Bias, l.Alpha)
	case 4*l.Beta != float64(quarters) || quarters < 1 || quarters > 4:
		return nil, fmt.Errorf("beta %v; it must be 0.25, 0.5, 0.75 or 1", l.Beta)
	}
	l.Radius = min(l.Radius, in.C)
	return &boundLRN{l: l, in: in, quarters: quarters}, nil
}

type boundLRN struct {
	l        LRN
	in       Flow
	quarters int // of Beta
}

func (b *boundLRN) Out() Flow { return b.in }

func (b *boundLRN) Params() []Param { return nil }

func (b *boundLRN) Traits() Traits {
	return Traits{PerSample: true, ReadsInput: true, Extra: 2 * b.size()}
}

// size returns the values of one image, without padding.
func (b *boundLRN) size() int { return b.in.H * b.in.W * b.in.C }

// FLOPs returns 0: the few operations for each value are not counted.
func (b *boundLRN) FLOPs() int64 { return 0 }

func (b *boundLRN) NewState(e *Env) State {
	s := &lrnState{
		b: b, y: e.Output(),
		base:   e.Arena.Alloc(e.Samples * b.size()),
		power:  e.Arena.Alloc(e.Samples * b.size()),
		prefix: make([]float64, b.in.C+1+2*b.l.Radius),
	}
	if e.NeedDX {
		s.dx = e.Gradient()
	}
	return s
}

type lrnState struct {
	b        *boundLRN
	x, y, dx Act
	// base holds each value's divisor before it is raised to Beta, power that to
	// -Beta.
	base, power []float32
	// prefix holds the sums over all channels before one, from Radius channels
	// before the first to Radius behind the last, in float64: their differences
	// are the sums over windows.
	prefix []float64
}

func (s *lrnState) Forward(_ *Run, x Act, lo, hi int) Act {
	s.x = x
	s.pixels(lo, hi, func(i, y, px int, base, power []float32) {
		in := x.At(i, y, px)[:len(base)]
		out := s.y.At(i, y, px)[:len(base)]
		sums, sum := s.prefix[s.b.l.Radius+1:][:len(in)], 0.0
		for c, v := range in {
			sum += float64(float64(v) * float64(v))
			sums[c] = sum
		}
		ahead := s.ahead(sum)
		for c, before := range s.prefix[:len(in)] {
			base[c] = float32(s.b.l.Bias + float64(s.b.l.Alpha*(ahead[c]-before)))
		}
		negativePower(power, base, s.b.quarters)
		for c, v := range in {
			out[c] = v * power[c]
		}
	})
	return s.y
}

// Backward: y_j depends on x_c through its own factor and through the divisors of
// all j in reach of c, so
//
//	dx_c = dy_c base_c^-Beta - 2 Alpha Beta x_c * sum of dy_j y_j / base_j over |j - c| <= Radius
func (s *lrnState) Backward(_ *Run, dy Act, lo, hi int) Act {
	if s.dx.Data == nil {
		return Act{}
	}
	factor := float64(2*s.b.l.Alpha) * s.b.l.Beta
	s.pixels(lo, hi, func(i, y, px int, base, power []float32) {
		in, g := s.x.At(i, y, px)[:len(base)], dy.At(i, y, px)[:len(base)]
		dx := s.dx.At(i, y, px)[:len(base)]
		sums, sum := s.prefix[s.b.l.Radius+1:][:len(in)], 0.0
		for c, v := range in {
			sum += float64(g[c] * v * power[c] / base[c])
			sums[c] = sum
		}
		ahead := s.ahead(sum)
		for c, before := range s.prefix[:len(in)] {
			around := float32(factor * (ahead[c] - before))
			dx[c] = float32(g[c]*power[c]) - float32(in[c]*around)
		}
	})
	return s.dx
}

// pixels calls f for every pixel px of every row y of the images [lo, hi) with its
// part of base and power.
func (s *lrnState) pixels(lo, hi int, f func(i, y, px int, base, power []float32)) {
	n := s.b.in.C
	for i := lo; i < hi; i++ {
		at := i * s.b.size()
		for y := range s.b.in.H {
			for px := range s.b.in.W {
				f(i, y, px, s.base[at:][:n], s.power[at:][:n])
				at += n
			}
		}
	}
}

// ahead fills the end of prefix with the sum over all channels and returns the sums
// up to the ends of the windows of the channels.
func (s *lrnState) ahead(sum float64) []float64 {
	r, n := s.b.l.Radius, s.b.in.C
	end := s.prefix[r+1+n:]
	for i := range end {
		end[i] = sum
	}
	return s.prefix[2*r+1:][:n]
}

// negativePower stores base^(-quarters/4) in power. Square roots and quotients of
// float32 are rounded correctly everywhere.
func negativePower(power, base []float32, quarters int) {
	power = power[:len(base)]
	for i, b := range base {
		switch quarters {
		case 1:
			b = sqrt(sqrt(b))
		case 2:
			b = sqrt(b)
		case 3:
			root := sqrt(b)
			b = root * sqrt(root)
		}
		power[i] = 1 / b
	}
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
