package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/kernels"
)

// mifa is MIFA (Gu et al. 2021, algorithm 1): the server steps by the mean over all N clients
// of the last change of each, 0 for one that never trained. A client keeps its last change
// d_i and sends by how much the new one differs:
//
//	G <- G + (1/N) sum((w - w_i) - d_i),  d_i <- w - w_i,  w <- w - lr G
func mifa() fl.Method {
	return fl.Method{
		Name:    "mifa",
		Doc:     "MIFA: steps by the mean over all clients of the last change of each, for clients that are often away",
		Paper:   "Gu et al. 2021, arXiv:2106.04159",
		Differs: "a client's last change keeps the learning rate of the round in which it trained; the paper divides by it and multiplies by the present one",
		Uses:    slices.Concat(localSGD, serverRate),

		StateLen:    modelLen,
		Local:       mifaLocal,
		Vectors:     1,
		Personalize: func(l *fl.Local) error { return l.SGD(fl.LocalRun{}) },
		NewServer:   func(size int) fl.Server { return &mifaServer{mean: make([]float32, size)} },
		Synchronous: "weights of staleness would count a client's last change in part, which is taken back in whole",
	}
}

func mifaLocal(l *fl.Local) error {
	if err := l.SGD(fl.LocalRun{}); err != nil {
		return err
	}
	l.Weight = 1
	l.Upload = l.Vector(0)
	l.Change(l.Upload)
	for i, change := range l.Upload {
		l.Upload[i], l.State[i] = change-l.State[i], change
	}
	return nil
}

// mifaServer keeps the mean of the clients' last changes.
type mifaServer struct{ mean []float32 }

func (s *mifaServer) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	kernels.Axpy(s.mean, float32(float64(u.Taken)/float64(u.Clients)), u.Mean)
	kernels.Axpy(w, -float32(p.Rate(u.Round)), s.mean)
}

func (s *mifaServer) State() [][]float32 { return [][]float32{s.mean} }
