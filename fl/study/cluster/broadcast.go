package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// broadcast uploads weights to workers, once for all concurrent tasks that use them.
type broadcast struct {
	blobs interface {
		PutBytes(ctx context.Context, text []byte) (string, error)
		Remove(ctx context.Context, name string) error
		Era() uint64
	}
	interrupted interruption

	mu     sync.Mutex         // guards what follows
	sent   map[*float32]*sent // weights in transit, by their address
	unused []string           // digests of weights that are kept on the server
}

func newBroadcast(b *wire.Blobs, i interruption) *broadcast {
	return &broadcast{blobs: b, interrupted: i, sent: map[*float32]*sent{}}
}

// sent holds weights in transit to workers.
type sent struct {
	read  chan struct{} // closed once the weights were read
	made  chan struct{} // closed once name or err is set
	name  string
	err   error
	users int
	era   uint64
	stop  context.CancelFunc
}

// unused is the number of weights kept on the server although no task uses them: the
// next round may start with those of an evaluation.
const unused = 2

// send uploads weights, unless a task has them in transit, and returns their digest. done
// is called when the task has ended. Weights are identified by their address, which may be
// reused as soon as all tasks have ended.
func (b *broadcast) send(ctx context.Context, weights []float32) (name string, done func(), err error) {
	key := &weights[0]
	b.mu.Lock()
	s, era := b.sent[key], b.blobs.Era()
	if s == nil || s.era != era { // the server may have lost what was sent before
		put, stop := context.WithCancel(context.WithoutCancel(ctx)) // other tasks may need it, too
		s = &sent{read: make(chan struct{}), made: make(chan struct{}), stop: stop, era: era}
		b.sent[key] = s
		go b.put(put, s, weights)
	}
	s.users++
	b.mu.Unlock()
	done = func() { b.received(ctx, key, s) }
	select {
	case <-s.made:
		err = s.err
	case <-ctx.Done():
		<-s.read
		err = ctx.Err()
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return s.name, done, nil
}

// doubt has weights that a worker could not fetch uploaded again, for tasks that begin now: they may
// have been removed as unused while equal ones were found to be there.
func (b *broadcast) doubt(weights []float32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sent, &weights[0])
}

// put uploads the weights.
func (b *broadcast) put(ctx context.Context, s *sent, weights []float32) {
	defer close(s.made)
	text, err := wire.EncodeSnapshot(&fl.Snapshot{Weights: weights})
	close(s.read)
	if s.err = err; err == nil {
		s.name, s.err = b.blobs.PutBytes(ctx, text)
	}
}

// arrived reports whether the weights were uploaded.
func (s *sent) arrived() bool {
	select {
	case <-s.made:
		return s.err == nil
	default:
		return false
	}
}

// received removes weights that are no longer used, except the newest ones.
func (b *broadcast) received(ctx context.Context, key *float32, s *sent) {
	old := b.leave(key, s)
	hurry, end := b.interrupted.hurry(context.WithoutCancel(ctx))
	defer end()
	for _, name := range old {
		_ = b.blobs.Remove(hurry, name) // a leftover ends with the server
	}
}

// leave notes that a task has ended and returns the digests of weights to be removed.
func (b *broadcast) leave(key *float32, s *sent) (old []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.users--
	if s.users > 0 {
		return nil
	}
	if b.sent[key] == s {
		delete(b.sent, key)
	}
	s.stop()
	if !s.arrived() {
		return nil
	}
	b.unused = append(slices.DeleteFunc(b.unused, func(name string) bool { return name == s.name }), s.name)
	b.unused = slices.DeleteFunc(b.unused, func(name string) bool {
		evicted := len(b.unused)-len(old) > unused && !b.uses(name) // else it is looked at again
		if evicted {
			old = append(old, name)
		}
		return evicted
	})
	return old
}

// uses reports whether some task uses the weights with a digest.
func (b *broadcast) uses(name string) bool {
	for s := range maps.Values(b.sent) {
		select {
		case <-s.made:
			if s.name == name {
				return true
			}
		default: // it may turn out to be these
			return true
		}
	}
	return false
}
