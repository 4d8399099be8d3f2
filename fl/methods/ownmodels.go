package methods

import (
	"fmt"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/kernels"
)

// ownModels are a model for each client, which a server keeps. Clients upload their changes
// from these, and the trial's weights are their mean.
type ownModels struct {
	size   int
	models []float32
}

// needsOwnModels returns an error for settings in which a server cannot keep a model for
// each client.
func needsOwnModels(cfg *fl.Config) (any, error) {
	if cfg.Replacement {
		return nil, fmt.Errorf("sampling with replacement: the server of method %q keeps a model for each client, so a client cannot be twice in a cohort; use \"without\"", cfg.Method.Name)
	}
	return nil, refuseStatistics(cfg)
}

// refuseStatistics returns an error for a model with batch normalization, whose statistics
// the engine moves in the trial's weights alone.
func refuseStatistics(cfg *fl.Config) error {
	if cfg.Model.NumBuffers() == 0 {
		return nil
	}
	return fmt.Errorf("method %q: the server keeps several models, without the statistics of batch normalization, which model %s has; use groupnorm", cfg.Method.Name, cfg.Model.Name())
}

// newOwnModels returns those of a trial before it begins.
func newOwnModels(cfg *fl.Config) *ownModels {
	kept, size := ownModelsLen(cfg, nil)
	return &ownModels{size, make([]float32, kept)}
}

// ownModelsLen returns how many numbers they have, and a model has.
func ownModelsLen(cfg *fl.Config, _ any) (kept, own int) {
	return len(cfg.Data.Clients) * cfg.Model.Size(), cfg.Model.Size()
}

func (o *ownModels) clients() int { return len(o.models) / o.size }

// of returns the model of a client.
func (o *ownModels) of(client int) []float32 { return o.models[client*o.size:][:o.size] }

// Begin has all models begin with the trial's weights.
func (o *ownModels) Begin(w []float32, _ uint64) {
	for at := 0; at < len(o.models); at += o.size {
		copy(o.models[at:], w)
	}
}

// OwnLen is the length of a model.
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

// keepsModels is a server that has ownModels.
type keepsModels interface{ of(client int) []float32 }

// trainOwnModel trains what the client was sent and uploads its change from its own model.
func trainOwnModel(l *fl.Local, run fl.LocalRun) error {
	if err := l.SGD(run); err != nil {
		return err
	}
	l.Upload = l.Vector(0)
	kernels.Sub(l.Upload, l.Server.(keepsModels).of(l.Client), l.Weights)
	return nil
}

// ownModel makes the weights the client's model, as a server keeps it.
func ownModel(l *fl.Local) error {
	copy(l.Weights, l.Server.(keepsModels).of(l.Client))
	return nil
}

// maxSubnets bounds the sub-networks whose places are kept, maxKept how many times as
// many places as the whole network has they hold together, but for the newest.
const (
	maxSubnets = 16
	maxKept    = 2
)

// keptSubnets are the subnets of a network that were asked for last, by what they are known.
type keptSubnets[K comparable] struct {
	size int // of the whole network

	mu   sync.Mutex
	kept []keptSubnet[K] // the newest last
}

type keptSubnet[K comparable] struct {
	key K
	net *fl.Subnet
}

// of returns the sub-network that a key stands for, which make cuts where it is not
// kept.
func (s *keptSubnets[K]) of(key K, make func() (*fl.Subnet, error)) (*fl.Subnet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.kept, func(k keptSubnet[K]) bool { return k.key == key }); i >= 0 {
		k := s.kept[i]
		s.kept = append(slices.Delete(s.kept, i, i+1), k)
		return k.net, nil
	}
	net, err := make()
	if err != nil {
		return nil, err
	}
	s.kept = append(s.kept, keptSubnet[K]{key, net})
	places := 0
	for i, k := range slices.Backward(s.kept) {
		if places += len(k.net.Place); len(s.kept)-i > maxSubnets || i < len(s.kept)-1 && places > maxKept*s.size {
			s.kept = slices.Delete(s.kept, 0, i+1)
			break
		}
	}
	return net, nil
}
