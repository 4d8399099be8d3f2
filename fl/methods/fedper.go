package methods

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn"
)

// fedPer is FedPer (Arivazhagan et al. 2019, algorithms 1 and 2): the clients share
// a body and each keeps a head of its own, and local training trains both together;
// the server averages the bodies. A client's first head is the initial one.
func fedPer() fl.Method {
	return fl.Method{
		Name:        "fedper",
		Doc:         "FedPer: a shared body and a head of each client's own, trained together",
		Paper:       "Arivazhagan et al. 2019, arXiv:1912.00818",
		Uses:        localSGD,
		Reads:       []string{"head_layers"},
		Prepare:     needsBody,
		StateLen:    func(cfg *fl.Config) int { return ownPartLen(cfg, cfg.Head()) },
		Local:       func(l *fl.Local) error { return trainKeeping(l, l.Head()) },
		Personal:    true,
		Personalize: func(l *fl.Local) error { return trainJoined(l, l.Head()) },
		Kept:        joinHead,
		NewServer:   averaging,
	}
}

// ownPartLen is the size of a state that is a span of the parameters and, with batch
// normalizations among them, their running statistics.
func ownPartLen(cfg *fl.Config, own nn.Span) int { return own.Len() + cfg.Model.BuffersOf(own).Len() }

// headLen is the size of a head.
func headLen(cfg *fl.Config) int { return cfg.Head().Len() }

// joinHead puts the client's own head on the broadcast body.
func joinHead(l *fl.Local) error {
	join(l, l.Head())
	return nil
}

// trainKeeping trains the broadcast weights joined with what the client keeps, the
// parameters of a span, and keeps these.
func trainKeeping(l *fl.Local, own nn.Span) error {
	if err := trainJoined(l, own); err != nil {
		return err
	}
	if err := l.Personalized(l.Weights); err != nil {
		return err
	}
	keep(l, own)
	return nil
}

// trainJoined trains the broadcast weights joined with what the client keeps.
func trainJoined(l *fl.Local, own nn.Span) error {
	join(l, own)
	return l.SGD(fl.LocalRun{})
}

// join puts the client's own parameters of a span on the broadcast weights, if it has any
// yet.
func join(l *fl.Local, own nn.Span) {
	if !l.Fresh {
		statistics := l.Model().BuffersOf(own)
		n := copy(l.Weights[own.Lo:own.Hi], l.State)
		copy(l.Weights[statistics.Lo:statistics.Hi], l.State[n:])
	}
}

// keep makes the parameters of a span, as they were trained, the client's state. What goes
// to the server has those that came from there.
func keep(l *fl.Local, own nn.Span) {
	trained, statistics := l.Weights[own.Lo:own.Hi], l.Model().BuffersOf(own)
	n := copy(l.State, trained)
	copy(l.State[n:], l.Weights[statistics.Lo:statistics.Hi])
	copy(trained, l.Broadcast[own.Lo:])
}
