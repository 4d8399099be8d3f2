package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
)

// maxPoints is how many lines a printed curve has; the files of the study hold
// all points.
const maxPoints = 20

// leastBroken is the best accuracy below which a training has learnt nothing that it
// could lose: guessing halves and doubles by chance.
const leastBroken = 0.1

// printCurve prints how the global model learned, with what the client tuner set
// on the way, and whether it reached its goal.
func printCurve(w io.Writer, curve []study.CurvePoint, goal float64, measure string) error {
	if len(curve) == 0 {
		return nil
	}
	keys, masks := curve[0].Params.Keys(), slices.Sorted(maps.Keys(curve[0].Masked))
	head := slices.Concat([]string{"round", "examples", "test error"}, masks, keys)
	t := table.New(w, head...)
	for _, i := range spread(len(curve), maxPoints) {
		p := curve[i]
		row := []string{table.Count(p.Round), table.Count(p.Examples), errorText(measure, &p.TestError)}
		for _, mask := range masks {
			x, ok := p.Masked[mask]
			if !ok {
				x = math.NaN()
			}
			row = append(row, table.Percent(&x))
		}
		for _, key := range keys {
			x, _ := p.Params[key].Float()
			row = append(row, strconv.FormatFloat(x, 'g', 4, 64))
		}
		t.Row(row...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if best, from := study.Broke(curve); from != nil && measure != study.MeasureRMSE && 1-best.TestError >= leastBroken {
		fmt.Fprintf(w, "broke down: from round %s on the test accuracy stays below half of its best, %.1f %% after round %s\n",
			table.Count(from.Round), 100*(1-best.TestError), table.Count(best.Round))
	}
	if goal > 0 {
		last := curve[len(curve)-1]
		if p := study.Reached(curve, goal); p != nil {
			fmt.Fprintf(w, "goal of %g %% test accuracy: reached after round %s and %s examples\n", 100*goal, table.Count(p.Round), table.Count(p.Examples))
		} else {
			fmt.Fprintf(w, "goal of %g %% test accuracy: not reached in %s rounds and %s examples\n", 100*goal, table.Count(last.Round), table.Count(last.Examples))
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}
