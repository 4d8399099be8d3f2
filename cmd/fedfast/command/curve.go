package command

import (
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// maxPoints is how many lines a printed curve has; the files of the study hold
// all points.
const maxPoints = 10

// learned is how a training went.
type learned struct {
	view.Ending
	losses []float64 // training losses by round; nil is not shown
	target string    // whose errors the curve has, see config.Eval
}

// ofRun is how a run went.
func ofRun(c *config.Config, r *result.RunResult) learned {
	return learned{view.OfRun(r), r.TrainLoss, c.Measures(config.ModeRun)}
}

// print prints training losses and test errors of the global model by round, with what the
// client tuner set on the way.
func (l learned) print(w io.Writer) error {
	if len(l.Curve) == 0 {
		return l.printLosses(w)
	}
	first := &l.Curve[0]
	type column struct {
		name string
		of   func(p *result.CurvePoint) string
	}
	all := []column{
		{"round", func(p *result.CurvePoint) string { return oneline.Digits(p.Round) }},
		{"samples", func(p *result.CurvePoint) string { return oneline.Digits(p.Examples) }},
	}
	add := func(is bool, name string, of func(p *result.CurvePoint) string) {
		if is {
			all = append(all, column{name, of})
		}
	}
	add(first.Clock != nil, "simulated time", func(p *result.CurvePoint) string { return view.Simulated(*p.Clock) })
	add(l.losses != nil, "train loss", func(p *result.CurvePoint) string { return lossText(l.losses[p.Round-1]) })
	add(true, l.target+" test error", func(p *result.CurvePoint) string { return result.ErrorText(l.Measure, p.TestError) })
	add(first.Unseen != nil, "unseen clients", func(p *result.CurvePoint) string { return errorText(l.Measure, p.Unseen) })
	add(first.Epsilon != nil, "epsilon", func(p *result.CurvePoint) string { return result.Number(*p.Epsilon) })
	add(l.Patience > 0, "val error", func(p *result.CurvePoint) string { return errorText(l.Measure, p.ValError) })
	for _, mask := range slices.Sorted(maps.Keys(first.Masked)) {
		add(true, mask, func(p *result.CurvePoint) string { return result.ErrorText("", p.Masked[mask]) })
	}
	for _, key := range first.Params.Keys() {
		add(true, key, func(p *result.CurvePoint) string { return result.ValueText(p.Params[key]) })
	}
	head := list.Of(all, func(c column) string { return c.name })
	t := table.New(w, head...)
	for _, i := range spread(len(l.Curve), maxPoints) {
		row := list.Of(all, func(c column) string { return c.of(&l.Curve[i]) })
		t.Row(row...)
	}
	return t.Flush()
}

// printLosses prints training losses without a curve.
func (l learned) printLosses(w io.Writer) error {
	if l.losses == nil {
		return nil
	}
	t := table.New(w, "round", "train loss")
	for _, i := range spread(len(l.losses), maxPoints) {
		t.Row(strconv.Itoa(i+1), lossText(l.losses[i]))
	}
	return t.Flush()
}

// lossText writes a training loss.
func lossText(x float64) string {
	if math.IsNaN(x) { // all clients were dropped
		return "-"
	}
	return result.Number(x)
}
