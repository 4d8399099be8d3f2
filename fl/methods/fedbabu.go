package methods

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn"
)

// fedBABU is FedBABU (Oh et al. 2022): the clients train and the server averages
// the body, while the head keeps its initial value; a personalized model is the
// broadcast one with its head tuned for client.head_epochs.
type fedBABU struct{ FedAvg }

func (fedBABU) Name() string { return "fedbabu" }

func (fedBABU) Doc() string {
	return "FedBABU: trains the body alone; heads are tuned to personalize"
}

func (fedBABU) Paper() string {
	return "Oh et al. 2022, FedBABU: Toward Enhanced Representation for Federated Image Classification, arXiv:2106.06042"
}

func (fedBABU) Defaults(c *fl.ClientParams, _ *fl.ServerParams) { c.HeadEpochs = 1 }

func (fedBABU) Uses() []fl.Use { return slices.Concat(localSGD, headEpochs) }

func (fedBABU) Reads() []string { return []string{"head_layers"} }

func (fedBABU) Prepare(cfg *fl.Config) (any, error) { return nil, needsBody(cfg) }

func (m fedBABU) Local(l *fl.Local) error {
	if err := l.SGD(fl.LocalRun{Only: l.Body()}); err != nil {
		return err
	}
	return l.ScorePersonalized(m)
}

// Personalize tunes the head.
func (fedBABU) Personalize(l *fl.Local) error { return trainHead(l, fl.LocalRun{Afresh: true}) }

// needsBody returns an error for a model that is all head, and for one of whose body
// or head nothing is trainable: a method that treats them apart trains both.
func needsBody(cfg *fl.Config) error {
	head := cfg.Head()
	switch {
	case head.Lo > 0 && !cfg.Model.Trains(nn.Span{Hi: head.Lo}):
		return fmt.Errorf("client.trainable leaves nothing of the body to train, which is what the clients of method %q share; add body.* or use method \"fedavg\"", cfg.Method.Name())
	case head.Lo > 0 && !cfg.Model.Trains(head):
		return fmt.Errorf("client.trainable leaves nothing of the head to train, which is each client's own in method %q; add head.* or use method \"fedavg\"", cfg.Method.Name())
	case head.Lo > 0:
		return nil
	}
	return fmt.Errorf("head_layers = %d: model %s has no layer with parameters before them, and method %q trains a body; lower it or take a deeper model",
		max(1, cfg.HeadLayers), cfg.Model.Name(), cfg.Method.Name())
}
