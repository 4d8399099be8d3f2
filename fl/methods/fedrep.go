package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

// fedRep is FedRep (Collins et al. 2021, algorithm 1): the clients share a body and
// each keeps a head of its own. Local training trains the head for
// client.head_epochs with the body frozen, then the body for client.epochs with the
// head frozen; the server averages the bodies. A client's first head is the initial
// one.
func fedRep() fl.Method {
	return fl.Method{
		Name:        "fedrep",
		Doc:         "FedRep: a shared body and a head of each client's own, the head trained first",
		Paper:       "Collins et al. 2021, arXiv:2102.07078",
		Uses:        slices.Concat(localSGD, headEpochs),
		SetDefaults: oneHeadEpoch,
		Reads:       []string{"head_layers"},
		Prepare:     needsBody,
		StateLen:    func(cfg *fl.Config) int { return ownPartLen(cfg, cfg.Head()) },
		Memories:    2, // of the body and the head
		Local:       fedRepLocal,
		Personal:    true,
		Personalize: trainOwnHead,
		Kept:        joinHead,
		Work:        headWork,
		NewServer:   averaging,
	}
}

// headEpochs is what methods that train the head alone use.
var headEpochs = hyper.Needing("client.head_epochs", "(0, 1e6]", "such as 1")

func oneHeadEpoch(c *fl.ClientParams, _ *fl.ServerParams) { c.HeadEpochs = 1 }

// headWork counts the passes of the head like those of the whole network.
func headWork(w fl.Workload) float64 { return w.SGD() + w.Epochs(w.Params.HeadEpochs) }

func fedRepLocal(l *fl.Local) error {
	if err := trainOwnHead(l); err != nil {
		return err
	}
	if err := l.Personalized(l.Weights); err != nil {
		return err
	}
	if err := l.SGD(fl.LocalRun{Only: l.Body()}); err != nil {
		return err
	}
	keep(l, l.Head())
	return nil
}

// trainOwnHead joins the broadcast body and the client's head after its epochs.
func trainOwnHead(l *fl.Local) error {
	join(l, l.Head())
	return trainHead(l, fl.LocalRun{Memory: 1})
}

// trainHead trains the head for client.head_epochs in a run that says the rest.
func trainHead(l *fl.Local, run fl.LocalRun) error {
	p := l.Params
	p.Epochs, p.Steps = p.HeadEpochs, 0
	run.Params, run.Only = &p, l.Head()
	return l.SGD(run)
}
