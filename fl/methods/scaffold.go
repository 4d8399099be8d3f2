package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
)

// scaffold is SCAFFOLD with option II (Karimireddy et al. 2020, algorithm 1). The
// gradient of a local step is corrected by c - c_i, with the broadcast c;
//
//	c_i+ = c_i - c + (w - w_i)/(K_i lr_i),  K_i the steps taken
//	w <- w - lr_g mean(w - w_i),  c <- c + (1/N) sum(c_i+ - c_i)
//
// with uniform weights, or with the shares p_i in both places when
// server.weighted. c and all c_i start at 0.
func scaffold() fl.Method {
	const why = "its control variates are means of gradients"
	return fl.Method{
		Name:  "scaffold",
		Doc:   "SCAFFOLD: control variates correct the drift of local steps",
		Paper: "Karimireddy et al. 2020, arXiv:1910.06378",
		Uses: slices.Concat(hyper.UsingSteps(), personalLR, forgets("its plain steps remember nothing"), hyper.Needing("client.optimizer", "sgd", why),
			hyper.Needing("client.momentum", "0", why), hyper.Needing("client.clip_norm", "0", why), serverRate,
			hyper.Using("client.weight_decay", "client.bias_decay", "server.weighted")),
		SetDefaults: equally,
		StateLen:    modelLen,
		Local:       scaffoldLocal,
		Vectors:     2,
		Extra:       func(*fl.ServerParams) (down, up int) { return 1, 0 }, // the server knows c_i+ - c_i from the update
		NewServer:   func(size int) fl.Server { return &scaffoldServer{c: make([]float32, size)} },
		Gather:      scaffoldGather,

		Synchronous: "its control variates correct one version of the model",
	}
}

func scaffoldLocal(l *fl.Local) error {
	l.Uniform()
	c := l.Server.(*scaffoldServer).c
	shift := l.Vector(0)
	kernels.Sub(shift, c, l.State)
	before := l.Steps
	if err := l.SGD(fl.LocalRun{Shift: shift}); err != nil {
		return err
	}
	// c_i+ = -(c - c_i) + (w - w_i)/(K lr)
	change := l.Vector(1)
	l.Change(change)
	kernels.Scale(change, float32(1/(float64(l.Steps-before)*l.Params.LR)))
	kernels.Sub(l.State, change, shift)
	return nil
}

// scaffoldGather adds p_i (w - w_i)/(K_i lr_i), the clients' part of c_i+ - c_i.
func scaffoldGather(extra, delta []float32, l *fl.Local) {
	kernels.Axpy(extra, float32(l.Weight/(float64(l.Steps)*l.Params.LR)), delta)
}

type scaffoldServer struct{ c []float32 }

func (s *scaffoldServer) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	if u.Taken == 0 {
		return
	}
	kernels.Axpy(w, -float32(p.Rate(u.Round)), u.Mean)
	// sum(c_i+ - c_i)/N = share (mean of the extras - c), share = |cohort|/N
	share := float64(u.Taken) / float64(u.Clients)
	kernels.Scale(s.c, float32(1-share))
	kernels.Axpy(s.c, float32(share/u.Weight), u.Extra)
}

func (s *scaffoldServer) State() [][]float32 { return [][]float32{s.c} }
