package methods

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// ifca is IFCA, the iterative federated clustering algorithm with model averaging (Ghosh et
// al. 2020, algorithm 1, option II): the server keeps server.clusters models, which begin with
// different random weights. A client is sent all of them, trains the one with the lowest loss
// on its training samples, and each model becomes the mean of the weights of the clients that
// chose it; one that nobody chose stays. A personalized model is the one that the client
// chooses, without local training. The global model is the one that most clients of the last
// round have chosen.
func ifca() fl.Method {
	return fl.Method{
		Name:    "ifca",
		Doc:     "IFCA: several models, of which each client trains the one with its lowest loss",
		Paper:   "Ghosh et al. 2020, arXiv:2006.04088",
		Differs: "all layers belong to the clusters; the authors' code can share the first ones. The global model is the one that most clients of the last round chose",
		Uses: slices.Concat(hyper.UsingSGD(), forgets("a client may train another model in the next round"),
			hyper.Needing("server.clusters", "[1, 100]", ""), hyper.Using("server.weighted")),
		SetDefaults: func(_ *fl.ClientParams, s *fl.ServerParams) { s.Clusters, s.Weighted = 2, false },
		Prepare:     prepareIFCA,
		Local:       uniformSGD,
		Personal:    true,
		Personalize: func(*fl.Local) error { return nil }, // what the client chose
		Extra:       func(s *fl.ServerParams) (down, up int) { return s.Clusters - 1, 0 },
		Work:        func(w fl.Workload) float64 { return w.SGD() + float64(w.Server.Clusters)*w.Train/3 },
		NewSender: func(cfg *fl.Config, _ any) fl.SendingServer {
			return &ifcaServer{cfg.Model, make([]float32, cfg.Server.Clusters*cfg.Model.Size())}
		},
		SenderLen: func(cfg *fl.Config, _ any) (kept, own int) {
			return cfg.Server.Clusters * cfg.Model.Size(), cfg.Model.Size()
		},
		Synchronous: "each model is the mean over the clients of a round that chose it",
	}
}

func prepareIFCA(cfg *fl.Config) (any, error) {
	if cfg.Model.Start() != nil && cfg.Server.Clusters > 1 {
		return nil, fmt.Errorf("method %q: its models begin with different random weights, but the first ones are given; leave out the file of weights", cfg.Method.Name)
	}
	return nil, refuseStatistics(cfg)
}

// ifcaServer keeps the models one after the other.
type ifcaServer struct {
	model  *nn.Model
	models []float32
}

func (s *ifcaServer) of(cluster int) []float32 {
	size := s.model.Size()
	return s.models[cluster*size:][:size]
}

func (s *ifcaServer) clusters() int { return len(s.models) / s.model.Size() }

// Begin has the first model begin with the trial's weights and draws the others.
func (s *ifcaServer) Begin(w []float32, key uint64) {
	copy(s.of(0), w)
	for j := 1; j < s.clusters(); j++ {
		s.model.Init(s.of(j), kernels.Key(key, uint64(j)))
	}
}

// Send chooses the model and leaves its number in l.Number.
func (s *ifcaServer) Send(l *fl.Local) error {
	best, lowest := 0, 0.0
	for j := range s.clusters() {
		loss, err := l.MeanLoss(s.of(j), l.Train)
		if err != nil {
			return err
		}
		if j == 0 || loss < lowest {
			best, lowest = j, loss
		}
	}
	copy(l.Weights, s.of(best))
	l.Number = float64(best)
	return nil
}

func (s *ifcaServer) OwnLen() int { return s.model.Size() }

func (s *ifcaServer) Take(own, delta []float32, _ *fl.Local) { copy(own, delta) }

func (s *ifcaServer) Step(w []float32, u *fl.Update, _ fl.ServerParams) {
	weights, clients := make([]float64, s.clusters()), make([]int, s.clusters())
	for slot, weight := range u.Own.Weights {
		if weight > 0 {
			j := int(u.Own.Numbers[slot])
			weights[j] += weight
			clients[j]++
		}
	}
	for slot, weight := range u.Own.Weights {
		if weight > 0 {
			j := int(u.Own.Numbers[slot])
			kernels.Axpy(s.of(j), -float32(weight/weights[j]), u.Own.Of(slot))
		}
	}
	if u.Taken > 0 {
		copy(w, s.of(slices.Index(clients, slices.Max(clients))))
	}
}

func (s *ifcaServer) State() [][]float32 { return [][]float32{s.models} }
