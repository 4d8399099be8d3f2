package methods

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// fedFomo is FedFomo (Zhang et al. 2021, section 4): the server keeps the model v_i of each
// client. A client is sent server.models models of others, weighs them by what they would
// gain on its validation samples, moves towards the better ones, and trains from there:
//
//	g_ij = (F_i(v_i) - F_i(v_j)) / |v_i - v_j|
//	v_i <- v_i + sum_j max(g_ij, 0)/sum_k max(g_ik, 0) (v_j - v_i), as it is where no g is above 0
//
// It is sent the models of the highest P_ij, which add up its g_ij and start at 0; models of
// equal P take turns from round to round. The authors take v_i before its last local training
// instead, so that this training competes with the models of others, and draw some of the models
// that are sent at random (epsilon-greedy). The global model is the mean of all v_i.
func fedFomo() fl.Method {
	return fl.Method{
		Name:  "fedfomo",
		Doc:   "FedFomo: each client moves its own model towards those of others that are better on its validation samples",
		Paper: "Zhang et al. 2021, arXiv:2012.08565",
		Differs: "gains are over the client's model after its last local training, not the one before; the models of " +
			"the highest worth are sent, and equal ones take turns, where the authors draw some at random (epsilon-greedy); " +
			"the global model is the mean of all clients' models",
		Uses:        slices.Concat(hyper.UsingSGD(), hyper.Using("client.optimizer_state"), hyper.Needing("server.models", "[1, 1000]", "")),
		SetDefaults: func(_ *fl.ClientParams, s *fl.ServerParams) { s.Models = 5 },
		Prepare: func(cfg *fl.Config) (any, error) {
			for i := range cfg.Data.Clients {
				if c := &cfg.Data.Clients[i]; c.Val.Len() == 0 {
					return nil, fmt.Errorf("data.split: client %s has no validation samples, on which method %q weighs models; give every client some", c.ID, cfg.Method.Name)
				}
			}
			return needsOwnModels(cfg)
		},
		StateLen:    func(cfg *fl.Config) int { return len(cfg.Data.Clients) }, // P_i
		Local:       func(l *fl.Local) error { return trainOwnModel(l, fl.LocalRun{}) },
		Vectors:     2,
		Personal:    true,
		Personalize: ownModel,
		Kept:        ownModel,
		Extra:       func(s *fl.ServerParams) (down, up int) { return s.Models - 1, 0 },
		Work:        func(w fl.Workload) float64 { return w.SGD() + float64(w.Server.Models+1)*w.Val/3 },
		NewSender: func(cfg *fl.Config, _ any) fl.SendingServer {
			return &fedFomoServer{newOwnModels(cfg)}
		},
		SenderLen:   ownModelsLen,
		Closed:      "the server keeps models of the clients that train alone, and what these are worth to each other",
		Synchronous: "the server sends each client models that it keeps now",
	}
}

// fedFomoServer has clients move towards each other's models.
type fedFomoServer struct{ *ownModels }

func (s *fedFomoServer) Send(l *fl.Local) error {
	own, away, worth := s.of(l.Client), l.Vector(0), l.State
	copy(l.Weights, own)
	at, err := l.MeanLoss(own, l.Val)
	if err != nil {
		return err
	}
	gains, total := map[int]float64{}, 0.0
	sent := s.sent(l)
	for _, j := range sent {
		loss, err := l.MeanLoss(s.of(j), l.Val)
		if err != nil {
			return err
		}
		kernels.Sub(away, s.of(j), own)
		gains[j] = (at - loss) / (kernels.Norm(away) + 1e-5)
		worth[j] += float32(gains[j])
		total += max(0, gains[j])
	}
	for _, j := range sent {
		if gains[j] > 0 {
			kernels.Sub(away, s.of(j), own)
			kernels.Axpy(l.Weights, float32(gains[j]/total), away)
		}
	}
	return nil
}

// sent returns the other clients whose models a client is sent.
func (s *fedFomoServer) sent(l *fl.Local) []int {
	clients := len(l.State)
	turn := func(j int) int { return (j + clients - (l.Client+l.Round*l.ServerParams.Models)%clients) % clients }
	others := list.Places(clients, func(j int) bool { return j != l.Client })
	slices.SortFunc(others, func(a, b int) int {
		return cmp.Or(cmp.Compare(l.State[b], l.State[a]), cmp.Compare(turn(a), turn(b)))
	})
	return others[:min(len(others), l.ServerParams.Models)]
}
