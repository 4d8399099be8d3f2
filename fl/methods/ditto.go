package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

// ditto is Ditto (Li et al. 2021, algorithm 1): FedAvg, and beside it a model v_i
// of each client's own, trained with the additional gradient lambda (v_i - w)
// towards the broadcast w. v_i starts at w of the client's first round. It has a
// learning rate and epochs of its own.
func ditto() fl.Method {
	return fl.Method{
		Name:        "ditto",
		Doc:         "Ditto: FedAvg, and a model of each client's own held near by client.lambda",
		Paper:       "Li et al. 2021, arXiv:2012.04221",
		Uses:        slices.Concat(localSGD, hyper.Using("client.lambda", "client.personal_epochs")),
		SetDefaults: func(c *fl.ClientParams, _ *fl.ServerParams) { c.Lambda = 0.1 },
		StateLen:    modelLen,
		Memories:    2, // of the model that goes to the server and of the client's own
		Local:       dittoLocal,
		Personal:    true,
		Personalize: dittoKept,
		Kept:        dittoKept,
		Work:        dittoWork,
		NewServer:   averaging,
	}
}

// modelLen is the size of a state that is a vector of the model's size.
func modelLen(cfg *fl.Config) int { return cfg.Model.Size() }

func dittoLocal(l *fl.Local) error {
	if err := l.SGD(fl.LocalRun{}); err != nil {
		return err
	}
	if l.Fresh {
		copy(l.State, l.Broadcast)
	}
	p := l.Params
	if p.PersonalLR > 0 {
		p.LR = p.PersonalLR
	}
	if p.PersonalEpochs > 0 {
		p.Epochs, p.Steps = p.PersonalEpochs, 0
	}
	if err := l.SGD(fl.LocalRun{Params: &p, Weights: l.State, Mu: p.Lambda, Other: true, Memory: 1}); err != nil {
		return err
	}
	return l.Personalized(l.State)
}

// dittoKept takes v_i, or w for a client that was never drawn.
func dittoKept(l *fl.Local) error {
	if !l.Fresh {
		copy(l.Weights, l.State)
	}
	return nil
}

// dittoWork is the work of both models.
func dittoWork(w fl.Workload) float64 {
	if w.Params.PersonalEpochs > 0 {
		return w.SGD() + w.Epochs(w.Params.PersonalEpochs)
	}
	return 2 * w.SGD()
}
