package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fedfast/fedfast/fl"
)

// chunk is how much of a blob travels at a time.
const chunk = 512 << 10

// blobTime bounds the way of one blob. Without a bound the client takes 5 s for all
// of it.
const blobTime = 5 * time.Minute

// blobs are snapshots on their way, by their SHA-256. They lie in the server's memory
// until the coordinator has fetched them.
type blobs struct {
	store jetstream.ObjectStore
	scope *scope
	tag   string // ends the names: studies of a site have one each
}

// createBlobs makes the bucket, openBlobs finds it.
func createBlobs(ctx context.Context, conn *nats.Conn, at *scope) (*blobs, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	s, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: at.subject(bucket), Storage: jetstream.MemoryStorage})
	return &blobs{store: s, scope: at}, err
}

func openBlobs(ctx context.Context, conn *nats.Conn, at *scope) (*blobs, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	s, err := js.ObjectStore(ctx, at.subject(bucket))
	return &blobs{store: s, scope: at}, err
}

// put stores a snapshot and returns its digest.
func (b *blobs) put(ctx context.Context, s *fl.Snapshot) (string, error) {
	var text bytes.Buffer
	text.Grow(4*len(s.Weights) + 4096)
	if _, err := s.WriteTo(&text); err != nil {
		return "", err
	}
	return b.putBytes(ctx, text.Bytes())
}

// putBytes stores bytes and returns their digest.
func (b *blobs) putBytes(ctx context.Context, text []byte) (string, error) {
	sum := sha256.Sum256(text)
	name := hex.EncodeToString(sum[:]) + b.tag
	return name, within(ctx, name, func(ctx context.Context) error {
		if info, err := b.store.GetInfo(ctx, name); err == nil && info.Size == uint64(b.scope.sealed(len(text))) {
			return nil
		}
		_, err := b.store.Put(ctx, jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunk}}, bytes.NewReader(b.scope.seal(text, byEither)))
		return err
	})
}

// within does something with a blob in the time that it may take. The client says of
// one that was interrupted that it took too long; here it was interrupted.
func within(ctx context.Context, name string, do func(ctx context.Context) error) error {
	once, cancel := context.WithTimeout(ctx, blobTime)
	defer cancel()
	err := do(once)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("blob %.8s: %w", name, err)
}

// get returns a snapshot by its digest.
func (b *blobs) get(ctx context.Context, name string) (*fl.Snapshot, error) {
	text, err := b.bytes(ctx, name)
	if err != nil {
		return nil, err
	}
	return fl.ReadSnapshot(bytes.NewReader(text))
}

// bytes returns a blob by its digest.
func (b *blobs) bytes(ctx context.Context, name string) ([]byte, error) {
	var text []byte
	err := within(ctx, name, func(ctx context.Context) (err error) {
		text, err = b.store.GetBytes(ctx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if text, err = b.scope.open(text, byEither); err != nil {
		return nil, fmt.Errorf("blob %.8s: it was not sealed for this study: %w", name, err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:])+b.tag != name {
		return nil, fmt.Errorf("blob %.8s: its bytes have another digest", name)
	}
	return text, nil
}

// remove forgets a blob.
func (b *blobs) remove(ctx context.Context, name string) error {
	return within(ctx, name, func(ctx context.Context) error {
		err := b.store.Delete(ctx, name)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
		return err
	})
}
