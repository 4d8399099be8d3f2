package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// LossKind names what a network's outputs are compared with, and how.
type LossKind string

// The kinds of losses. CrossEntropy is the softmax cross-entropy with one class a
// label; Sigmoid compares each output by itself with whether it is one of an
// example's labels, of which there may be any number; Squared and Huber compare the
// outputs with numbers.
const (
	CrossEntropy LossKind = "cross_entropy"
	Sigmoid      LossKind = "sigmoid"
	Squared      LossKind = "squared"
	Huber        LossKind = "huber"
)

// LossKinds returns all kinds.
func LossKinds() []LossKind { return []LossKind{CrossEntropy, Sigmoid, Squared, Huber} }

// Loss is what training minimizes, as PyTorch defines it. The zero value is the
// plain CrossEntropy.
type Loss struct {
	// Kind is CrossEntropy when it is empty.
	Kind LossKind
	// Smoothing, in [0, 1), is the share of a label that CrossEntropy spreads over
	// all classes.
	Smoothing float64
	// Delta, above 0, is the distance from which on Huber grows linearly.
	Delta float64
	// Weights are those of the classes, 0 or above: CrossEntropy's loss is the mean
	// weighted by those of the labels, and Sigmoid multiplies by them what the
	// labels that an example has add to the loss. nil weighs all alike.
	Weights []float64
	// Top, with Sigmoid, is how many outputs, the largest ones, count as what the
	// network predicts; 0 is DefaultTop, or 1 of no more outputs than that, among
	// which all labels would be.
	Top int
}

// DefaultTop is Loss.Top when it is 0 and there are more outputs.
const DefaultTop = 5

// kind returns the kind.
func (l Loss) kind() LossKind {
	if l.Kind == "" {
		return CrossEntropy
	}
	return l.Kind
}

// Numbers reports whether the outputs are compared with numbers, a regression.
func (l Loss) Numbers() bool { return l.Kind == Squared || l.Kind == Huber }

// Targets reports whether the loss reads Batch.Targets instead of Batch.Labels.
func (l Loss) Targets() bool { return l.kind() != CrossEntropy }

// plain reports whether it is the cross-entropy that a kernel computes.
func (l Loss) plain() bool { return !l.Targets() && l.Smoothing == 0 && l.Weights == nil }

// Check returns an error that says what is wrong with the loss of a network with so
// many outputs.
func (l Loss) Check(outputs int) error {
	kind := l.kind()
	switch {
	case !slices.Contains(LossKinds(), kind):
		var known []string
		for _, k := range LossKinds() {
			known = append(known, string(k))
		}
		return fmt.Errorf("unknown loss %q; use one of %s", kind, strings.Join(known, ", "))
	case !(l.Smoothing >= 0 && l.Smoothing < 1):
		return fmt.Errorf("label smoothing %v: must be in [0, 1)", l.Smoothing)
	case l.Smoothing > 0 && kind != CrossEntropy:
		return fmt.Errorf("label smoothing %v: the loss %q smooths no labels; leave it out", l.Smoothing, kind)
	case kind == Huber && !(l.Delta > 0 && l.Delta <= math.MaxFloat32):
		return fmt.Errorf("delta %v: the loss %q needs one above 0", l.Delta, kind)
	case kind != Huber && l.Delta != 0:
		return fmt.Errorf("delta %v: the loss %q has none; leave it out", l.Delta, kind)
	case l.Weights != nil && l.Numbers():
		return fmt.Errorf("class weights: the loss %q has no classes; leave them out", kind)
	case l.Weights != nil && len(l.Weights) != outputs:
		return fmt.Errorf("%d class weights for %d classes: there must be one for each", len(l.Weights), outputs)
	case l.Top < 0 || l.Top > outputs:
		return fmt.Errorf("recall among the %d largest of %d outputs: must be from 1 to %d", l.Top, outputs, max(1, outputs-1))
	case l.Top == outputs && outputs > 1:
		return fmt.Errorf("recall among all %d outputs: no model misses a label then; must be from 1 to %d", outputs, outputs-1)
	case l.Top != 0 && kind != Sigmoid:
		return fmt.Errorf("recall among the %d largest outputs: the loss %q has none; leave it out", l.Top, kind)
	}
	some := false
	for i, w := range l.Weights {
		if !(w >= 0 && w <= math.MaxFloat32) {
			return fmt.Errorf("class weight %d is %v: must be 0 or above", i, w)
		}
		some = some || w > 0
	}
	if l.Weights != nil && !some {
		return errors.New("class weights: all are 0, so that nothing is trained")
	}
	return nil
}

// WithLoss returns the model with a loss. The error says why the two do not fit.
func (m *Model) WithLoss(l Loss) (*Model, error) {
	if err := l.Check(m.classes); err != nil {
		return nil, fmt.Errorf("model %s: %w", m.name, err)
	}
	if l.Targets() && m.LabelsPerExample() > 1 {
		return nil, fmt.Errorf("model %s: the loss %q is for one output an example, this model has %d; use %q", m.name, l.Kind, m.LabelsPerExample(), CrossEntropy)
	}
	if l.Kind == Sigmoid && l.Top == 0 {
		l.Top = 1
		if m.classes > DefaultTop {
			l.Top = DefaultTop
		}
	}
	c := *m
	c.loss = l
	return &c, nil
}

// Loss returns the model's loss.
func (m *Model) Loss() Loss { return m.loss }

// TargetsPerExample returns how many numbers of Batch.Targets an example has, 0 for
// a loss that reads labels.
func (m *Model) TargetsPerExample() int {
	if m.loss.Targets() {
		return m.classes
	}
	return 0
}
