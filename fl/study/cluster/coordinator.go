package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/kernels"
)

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
	// Notice receives progress messages, from several goroutines. Nil disables them.
	Notice func(line string)
	// Rounds decides whether workers share rounds. Empty means RoundsAuto.
	Rounds Rounds
	// Heartbeat is the interval of the workers' heartbeats (0: 2 s). A worker that
	// sends none for Silence (0: 30 s) is lost; one whose connection is closed is
	// lost after two missing heartbeats.
	Heartbeat, Silence time.Duration
	// Late is the minimum duration of a round (0: 10 s) before an idle worker trains
	// it too. The round must also take much longer than the others did.
	Late time.Duration

	alone time.Duration // time without workers before the first notice; 0 for 5 s
}

func (o *Options) fill() {
	if o.Rounds == "" {
		o.Rounds = RoundsAuto
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 2 * time.Second
	}
	if o.Silence == 0 {
		o.Silence = 30 * time.Second
	}
	if o.Late == 0 {
		o.Late = 10 * time.Second
	}
	if o.alone == 0 {
		o.alone = 5 * time.Second
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
}

// maxLost is the number of workers that may be lost at one round. After that the round
// itself is likely to be the cause.
const maxLost = 3

// Coordinator distributes the trials of a study to the workers that join. It is the
// study's Trainer.
type Coordinator struct {
	options Options
	hub     *Hub // nil for a study alone
	broker  *wire.Broker
	blobs   *wire.Blobs
	store   *store.Store
	config  string // the study file
	facts   study.Facts
	level   string
	most    int64 // maximum size of a blob in bytes
	stop    chan struct{}
	work    sync.WaitGroup

	mu      sync.Mutex // guards what follows, and all handles
	handles map[string]*workerHandle
	waiting []chan *workerHandle // placements, the first come first
	joined  int                  // workers so far, of all processes
	lease   int64                // the newest
	begun   bool                 // the study, whose first row is its own
	early   []study.WorkerRecord
	rounds  map[place]result
	settled map[int]int // by trial: rounds whose state is here; they are not trained again
	pace    pace        // of all trials, and of each
	paces   map[int]*pace
	lost    map[place][]string // names of the workers that were lost at a round
	placing int                // trials that wait for a worker
	alone   vigil              // without a worker
	unsent  map[int]int        // consecutive failures of workers to send a trial

	cohort      int
	plain       bool  // see study.Setup.Unscored
	whole       error // why rounds cannot be shared, nil if they can
	interrupted interruption
	transfers   transferTimes
	costs       map[int]*costModel // by trial
	shares      map[share]result
	lostShares  map[share][]string
	broadcast   *broadcast
	err         error // ends the study
}

var _ study.Trainer = (*Coordinator)(nil)

// place is the round of a trial that follows the given number of rounds.
type place struct{ trial, rounds int }

// result is who has trained a round, with the digest of its record.
type result struct {
	sum    [32]byte
	worker string
	due    bool // another worker has yet to report its measurements
}

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
	if c.blobs, err = c.broker.CreateBlobs(ctx); err == nil {
		c.blobs = c.blobs.Of("", c.most)
		c.broadcast = newBroadcast(c.blobs, c.interrupted)
		err = c.broker.Listen(c.onHello, c.onRequest, c.onHeartbeat)
	}
	if err == nil && c.whole == nil && c.options.Rounds == RoundsAuto {
		err = c.measureTransfers(ctx, s)
	}
	if err != nil {
		c.broker.Close()
		return nil, err
	}
	c.work.Go(c.watch)
	c.options.Notice(c.broker.Greeting())
	return c, nil
}

// newCoordinator returns a coordinator without a server.
func newCoordinator(ctx context.Context, s *study.Setup, o Options) (*Coordinator, error) {
	o.fill()
	c := &Coordinator{
		options: o, store: s.Store, stop: make(chan struct{}), handles: map[string]*workerHandle{},
		unsent: map[int]int{}, rounds: map[place]result{}, settled: map[int]int{}, paces: map[int]*pace{}, lost: map[place][]string{},
		cohort: s.Config.Cohort, plain: s.Unscored, costs: map[int]*costModel{}, shares: map[share]result{}, lostShares: map[share][]string{},
		interrupted: func(do func()) func() bool { return context.AfterFunc(ctx, do) },
	}
	text, err := config.Encode(&s.Config)
	if err != nil {
		return nil, err
	}
	c.config = string(text)
	var here []string
	if c.joined, here, c.lease, err = study.Leases(ctx, s.Store); err != nil {
		return nil, err
	}
	for _, name := range here { // the coordinator was killed
		c.early = append(c.early, study.WorkerRecord{Worker: name, State: study.WorkerLost})
	}
	if c.whole = whole(s); c.whole != nil && o.Rounds == RoundsAlways {
		return nil, fmt.Errorf("--cluster-rounds always: %w; leave it out", c.whole)
	}
	w, err := study.NewWorker(*s)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if c.facts, err = w.Facts(ctx); err != nil {
		return nil, err
	}
	c.level, c.most = kernels.Current().String(), w.MostBytes()
	return c, nil
}

// whole returns why the rounds of a study cannot be shared, nil if they can.
func whole(s *study.Setup) error {
	m, err := fl.MethodByName(s.Config.Method)
	if err != nil {
		return err
	}
	return m.CheckShards(s.Config.Client.Client)
}

// Close closes the cluster. If the study has ended, its workers end too; otherwise they
// wait for it to be resumed.
func (c *Coordinator) Close(ended bool) {
	close(c.stop)
	c.work.Wait()
	switch {
	case c.hub != nil:
		c.leaveHub()
	case ended:
		c.dismiss()
	}
	c.mu.Lock()
	for _, s := range c.handles {
		if !s.out {
			c.record(study.WorkerRecord{Worker: s.name, State: study.WorkerLeft})
		}
	}
	c.mu.Unlock()
	if c.hub != nil {
		return
	}
	if ended {
		c.broker.End()
		return
	}
	c.broker.Close()
}

// dismissal is how long Close waits for workers to learn that the study has ended.
const dismissal = 2 * time.Second

// dismiss sends all workers the order to stop. It waits a moment for those that have no
// pending request.
func (c *Coordinator) dismiss() {
	for end := time.Now().Add(max(c.options.Heartbeat, dismissal)); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		missing := 0
		for _, s := range c.handles {
			switch {
			case s.pending != nil:
				s.answer(wire.Order{Order: wire.OrderStop})
			case !s.out && (s.last == nil || s.last.Order != wire.OrderStop):
				missing++
			}
		}
		c.mu.Unlock()
		if missing == 0 || time.Now().After(end) {
			return
		}
	}
}

// record writes a row about a worker, once the study has started. An error of the store
// is returned again for the next row of the study itself.
func (c *Coordinator) record(rows ...study.WorkerRecord) {
	c.early = append(c.early, rows...)
	if !c.begun {
		return
	}
	for _, r := range c.early {
		_ = study.RecordWorker(c.store, r)
	}
	c.early = nil
}

// fail ends the study with an error.
func (c *Coordinator) fail(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	for _, w := range c.waiting {
		close(w)
	}
	c.waiting = nil
}
