package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
)

// mimeLite is MimeLite with SGD with momentum (Karimireddy et al. 2020, algorithm 1 and table
// 1): the momentum m is the server's, and every local step uses it as it is, b = server.beta1:
//
//	w_i <- w_i - lr ((1 - b) grad f(w_i) + b m)
//	w <- mean w_i,  m <- (1 - b) mean grad F_i(w) + b m
//
// where grad F_i(w) is the gradient of the client's whole training set at the broadcast
// weights, without dropout, and means have uniform weights unless server.weighted. m starts
// at 0.
func mimeLite() fl.Method {
	const why = "local steps use the server's momentum"
	return fl.Method{
		Name:    "mimelite",
		Doc:     "MimeLite: local steps use a momentum of the server's, which the gradients of the clients' whole data update",
		Paper:   "Karimireddy et al. 2020, arXiv:2008.03606",
		Differs: "the rule is SGD with momentum, without the paper's others and Mime's correction of the gradients",
		Uses: slices.Concat(hyper.UsingSteps(), personalLR, forgets(why), hyper.Needing("client.optimizer", "sgd", why), hyper.Needing("client.momentum", "0", why+"; set server.beta1"),
			hyper.Using("client.weight_decay", "server.beta1", "server.weighted")),
		SetDefaults: func(_ *fl.ClientParams, s *fl.ServerParams) { s.Beta1, s.Weighted = 0.9, false },
		Local:       mimeLiteLocal,
		Vectors:     2,
		Extra:       func(*fl.ServerParams) (down, up int) { return 1, 1 }, // the momentum, and the gradient
		Personalize: plainSGD,
		Work:        func(w fl.Workload) float64 { return w.SGD() + w.Train },
		NewSender: func(cfg *fl.Config, _ any) fl.SendingServer {
			return &mimeLiteServer{make([]float32, cfg.Model.Size())}
		},
		SenderLen:   func(cfg *fl.Config, _ any) (kept, own int) { return cfg.Model.Size(), cfg.Model.Size() },
		Synchronous: "its momentum is of gradients at one version of the model",
	}
}

func mimeLiteLocal(l *fl.Local) error {
	l.Uniform()
	whole, shift := l.Vector(0), l.Vector(1)
	if err := wholeGradient(l, whole); err != nil {
		return err
	}
	p, beta := l.Params, l.ServerParams.Beta1
	copy(shift, l.Server.(*mimeLiteServer).momentum)
	kernels.Scale(shift, float32(beta/(1-beta)))
	p.LR *= 1 - beta
	return l.SGD(fl.LocalRun{Params: &p, Shift: shift})
}

// wholeGradient writes the gradient of the mean loss of all training samples at the
// broadcast weights to dst, with weight decay.
func wholeGradient(l *fl.Local, dst []float32) error {
	clear(dst)
	p, n := l.Params, l.Train.Len()
	p.Dropout = 0
	batches, order := l.Batches(1, p), make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	for at := 0; at < n; at += p.Batch {
		b, err := batches.Read(l.Train, order[at:min(n, at+p.Batch)])
		if err != nil {
			return err
		}
		grad, _ := l.Gradient(l.Broadcast, b, p, 0)
		kernels.Axpy(dst, float32(float64(b.N)/float64(n)), grad)
	}
	kernels.Axpy(dst, float32(p.WeightDecay), l.Broadcast)
	l.Shared(dst)
	l.Again(n)
	return nil
}

// mimeLiteServer keeps the momentum.
type mimeLiteServer struct{ momentum []float32 }

func (*mimeLiteServer) Begin([]float32, uint64) {}

func (*mimeLiteServer) Send(*fl.Local) error { return nil }

func (s *mimeLiteServer) OwnLen() int { return len(s.momentum) }

// Take copies the gradient of the client's whole data.
func (*mimeLiteServer) Take(own, _ []float32, l *fl.Local) { copy(own, l.Vector(0)) }

func (s *mimeLiteServer) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	if u.Taken == 0 {
		return
	}
	kernels.Sub(w, w, u.Mean)
	kernels.Scale(s.momentum, float32(p.Beta1))
	for slot, weight := range u.Own.Weights {
		kernels.Axpy(s.momentum, float32((1-p.Beta1)*weight/u.Weight), u.Own.Of(slot))
	}
}

func (s *mimeLiteServer) State() [][]float32 { return [][]float32{s.momentum} }
