package figure

import (
	"fmt"
	"math"
)

// chart is what a panel holds in place of lines.
type chart interface {
	check() error
	// shades is among how many classes it tells by colours.
	shades() int
	legend() []entry
	// scales lays out both axes of the panel.
	scales(*Panel) (x, y scale)
	// labels are the labels of the axes.
	labels(*Panel) (x, y string)
	height() float64
	draw(*sheet, *plane)
	table(*Panel) Table
	describe(*Panel) string
}

var (
	_ chart = (*Bars)(nil)
	_ chart = (*Paths)(nil)
	_ chart = (*Spans)(nil)
	_ chart = (*Heat)(nil)
)

// chart returns what the panel holds in place of lines, nil for lines.
func (p *Panel) chart() chart {
	switch {
	case p.Bars != nil:
		return p.Bars
	case p.Paths != nil:
		return p.Paths
	case p.Spans != nil:
		return p.Spans
	case p.Heat != nil:
		return p.Heat
	}
	return nil
}

// levels is how many shades stand for numbers.
const levels = 32

// level is the shade of a number in [lo, hi], which are the ends of the shades.
func level(x, lo, hi float64) int {
	if !(hi > lo) {
		return 0
	}
	return min(levels-1, max(0, int(float64(levels)*((x-lo)/(hi-lo)))))
}

// ramp is the entry of a legend for shades from one number to another.
func ramp(of string, lo, hi float64) entry {
	return entry{text: fmt.Sprintf("%s from %.4g to %.4g", of, lo, hi), at: -1, of: levels}
}

// ends are the least and the greatest of what is a number, NaN without any.
func ends(xs []float64) (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	for _, x := range xs {
		if !math.IsNaN(x) && !(x >= lo) {
			lo = x
		}
		if !math.IsNaN(x) && !(x <= hi) {
			hi = x
		}
	}
	return lo, hi
}
