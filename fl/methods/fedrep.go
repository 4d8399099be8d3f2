package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
)

// fedRep is FedRep (Collins et al. 2021, algorithm 1): the clients share a body and
// each keeps a head of its own. Local training trains the head for
// client.head_epochs with the body frozen, then the body for client.epochs with the
// head frozen; the server averages the bodies. A client's first head is the initial
// one.
type fedRep struct{ FedAvg }

func (fedRep) Name() string { return "fedrep" }

func (fedRep) Doc() string {
	return "FedRep: a shared body and a head of each client's own, the head trained first"
}

func (fedRep) Paper() string {
	return "Collins et al. 2021, Exploiting Shared Representations for Personalized Federated Learning, arXiv:2102.07078"
}

func (fedRep) Defaults(c *fl.ClientParams, _ *fl.ServerParams) { c.HeadEpochs = 1 }

func (fedRep) Uses() []fl.Use { return slices.Concat(localSGD, headEpochs) }

// headEpochs is what methods that train the head alone use.
var headEpochs = fl.Needing("client.head_epochs", "(0, 1e6]", "such as 1")

func (fedRep) Reads() []string { return []string{"head_layers"} }

func (fedRep) Prepare(cfg *fl.Config) (any, error) { return nil, needsBody(cfg) }

func (fedRep) StateLen(cfg *fl.Config) int { return cfg.Head().Len() }

// Memories are those of the body and the head.
func (fedRep) Memories() int { return 2 }

func (m fedRep) Local(l *fl.Local) error {
	if err := m.Personalize(l); err != nil {
		return err
	}
	if err := l.Personalized(l.Weights); err != nil {
		return err
	}
	if err := l.SGD(fl.LocalRun{Only: l.Body()}); err != nil {
		return err
	}
	keepHead(l)
	return nil
}

// Personalize joins the broadcast body and the client's head after its epochs.
func (fedRep) Personalize(l *fl.Local) error {
	joinHead(l)
	return trainHead(l, fl.LocalRun{Memory: 1})
}

// trainHead trains the head for client.head_epochs in a run that says the rest.
func trainHead(l *fl.Local, run fl.LocalRun) error {
	p := l.Params
	p.Epochs, p.Steps = p.HeadEpochs, 0
	run.Params, run.Only = &p, l.Head()
	return l.SGD(run)
}
