package methods

import "github.com/fedfast/fedfast/fl"

// fedPer is FedPer (Arivazhagan et al. 2019, algorithms 1 and 2): the clients share
// a body and each keeps a head of its own, and local training trains both together;
// the server averages the bodies. A client's first head is the initial one.
type fedPer struct{ FedAvg }

func (fedPer) Name() string { return "fedper" }

func (fedPer) Doc() string {
	return "FedPer: a shared body and a head of each client's own, trained together"
}

func (fedPer) Paper() string {
	return "Arivazhagan et al. 2019, Federated Learning with Personalization Layers, arXiv:1912.00818"
}

func (fedPer) Uses() []fl.Use { return localSGD }

func (fedPer) Reads() []string { return []string{"head_layers"} }

func (fedPer) Prepare(cfg *fl.Config) (any, error) { return nil, needsBody(cfg) }

func (fedPer) StateLen(cfg *fl.Config) int { return cfg.Head().Len() }

func (m fedPer) Local(l *fl.Local) error {
	if err := m.Personalize(l); err != nil {
		return err
	}
	if err := l.Personalized(l.Weights); err != nil {
		return err
	}
	keepHead(l)
	return nil
}

// Personalize joins the broadcast body and the client's head and trains them.
func (fedPer) Personalize(l *fl.Local) error {
	joinHead(l)
	return l.SGD(fl.LocalRun{})
}

// joinHead puts the client's own head on the broadcast body, if it has one yet.
func joinHead(l *fl.Local) {
	if !l.Fresh {
		copy(l.Weights[l.Head().Lo:], l.State)
	}
}

// keepHead makes the head that was trained the client's state. What goes to the
// server has the head that came from there.
func keepHead(l *fl.Local) {
	head := l.Weights[l.Head().Lo:]
	copy(l.State, head)
	copy(head, l.Broadcast[l.Head().Lo:])
}
