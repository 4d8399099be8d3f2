package wire

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// TestFaultManyBlobs: many workers send blobs at once to a server that takes in little
// at a time and refuses the rest. All arrive.
func TestFaultManyBlobs(t *testing.T) {
	const size, workers = 900_000, 6
	b, j := openTest(t, false, func(o *server.Options) { o.StreamMaxBufferedSize = 1 << 20 })
	ours, err := b.CreateBlobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ours.most = size
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range workers {
		l, err := Connect(j, "join", "")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		theirs, err := l.OpenBlobs(ctx, "", size)
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.Repeat([]byte{byte(i)}, size)
		all.Go(func() {
			name, err := theirs.PutBytes(ctx, text)
			if err != nil {
				t.Errorf("blob %d is not there: %v", i, err)
				return
			}
			if got, err := ours.Bytes(ctx, name); err != nil || !bytes.Equal(got, text) {
				t.Errorf("blob %d comes back as %d bytes, %v", i, len(got), err)
			}
			if err := ours.Remove(ctx, name); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
