package methods

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// afl is agnostic federated learning (Mohri et al. 2019, algorithm 1): it minimizes the
// largest mean of the clients' losses, whatever their weights. The server keeps a weight
// lambda_i for each of the N clients, which begin as the shares of the training samples, and
// with the losses F_i of the broadcast weights on the training samples of a cohort of m,
//
//	w <- the mean of the w_i by lambda_i
//	lambda <- the point of the simplex next to lambda + g (N/m) F,  g = server.lambda_lr
//
// where F is 0 outside of the cohort, so that its mean over cohorts is g F. The paper takes
// one gradient step a round instead of local training.
func afl() fl.Method {
	return fl.Method{
		Name:  "afl",
		Doc:   "AFL: the clients' weights rise with their losses, so that the worst off count most",
		Paper: "Mohri et al. 2019, arXiv:1902.00146",
		Differs: "a round has local training instead of one gradient step, and the mean of the cohort's weights by " +
			"lambda; losses of a cohort step lambda by the number of clients over that of the cohort",
		Uses:        slices.Concat(localSGD, hyper.Needing("server.lambda_lr", "(0, inf)", "")),
		SetDefaults: func(_ *fl.ClientParams, s *fl.ServerParams) { s.LambdaLR = 0.1 },
		Local:       aflLocal,
		Personalize: plainSGD,
		Work:        workWithLoss,
		NewSender:   newAFLServer,
		SenderLen:   func(cfg *fl.Config, _ any) (kept, own int) { return len(cfg.Data.Clients), 0 },
		Synchronous: "the clients' weights go by losses of one version of the model",
	}
}

func aflLocal(l *fl.Local) (err error) {
	if lambda := l.Server.(*aflServer).lambda; l.Client < len(lambda) { // else it is an unseen client
		l.Weight = float64(lambda[l.Client])
	}
	if l.Number, err = l.MeanLoss(l.Broadcast, l.Train); err != nil {
		return err
	}
	return l.SGD(fl.LocalRun{})
}

// aflServer keeps the weights of the clients.
type aflServer struct{ lambda []float32 }

func newAFLServer(cfg *fl.Config, _ any) fl.SendingServer {
	s, total := &aflServer{make([]float32, len(cfg.Data.Clients))}, 0.0
	for i := range cfg.Data.Clients {
		total += float64(cfg.Data.Clients[i].Train.Len())
	}
	for i := range s.lambda {
		s.lambda[i] = float32(float64(cfg.Data.Clients[i].Train.Len()) / total)
	}
	return s
}

func (*aflServer) Begin([]float32, uint64) {}

func (*aflServer) Send(*fl.Local) error { return nil }

func (*aflServer) OwnLen() int { return 0 }

func (*aflServer) Take(_, _ []float32, _ *fl.Local) {}

func (s *aflServer) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	kernels.Sub(w, w, u.Mean)
	share := float64(len(s.lambda)) / float64(len(u.Own.Clients))
	next := list.Of(s.lambda, func(x float32) float64 { return float64(x) })
	for slot, loss := range u.Own.Numbers {
		if !math.IsNaN(loss) {
			next[u.Own.Clients[slot]] += float64(p.LambdaLR * share * loss)
		}
	}
	threshold := simplexThreshold(next)
	for i, x := range next {
		s.lambda[i] = float32(max(0, x-threshold))
	}
}

func (s *aflServer) State() [][]float32 { return [][]float32{s.lambda} }

// simplexThreshold returns t such that the numbers max(0, x - t) add up to 1: the point of
// the probability simplex next to x (Duchi et al. 2008, figure 1).
func simplexThreshold(x []float64) (t float64) {
	falling, sum := slices.Clone(x), 0.0
	slices.Sort(falling)
	slices.Reverse(falling)
	for i, x := range falling {
		sum += x
		if next := (sum - 1) / float64(i+1); x > next {
			t = next
		}
	}
	return t
}
