// Package kde estimates densities by kernels: a mixture of products of truncated
// normal kernels for numbers and of uniform ones for choices. The same observations
// give the same bits on every machine.
package kde

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// Axis is one dimension of a density.
type Axis struct {
	Low, High float64 // where kernels are cut off: all of the density is between them
	Cell      bool    // a coordinate stands for the interval of length 1 around it, whose probability counts
	Open      bool    // kernels are cut off in draws alone: their density is the density of the whole normal distribution
	Choices   int     // if not 0, the axis is a choice: coordinates are 0..Choices-1, and the others mean nothing
}

// Kernel is one product of a mixture.
type Kernel struct {
	Weight float64
	Centre []float64
	// Width is a standard deviation, and for a choice the probability that it is another
	// than the centre's; each of the others is equally likely.
	Width []float64
}

// Mixture is a density over points. Its kernels must not change, and one goroutine at a
// time may use it.
type Mixture struct {
	axes    []Axis
	kernels []Kernel
	weights []float64
	sum     float64                // of them
	scale   []float64              // log of each kernel's weight and of the constants of its normal factors
	known   map[[3]float64]float64 // results of Axis.log for cells and choices, which recur
}

// New returns the mixture of kernels, whose weights need not add up to 1.
func New(axes []Axis, kernels []Kernel) *Mixture {
	m := &Mixture{axes: axes, kernels: kernels, known: map[[3]float64]float64{}}
	sum := 0.0
	for _, k := range kernels {
		m.weights = append(m.weights, k.Weight)
		sum += k.Weight
	}
	m.sum = sum
	for _, k := range kernels {
		m.scale = append(m.scale, m.constant(k, nil))
	}
	return m
}

// constant returns the logarithm of a kernel's weight and of the constants of its normal
// factors, without those of axes where x, unless it is nil, is NaN.
func (m *Mixture) constant(k Kernel, x []float64) float64 {
	scale := det.Log(k.Weight / m.sum)
	for i, a := range m.axes {
		if a.Choices > 0 || x != nil && x[i] != x[i] {
			continue
		}
		if !a.Open {
			scale -= det.Log(mass((a.Low-k.Centre[i])/k.Width[i], (a.High-k.Centre[i])/k.Width[i]))
		}
		if !a.Cell {
			scale -= det.Log(k.Width[i]) + logRoot2Pi
		}
	}
	return scale
}

const logRoot2Pi = 0.91893853320467274178 // ln(2 pi) / 2

// LogDensity returns the logarithm of the density at a point: of its numbers alone, where
// others are NaN.
func (m *Mixture) LogDensity(x []float64) float64 {
	terms := make([]float64, len(m.kernels))
	part := slices.ContainsFunc(x, math.IsNaN)
	for j, k := range m.kernels {
		sum := m.scale[j]
		if part {
			sum = m.constant(k, x)
		}
		for i, a := range m.axes {
			if part && x[i] != x[i] {
				continue
			}
			apart, width := math.Abs(x[i]-k.Centre[i]), k.Width[i]
			if !a.Cell && a.Choices == 0 {
				z := apart / width
				sum -= float64(z*z) / 2
				continue
			}
			key := [3]float64{float64(i), apart, width}
			value, ok := m.known[key]
			if !ok {
				value = a.log(apart, width)
				m.known[key] = value
			}
			sum += value
		}
		terms[j] = sum
	}
	return det.LogSumExp(terms)
}

// log is the part of a kernel's logarithm at a cell or a choice that depends on how
// far it is from the centre.
func (a Axis) log(apart, width float64) float64 {
	switch {
	case a.Cell:
		return det.Log(mass((apart-0.5)/width, (apart+0.5)/width))
	case apart == 0:
		return det.Log(1 - width)
	}
	return det.Log(width / float64(a.Choices-1))
}

// mass returns the probability of [from, to] under the standard normal distribution,
// from the tail that is nearer.
func mass(from, to float64) float64 {
	if from > 0 {
		from, to = -to, -from
	}
	return gp.NormalCDF(to) - gp.NormalCDF(from)
}

// Draw draws a point from a kernel that is drawn by the weights.
func (m *Mixture) Draw(d *tuners.Draws) []float64 {
	k := m.kernels[d.Pick(m.weights)]
	x := make([]float64, len(m.axes))
	for i, a := range m.axes {
		if a.Choices > 0 {
			x[i] = choose(d, a.Choices, k.Centre[i], k.Width[i])
			continue
		}
		x[i] = truncated(d, a, k.Centre[i], k.Width[i])
		if a.Cell {
			x[i] = min(max(math.Round(x[i]), a.Low+0.5), a.High-0.5)
		}
	}
	return x
}

// choose draws a choice: another than the centre's with probability width.
func choose(d *tuners.Draws, choices int, centre, width float64) float64 {
	if d.Float64() >= width {
		return centre
	}
	x := float64(d.IntN(choices - 1))
	if x >= centre {
		x++
	}
	return x
}

// truncated draws from the normal distribution cut off at the ends of an axis, by
// rejection. The centre is on the axis and the width at most twice as long as it, so a
// sixth of the draws stay or more.
func truncated(d *tuners.Draws, a Axis, centre, width float64) float64 {
	for {
		z, _, ok := det.Polar(d.Float64(), d.Float64())
		if x := centre + float64(width*z); ok && x >= a.Low && x <= a.High {
			return x
		}
	}
}
