package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Link is a worker's connection to a coordinator.
type Link struct {
	// Conn is the connection.
	Conn *nats.Conn
	// Worker is the token of the requests, set by Begin.
	Worker string
	// Leaving reports whether the worker was asked to leave; nil means no.
	Leaving func() bool
	// Ended reports whether the study has its result; nil means no.
	Ended func() bool

	scope     *Scope
	tag       string // of blobs
	heartbeat time.Duration
	seq       int64
	from      joined
	denied    chan struct{}
	stop      chan struct{}
	work      sync.WaitGroup
}

// blip is how long a connection may be down before the worker starts a new session.
const blip = 10 * time.Second

// Connect connects to the coordinator of a join file, with a file of credentials if its
// path is not empty.
func Connect(j *Join, path, creds string) (*Link, error) {
	more := credentials(creds)
	at, err := scopeOf(j.Scope, j.Secret)
	if err != nil {
		return nil, fmt.Errorf("--join %s: %w", path, err)
	}
	if at == nil {
		key, err := nkeys.FromSeed([]byte(j.Key))
		if err != nil {
			return nil, fmt.Errorf("--join %s: invalid key: %w", path, err)
		}
		more = append(more, signed(key))
	}
	name, denied := Token(), make(chan struct{}, 1)
	options := []nats.Option{
		nats.Name(name), nats.CustomInboxPrefix(at.subject(Inboxes) + name), nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.Timeout(10 * time.Second), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(3),
		nats.IgnoreDiscoveredServers(),
		// other errors are returned by the calls themselves
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				select {
				case denied <- struct{}{}:
				default:
				}
			}
		}),
	}
	trust, err := j.trust()
	if err != nil {
		return nil, fmt.Errorf("--join %s: %w", path, err)
	}
	conn, err := nats.Connect(strings.Join(j.URLs, ","), slices.Concat(options, more, trust)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoLink, hideUser(j.URLs[0]), clockError(err))
	}
	return &Link{
		Conn: conn, scope: at, from: joined{path, j.Key + j.Secret}, denied: denied, heartbeat: time.Second,
		stop: make(chan struct{}),
	}, nil
}

// Close closes the connection after flushing it.
func (l *Link) Close() {
	close(l.stop)
	l.work.Wait()
	if l.Conn.IsConnected() {
		_ = l.Conn.FlushTimeout(time.Second) // the server may be gone
	}
	l.Conn.Close()
}

// Begin starts sending heartbeats, as a welcome has it.
func (l *Link) Begin(w *Welcome) {
	every := time.Duration(w.Heartbeat) * time.Millisecond
	l.Worker, l.tag, l.heartbeat = w.Worker, w.Tag, every
	text, err := json.Marshal(Heartbeat{Worker: w.Worker})
	if err != nil {
		return
	}
	l.work.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = l.Conn.Publish(l.scope.subject(SubjectHeartbeat), l.scope.seal(text, byWorker)) // the next heartbeat may arrive
			case <-l.stop:
				return
			}
		}
	})
}

// Hello sends a hello until it is answered.
func (l *Link) Hello(ctx context.Context, h Hello) (*Welcome, error) {
	var answer Welcome
	if err := l.request(ctx, SubjectHello, h, 5*time.Second,
		func(text []byte) bool { return json.Unmarshal(text, &answer) == nil }); err != nil {
		return nil, err
	}
	if answer.Refused != "" {
		return nil, &RefusedError{oneline.Of(answer.Refused)}
	}
	if answer.Over {
		return nil, ErrOver
	}
	if answer.Again {
		return nil, ErrAgain
	}
	return &answer, nil
}

// Ask reports what was done and returns the next order.
func (l *Link) Ask(ctx context.Context, t Request) (*Order, error) {
	l.seq++
	t.Seq, t.Worker = l.seq, l.Worker
	var o Order
	err := l.request(ctx, SubjectRequest, t, max(l.heartbeat, 100*time.Millisecond), func(text []byte) bool {
		o = Order{}
		return json.Unmarshal(text, &o) == nil && o.Seq == t.Seq
	})
	if err != nil {
		return nil, err
	}
	if why := o.wrong(l.tag); why != "" {
		return nil, fmt.Errorf("invalid order from the coordinator: %s", why)
	}
	return &o, nil
}

// request sends a message until take accepts an answer, as long as there is a connection
// or one may come back. An answer to any repetition counts, and repetitions become less
// frequent, so a slow coordinator is not flooded.
func (l *Link) request(ctx context.Context, subject string, v any, patience time.Duration,
	take func([]byte) bool,
) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text, subject = l.scope.seal(text, byWorker), l.scope.subject(subject)
	answers, err := l.Conn.SubscribeSync(l.Conn.NewInbox())
	if err != nil {
		return ErrNoLink
	}
	defer func() { _ = answers.Unsubscribe() }() // the connection may be closed
	down, looked := time.Time{}, time.Now()
	var sent time.Time
	for wait := patience; ; {
		var err error
		if time.Since(sent) >= wait {
			if !sent.IsZero() {
				wait = min(2*wait, maxPatience*patience)
			}
			err = l.Conn.PublishRequest(subject, answers.Subject, text)
			sent = time.Now()
		}
		if err == nil {
			once, cancel := context.WithTimeout(ctx, patience)
			var m *nats.Msg
			m, err = answers.NextMsgWithContext(once)
			cancel()
			if err == nil {
				if text, err := l.scope.open(m.Data, byCoordinator); err == nil && take(text) {
					return nil
				}
			}
		}
		if ctx.Err() != nil {
			return ErrLeaving
		}
		silent := errors.Is(err, nats.ErrNoResponders) // an external server outlives the coordinator
		switch {
		case l.Conn.IsConnected() && !silent:
			down = time.Time{}
		case l.Leaving != nil && l.Leaving():
			return ErrLeaving
		case down.IsZero():
			down = time.Now()
		}
		due := silent || time.Since(looked) > look // with another subscriber there is no ErrNoResponders
		if due {
			looked = time.Now()
		}
		if l.dead() || due && l.from.moved() || !down.IsZero() && time.Since(down) > blip {
			return ErrNoLink
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			sent, wait = time.Time{}, patience
			time.Sleep(50 * time.Millisecond) // no subscriber yet
		}
	}
}

// maxPatience bounds the interval between repetitions, in multiples of patience.
const maxPatience = 8

// look is how often the join file is checked while connected.
const look = time.Second

// Alive returns a context that ends when the connection is given up, so that the worker
// does not wait for blobs or train for a study that has ended; done releases it.
func (l *Link) Alive(ctx context.Context) (_ context.Context, done context.CancelFunc) {
	ctx, done = context.WithCancel(ctx)
	// begin sets the heartbeat, maybe before the goroutine has seen done
	every := min(max(l.heartbeat, 100*time.Millisecond), look)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		down, looked := time.Now(), time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if l.Conn.IsConnected() {
				down = time.Now()
			}
			gone := false
			if time.Since(looked) >= look { // an external server outlives the coordinator
				looked, gone = time.Now(), l.from.moved()
			}
			if gone || l.dead() || time.Since(down) > blip {
				done()
			}
		}
	}()
	return ctx, done
}

// dead reports whether the connection is given up: it is closed, or it is down and the
// join file names another coordinator or the study has its result.
func (l *Link) dead() bool {
	if l.Conn.IsClosed() {
		return true
	}
	return !l.Conn.IsConnected() && (l.from.moved() || l.Ended != nil && l.Ended())
}

// The reasons why a worker's session ends, besides other errors: the coordinator has
// dropped it, the connection is lost, all studies have ended, or the worker leaves.
var (
	ErrAgain   = errors.New("the coordinator has dropped this worker")
	ErrNoLink  = errors.New("connection lost")
	ErrOver    = errors.New("all studies have ended")
	ErrLeaving = errors.New("this worker was asked to leave")
)

// RefusedError is returned when a coordinator refuses a worker. Why is the reason.
type RefusedError struct{ Why string }

// Error implements the error interface.
func (e *RefusedError) Error() string { return "the coordinator refused this worker: " + e.Why }
