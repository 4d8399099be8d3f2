package methods

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// fedTP is FedTP (Li et al. 2022, algorithm 1): each client has queries, keys and
// values of its own. A hypernetwork H on the server makes the projections theta_i of
// all self-attention layers of a client from its embedding z_i, which is learned too;
// the other weights xi are shared. In a round a client is sent xi and
// theta_i = H(z_i), trains both to xi_i and theta_i', and with its share p_i of the
// training examples
//
//	xi  <- sum_i p_i xi_i
//	(H, z_i) <- (H, z_i) - lr sum_i p_i J_i^T (theta_i - theta_i'),  J_i = d theta_i / d (H, z_i)
//
// where lr is server.hyper_lr. The released code, https://github.com/zhyczy/FedTP at
// 3cca0d7, adds a momentum of 0.9 and a weight decay of 0.001 to that step, which is
// here the plain one of the text; the sizes of H are its. A personalized model is xi with
// theta_i as the server makes them, without local training, also of clients that were
// never drawn. The global model has, as in that code, the mean of the
// projections that the clients of the last round have returned.
func fedTP() fl.Method {
	return fl.Method{
		Name:  "fedtp",
		Doc:   "FedTP: a hypernetwork makes the queries, keys and values of each client's own self-attention",
		Paper: "Li et al. 2022, arXiv:2211.01572",
		Differs: "the hypernetwork and the embeddings take plain gradient steps; the authors' code adds a momentum of 0.9 " +
			"and a weight decay of 0.001. The sizes of the hypernetwork and the global model, with the mean of the last " +
			"clients' projections, follow the code",
		Uses: slices.Concat(hyper.UsingSGD(), forgets("the server makes a client's own weights anew in each round"), hyper.Needing("server.hyper_lr", "(0, inf)", ""),
			hyper.Needing("server.hyper_width", "[1, 65536]", ""), hyper.Using("server.hyper_depth"), hyper.Needing("server.embedding", "[1, 65536]", "")),
		SetDefaults: func(_ *fl.ClientParams, s *fl.ServerParams) {
			s.HyperLR, s.HyperWidth, s.HyperDepth, s.Embedding = 0.01, 150, 3, 128
		},
		Models:      []string{"vit-tiny", "char-gpt"},
		Prepare:     findProjections,
		Local:       plainSGD,
		Vectors:     1,
		Personal:    true,
		Personalize: func(*fl.Local) error { return nil }, // what the server has made
		NewSender:   newFedTPServer,
		SenderLen:   fedTPServerLen,
		Closed:      "the server has no embedding of it, from which it makes a client's weights",
		Synchronous: "the server makes each client's weights of what it keeps now",
	}
}

// findProjections returns where the projections lie, []int32 in the order of Model.Export.
func findProjections(cfg *fl.Config) (any, error) {
	at, all := projections(cfg.Model)
	switch {
	case all == 0:
		return nil, fmt.Errorf("method %q: model %s has no self-attention, whose queries, keys and values it makes; take "+
			"one that has, such as %s", cfg.Method.Name, cfg.Model.Name(), strings.Join(cfg.Method.Models, " or "))
	case len(at) == 0:
		return nil, fmt.Errorf("method %q: client.trainable leaves no queries, keys and values of model %s to train; add \"*.in_proj_weight\"", cfg.Method.Name, cfg.Model.Name())
	}
	return at, nil
}

// projections returns where the weights that make queries, keys and values lie in the
// packed vector, but for frozen ones, and how many there are with those.
func projections(m *nn.Model) (at []int32, all int) {
	m.Places().Each(func(name string, _ []int, places []int32) {
		if !strings.HasSuffix("."+name, ".in_proj_weight") {
			return
		}
		all += len(places)
		for _, i := range places {
			if !slices.ContainsFunc(m.Frozen(), func(s nn.Span) bool { return s.Lo <= int(i) && int(i) < s.Hi }) {
				at = append(at, i)
			}
		}
	})
	return at, all
}

func newFedTPServer(cfg *fl.Config, setup any) fl.SendingServer {
	at, p, clients := setup.([]int32), cfg.Server, len(cfg.Data.Clients)
	net := newHypernet(p.Embedding, p.HyperWidth, p.HyperDepth, len(at))
	return &fedTPServer{at: at, net: net, started: cfg.Model.Start() != nil, embeddings: make([]float32, clients*kernels.Pad(p.Embedding))}
}

func fedTPServerLen(cfg *fl.Config, setup any) (kept, own int) {
	p, n := cfg.Server, len(setup.([]int32))
	return len(cfg.Data.Clients)*kernels.Pad(p.Embedding) + hypernetLen(p.Embedding, p.HyperWidth, p.HyperDepth, n), ownLen(n)
}
