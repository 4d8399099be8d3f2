package tuners

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/kernels/det"
)

// DimKind is the scale on which a dimension is drawn uniformly.
type DimKind string

// The kinds of dimensions. Lo and Hi of a Dim are on the drawn scale s.
const (
	Uniform       DimKind = "uniform"  // x = s, real
	Log10         DimKind = "log10"    // x = 10^s, real
	Log10OneMinus DimKind = "log10_1m" // x = 1 - 10^s, real
	Int           DimKind = "int"      // x = s, whole
	Log2          DimKind = "log2"     // x = 2^s, s whole
	Choice        DimKind = "choice"   // one of Choices
)

// Dim is one dimension of a search space.
type Dim struct {
	Name    string  // study key, e.g. "client.lr"
	Kind    DimKind // how it is drawn
	Lo, Hi  float64 // ends on the drawn scale, both included; unused for Choice
	Base    float64 // with a Step the value at s = 0
	Step    float64 // Uniform, Int: x = Base + Step s, s whole; 0: x = s
	Choices []Value // Choice: the values, without repetition
	When    *When   // the points to which it belongs; nil is all
}

// maxSteps bounds the values of a dimension with a step: a tuner in another language gets
// them as choices.
const maxSteps = 1000

// Whole says whether the dimension takes integers on its drawn scale.
func (d Dim) Whole() bool { return d.Kind == Int || d.Kind == Log2 || d.Step != 0 }

// When makes a dimension one of the points alone whose value of the dimension Parent, a
// Choice, is among Values. Other points lack it, and train with what the study file sets.
type When struct {
	Parent string
	Values []Value
}

// tolerance is how far, relative to the larger end, a value may lie outside of its
// dimension: other languages round powers otherwise.
const tolerance = 1e-9

// Check says what is wrong with the dimension, nil when it can be drawn from.
func (d Dim) Check() error {
	if d.Name == "" {
		return errors.New("missing name of a dimension")
	}
	if d.Step != 0 {
		return d.checkStep()
	}
	if d.Kind == Choice {
		if len(d.Choices) == 0 {
			return fmt.Errorf("%s: choice needs at least one value", d.Name)
		}
		seen := make(map[Value]bool, len(d.Choices))
		for i, v := range d.Choices {
			if v.Kind() == NoneValue || v.kind == NumValue && !det.Finite(v.num) {
				return fmt.Errorf("%s: choice %d must be a finite number, a string or a bool", d.Name, i+1)
			}
			if seen[v] {
				return fmt.Errorf("%s: choice repeats %s", d.Name, v)
			}
			seen[v] = true
		}
		return nil
	}
	if !det.Finite(d.Lo) || !det.Finite(d.Hi) || d.Lo > d.Hi {
		return fmt.Errorf("%s: %s needs finite bounds [low, high], not [%v, %v]", d.Name, d.Kind, d.Lo, d.Hi)
	}
	switch d.Kind {
	case Uniform:
	case Log10:
		if d.Lo < -300 || d.Hi > 300 {
			return fmt.Errorf("%s: log10 takes exponents of 10 from -300 to 300, not [%v, %v]", d.Name, d.Lo, d.Hi)
		}
	case Log10OneMinus:
		if d.Hi > 0 || d.Lo < -300 {
			return fmt.Errorf("%s: log10_1m takes exponents of 10 from -300 to 0, not [%v, %v]", d.Name, d.Lo, d.Hi)
		}
	case Int, Log2:
		if d.Lo != math.Trunc(d.Lo) || d.Hi != math.Trunc(d.Hi) || math.Abs(d.Lo) > 1<<52 || math.Abs(d.Hi) > 1<<52 {
			return fmt.Errorf("%s: %s needs integer bounds, not [%v, %v]", d.Name, d.Kind, d.Lo, d.Hi)
		}
		if d.Kind == Log2 && (d.Lo < -1000 || d.Hi > 1000) {
			return fmt.Errorf("%s: log2 takes exponents of 2 from -1000 to 1000, not [%v, %v]", d.Name, d.Lo, d.Hi)
		}
	default:
		return fmt.Errorf("%s: unknown kind %q; available: uniform, log10, log10_1m, int, log2, choice", d.Name, string(d.Kind))
	}
	return nil
}

// checkStep is Check for a dimension with a step.
func (d Dim) checkStep() error {
	whole := func(x float64) bool { return x == math.Trunc(x) && math.Abs(x) <= 1<<52 }
	switch low, high := d.ends(); {
	case d.Kind != Int && d.Kind != Uniform:
		return fmt.Errorf("%s: only int and uniform take a step, not %s", d.Name, d.Kind)
	case !(d.Step > 0) || !(d.Lo <= d.Hi) || !(d.Hi-d.Lo < maxSteps) || !det.Finite(low+high):
		return fmt.Errorf("%s: [%v, %v] by %v: the step must be positive, and lead to at most %d values",
			d.Name, low, high, d.Step, maxSteps)
	case d.Kind == Int && !(whole(d.Step) && whole(low) && whole(high)):
		return fmt.Errorf("%s: int needs integer bounds and an integer step, not [%v, %v] by %v", d.Name, low, high, d.Step)
	case !whole(d.Lo) || !whole(d.Hi):
		return fmt.Errorf("%s: steps of %v from %v pass %v: end at %v", d.Name, d.Step, low, high, d.Value(math.Floor(d.Hi)))
	}
	return nil
}

// ends returns the ends as a study file has them.
func (d Dim) ends() (low, high float64) {
	if d.Step == 0 {
		return d.Lo, d.Hi
	}
	low, _ = d.Value(d.Lo).Float()
	high, _ = d.Value(d.Hi).Float()
	return low, high
}

// Sample turns u, uniform in [0, 1), into a value of the dimension.
func (d Dim) Sample(u float64) Value {
	switch {
	case d.Kind == Choice:
		return d.Choices[min(int(float64(u*float64(len(d.Choices)))), len(d.Choices)-1)]
	case d.Whole():
		return d.Value(min(d.Lo+math.Floor(float64(u*(d.Hi-d.Lo+1))), d.Hi))
	default:
		return d.Value(d.Lo + float64(u*(d.Hi-d.Lo)))
	}
}

// Perturb turns u, uniform in [0, 1), into a neighbour of centre: on the drawn
// scale s, a real dimension gives s + (2u-1) eps (Hi-Lo), a whole one s +
// uniform{-w..w} with w = ceil(eps (Hi-Lo)), both clipped to [Lo, Hi] (the local
// perturbation of the FedEx paper). A choice has no scale: it is drawn anew with
// probability eps, else kept. eps = 0 keeps the centre; a centre outside is clipped
// first.
func (d Dim) Perturb(centre Value, eps, u float64) Value {
	if eps <= 0 {
		return centre
	}
	if d.Kind == Choice {
		if u < eps {
			return d.Sample(min(u/eps, 1-0x1p-53))
		}
		return centre
	}
	s := d.Scale(centre)
	if d.Whole() {
		w := math.Ceil(float64(eps * (d.Hi - d.Lo)))
		s += math.Floor(float64(u*(float64(2*w)+1))) - w
	} else {
		s += float64((float64(2*u) - 1) * float64(eps*(d.Hi-d.Lo)))
	}
	return d.Value(min(max(s, d.Lo), d.Hi))
}

// Contains says why v is no value of the dimension; nil when it is one.
func (d Dim) Contains(v Value) error {
	if d.Kind == Choice {
		if slices.Contains(d.Choices, v) {
			return nil
		}
		return fmt.Errorf("%s = %s is not one of the choices %v", d.Name, v, d.Choices)
	}
	x, ok := v.Float()
	if !ok {
		return fmt.Errorf("%s = %s is not a number", d.Name, v)
	}
	lo, _ := d.Value(d.Lo).Float()
	hi, _ := d.Value(d.Hi).Float()
	if lo > hi { // 1 - 10^s falls
		lo, hi = hi, lo
	}
	slack := float64(tolerance * max(math.Abs(lo), math.Abs(hi)))
	switch {
	case !(x >= lo-slack && x <= hi+slack): // NaN too
		return fmt.Errorf("%s = %s is outside [%v, %v]", d.Name, v, lo, hi)
	case d.Step != 0:
		if near, _ := d.Value(d.Scale(v)).Float(); math.Abs(x-near) > slack {
			return fmt.Errorf("%s = %s is not an integer number of steps of %v from %v", d.Name, v, d.Step, lo)
		}
	case d.Kind == Int && x != math.Trunc(x):
		return fmt.Errorf("%s = %s is not an integer", d.Name, v)
	case d.Kind == Log2:
		if m, _ := math.Frexp(x); m != 0.5 {
			return fmt.Errorf("%s = %s is not a power of two", d.Name, v)
		}
	}
	return nil
}

// Value maps a point of the drawn scale to the value: 10^s for log10 and so on. It
// is not for Choice, which has no scale.
func (d Dim) Value(s float64) Value {
	if d.Step != 0 {
		x := d.Base + float64(d.Step*s)
		if d.Kind == Uniform { // 0.3 for three steps of 0.1
			x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
		}
		return Num(x)
	}
	switch d.Kind {
	case Log10:
		return Num(det.Pow10(s))
	case Log10OneMinus:
		return Num(1 - det.Pow10(s))
	case Log2:
		return Num(math.Ldexp(1, int(s)))
	default:
		return Num(s)
	}
}

// Scale maps a value back to the drawn scale, clipped to [Lo, Hi]; whole scales are
// rounded. It is not for Choice.
func (d Dim) Scale(v Value) float64 {
	x, _ := v.Float()
	switch {
	case d.Step != 0:
		x = math.Round((x - d.Base) / d.Step)
	case d.Kind == Log10:
		x = det.Log10(x)
	case d.Kind == Log10OneMinus:
		x = det.Log10(1 - x)
	case d.Kind == Log2:
		_, e := math.Frexp(x)
		x = float64(e - 1)
	case d.Kind == Int:
		x = math.Round(x)
	}
	if math.IsNaN(x) {
		return d.Lo
	}
	return min(max(x, d.Lo), d.Hi)
}
