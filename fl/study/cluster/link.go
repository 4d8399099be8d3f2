package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// link is a worker's connection to a coordinator.
type link struct {
	conn      *nats.Conn
	scope     *scope
	tag       string // of blobs
	blobs     *blobs
	worker    string
	heartbeat time.Duration
	seq       int64
	key       string // of the join file
	path      string // of the join file
	denied    chan struct{}

	twice   bool        // in tests: each message is sent twice
	leaving func() bool // reports whether the worker was asked to leave; nil means no
	ended   func() bool // reports whether the study has its result

	stop chan struct{}
	work sync.WaitGroup
}

// blip is how long a connection may be down before the worker starts a new session.
const blip = 10 * time.Second

// connect connects to the coordinator of a join file.
func connect(j *join, path string, more ...nats.Option) (*link, error) {
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
	name, denied := token(), make(chan struct{}, 1)
	options := []nats.Option{
		nats.Name(name), nats.CustomInboxPrefix(at.subject(inboxes) + name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.Timeout(10 * time.Second), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(3), nats.IgnoreDiscoveredServers(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { // other errors are returned by the calls themselves
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
		return nil, fmt.Errorf("%w: %s: %w", errNoLink, hideUser(j.URLs[0]), err)
	}
	return &link{conn: conn, scope: at, key: j.Key + j.Secret, path: path, denied: denied, heartbeat: time.Second, stop: make(chan struct{})}, nil
}

// close closes the connection after flushing it.
func (l *link) close() {
	close(l.stop)
	l.work.Wait()
	_ = l.conn.FlushTimeout(time.Second) // the server may be gone
	l.conn.Close()
}

// begin starts sending heartbeats.
func (l *link) begin(worker string, every time.Duration) {
	l.worker, l.heartbeat = worker, every
	text, err := json.Marshal(heartbeat{Worker: worker})
	if err != nil {
		return
	}
	l.work.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = l.conn.Publish(l.scope.subject(subjectHeartbeat), l.scope.seal(text, byWorker)) // the next heartbeat may arrive
			case <-l.stop:
				return
			}
		}
	})
}

// hello sends a hello until it is answered.
func (l *link) hello(ctx context.Context, h hello) (*welcome, error) {
	var answer welcome
	if err := l.request(ctx, subjectHello, h, 5*time.Second, func(text []byte) bool { return json.Unmarshal(text, &answer) == nil }); err != nil {
		return nil, err
	}
	if answer.Refused != "" {
		return nil, &RefusedError{oneline.Of(answer.Refused)}
	}
	if answer.Over {
		return nil, errOver
	}
	if answer.Again {
		return nil, errAgain
	}
	return &answer, nil
}

// ask reports what was done and returns the next order.
func (l *link) ask(ctx context.Context, t request) (*order, error) {
	l.seq++
	t.Seq, t.Worker = l.seq, l.worker
	var o order
	err := l.request(ctx, subjectRequest, t, max(l.heartbeat, 100*time.Millisecond), func(text []byte) bool {
		o = order{}
		return json.Unmarshal(text, &o) == nil && o.Seq == t.Seq
	})
	return &o, err
}

// request sends a message until take accepts an answer, as long as there is a connection
// or one may come back. An answer to any repetition counts, and repetitions become less
// frequent, so a slow coordinator is not flooded.
func (l *link) request(ctx context.Context, subject string, v any, patience time.Duration, take func([]byte) bool) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text, subject = l.scope.seal(text, byWorker), l.scope.subject(subject)
	answers, err := l.conn.SubscribeSync(l.conn.NewInbox())
	if err != nil {
		return errNoLink
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
			if l.twice {
				_ = l.conn.PublishRequest(subject, l.conn.NewInbox(), text) // it may arrive
			}
			err = l.conn.PublishRequest(subject, answers.Subject, text)
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
			return errLeaving
		}
		silent := errors.Is(err, nats.ErrNoResponders) // an external server outlives the coordinator
		switch {
		case l.conn.IsConnected() && !silent:
			down = time.Time{}
		case l.leaving != nil && l.leaving():
			return errLeaving
		case down.IsZero():
			down = time.Now()
		}
		due := silent || time.Since(looked) > look // with another subscriber there is no ErrNoResponders
		if due {
			looked = time.Now()
		}
		if l.dead() || due && l.moved() || !down.IsZero() && time.Since(down) > blip {
			return errNoLink
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

// alive returns a context that ends when the connection is given up, so that the worker
// does not wait for blobs or train for a study that has ended; done releases it.
func (l *link) alive(ctx context.Context) (_ context.Context, done context.CancelFunc) {
	ctx, done = context.WithCancel(ctx)
	every := min(max(l.heartbeat, 100*time.Millisecond), look) // begin sets the heartbeat, maybe before the goroutine has seen done
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
			if l.conn.IsConnected() {
				down = time.Now()
			}
			gone := false
			if time.Since(looked) >= look { // an external server outlives the coordinator
				looked, gone = time.Now(), l.moved()
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
func (l *link) dead() bool {
	if l.conn.IsClosed() {
		return true
	}
	return !l.conn.IsConnected() && (l.moved() || l.ended != nil && l.ended())
}

// moved reports whether the join file names another coordinator, or is gone.
func (l *link) moved() bool {
	j, err := readJoin(l.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // a shared file system may fail for a moment
	}
	return j.Key+j.Secret != l.key
}
