package cluster

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// sending returns what sends weights to a server.
func sending(t *testing.T) *broadcast {
	t.Helper()
	b := openServer(t)
	blobs, err := b.CreateBlobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return newBroadcast(blobs.Of("", 1<<20), func(func()) func() bool { return func() bool { return true } })
}

// comesBack compares weights with those that arrive under a name.
func comesBack(t *testing.T, b *wire.Blobs, name string, want []float32) {
	t.Helper()
	s, err := b.Get(t.Context(), name)
	if err != nil || !slices.Equal(s.Weights, want) {
		t.Errorf("weights arrive as %+v, want %v: %v", s, want, err)
	}
}

// TestBroadcastForgetsWhatFailed sends weights where that fails, then others from the
// same memory: they arrive as they are.
func TestBroadcastForgetsWhatFailed(t *testing.T) {
	b := sending(t)
	weights := []float32{1, 2, 3}
	whole := b.blobs.(*wire.Blobs)
	b.blobs = brokenBlobs{whole}
	for range 2 {
		if _, _, err := b.send(t.Context(), weights); !errors.Is(err, errBroken) {
			t.Fatalf("weights are sent where nothing can be: %v", err)
		}
	}
	if len(b.sent) > 0 {
		t.Errorf("what could not be sent is kept: %v", b.sent)
	}
	b.blobs = whole
	weights[0] = 7
	name, done, err := b.send(t.Context(), weights)
	if err != nil {
		t.Fatal(err)
	}
	comesBack(t, whole, name, weights)
	if done(); len(b.sent) > 0 || len(b.unused) != 1 {
		t.Errorf("they are kept: %v, %q", b.sent, b.unused)
	}
}

// TestBroadcastSendsAgain removes weights from the server while a task uses them, as a removal may
// do that was under way when equal ones were sent: after a doubt they are sent again, and both
// tasks end.
func TestBroadcastSendsAgain(t *testing.T) {
	b := sending(t)
	whole, weights := b.blobs.(*wire.Blobs), []float32{1, 2, 3}
	name, first, err := b.send(t.Context(), weights)
	if err != nil {
		t.Fatal(err)
	}
	if err := whole.Remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if _, err := whole.Get(t.Context(), name); err == nil {
		t.Fatal("what was removed is still there")
	}
	b.doubt(weights)
	again, second, err := b.send(t.Context(), weights)
	if err != nil || again != name {
		t.Fatalf("sent again as %s, not as %s: %v", again, name, err)
	}
	comesBack(t, whole, name, weights)
	first()
	comesBack(t, whole, name, weights)
	if second(); len(b.sent) > 0 || len(b.unused) != 1 {
		t.Errorf("they are kept: %v, %q", b.sent, b.unused)
	}
}

// TestBroadcastIsInterrupted interrupts tasks whose weights are on a way that does not
// end: they end at once, and others can be sent from the same memory.
func TestBroadcastIsInterrupted(t *testing.T) {
	b := sending(t)
	whole := b.blobs.(*wire.Blobs)
	b.blobs = endlessBlobs{whole}
	weights := []float32{1, 2, 3}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, _, err := b.send(ctx, weights)
			ended <- err
		}()
	}
	time.Sleep(50 * time.Millisecond)
	stop()
	for range 2 {
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("it ends with %v", err)
			}
		case <-time.After(2 * time.Second):
			t.Fatal("a task waits for its weights although it is interrupted")
		}
	}
	b.blobs = whole
	weights[1] = 9
	name, done, err := b.send(t.Context(), weights)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	comesBack(t, whole, name, weights)
}

// TestBroadcastForgetsWhatIsUnused has two trials send other weights in every round, each
// while the other one's are on the way: no more of them stay than may.
func TestBroadcastForgetsWhatIsUnused(t *testing.T) {
	b := sending(t)
	there := &countedBlobs{Blobs: b.blobs.(*wire.Blobs), put: map[string]bool{}}
	b.blobs = there
	trials := [2][]float32{{1, 2, 3}, {4, 5, 6}}
	var done [2]func()
	for round := range 40 {
		i := round % 2
		trials[i][0] = float32(100 + round)
		slow := &sent{read: make(chan struct{}), made: make(chan struct{})} // the other trial's, on the way
		b.sent[&trials[1-i][1]] = slow
		_, end, err := b.send(t.Context(), trials[i])
		if err != nil {
			t.Fatal(err)
		}
		if done[i] = end; round%4 < 3 {
			done[i]()
		}
		delete(b.sent, &trials[1-i][1])
		if round%4 == 3 {
			done[i]()
		}
	}
	if len(there.put) != unused {
		t.Errorf("%d models stay, want %d", len(there.put), unused)
	}
}

// countedBlobs is a store that counts what is in it.
type countedBlobs struct {
	*wire.Blobs
	put map[string]bool
}

func (c *countedBlobs) PutBytes(ctx context.Context, text []byte) (string, error) {
	name, err := c.Blobs.PutBytes(ctx, text)
	c.put[name] = true
	return name, err
}

func (c *countedBlobs) Remove(ctx context.Context, name string) error {
	delete(c.put, name)
	return c.Blobs.Remove(ctx, name)
}

var errBroken = errors.New("the store is broken")

// brokenBlobs is a store in which nothing can be put.
type brokenBlobs struct{ *wire.Blobs }

func (brokenBlobs) PutBytes(context.Context, []byte) (string, error) { return "", errBroken }

// endlessBlobs is a store in which nothing arrives.
type endlessBlobs struct{ *wire.Blobs }

func (endlessBlobs) PutBytes(ctx context.Context, _ []byte) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}
