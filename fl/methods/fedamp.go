package methods

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// fedAMP is FedAMP (Huang et al. 2021, algorithm 1 with A(x) = 1 - exp(-x/s)): the server
// keeps the model v_i of each of the N clients, and sends a client the mixture
//
//	u_i = v_i + sum_j c_ij (v_j - v_i),  c_ij = a/s exp(-|v_i - v_j|^2/s),  j not i
//
// with a = server.amp_alpha and s = server.amp_sigma, so that models that are alike attract
// each other. From u_i the client descends its loss plus lambda/(2a) |v - u_i|^2, lambda =
// client.lambda, which makes the next v_i. A client's model must keep a weight of at least 0
// in its mixture, which (N - 1) a <= s ensures; the models of clients that were never
// drawn are the initial one. The paper has all clients in each round, and they solve
// their problems. The global model is the mean of all v_i.
func fedAMP() fl.Method {
	return fl.Method{
		Name:  "fedamp",
		Doc:   "FedAMP: each client has a model of its own, which is attracted by the models that are like it",
		Paper: "Huang et al. 2021, Personalized Cross-Silo Federated Learning on Non-IID Data, arXiv:2007.03797",
		Differs: "clients take local steps on their objective from what they are sent; the global model is the mean of all clients' models. " +
			"The heuristic variant with cosines is not here",
		Uses: slices.Concat(hyper.UsingSGD(), hyper.Using("client.optimizer_state"), hyper.Needing("client.lambda", "(0, inf)", ""),
			hyper.Needing("server.amp_alpha", "(0, inf)", ""), hyper.Needing("server.amp_sigma", "(0, inf)", "")),
		SetDefaults: func(c *fl.ClientParams, s *fl.ServerParams) { c.Lambda, s.AMPAlpha, s.AMPSigma = 1, 1e4, 1e6 },
		Prepare:     needsOwnModels,
		Local:       fedAMPLocal,
		Vectors:     1,
		Personalize: ownModel,
		Kept:        ownModel,
		NewSender: func(cfg *fl.Config, _ any) fl.SendingServer {
			return &fedAMPServer{ownModels{cfg.Model.Size(), make([]float32, len(cfg.Data.Clients)*cfg.Model.Size())}}
		},
		SenderLen: func(cfg *fl.Config, _ any) (kept, own int) {
			return len(cfg.Data.Clients) * cfg.Model.Size(), cfg.Model.Size()
		},
		Synchronous: "the server mixes each client's weights of the models that it keeps now",
	}
}

func fedAMPLocal(l *fl.Local) error {
	if err := l.SGD(fl.LocalRun{Mu: l.Params.Lambda / l.ServerParams.AMPAlpha}); err != nil {
		return err
	}
	l.Upload = l.Vector(0)
	kernels.Sub(l.Upload, l.Server.(*fedAMPServer).of(l.Client), l.Weights)
	return nil
}

// fedAMPServer mixes the clients' models.
type fedAMPServer struct{ ownModels }

func (s *fedAMPServer) Send(l *fl.Local) error {
	alpha, sigma := l.ServerParams.AMPAlpha, l.ServerParams.AMPSigma
	own, away, others := s.of(l.Client), l.Vector(0), 0.0
	copy(l.Weights, own)
	for j := range len(s.models) / s.size {
		if j == l.Client {
			continue
		}
		kernels.Sub(away, s.of(j), own)
		weight := float64(alpha / sigma * det.Exp(-kernels.Dot(away, away)/sigma))
		others += weight
		kernels.Axpy(l.Weights, float32(weight), away)
	}
	if others > 1 {
		most := sigma / float64(len(s.models)/s.size-1)
		return &key.Error{Key: "server.amp_alpha", Problem: fmt.Sprintf(" = %v: client %d has a weight of %.3g in its own mixture, below 0; %.3g or less never gives such", alpha, l.Client, 1-others, most)}
	}
	return nil
}

// ownModels are a model for each client, which a server keeps. Clients upload their changes
// from these, and the trial's weights are their mean.
type ownModels struct {
	size   int
	models []float32
}

// needsOwnModels returns an error for settings in which a server cannot keep a model for
// each client.
func needsOwnModels(cfg *fl.Config) (any, error) {
	switch {
	case cfg.Replacement:
		return nil, fmt.Errorf("sampling = \"with\" (replacement): the server of method %q keeps a model for each client, so a client cannot be twice in a cohort; use \"without\"", cfg.Method.Name)
	case cfg.Model.NumBuffers() > 0:
		return nil, fmt.Errorf("method %q: the server keeps a model for each client, without the statistics of batch normalization, which model %s has; use groupnorm", cfg.Method.Name, cfg.Model.Name())
	}
	return nil, nil
}

// of returns the model of a client.
func (o *ownModels) of(client int) []float32 { return o.models[client*o.size:][:o.size] }

// Begin has all models begin with the trial's weights.
func (o *ownModels) Begin(w []float32, _ uint64) {
	for at := 0; at < len(o.models); at += o.size {
		copy(o.models[at:], w)
	}
}

// OwnLen is that of a model.
func (o *ownModels) OwnLen() int { return o.size }

// Take copies the change of a client's model.
func (o *ownModels) Take(own, delta []float32, _ *fl.Local) { copy(own, delta) }

// Step changes the models of the clients that returned something, and the weights to the mean.
func (o *ownModels) Step(w []float32, u *fl.Update, _ fl.ServerParams) {
	for slot, client := range u.Own.Clients {
		change := u.Own.Of(slot)
		kernels.Sub(o.of(client), o.of(client), change)
		kernels.Axpy(w, -1/float32(u.Clients), change)
	}
}

// State returns the models.
func (o *ownModels) State() [][]float32 { return [][]float32{o.models} }

// ownModel makes the weights the client's model, as a server keeps it.
func ownModel(l *fl.Local) error {
	copy(l.Weights, l.Server.(interface{ of(client int) []float32 }).of(l.Client))
	return nil
}
