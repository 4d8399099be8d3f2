package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/kernels"
)

// Coordinator distributes the trials of a study to the workers that join. It is the
// study's Trainer.
type Coordinator struct {
	options   Options
	hub       *Hub // nil for a study alone
	site           // of the hub, if there is one
	transit   *transit
	terms     terms
	journal   *journal
	pool      *pool
	ledger    *ledger
	costs     *costs
	paces     *paces
	broadcast *broadcast
	auditor   *auditor
	watching  background
}

var _ study.Trainer = (*Coordinator)(nil)

// Open opens a cluster for a study at an address and writes the join file. Of the setup
// it uses Config, Data, Model, Workers and Store.
func Open(ctx context.Context, s *study.Setup, address string, o Options) (*Coordinator, error) {
	c, err := newCoordinator(ctx, s, o)
	if err != nil {
		return nil, err
	}
	blobs, err := c.open(ctx, s.Store.Dir(), address, &c.options, c.pool.load)
	if err != nil {
		return nil, err
	}
	c.send(blobs.Of("", c.terms.most))
	err = c.broker.Listen(c.onHello, c.onRequest, c.onHeartbeat)
	if err == nil && c.costs.whole == nil && c.options.Rounds == RoundsAuto {
		c.costs.transfers, err = c.transit.measure(ctx, s.Model.NewParams())
	}
	if err != nil {
		c.close(false)
		return nil, err
	}
	c.watching.begin(c.options.Heartbeat/2, c.watch)
	c.options.Notice(c.broker.Greeting())
	return c, nil
}

// newCoordinator returns a coordinator without a server.
func newCoordinator(ctx context.Context, s *study.Setup, o Options) (*Coordinator, error) {
	o.fill()
	c := &Coordinator{
		options: o, transit: &transit{interrupted: func(do func()) func() bool { return context.AfterFunc(ctx, do) }},
		pool: newPool(), ledger: newLedger(), costs: newCosts(o.Rounds, s.Config.Cohort, whole(s)), paces: newPaces(o.Late),
		auditor: &auditor{setup: *s, share: o.Audit, secret: cmp.Or(o.secret, rand.Text())},
	}
	var err error
	if c.journal, c.pool.joined, err = newJournal(ctx, s.Store); err != nil {
		return nil, err
	}
	if c.costs.whole != nil && o.Rounds == RoundsAlways {
		return nil, fmt.Errorf("--cluster-rounds always: %w; leave it out", c.costs.whole)
	}
	c.terms, err = newTerms(ctx, s, o.Version)
	return c, err
}

// send has the coordinator send blobs.
func (c *Coordinator) send(b *wire.Blobs) {
	c.transit.Blobs = b
	c.broadcast = newBroadcast(b, c.transit.interrupted)
}

// whole returns why the rounds of a study cannot be shared, nil if they can.
func whole(s *study.Setup) error {
	m, err := fl.MethodByName(s.Config.Method)
	if err != nil {
		return err
	}
	if s.Config.Devices() != nil {
		return errors.New("the clock of a fleet draws the clients, which other workers do not know: its rounds are trained whole")
	}
	return m.CheckShards(s.Config.Client.Client, s.Config.Update)
}

// Close closes the cluster. If the study has ended, its workers end too; otherwise they
// wait for it to be resumed.
func (c *Coordinator) Close(ended bool) {
	c.watching.end()
	switch {
	case c.hub != nil:
		c.leaveHub()
	case ended:
		c.dismiss()
	}
	c.pool.mu.Lock()
	for _, s := range c.pool.handles {
		if !s.out {
			c.journal.worker(result.WorkerRecord{Worker: s.name, State: result.WorkerLeft})
		}
	}
	c.pool.mu.Unlock()
	c.auditor.close()
	if c.hub == nil {
		c.close(ended)
	}
}

// dismissal is how long Close waits for workers to learn that the study has ended.
const dismissal = 2 * time.Second

// dismiss sends all workers the order to stop. It waits a moment for those that have no
// pending request.
func (c *Coordinator) dismiss() {
	for end := time.Now().Add(max(c.options.Heartbeat, dismissal)); ; time.Sleep(time.Millisecond) {
		c.pool.mu.Lock()
		missing := 0
		for _, s := range c.pool.handles {
			switch {
			case s.pending != nil:
				s.answer(wire.Order{Order: wire.OrderStop})
			case !s.out && (s.last == nil || s.last.Order != wire.OrderStop):
				missing++
			}
		}
		c.pool.mu.Unlock()
		if missing == 0 || time.Now().After(end) {
			return
		}
	}
}

// Options configure a coordinator. None of them affects a result.
type Options struct {
	// Version is the version of this program. Workers of another version are refused.
	Version string
	// Credentials is the path of a credentials file for an external NATS server.
	// Empty means none.
	Credentials string
	// CA is the path of the CA certificate of an external server. Empty means the
	// system's certificate authorities.
	CA string
	// Certificate and Key are the paths of a certificate and its private key, as PEM, for
	// the coordinator's own server. Workers reach it at the hosts that the certificate
	// names, and equal files give equal join files. Both empty means new ones.
	Certificate, Key string
	// Metrics is HOST:PORT at which http://HOST:PORT/metrics tells how many tasks wait for a
	// worker, how many run, and how many workers there are. Empty means nowhere.
	Metrics string
	// Notice receives progress messages, from several goroutines. Nil disables them.
	Notice func(line string)
	// Rounds decides whether workers share rounds. Empty means RoundsAuto.
	Rounds Rounds
	// Audit is the share of the rounds, and of the parts of shared ones, that are trained
	// twice and compared, from 0 to 1: on another worker, or by the coordinator where none
	// is idle. A secret of the coordinator draws which.
	Audit float64

	secret string // of audits, for tests; empty draws one
	// Heartbeat is the interval of the workers' heartbeats (0: 2 s). A worker that
	// sends none for Silence (0: 30 s) is lost; one whose connection is closed is
	// lost after two missing heartbeats.
	Heartbeat, Silence time.Duration
	// Late is the minimum duration of a round (0: 10 s) before an idle worker trains
	// it too. The round must also take much longer than the others did.
	Late time.Duration
}

func (o *Options) files() wire.Files {
	return wire.Files{Credentials: o.Credentials, CA: o.CA, Certificate: o.Certificate, Key: o.Key}
}

func (o *Options) fill() {
	o.Rounds, o.Heartbeat = cmp.Or(o.Rounds, RoundsAuto), cmp.Or(o.Heartbeat, 2*time.Second)
	o.Silence, o.Late = cmp.Or(o.Silence, 30*time.Second), cmp.Or(o.Late, 10*time.Second)
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
}

// watch finds workers that are lost.
func (c *Coordinator) watch() {
	here, known := c.broker.Connected()
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.hub == nil {
		p.alone.look(p.here() == 0 && len(p.waiting) > 0, p.joined, c.options.Notice, c.broker.Path)
	}
	for _, s := range p.handles {
		if here[s.inbox] || !known { // then only heartbeats show it
			s.connected = time.Now()
		}
		switch {
		case !known && !c.broker.Conn.IsConnected(): // nobody can be heard
			s.seen = time.Now()
		case s.out:
		case time.Since(s.seen) > c.options.Silence:
			c.lose(s, fmt.Sprintf("no heartbeat for %v", c.options.Silence))
		case time.Since(s.connected) > 2*c.options.Heartbeat && time.Since(s.seen) > 2*c.options.Heartbeat:
			c.lose(s, "connection closed")
		}
	}
}

// lose gives up a worker.
func (c *Coordinator) lose(s *workerHandle, why string) {
	at := ""
	switch {
	case s.lease != 0 && s.share != nil:
		at = fmt.Sprintf(" with %s, which another worker takes over", s.share)
	case s.lease != 0:
		at = fmt.Sprintf(" with trial %d after round %d, which another worker takes over", s.trial, s.rounds)
	}
	if !c.broker.Outage(s.era, nil) { // else it may have given up waiting for the server
		c.pool.fail(c.ledger.loses(s))
	}
	c.remove(s, result.WorkerLost)
	c.options.Notice(fmt.Sprintf("%s lost%s: %s; %s", s.name, at, why, c.pool.inWords()))
}

// remove removes a worker. Its handle stays, so that a late report is still compared.
func (c *Coordinator) remove(s *workerHandle, state string) {
	s.out, s.lease, s.share = true, 0, nil
	close(s.gone)
	if s.pending != nil { // it is alive and waits for an order that will not come
		s.answer(wire.Order{Order: wire.OrderAgain})
	}
	c.journal.worker(result.WorkerRecord{Worker: s.name, State: state})
}

// terms are what workers must agree to so that their results have the study's bits, and
// what they learn of the study.
type terms struct {
	version string
	level   string // of the CPU
	config  string // the study file
	plain   bool   // see study.Setup.Unscored
	facts   study.Facts
	most    int64 // maximum size of a blob in bytes
}

func newTerms(ctx context.Context, s *study.Setup, version string) (terms, error) {
	t := terms{version: version, level: kernels.Current().String(), plain: s.Unscored}
	text, err := config.Encode(&s.Config)
	if err != nil {
		return t, err
	}
	t.config = string(text)
	w, err := study.NewWorker(*s)
	if err != nil {
		return t, err
	}
	defer w.Close()
	t.most = w.MostBytes()
	t.facts, err = w.Facts(ctx)
	return t, err
}

// refuse returns why a worker may not join, empty if it may.
func (t *terms) refuse(h *wire.Hello) string {
	generic := func(level string) bool { return level == "generic" }
	switch {
	case h.Protocol != wire.Protocol:
		return fmt.Sprintf("protocol version %d, the coordinator has %d; run the coordinator's version of fedfast",
			h.Protocol, wire.Protocol)
	case h.Version != t.version:
		return fmt.Sprintf("version %s of fedfast, the coordinator has %s; run the coordinator's version", h.Version,
			t.version)
	case generic(h.Level) != generic(t.level):
		return fmt.Sprintf("CPU level %s, the coordinator has %s, which gives other bits; set the same level with --cpu",
			h.Level, t.level)
	case h.Facts == nil:
		return ""
	case h.Facts.Data != t.facts.Data:
		return fmt.Sprintf("data %s, the study has %s; set --data to the study's data", h.Facts.Data, t.facts.Data)
	case h.Facts.Layout != t.facts.Layout:
		return "the model's memory layout differs from the study's; run the coordinator's version of fedfast"
	case h.Facts.Golden != t.facts.Golden:
		return fmt.Sprintf("its first rounds give other bits than the study's (%.12s, want %.12s); "+
			"this CPU (%s, level %s) or this build of fedfast cannot be used for the study",
			h.Facts.Golden, t.facts.Golden, h.CPU, h.Level)
	}
	return ""
}
