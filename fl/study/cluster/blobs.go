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
	ctx, cancel := context.WithTimeout(ctx, blobTime)
	defer cancel()
	if info, err := b.store.GetInfo(ctx, name); err == nil && info.Size == uint64(b.scope.sealed(len(text))) {
		return name, nil
	}
	_, err := b.store.Put(ctx, jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunk}}, bytes.NewReader(b.scope.seal(text, byEither)))
	if err != nil {
		return "", fmt.Errorf("blob %.8s: %w", name, err)
	}
	return name, nil
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
	ctx, cancel := context.WithTimeout(ctx, blobTime)
	defer cancel()
	text, err := b.store.GetBytes(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("blob %.8s: %w", name, err)
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
	ctx, cancel := context.WithTimeout(ctx, blobTime)
	defer cancel()
	err := b.store.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return err
}
