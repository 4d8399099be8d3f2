package methods

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/kernels"
)

// fedTPServer keeps the hypernetwork and a row of numbers for each client, its
// embedding.
type fedTPServer struct {
	at         []int32 // where the projections lie in the model
	net        *hypernet
	embeddings []float32
	started    bool // the model begins with given weights, see nn.Model.WithStart
}

// Begin draws embeddings from the standard normal distribution and the hypernetwork as
// PyTorch does, as the released code has it, but for the biases of the last layer:
// those are the model's own first projections, so that what is made begins near them,
// and with them alone where the model begins with given weights.
func (s *fedTPServer) Begin(w []float32, key uint64) {
	stream, ld := kernels.NewStream(key, 0), s.net.inputs()
	for at := 0; at < len(s.embeddings); at += ld {
		for i := range s.net.layers[0].K {
			s.embeddings[at+i] = float32(stream.NormFloat64())
		}
	}
	for i, l := range s.net.layers {
		l.draw(kernels.NewStream(key, uint64(i+1)))
	}
	head := s.net.head()
	if s.started {
		clear(head.w)
	}
	for j, at := range s.at {
		head.b[j] = w[at]
	}
}

// Send puts the client's projections into the weights.
func (s *fedTPServer) Send(l *fl.Local) error {
	made := l.Vector(0)[:s.net.head().N]
	s.project(made, l.Client)
	for j, at := range s.at {
		l.Weights[at] = made[j]
	}
	return nil
}

// project makes the projections of a client.
func (s *fedTPServer) project(made []float32, client int) {
	features := s.net.features(s.embeddings[client*s.net.inputs():], 1)
	s.net.head().forward(made, features[len(features)-1], 1, false)
}

// OwnLen is how far rows of changes are apart.
func (s *fedTPServer) OwnLen() int { return ownLen(len(s.at)) }

// ownLen is an odd number of lines for n changes, so that no two rows of them meet in
// one set of a cache.
func ownLen(n int) int { return kernels.Pad(n) | kernels.Width }

// Take copies the change of the projections.
func (s *fedTPServer) Take(own, delta []float32, _ *fl.Local) {
	for j, at := range s.at {
		own[j] = delta[at]
	}
}

func (s *fedTPServer) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	if u.Taken == 0 {
		return
	}
	m, ld := len(u.Own.Clients), s.net.inputs()
	z := make([]float32, m*ld)
	for i, client := range u.Own.Clients {
		copy(z[i*ld:], s.embeddings[client*ld:][:ld])
	}
	features := s.net.features(z, m)
	last, head := features[len(features)-1], s.net.head()

	// The mean of what was sent is made of the mean of the features, since the last
	// layer is linear; what the clients have returned is that without the mean change.
	mean, sent := make([]float32, head.inputs()), make([]float32, head.N)
	for i := range m {
		share := float32(u.Own.Weights[i] / u.Weight)
		kernels.Axpy(mean, share, last[i*len(mean):][:len(mean)])
		kernels.Scale(u.Own.Of(i), share)
	}
	head.forward(sent, mean, 1, false)
	kernels.Sub(w, w, u.Mean)
	for j, at := range s.at {
		w[at] = sent[j] - u.Mean[at]
	}

	s.net.descend(z, features, u.Own.Changes, s.OwnLen(), m, float32(p.HyperLR))
	for i, client := range u.Own.Clients {
		kernels.Axpy(s.embeddings[client*ld:][:ld], -float32(p.HyperLR), z[i*ld:][:ld])
	}
}

// State returns the embeddings, then weights and biases of each layer.
func (s *fedTPServer) State() [][]float32 {
	all := [][]float32{s.embeddings}
	for _, l := range s.net.layers {
		all = append(all, l.w, l.b)
	}
	return all
}
