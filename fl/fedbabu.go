package fl

import (
	"fmt"
	"slices"
)

func init() { register(fedBABU{}) }

// fedBABU is FedBABU (Oh et al. 2022): the clients train and the server averages
// the body, while the head keeps its initial value; a personalized model is the
// broadcast one with its head tuned for client.head_epochs.
type fedBABU struct{ fedAvg }

func (fedBABU) Name() string { return "fedbabu" }

func (fedBABU) Doc() string {
	return "FedBABU: trains the body alone; heads are tuned to personalize"
}

func (fedBABU) Paper() string {
	return "Oh et al. 2022, FedBABU: Toward Enhanced Representation for Federated Image Classification, arXiv:2106.06042"
}

func (fedBABU) defaults(c *ClientParams, _ *ServerParams) { c.HeadEpochs = 1 }

func (fedBABU) Uses() []Use { return slices.Concat(localSGD, headEpochs) }

func (fedBABU) reads() []string { return []string{"head_layers"} }

func (fedBABU) fit(e *Engine) error { return e.needsBody() }

func (m fedBABU) Local(l *Local) {
	l.steps(course{only: l.engine.body()})
	l.scoreApart(m)
}

func (fedBABU) personalize(l *Local) { l.trainHead() }

// needsBody returns an error for a model that is all head.
func (e *Engine) needsBody() error {
	if e.body().Len() > 0 {
		return nil
	}
	return fmt.Errorf("head_layers = %d: model %s has no layer with parameters before them, and method %q trains a body; lower it or take a deeper model",
		max(1, e.cfg.HeadLayers), e.cfg.Model.Name(), e.cfg.Method.Name())
}
