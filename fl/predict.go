package fl

import (
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// Predictions are what a model says of one set of a client's examples.
type Predictions struct {
	// Client is the client's number in the federation, -1 for the federation's own test
	// set, which comes last.
	Client int
	// Split is which of its sets it is: "train", "val" or "test".
	Split string
	// Labels holds the true classes, example after example, as many per example as
	// the model predicts; a negative one is not counted. Best holds the model's
	// prediction for each of them.
	Labels []int32
	Best   []nn.Prediction
	// Probabilities has a number for each class, as many as the function Probabilities says, of each label that is
	// counted.
	Probabilities []float64
	// Targets and Outputs take their place where a loss reads targets: as many
	// numbers per example as the model has outputs. The output of a label is its
	// probability.
	Targets, Outputs []float32
}

// Probabilities is of how many classes Predictions have the probabilities: of all classes of models that answer with
// one class for each example, if they are at most 100, else 0.
func Probabilities(m *nn.Model) int {
	if !Measured(m) || m.Loss().Target() != nn.OneLabel || m.Classes() > 100 {
		return 0
	}
	return m.Classes()
}

// splitOf returns the set of a client by its name.
func splitOf(c *data.Client, name string) data.View {
	switch name {
	case "train":
		return c.Train
	case "val":
		return c.Val
	default:
		return c.Test
	}
}

// predictBlock is how many clients' predictions are in memory at a time.
const predictBlock = 256

// Predict calls each with what the weights, as they are, predict of some sets of
// every client's samples, "train", "val" or "test", in the order of the clients and, for
// each, of the splits. It stops at the first error, that of each or of ctx.
func (e *Engine) Predict(ctx context.Context, weights []float32, splits []string, each func(Predictions) error) error {
	for _, s := range splits {
		if s != "train" && s != "val" && s != "test" {
			return fmt.Errorf("unknown split %q: must be train, val or test", s)
		}
	}
	test := e.cfg.Data.Test
	if err := e.predictEach(ctx, weights, e.cfg.Data.Clients, splits, each); err != nil || test.Len() == 0 || !slices.Contains(splits, "test") {
		return err
	}
	return e.predictEach(ctx, weights, []data.Client{{Test: test}}, []string{"test"}, func(p Predictions) error {
		p.Client = -1
		return each(p)
	})
}

// predictEach is Predict of some clients.
func (e *Engine) predictEach(ctx context.Context, weights []float32, clients []data.Client, splits []string, each func(Predictions) error) error {
	frozen, classes := e.frozen(len(clients)*len(splits)), Probabilities(e.cfg.Model)
	for at := 0; at < len(clients); at += predictBlock {
		block := make([]Predictions, min(predictBlock, len(clients)-at)*len(splits))
		err := e.each(ctx, len(block), func(i int, w *worker) error {
			client, split := at+i/len(splits), splits[i%len(splits)]
			p := &block[i]
			p.Client, p.Split = client, split
			v := splitOf(&clients[client], split)
			return w.predict(p, weights, frozen, v, !e.cfg.Model.Loss().Numbers(), classes)
		})
		if err != nil {
			return err
		}
		for _, p := range block {
			if err := each(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// predict adds to p the labels, or targets, of a set of examples and what the weights
// predict; the outputs of labels become probabilities, as do those of a number of classes.
func (w *worker) predict(
	p *Predictions, weights []float32, frozen *nn.Frozen, v data.View, labels bool, classes int,
) error {
	t := &tally{every: 1, classes: classes}
	return w.eachBatch(v, nil, 1, func(b *nn.Batch) {
		b.Frozen = frozen
		if w.targets > 0 {
			b.Outputs = make([]float32, len(b.Targets))
			w.ws.Evaluate(weights, b)
			if labels {
				kernels.Sigmoid(b.Outputs, b.Outputs)
			}
			p.Targets, p.Outputs = append(p.Targets, b.Targets...), append(p.Outputs, b.Outputs...)
			return
		}
		b.Best, b.Outputs = make([]nn.Prediction, len(b.Labels)), make([]float32, t.classes*len(b.Labels))
		if t.classes == 0 {
			b.Outputs = nil
		}
		w.ws.Evaluate(weights, b)
		if t.classes > 0 {
			t.answers = t.answers[:0]
			t.answer(b)
			for at := 1; at < len(t.answers); at += 1 + t.classes {
				p.Probabilities = append(p.Probabilities, t.answers[at:at+t.classes]...)
			}
		}
		p.Labels, p.Best = append(p.Labels, b.Labels...), append(p.Best, b.Best...)
	})
}
