package view

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// farApart is by which factor the values of a hyperparameter differ between seeds that are warned of.
const farApart = 10

// mostWinners is of how many seeds Winners has a row each.
const mostWinners = 10

// Winners say with which hyperparameters the models of tuned studies were trained at the end, as
// labels and what they say: for each of few seeds, and the median and range of each number.
func (s Seeds) Winners() (rows [][2]string) {
	for _, o := range s {
		if o.Tune == nil || len(s) > mostWinners {
			continue
		}
		best := &o.Tune.Best
		rows = append(rows, [2]string{fmt.Sprintf("seed %d", o.Config.Seed), fmt.Sprintf("%s after %s: %s",
			o.Tune.Named(best.Number), oneline.Count(best.Round, "round"), result.Assigned(best.Params, best.Params.Keys()))})
	}
	for key, values := range s.numbers {
		n := len(values)
		if n < 2 {
			continue
		}
		median := (values[(n-1)/2] + values[n/2]) / 2
		rows = append(rows, [2]string{key, fmt.Sprintf("median %s, %s to %s",
			result.Number(median), result.Number(values[0]), result.Number(values[n-1]))})
	}
	return rows
}

// apart warn of hyperparameters whose values differ much between seeds.
func (s Seeds) apart() (warnings []string) {
	for key, values := range s.numbers {
		least, most := values[0], values[len(values)-1]
		if least > 0 && most > farApart*least {
			warnings = append(warnings, fmt.Sprintf("the winners' %s differs by a factor of %.3g between seeds, from %s to %s",
				key, most/least, result.Number(least), result.Number(most)))
		}
	}
	return warnings
}

// numbers yields the hyperparameters of winners that are numbers, with their values in order.
func (s Seeds) numbers(yield func(key string, values []float64) bool) {
	all := map[string][]float64{}
	for _, o := range s {
		if o.Tune == nil {
			continue
		}
		for _, key := range o.Tune.Best.Params.Keys() {
			if x := o.Tune.Best.Params.Float(key, math.NaN()); !math.IsNaN(x) {
				all[key] = append(all[key], x)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		slices.Sort(all[key])
		if !yield(key, all[key]) {
			return
		}
	}
}
