package fl

import "slices"

func init() { register(ditto{}) }

// ditto is Ditto (Li et al. 2021, algorithm 1): FedAvg, and beside it a model v_i
// of each client's own, trained with the additional gradient lambda (v_i - w)
// towards the broadcast w. v_i starts at w of the client's first round. It has a
// learning rate and epochs of its own.
type ditto struct{ fedAvg }

func (ditto) Name() string { return "ditto" }

func (ditto) Doc() string {
	return "Ditto: FedAvg, and a model of each client's own held near by client.lambda"
}

func (ditto) Paper() string {
	return "Li et al. 2021, Ditto: Fair and Robust Federated Learning Through Personalization, arXiv:2012.04221"
}

func (ditto) defaults(c *ClientParams, _ *ServerParams) { c.Lambda = 0.1 }

func (ditto) Uses() []Use {
	return slices.Concat(localSGD, use("client.lambda", "client.personal_lr", "client.personal_epochs"))
}

func (ditto) stateLen(size, _ int) int { return size }

func (ditto) Local(l *Local) {
	l.SGD(0)
	if l.fresh {
		copy(l.state, l.Broadcast)
	}
	p := l.Params
	if p.PersonalLR > 0 {
		p.LR = p.PersonalLR
	}
	if p.PersonalEpochs > 0 {
		p.Epochs, p.Steps = p.PersonalEpochs, 0
	}
	l.steps(course{params: &p, weights: l.state, mu: p.Lambda, apart: true})
	l.personal(l.state)
}

// personalize takes v_i, or w for a client that was never drawn.
func (ditto) personalize(l *Local) {
	if !l.fresh {
		copy(l.Weights, l.state)
	}
}
