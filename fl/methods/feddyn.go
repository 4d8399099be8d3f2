package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
)

// fedDyn is FedDyn (Acar et al. 2021, algorithm 1), a = server.alpha:
//
//	gradient - h_i + a (w_k - w);  h_i <- h_i - a (w_i - w)
//	h <- h - (a/N) sum(w_i - w);   w <- mean(w_i) - h/a
//
// with uniform weights, or the shares p_i when server.weighted. h and all h_i
// start at 0. a is the server's because its h adds up what all clients keep.
func fedDyn() fl.Method {
	return fl.Method{
		Name:        "feddyn",
		Doc:         "FedDyn: a dynamic regularizer aligns local optima with the global one",
		Paper:       "Acar et al. 2021, arXiv:2111.04263",
		Uses:        slices.Concat(localSGD, hyper.Needing("server.alpha", "(0, inf)", "such as 0.01"), hyper.Using("server.weighted")),
		SetDefaults: func(_ *fl.ClientParams, s *fl.ServerParams) { s.Alpha, s.Weighted = 0.01, false },
		StateLen:    modelLen,
		Local:       fedDynLocal,
		Vectors:     2,
		NewServer:   func(size int) fl.Server { return &fedDynServer{h: make([]float32, size)} },
		Synchronous: "its regularizers add up changes of one version of the model",
	}
}

// fedDynChoice is FedDyn with client.plain, the binary hyperparameter of appendix B.5 of
// the FedEx paper: a client with it trains without the regularizer, and neither its h_i nor
// h takes its change in. So it is FedAvg with uniform weights if all have it. h then adds up
// a second sum over the clients, which FedDyn does without.
func fedDynChoice() fl.Method {
	m := fedDyn()
	m.Name, m.Doc = "feddynchoice", "FedDyn or FedAvg for each client, as client.plain says"
	m.Paper += "; Khodak et al. 2021, Federated Hyperparameter Tuning: Challenges, Baselines, and Connections to Weight-Sharing, arXiv:2106.04502"
	m.Uses = append(slices.Clip(m.Uses), hyper.Using("client.plain")...)
	m.Local = func(l *fl.Local) error {
		if !l.Params.Plain {
			return fedDynLocal(l)
		}
		return uniformSGD(l)
	}
	m.Gather = func(extra, delta []float32, l *fl.Local) {
		if !l.Params.Plain {
			kernels.Axpy(extra, float32(l.Weight), delta)
		}
	}
	return m
}

func fedDynLocal(l *fl.Local) error {
	l.Uniform()
	a := l.ServerParams.Alpha
	shift := l.Vector(0)
	copy(shift, l.State)
	kernels.Scale(shift, -1)
	if err := l.SGD(fl.LocalRun{Shift: shift, Mu: a}); err != nil {
		return err
	}
	change := l.Vector(1)
	l.Change(change)
	kernels.Axpy(l.State, float32(a), change)
	return nil
}

type fedDynServer struct{ h []float32 }

func (s *fedDynServer) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	if u.Taken == 0 {
		return
	}
	share := float64(u.Taken) / float64(u.Clients)
	if u.Extra != nil {
		kernels.Axpy(s.h, float32(p.Alpha*share/u.Weight), u.Extra)
	} else {
		kernels.Axpy(s.h, float32(p.Alpha*share), u.Mean)
	}
	kernels.Sub(w, w, u.Mean)
	kernels.Axpy(w, -float32(1/p.Alpha), s.h)
}

func (s *fedDynServer) State() [][]float32 { return [][]float32{s.h} }
