package nn

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/naming"
	"github.com/fedfast/fedfast/kernels"
)

// Target is what a loss compares the outputs of a network with.
type Target uint8

const (
	// OneLabel is the class of an example, or of each step of a sequence: a label of
	// Batch.Labels.
	OneLabel Target = iota
	// ManyLabels are any number of classes, for each of which Batch.Targets has 1 and for
	// all others 0.
	ManyLabels
	// Numbers are the numbers of Batch.Targets: a regression.
	Numbers
)

// LossType is a loss that networks can have by its name. Its functions are called for
// one row of outputs at a time, must not keep the slices, and allocate nothing; they keep
// to the rule of the package comment for the same bits everywhere.
type LossType struct {
	// Name is what files say, loss.name = "huber". Doc describes in a line what the loss is.
	Name LossKind
	Doc  string
	// Target describes what the loss reads: OneLabel has Label, the others have Targets.
	Target Target
	// Smooths says that it heeds Loss.Smoothing, Weighs that it heeds Loss.Weights.
	Smooths, Weighs bool
	// Options are its own, a struct that holds their defaults, see ReadOptions; nil without
	// any. The functions find them in Loss.Options. Check returns an error for some that
	// it cannot have; nil takes all.
	Options any
	Check   func(l *Loss) error

	// Label returns the loss of a row of outputs z whose class is label, multiplied by its
	// weight, and that weight: 1, or Loss.Weight of the label. grad, unless it is nil, gets
	// the derivative of that product by each output, times scale.
	Label func(l *Loss, z []float32, label int, grad []float32, scale float64) (loss, weight float64)

	// Targets returns the sum of the losses of a row of outputs z, each against its target
	// in y. grad, unless it is nil, gets the derivative by each output, times scale.
	Targets func(l *Loss, z, y, grad []float32, scale float64) (loss float64)
}

// lossTypes holds the losses, in the order in which they were registered. Programs may
// register theirs at any time.
var lossTypes = struct {
	sync.RWMutex
	all []*LossType
}{all: []*LossType{&crossEntropy, &logistic, &sigmoid, &squared, &huber}}

// RegisterLoss makes a loss known by its name to study files, lists and help of this
// program. The error describes what is wrong with it, or that the name is taken.
func RegisterLoss(t LossType) error {
	if err := naming.Check("nn: loss", string(t.Name), t.Doc); err != nil {
		return err
	}
	switch {
	case t.Target > Numbers:
		return fmt.Errorf("nn: loss %q: unknown target %d", t.Name, t.Target)
	case (t.Target == OneLabel) != (t.Label != nil) || (t.Target == OneLabel) == (t.Targets != nil):
		return fmt.Errorf("nn: loss %q: a loss of one label has Label, any other one Targets, and none has both", t.Name)
	case t.Smooths && t.Target != OneLabel || t.Weighs && t.Target == Numbers:
		return fmt.Errorf("nn: loss %q: only labels are smoothed, and only classes have weights", t.Name)
	}
	if _, err := ReadOptions(t.Options, nil); err != nil {
		return fmt.Errorf("nn: loss %q: %w", t.Name, err)
	}
	lossTypes.Lock()
	defer lossTypes.Unlock()
	if slices.ContainsFunc(lossTypes.all, func(o *LossType) bool { return o.Name == t.Name }) {
		return fmt.Errorf("nn: loss %q: the name is taken; choose another one", t.Name)
	}
	lossTypes.all = append(lossTypes.all, &t)
	return nil
}

// LossTypes returns the losses, all or those for some targets, the built-in ones first.
func LossTypes(of ...Target) []LossType {
	lossTypes.RLock()
	defer lossTypes.RUnlock()
	var types []LossType
	for _, t := range lossTypes.all {
		if len(of) == 0 || slices.Contains(of, t.Target) {
			types = append(types, *t)
		}
	}
	return types
}

// Type returns the type of the loss. The error lists the names of all.
func (l Loss) Type() (*LossType, error) {
	kind := l.kind()
	lossTypes.RLock()
	i := slices.IndexFunc(lossTypes.all, func(t *LossType) bool { return t.Name == kind })
	var t *LossType
	if i >= 0 {
		t = lossTypes.all[i]
	}
	lossTypes.RUnlock()
	if t == nil {
		known := list.Of(LossTypes(), func(t LossType) string { return string(t.Name) })
		return nil, fmt.Errorf("unknown loss %q; use one of %s", kind, strings.Join(known, ", "))
	}
	return t, nil
}

// Target returns what the loss compares outputs with; OneLabel for an unknown one.
func (l Loss) Target() Target {
	t, err := l.Type()
	if err != nil {
		return OneLabel
	}
	return t.Target
}

// Numbers reports whether the outputs are compared with numbers, a regression.
func (l Loss) Numbers() bool { return l.Target() == Numbers }

// Targets reports whether the loss reads Batch.Targets instead of Batch.Labels.
func (l Loss) Targets() bool { return l.Target() != OneLabel }

// Check returns an error that describes what is wrong with the loss for a network with
// the given number of outputs.
func (l Loss) Check(outputs int) error {
	t, err := l.Type()
	if err != nil {
		return err
	}
	switch {
	case !(l.Smoothing >= 0 && l.Smoothing < 1):
		return fmt.Errorf("label smoothing %v: must be in [0, 1)", l.Smoothing)
	case l.Smoothing > 0 && !t.Smooths:
		return fmt.Errorf("label smoothing %v: the loss %q smooths no labels; leave it out", l.Smoothing, t.Name)
	case l.Weights != nil && t.Target == Numbers:
		return fmt.Errorf("class weights: the loss %q has no classes; leave them out", t.Name)
	case l.Weights != nil && !t.Weighs:
		return fmt.Errorf("class weights: the loss %q has none; leave them out", t.Name)
	case l.Weights != nil && len(l.Weights) != outputs:
		return fmt.Errorf("%d class weights for %d classes: there must be one for each", len(l.Weights), outputs)
	case l.Top < 0 || l.Top > outputs:
		return fmt.Errorf("recall among the %d largest of %d outputs: must be from 1 to %d", l.Top, outputs, max(1, outputs-1))
	case l.Top == outputs && outputs > 1:
		return fmt.Errorf("recall among all %d outputs is always 1: must be from 1 to %d", outputs, outputs-1)
	case l.Top != 0 && t.Target != ManyLabels:
		return fmt.Errorf("recall among the %d largest outputs: the loss %q has none; leave it out", l.Top, t.Name)
	case l.Options != nil && reflect.TypeOf(l.Options) != reflect.TypeOf(t.Options):
		return fmt.Errorf("options of type %T: the loss %q has %T", l.Options, t.Name, t.Options)
	}
	if err := l.checkWeights(); err != nil || t.Check == nil {
		return err
	}
	l = l.complete(t, outputs)
	return t.Check(&l)
}

// checkWeights returns an error for weights of classes that are invalid.
func (l Loss) checkWeights() error {
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

// complete returns the loss with what was not given.
func (l Loss) complete(t *LossType, outputs int) Loss {
	if t.Target == ManyLabels && l.Top == 0 {
		l.Top = 1
		if outputs > defaultTop {
			l.Top = defaultTop
		}
	}
	if l.Options == nil {
		l.Options = t.Options
	}
	return l
}

// isBest reports whether an output is the largest, of equal ones the first; NaN is never one.
func isBest(z []float32, label int) bool {
	x := z[label]
	for j, other := range z {
		if other > x || other == x && j < label {
			return false
		}
	}
	return x == x
}

// Softmax makes grad, unless it is nil, the softmax of outputs less 1 for the label, which
// is the derivative of what it returns: the negative logarithm of the label's share. grad
// is one that LossType.Label got.
func Softmax(z []float32, label int, grad []float32) float64 {
	n, labels := len(z), [1]int32{int32(label)}
	if grad != nil {
		grad = grad[:kernels.Pad(n)]
	}
	nll, _ := kernels.SoftmaxXent(grad, z, kernels.Pad(n), 1, n, labels[:], 1)
	return nll
}
