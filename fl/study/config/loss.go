package config

import (
	"fmt"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn"
)

// Loss holds the keys loss.*.
type Loss struct {
	Name           string    `toml:"name" doc:"training loss, as defined by PyTorch, see fedfast list losses; default: cross_entropy for classes, sigmoid for multi-label data, squared for regression" also:"criterion loss_function"`
	LabelSmoothing float64   `toml:"label_smoothing" in:"[0, 1)" doc:"label smoothing of cross_entropy: the share of a label that is spread over all classes" also:"smoothing"`
	ClassWeights   []float64 `toml:"class_weights" in:"[0, inf)" doc:"one weight per class: cross_entropy becomes the mean weighted by the labels' weights, sigmoid multiplies the loss terms of positive labels by them; default: equal weights" also:"weight pos_weight"`
	RecallAt       int       `toml:"recall_at" in:"[1, inf)" doc:"with sigmoid, the number of largest outputs that count as predictions: recall is the share of all labels among them, and the error is 1 - recall; default: 5, or 1 for up to 5 outputs" also:"top_k k"`
	// Options are the options of the named loss.
	Options map[string]any `toml:"options" doc:"an option of the loss, such as delta of huber; fedfast list losses NAME shows all" also:"delta beta"`
}

// of returns the loss for the data's target. The error names an option that the loss
// does not have.
func (l Loss) of(t data.Target) (nn.Loss, error) {
	loss := nn.Loss{Kind: nn.LossKind(l.Name), Smoothing: l.LabelSmoothing, Weights: l.ClassWeights, Top: l.RecallAt}
	if l.Name == "" {
		switch t {
		case data.ManyLabels:
			loss.Kind = nn.Sigmoid
		case data.Numbers:
			loss.Kind = nn.Squared
		case data.OneClass:
		}
	}
	kind, err := loss.Type()
	if err != nil {
		return loss, err
	}
	loss.Options, err = nn.ReadOptions(kind.Options, l.Options)
	return loss, err
}

// check returns an error for options that the loss does not have; those of a loss that
// is not named are refused.
func (l Loss) check() error {
	t, err := nn.Loss{Kind: nn.LossKind(l.Name)}.Type()
	if err != nil {
		return nil // an error of loss.name
	}
	return checkOptions("loss.options", t.Options, l.Options)
}

// withLoss returns the model with the configured loss.
func (c *Config) withLoss(m *nn.Model, t data.Target) (*nn.Model, error) {
	loss, err := c.Loss.of(t)
	if err == nil {
		m, err = m.WithLoss(loss)
	}
	if err != nil {
		return nil, &key.Error{Key: "loss", Problem: fmt.Sprintf(": %v", err)}
	}
	return m, nil
}
