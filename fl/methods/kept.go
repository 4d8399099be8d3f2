package methods

import (
	"slices"
	"sync"

	"github.com/fedfast/fedfast/fl"
)

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
