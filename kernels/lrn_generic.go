package kernels

import (
	"math"
	"unsafe"
)

var lrnGeneric = lrnTable{squares: lrnSquaresGeneric, normalize: lrnNormalizeGeneric, quotients: lrnQuotientsGeneric, gradient: lrnGradientGeneric}

// each calls f for every value with its place in the slices and in the space.
func (a *lrnArgs) each(f func(i int, term *float32)) {
	n := a.groups * Width
	for p := range a.pixels {
		for c := range n {
			f(p*n+c, index(a.space, p*(n+a.gap/4)+c))
		}
	}
}

// sum adds up the terms around one.
func (a *lrnArgs) sum(term *float32) float32 {
	terms := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(term), -a.radius)), a.terms)
	s := terms[0]
	for _, t := range terms[1:] {
		s += t
	}
	return s
}

func lrnSquaresGeneric(a *lrnArgs) {
	a.each(func(i int, term *float32) {
		x := *index(a.x, i)
		*term = x * x
	})
}

func lrnNormalizeGeneric(a *lrnArgs) {
	a.each(func(i int, term *float32) {
		base := a.bias + float32(a.alpha*a.sum(term))
		power := 1 / quarterPower(base, a.quarters)
		*index(a.base, i), *index(a.power, i) = base, power
		*index(a.out, i) = *index(a.x, i) * power
	})
}

// quarterPower returns b^(quarters/4). Square roots of float32 are rounded
// correctly everywhere.
func quarterPower(b float32, quarters int) float32 {
	switch quarters {
	case 1:
		return sqrt32(sqrt32(b))
	case 2:
		return sqrt32(b)
	case 3:
		root := sqrt32(b)
		return root * sqrt32(root)
	}
	return b
}

func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func lrnQuotientsGeneric(a *lrnArgs) {
	a.each(func(i int, term *float32) {
		*term = float32(float32(*index(a.dy, i)**index(a.x, i))**index(a.power, i)) / *index(a.base, i)
	})
}

func lrnGradientGeneric(a *lrnArgs) {
	a.each(func(i int, term *float32) {
		around := a.alpha * a.sum(term)
		*index(a.out, i) = float32(*index(a.dy, i)**index(a.power, i)) - float32(*index(a.x, i)*around)
	})
}
