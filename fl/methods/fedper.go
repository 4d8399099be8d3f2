package methods

import "github.com/fedfast/fedfast/fl"

// fedPer is FedPer (Arivazhagan et al. 2019, algorithms 1 and 2): the clients share
// a body and each keeps a head of its own, and local training trains both together;
// the server averages the bodies. A client's first head is the initial one.
func fedPer() fl.Method {
	return fl.Method{
		Name:        "fedper",
		Doc:         "FedPer: a shared body and a head of each client's own, trained together",
		Paper:       "Arivazhagan et al. 2019, Federated Learning with Personalization Layers, arXiv:1912.00818",
		Uses:        localSGD,
		Reads:       []string{"head_layers"},
		Prepare:     needsBody,
		StateLen:    headLen,
		Local:       fedPerLocal,
		Personalize: trainJoined,
		NewServer:   averaging,
	}
}

// headLen is the size of a state that is a head.
func headLen(cfg *fl.Config) int { return cfg.Head().Len() }

func fedPerLocal(l *fl.Local) error {
	if err := trainJoined(l); err != nil {
		return err
	}
	if err := l.Personalized(l.Weights); err != nil {
		return err
	}
	keepHead(l)
	return nil
}

// trainJoined joins the broadcast body and the client's head and trains them.
func trainJoined(l *fl.Local) error {
	joinHead(l)
	return l.SGD(fl.LocalRun{})
}

// joinHead puts the client's own head on the broadcast body, if it has one yet.
func joinHead(l *fl.Local) {
	if !l.Fresh {
		copy(l.Weights[l.Head().Lo:l.Head().Hi], l.State)
	}
}

// keepHead makes the head that was trained the client's state. What goes to the
// server has the head that came from there.
func keepHead(l *fl.Local) {
	span := l.Head()
	head := l.Weights[span.Lo:span.Hi]
	copy(l.State, head)
	copy(head, l.Broadcast[span.Lo:])
}
