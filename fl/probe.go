package fl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/nn"
)

// probeFuncs are the measurements of a slot by their names in the tuner
// protocol. A value is NaN where the client has no examples to measure on.
var probeFuncs = map[string]func(*Slot) float64{
	"val_error_before": func(s *Slot) float64 { return s.Before.Error },
	"val_error_after":  func(s *Slot) float64 { return s.After.Error },
	"val_loss_before":  func(s *Slot) float64 { return s.Before.Loss },
	"val_loss_after":   func(s *Slot) float64 { return s.After.Loss },
	"train_loss":       func(s *Slot) float64 { return s.TrainLoss },
	"examples_train":   func(s *Slot) float64 { return float64(s.TrainExamples) },
	"examples_val":     func(s *Slot) float64 { return float64(s.ValExamples) },
	"steps":            func(s *Slot) float64 { return float64(s.Steps) },
	"delta_norm":       func(s *Slot) float64 { return s.DeltaNorm },
}

// ProbeNames returns the names of all probes, sorted.
func ProbeNames() []string {
	names := make([]string, 0, len(probeFuncs))
	for name := range probeFuncs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// probeSet says which measurements cost an extra evaluation and are wanted.
type probeSet struct{ before, after bool }

func parseProbes(names []string) (probeSet, error) {
	var p probeSet
	for _, name := range names {
		if probeFuncs[name] == nil {
			return p, fmt.Errorf("unknown probe %q; the probes are %s", name, strings.Join(ProbeNames(), ", "))
		}
		p.before = p.before || strings.HasSuffix(name, "_before")
		p.after = p.after || strings.HasSuffix(name, "_after")
	}
	return p, nil
}

// Probe returns the measurement of the slot by its name, see ProbeNames; ok is
// false for an unknown name. Values that the engine was not asked for are NaN.
func (s *Slot) Probe(name string) (value float64, ok bool) {
	f := probeFuncs[name]
	if f == nil {
		return 0, false
	}
	return f(s), true
}

// Score is a model measured on one set of examples.
type Score struct {
	// Error is the share of examples classified wrongly, in [0, 1], and Loss
	// the mean cross-entropy in nats, at most DivergedLoss. Both are NaN
	// without examples.
	Error, Loss float64
}

// DivergedLoss stands for a mean loss that is not finite or higher, so that it
// can be compared, averaged and sent to a tuner.
const DivergedLoss = 1e6

func scoreOf(r nn.Result) Score {
	n := float64(r.Count)
	s := Score{Error: float64(r.Count-r.Correct) / n, Loss: r.Loss / n}
	if r.Count > 0 && !(s.Loss < DivergedLoss) {
		s.Loss = DivergedLoss
	}
	return s
}
