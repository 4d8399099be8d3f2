package methods

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn"
)

// lgFedAvg is LG-FedAvg (Liang et al. 2020, algorithm 1), the mirror image of FedPer: the
// clients share a head and each keeps a body of its own, its representation of its data, and
// local training trains both together; the server averages the heads. A client's first body
// is the initial one, and so is the body of the global model; the paper begins from a model
// that FedAvg has trained for a while, which can be given as the first weights.
func lgFedAvg() fl.Method {
	return fl.Method{
		Name:        "lgfedavg",
		Doc:         "LG-FedAvg: a shared head and a body of each client's own, trained together",
		Paper:       "Liang et al. 2020, arXiv:2001.01523",
		Differs:     "the global model has the initial body, which the paper has FedAvg train first; new clients get no ensemble of the clients' models",
		Uses:        localSGD,
		Reads:       []string{"head_layers"},
		Prepare:     needsBody,
		StateLen:    func(cfg *fl.Config) int { return ownPartLen(cfg, nn.Span{Hi: cfg.Head().Lo}) },
		Local:       func(l *fl.Local) error { return trainKeeping(l, l.Body()) },
		Personal:    true,
		Personalize: func(l *fl.Local) error { return trainJoined(l, l.Body()) },
		Kept:        joinBody,
		NewServer:   averaging,
	}
}

// joinBody puts the broadcast head on the client's own body.
func joinBody(l *fl.Local) error {
	join(l, l.Body())
	return nil
}
