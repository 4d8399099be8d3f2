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
		Name:    "fedamp",
		Doc:     "FedAMP: each client has a model of its own, which is attracted by the models that are like it",
		Paper:   "Huang et al. 2021, arXiv:2007.03797",
		Differs: "clients take local steps on their objective from what they are sent; the global model is the mean of all clients' models",
		Uses: slices.Concat(hyper.UsingSGD(), hyper.Using("client.optimizer_state"), hyper.Needing("client.lambda", "(0, inf)", ""),
			hyper.Needing("server.amp_alpha", "(0, inf)", ""), hyper.Needing("server.amp_sigma", "(0, inf)", "")),
		SetDefaults: func(c *fl.ClientParams, s *fl.ServerParams) { c.Lambda, s.AMPAlpha, s.AMPSigma = 1, 1e4, 1e6 },
		Prepare:     needsOwnModels,
		Local:       fedAMPLocal,
		Vectors:     1,
		Personal:    true,
		Personalize: ownModel,
		Kept:        ownModel,
		NewSender:   func(cfg *fl.Config, _ any) fl.SendingServer { return &fedAMPServer{newOwnModels(cfg)} },
		SenderLen:   ownModelsLen,
		Closed:      "the server mixes a client's weights of the model that it keeps of it",
		Synchronous: "the server mixes each client's weights of the models that it keeps now",
	}
}

func fedAMPLocal(l *fl.Local) error {
	return trainOwnModel(l, fl.LocalRun{Mu: l.Params.Lambda / l.ServerParams.AMPAlpha})
}

// fedAMPServer mixes the clients' models.
type fedAMPServer struct{ *ownModels }

func (s *fedAMPServer) Send(l *fl.Local) error {
	alpha, sigma := l.ServerParams.AMPAlpha, l.ServerParams.AMPSigma
	own, away, others := s.of(l.Client), l.Vector(0), 0.0
	copy(l.Weights, own)
	for j := range s.clients() {
		if j == l.Client {
			continue
		}
		kernels.Sub(away, s.of(j), own)
		weight := float64(alpha / sigma * det.Exp(-kernels.Dot(away, away)/sigma))
		others += weight
		kernels.Axpy(l.Weights, float32(weight), away)
	}
	if others > 1+1e-9 { // a sum of weights may miss 1 by roundings
		most := sigma / float64(s.clients()-1)
		return &key.Error{Key: "server.amp_alpha", Problem: fmt.Sprintf(" = %v: the model of client %d has the weight %.3g "+
			"in its own mixture, which must be 0 or more; use at most %.4g", alpha, l.Client, 1-others, most)}
	}
	return nil
}
