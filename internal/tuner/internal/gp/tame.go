package gp

import (
	"slices"

	"github.com/fedfast/fedfast/internal/list"
)

// Tame bounds outcomes, lower ones being better, so that trials that diverged do
// not hide the differences between the others: none stays farther from the best
// than five times the median does, and failed trials (NaN) count as the worst. It
// says whether there is a number.
func Tame(y []float64) bool {
	sorted := list.Where(y, func(v float64) bool { return v == v })
	if len(sorted) == 0 {
		return false
	}
	slices.Sort(sorted)
	best, median, worst := sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]
	if median > best {
		worst = min(worst, best+float64(5*(median-best)))
	}
	for i, v := range y {
		if !(v < worst) { // NaN, too
			y[i] = worst
		}
	}
	return true
}
