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
func fedBABU() fl.Method {
	return fl.Method{
		Name:        "fedbabu",
		Doc:         "FedBABU: trains the body alone; heads are tuned to personalize",
		Paper:       "Oh et al. 2022, arXiv:2106.06042",
		Uses:        slices.Concat(localSGD, headEpochs),
		SetDefaults: oneHeadEpoch,
		Reads:       []string{"head_layers"},
		Prepare:     needsBody,
		Local:       trainBody,
		Personal:    true,
		Personalize: func(l *fl.Local) error { return trainHead(l, fl.LocalRun{Afresh: true}) },
		Work:        headWork,
		NewServer:   averaging,
	}
}

func trainBody(l *fl.Local) error {
	if err := l.SGD(fl.LocalRun{Only: l.Body()}); err != nil {
		return err
	}
	return l.ScorePersonalized()
}

// needsBody returns an error for a model that is all head, and for one of whose body
// or head nothing is trainable: a method that treats them apart trains both.
func needsBody(cfg *fl.Config) (any, error) {
	head := cfg.Head()
	switch {
	case head.Lo > 0 && !cfg.Model.Trains(nn.Span{Hi: head.Lo}):
		return nil, fmt.Errorf("client.trainable leaves nothing of the body to train, which is what the clients of method %q share; add body.* or use method \"fedavg\"", cfg.Method.Name)
	case head.Lo > 0 && !cfg.Model.Trains(head):
		return nil, fmt.Errorf("client.trainable leaves nothing of the head to train, which is each client's own in method %q; add head.* or use method \"fedavg\"", cfg.Method.Name)
	case head.Lo > 0:
		return nil, nil
	}
	return nil, fmt.Errorf("head_layers = %d: model %s has no layer with parameters before them, and method %q trains a body; lower it or take a deeper model",
		max(1, cfg.HeadLayers), cfg.Model.Name(), cfg.Method.Name)
}
