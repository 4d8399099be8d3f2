package command

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
)

// maxPoints is how many lines a printed curve has; the files of the study hold
// all points.
const maxPoints = 10

// leastBroken is the best accuracy below which a training has learnt nothing that it
// could lose: guessing halves and doubles by chance.
const leastBroken = 0.1

// learned is how a training went.
type learned struct {
	losses   []float64 // training losses by round; nil is not shown
	curve    []study.CurvePoint
	goal     float64
	patience int
	measure  string // see study.Errors
	target   string // whose errors the curve has, see config.Eval
}

// ofRun is how a run went.
func ofRun(c *config.Config, r *study.RunResult) learned {
	return learned{r.TrainLoss, r.Curve, r.Goal, r.Patience, r.Measure, c.Measures(config.ModeRun)}
}

// print prints training losses and test errors of the global model by round, with what the
// client tuner set on the way.
func (l learned) print(w io.Writer) error {
	if len(l.curve) == 0 {
		return l.printLosses(w)
	}
	keys, masks := l.curve[0].Params.Keys(), slices.Sorted(maps.Keys(l.curve[0].Masked))
	head := []string{"round", "samples"}
	if l.curve[0].Clock != nil {
		head = append(head, "simulated time")
	}
	if l.losses != nil {
		head = append(head, "train loss")
	}
	head = append(head, l.target+" test error")
	unseen := l.curve[0].Unseen != nil
	if unseen {
		head = append(head, "unseen clients")
	}
	if l.curve[0].Epsilon != nil {
		head = append(head, "epsilon")
	}
	if l.patience > 0 {
		head = append(head, "val error")
	}
	t := table.New(w, slices.Concat(head, masks, keys)...)
	for _, i := range spread(len(l.curve), maxPoints) {
		p := l.curve[i]
		row := []string{table.Count(p.Round), table.Count(p.Examples)}
		if p.Clock != nil {
			row = append(row, simulated(*p.Clock))
		}
		if l.losses != nil {
			row = append(row, lossText(l.losses[p.Round-1]))
		}
		row = append(row, errorText(l.measure, &p.TestError))
		if unseen {
			row = append(row, errorText(l.measure, p.Unseen))
		}
		if p.Epsilon != nil {
			row = append(row, fmt.Sprintf("%.4g", *p.Epsilon))
		}
		if l.patience > 0 {
			row = append(row, errorText(l.measure, p.ValError))
		}
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
	return fmt.Sprintf("%.4f", x)
}

// ends says whether the training broke down or ended early: labels and what they say.
func (l learned) ends() (notes [][2]string) {
	if best, from := study.Broke(l.curve); from != nil && l.measure != study.MeasureRMSE && 1-best.TestError >= leastBroken {
		notes = append(notes, [2]string{"diverged", fmt.Sprintf("from round %s the test accuracy stays below half of its best, %.1f %% after round %s",
			table.Count(from.Round), 100*(1-best.TestError), table.Count(best.Round))})
	}
	last := l.curve[len(l.curve)-1]
	if l.goal > 0 {
		text := fmt.Sprintf("%g %% test accuracy not reached in %s rounds and %s samples", 100*l.goal, table.Count(last.Round), table.Count(last.Examples))
		if p := study.Reached(l.curve, l.goal); p != nil {
			text = fmt.Sprintf("%g %% test accuracy reached after round %s and %s samples", 100*l.goal, table.Count(p.Round), table.Count(p.Examples))
			if p.Clock != nil {
				text += ", in " + simulated(*p.Clock) + " of simulated time"
			}
		}
		notes = append(notes, [2]string{"target", text})
	}
	if best, ended := study.Stale(l.curve, l.patience); ended {
		notes = append(notes, [2]string{"stopped early", fmt.Sprintf("after round %s: validation error did not improve on %s (round %s) in %d evaluations",
			table.Count(last.Round), errorText(l.measure, best.ValError), table.Count(best.Round), l.patience)})
	}
	return notes
}
