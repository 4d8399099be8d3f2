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
	"github.com/fedfast/fedfast/fl/study/result"
)

// Coordinator distributes the trials of a study to the workers that join. It is the
// study's Trainer.
type Coordinator struct {
	options   Options
	hub       *Hub // nil for a study alone
	broker    *wire.Broker
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
	if c.broker, err = wire.Open(ctx, s.Store.Dir(), address, o.Credentials, o.CA); err != nil {
		return nil, err
	}
	c.broker.Notice = c.options.Notice
	blobs, err := c.broker.CreateBlobs(ctx)
	if err == nil {
		c.send(blobs.Of("", c.terms.most))
		err = c.broker.Listen(c.onHello, c.onRequest, c.onHeartbeat)
	}
	if err == nil && c.costs.whole == nil && c.options.Rounds == RoundsAuto {
		c.costs.transfers, err = c.transit.measure(ctx, s.Model.NewParams())
	}
	if err != nil {
		c.broker.Close(false)
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
		c.broker.Close(ended)
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
