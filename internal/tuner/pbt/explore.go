package pbt

import (
	"github.com/fedfast/fedfast/tuners"
)

// explore returns the hyperparameters of a copy: each of the source's is drawn anew
// with probability resample, else changed a little; see change. It takes the same
// number of draws for any outcome.
func explore(space tuners.Space, source tuners.Params, p plan, draws *tuners.Draws) tuners.Params {
	out := make(tuners.Params, len(space))
	for _, d := range space {
		anew, u := draws.Float64() < p.resample, draws.Float64()
		v, ok := source[d.Name]
		if anew || !ok {
			out[d.Name] = d.Sample(u)
		} else {
			out[d.Name] = change(d, v, p.factor, u < 0.5)
		}
	}
	return out
}

// change moves a value up or down and clips it to its dimension: a real one by a
// factor (for 1 - 10^s it is the distance from 1 that is multiplied), a whole one
// by 1, an exponent of two by 1. A choice stays.
func change(d tuners.Dim, v tuners.Value, factor float64, up bool) tuners.Value {
	sign := -1.0
	if up {
		sign = 1
	} else {
		factor = 1 / factor
	}
	x, _ := v.Float()
	switch {
	case d.Kind == tuners.Choice:
		return v
	case d.Whole():
		return d.Value(min(max(d.Scale(v)+sign, d.Lo), d.Hi))
	case d.Kind == tuners.Log10OneMinus:
		x = 1 - float64((1-x)*factor)
	default:
		x = float64(x * factor)
	}
	return d.Value(d.Scale(tuners.Num(x)))
}
