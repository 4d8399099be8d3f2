package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/tensor"
)

// chunk is the size of the messages a blob is split into.
const chunk = 512 << 10

// blobTime bounds the transfer of one blob. Without a deadline the client uses 5 s.
const blobTime = 5 * time.Minute

// answerTime is the timeout after which a query about a blob is repeated: an answer is
// lost if the connection is.
const answerTime = 5 * time.Second

// maxFlying is the maximum number of bytes of blobs in transit to or from a process; one
// blob counts as at most flyingBlob. A server closes a connection with 64 MB of pending
// writes, and may write 32 MB of one blob ahead.
const (
	maxFlying  = 48 << 20
	flyingBlob = 32 << 20
)

// tooMany is the error code of a server that is too busy to store more.
const tooMany jetstream.ErrorCode = 10167

// Blobs holds snapshots in transit, by their SHA-256. They are kept in the server's
// memory until the coordinator has fetched them.
type Blobs struct {
	store jetstream.ObjectStore
	conn  *nats.Conn
	scope *Scope
	room  *semaphore.Weighted // for bytes in transit
	Tag   string              // suffix of the names: one per study of a hub
	most  int64               // maximum size of a blob in bytes, given the study's model

	denied chan struct{} // receives when the server has denied something; may be nil
}

// Of returns the blobs of a study, whose names end with a tag and whose size is at most
// most.
func (b *Blobs) Of(tag string, most int64) *Blobs {
	return &Blobs{store: b.store, conn: b.conn, scope: b.scope, room: b.room, Tag: tag, most: most, denied: b.denied}
}

// Era counts how often the connection was made again.
func (b *Blobs) Era() uint64 { return b.conn.Stats().Reconnects }

// fly waits until a blob may be transferred.
func (b *Blobs) fly(ctx context.Context, size int64) (land func(), err error) {
	size = min(size, flyingBlob)
	if err := b.room.Acquire(ctx, size); err != nil {
		return nil, err
	}
	return func() { b.room.Release(size) }, nil
}

func newBlobs(s jetstream.ObjectStore, conn *nats.Conn, at *Scope) *Blobs {
	return &Blobs{store: s, conn: conn, scope: at, room: semaphore.NewWeighted(maxFlying)}
}

// CreateBlobs creates the bucket, and again whenever an external server is back: it is in
// the server's memory.
func (b *Broker) CreateBlobs(ctx context.Context) (*Blobs, error) {
	js, err := jetstream.New(b.Conn)
	if err != nil {
		return nil, err
	}
	create := func(ctx context.Context) (jetstream.ObjectStore, error) {
		return js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket:  b.Scope.subject(Bucket),
			Storage: jetstream.MemoryStorage,
		})
	}
	s, err := create(ctx)
	if err == nil && b.server == nil {
		b.recreate(create)
	}
	return newBlobs(s, b.Conn, b.Scope), err
}

// recreate has the bucket created whenever the connection is there again.
func (b *Broker) recreate(create func(ctx context.Context) (jetstream.ObjectStore, error)) {
	notice := func(what string) {
		if b.Notice != nil {
			b.Notice(fmt.Sprintf("NATS server %s: %s", b.url, what))
		}
	}
	b.Conn.SetDisconnectErrHandler(func(_ *nats.Conn, err error) {
		if err != nil { // else it was closed here
			notice("connection lost; the study waits for the server")
		}
	})
	b.Conn.SetReconnectHandler(func(conn *nats.Conn) {
		for said := false; conn.IsConnected(); time.Sleep(time.Second) {
			ctx, cancel := context.WithTimeout(context.Background(), serverTime)
			_, err := create(ctx)
			cancel()
			if err == nil || errors.Is(err, jetstream.ErrBucketExists) {
				notice("connected again; the study goes on")
				return
			}
			if !said {
				said = true
				notice("cannot store blobs: " + err.Error())
			}
		}
	})
}

// OpenBlobs opens the bucket for the blobs of a study with a tag, of at most a number of
// bytes each.
func (l *Link) OpenBlobs(ctx context.Context, tag string, most int64) (*Blobs, error) {
	js, err := jetstream.New(l.Conn)
	if err != nil {
		return nil, err
	}
	s, err := js.ObjectStore(ctx, l.scope.subject(Bucket))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoLink, l.Conn.ConnectedUrlRedacted(), err)
	}
	b := newBlobs(s, l.Conn, l.scope).Of(tag, most)
	b.denied = l.denied
	return b, nil
}

// Put stores a snapshot and returns its digest.
func (b *Blobs) Put(ctx context.Context, s *fl.Snapshot) (string, error) {
	text, err := EncodeSnapshot(s)
	if err != nil {
		return "", err
	}
	return b.PutBytes(ctx, text)
}

// EncodeSnapshot returns a snapshot in its binary form.
func EncodeSnapshot(s *fl.Snapshot) ([]byte, error) {
	var text bytes.Buffer
	numbers := len(s.Weights)
	for _, v := range s.Server {
		numbers += len(v)
	}
	text.Grow(4*numbers + 4096)
	_, err := s.WriteTo(&text)
	return text.Bytes(), err
}

// Sum returns the SHA-256 of weights in hexadecimal.
func Sum(weights []float32) string {
	return fmt.Sprintf("%x", sha256.Sum256(tensor.LittleEndian(weights)))
}

// PutBytes stores bytes and returns their digest.
func (b *Blobs) PutBytes(ctx context.Context, text []byte) (string, error) {
	sum := sha256.Sum256(text)
	name := hex.EncodeToString(sum[:]) + b.Tag
	return name, within(ctx, name, func(ctx context.Context) error {
		size := b.scope.sealed(len(text))
		if info, err := b.info(ctx, name); err == nil && info.Size == uint64(size) {
			return nil
		}
		land, err := b.fly(ctx, int64(size))
		if err != nil {
			return err
		}
		defer land()
		sealed := b.scope.seal(text, byEither)
		for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
			era := b.Era()
			err := b.try(ctx, name, sealed)
			refused, ok := errors.AsType[*jetstream.APIError](err)
			again := ok && refused.ErrorCode == tooMany || b.cutOff(era) || noBucket(err)
			if err == nil || !again {
				return err
			}
			select {
			case <-time.After(wait): // many send at once
			case <-ctx.Done():
				return err
			}
		}
	})
}

// cutOff reports whether the connection was lost at some time since an era: what was under
// way then may never be answered.
func (b *Blobs) cutOff(era uint64) bool { return !b.conn.IsConnected() || b.Era() != era }

// noBucket reports whether an error says that the bucket is missing: an external server has
// restarted, and the coordinator has yet to create it.
func noBucket(err error) bool {
	return errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders)
}

// errCutOff is the cause of the end of a transfer whose answers may be lost.
var errCutOff = errors.New("connection lost")

// connected returns a context that ends when the connection is lost or the server denies
// something: what is under way then may never be answered. done releases it.
func (b *Blobs) connected(ctx context.Context) (_ context.Context, done func()) {
	ctx, end := context.WithCancelCause(ctx)
	select {
	case <-b.denied: // of an earlier transfer
	default:
	}
	go func() {
		era, tick := b.Era(), time.NewTicker(time.Second/4)
		defer tick.Stop()
		for !b.cutOff(era) {
			select {
			case <-b.denied:
				end(nil)
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		end(errCutOff)
	}()
	return ctx, func() { end(nil) }
}

// try stores bytes under a name, once. After a failure the client purges the parts of the
// blob and waits for the answer until its deadline, but a worker has no permission for
// that: so a denial ends the call.
func (b *Blobs) try(ctx context.Context, name string, sealed []byte) error {
	ctx, done := b.connected(ctx)
	defer done()
	_, err := b.store.Put(ctx, jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunk}},
		bytes.NewReader(sealed))
	return err
}

// info queries the metadata of a blob.
func (b *Blobs) info(ctx context.Context, name string) (info *jetstream.ObjectInfo, err error) {
	err = asked(ctx, func(ctx context.Context) (err error) {
		info, err = b.store.GetInfo(ctx, name)
		return err
	})
	return info, err
}

// asked repeats a query until there is an answer.
func asked(ctx context.Context, ask func(ctx context.Context) error) error {
	for {
		once, cancel := context.WithTimeout(ctx, answerTime)
		err := ask(once)
		late := once.Err() != nil
		cancel()
		if err == nil || !late || ctx.Err() != nil {
			return err
		}
	}
}

// within calls do within blobTime. The client reports a timeout when it was cancelled;
// within returns the cancellation.
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

// Get returns a snapshot by its digest.
func (b *Blobs) Get(ctx context.Context, name string) (*fl.Snapshot, error) {
	text, err := b.Bytes(ctx, name)
	if err != nil {
		return nil, err
	}
	return fl.ReadSnapshot(bytes.NewReader(text))
}

// fits checks the metadata of a blob before memory is allocated for it: any worker can
// upload arbitrary metadata.
func (b *Blobs) fits(info *jetstream.ObjectInfo) error {
	if info.Opts != nil && info.Opts.Link != nil {
		return errors.New("is a link")
	}
	if most := b.most + int64(b.scope.sealed(0)); info.Size > uint64(most) { //nolint:gosec // it is not negative
		return fmt.Errorf("size %d bytes, want at most %d", info.Size, most)
	}
	return nil
}

// awake is a context for reading a blob. The reader waits for bytes until the deadline,
// even if the context has ended, so the deadline is always near.
type awake struct{ context.Context }

// Deadline returns half a second from now.
func (awake) Deadline() (time.Time, bool) { return time.Now().Add(time.Second / 2), true }

// fill reads len(text) bytes.
func (a awake) fill(text []byte, from io.Reader) error {
	for len(text) > 0 {
		n, err := from.Read(text)
		text = text[n:]
		late, ok := errors.AsType[net.Error](err)
		switch {
		case a.Err() != nil:
			return context.Cause(a)
		case errors.Is(err, io.EOF) && len(text) > 0:
			return io.ErrUnexpectedEOF
		case err != nil && !errors.Is(err, io.EOF) && (!ok || !late.Timeout()):
			return err
		}
	}
	return nil
}

// Bytes returns a blob by its digest.
func (b *Blobs) Bytes(ctx context.Context, name string) ([]byte, error) {
	if !isDigest(name, b.Tag) {
		return nil, fmt.Errorf("blob %.8q: not a blob of this study", name)
	}
	var text []byte
	err := within(ctx, name, func(ctx context.Context) (err error) {
		info, err := b.info(ctx, name)
		if err != nil {
			return err
		}
		if err := b.fits(info); err != nil {
			return err
		}
		land, err := b.fly(ctx, int64(info.Size)) //nolint:gosec // it is bounded
		if err != nil {
			return err
		}
		defer land()
		ctx, done := b.connected(ctx)
		defer done()
		awake := awake{ctx}
		o, err := b.store.Get(awake, name)
		if err != nil {
			return err
		}
		text = make([]byte, info.Size)
		err = awake.fill(text, o)
		return errors.Join(err, o.Error(), o.Close())
	})
	if err != nil {
		return nil, err
	}
	if text, err = b.scope.open(text, byEither); err != nil {
		return nil, fmt.Errorf("blob %.8s: not encrypted for this study: %w", name, err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:])+b.Tag != name {
		return nil, fmt.Errorf("blob %.8s: digest mismatch", name)
	}
	return text, nil
}

// Remove deletes a blob.
func (b *Blobs) Remove(ctx context.Context, name string) error {
	return within(ctx, name, func(ctx context.Context) error {
		err := asked(ctx, func(ctx context.Context) error { return b.store.Delete(ctx, name) })
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
		return err
	})
}
