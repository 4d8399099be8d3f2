package nn

import "fmt"

// LossKind names what a network's outputs are compared with, and how: a LossType.
type LossKind string

// The built-in kinds of losses. CrossEntropy is the softmax cross-entropy with one class a
// label, Logistic that of two classes with one output, see logit; Sigmoid compares each output
// by itself with whether it is one of an example's labels, of which there may be any number;
// Squared and Huber compare the outputs with numbers.
const (
	CrossEntropy LossKind = "cross_entropy"
	Logistic     LossKind = "logistic"
	Sigmoid      LossKind = "sigmoid"
	Squared      LossKind = "squared"
	Huber        LossKind = "huber"
)

// Loss is what training minimizes, as PyTorch defines it. The zero value is the
// plain CrossEntropy.
type Loss struct {
	// Kind is CrossEntropy when it is empty.
	Kind LossKind
	// Smoothing, in [0, 1), is the share of a label that CrossEntropy spreads over
	// all classes.
	Smoothing float64
	// Weights are the weights of the classes, 0 or above: CrossEntropy's loss is the mean
	// weighted by those of the labels, and Sigmoid multiplies by them what the
	// labels that an example has add to the loss. nil weighs all alike.
	Weights []float64
	// Top, with Sigmoid, is how many outputs, the largest ones, count as what the
	// network predicts; 0 is defaultTop, or 1 of no more outputs than that, among
	// which all labels would be.
	Top int
	// Options are the options of the loss, of the type of LossType.Options, such as HuberOptions;
	// nil are the defaults.
	Options any
}

// defaultTop is Loss.Top when it is 0 and there are more outputs.
const defaultTop = 5

// kind returns the kind.
func (l Loss) kind() LossKind {
	if l.Kind == "" {
		return CrossEntropy
	}
	return l.Kind
}

// WithLoss returns the model with a loss; Logistic ends its network of one output with a
// logit. The error returns why the two do not fit.
func (m *Model) WithLoss(l Loss) (*Model, error) {
	if l.kind() == Logistic && m.layers[len(m.layers)-1] != Layer(logit{}) {
		var err error
		if m, err = m.withLogit(); err != nil {
			return nil, err
		}
	}
	if err := l.Check(m.classes); err != nil {
		return nil, fmt.Errorf("model %s: %w", m.name, err)
	}
	if l.Targets() && m.LabelsPerExample() > 1 {
		return nil, fmt.Errorf("model %s: the loss %q is for one output per sample, this model has %d; use %q", m.name, l.Kind, m.LabelsPerExample(), CrossEntropy)
	}
	c := *m
	c.lossType, _ = l.Type() // it was checked
	c.loss = l.complete(c.lossType, m.classes)
	return &c, nil
}

// Loss returns the model's loss.
func (m *Model) Loss() Loss { return m.loss }

// TargetsPerExample returns how many numbers of Batch.Targets an example has, 0 for
// a loss that reads labels.
func (m *Model) TargetsPerExample() int {
	if m.lossType.Targets != nil {
		return m.classes
	}
	return 0
}

// plain reports whether the loss is the cross-entropy that a kernel computes.
func (m *Model) plain() bool {
	return (m.lossType == &crossEntropy || m.lossType == &logistic) && m.loss.Smoothing == 0 && m.loss.Weights == nil
}
