package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/store"
)

// Options say how a coordinator works. None of them reaches a result.
type Options struct {
	// Version is what this fedfast is: workers of another version are refused.
	Version string
	// Credentials is the path of a file with which a server of others lets this
	// process in; empty is none.
	Credentials string
	// CA is the path of the certificate of the authority that has signed the
	// certificate of such a server; empty is one that the system knows.
	CA string
	// Notice is told in lines what happens to the cluster, from several goroutines;
	// nil is nobody.
	Notice func(line string)
	// Rounds says whether workers share rounds, empty for RoundsAuto.
	Rounds Rounds
	// Beat is how often workers say that they live, 0 for 2 s, and Silence how long
	// one that does not is waited for, 0 for 30 s. One whose connection has
	// ended is waited for two beats.
	Beat, Silence time.Duration
	// Late is how long a round takes at least, 0 for 10 s, before an idle worker
	// trains it too. It must also take much longer than others did.
	Late time.Duration

	alone time.Duration // without a worker before people are told; 0 for 5 s
}

func (o *Options) fill() {
	if o.Rounds == "" {
		o.Rounds = RoundsAuto
	}
	if o.Beat == 0 {
		o.Beat = 2 * time.Second
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

// mostLost is how many workers may be lost at one round. A round that costs so many
// kills what trains it.
const mostLost = 3

// Coordinator has the trials of a study trained by workers that join. It is the
// study's Trainer.
type Coordinator struct {
	options Options
	site    *Site // nil for a study alone
	broker  *broker
	blobs   *blobs
	store   *store.Store
	config  string // the study file
	facts   study.Facts
	level   string
	most    int64 // bytes of a blob
	stop    chan struct{}
	work    sync.WaitGroup

	mu      sync.Mutex // guards what follows, and all seats
	seats   map[string]*seat
	waiting []chan *seat // placements, the first come first
	joined  int          // workers so far, of all processes
	lease   int64        // the newest
	begun   bool         // the study, whose first row is its own
	early   []study.WorkerRecord
	rounds  map[place]result
	settled map[int]int // rounds of trials whose state is here: they are trained no more
	pace    pace        // of all trials, and of each
	paces   map[int]*pace
	lost    map[place][]string // names of the workers that were lost at a round
	placing int                // trials that wait for a worker
	alone   vigil              // without a worker
	unsent  map[int]int        // how often in a row workers could not send a trial

	cohort      int
	plain       bool                                    // see study.Setup.Unscored
	whole       error                                   // why rounds cannot be shared, nil if they can
	interrupted func(do context.CancelFunc) func() bool // has something done when the study is to stop
	ways        ways
	tempos      map[int]*tempo // by trial
	shares      map[share]result
	lostShares  map[share][]string
	sent        map[*float32]*sent // weights on their way
	unused      []string           // digests of weights that are left in the server
	err         error              // ends the study
}

var _ study.Trainer = (*Coordinator)(nil)

// place is the round of a trial after so many.
type place struct{ trial, rounds int }

// result is who has trained a round, with the digest of its record.
type result struct {
	sum    [32]byte
	worker string
	due    bool // another worker is still to say what it has measured
}

// Open opens a cluster for a study that can begin, at an address, and writes the join
// file. What it needs of the set-up are Config, Data, Model, Workers and Store.
func Open(ctx context.Context, s *study.Setup, address string, o Options) (*Coordinator, error) {
	c, err := newCoordinator(ctx, s, o)
	if err != nil {
		return nil, err
	}
	if c.broker, err = dial(ctx, s.Store.Dir(), address, &o); err != nil {
		return nil, err
	}
	if c.blobs, err = createBlobs(ctx, c.broker.conn, c.broker.scope); err == nil {
		c.blobs.most = c.most
		err = c.broker.listen(c.hello, c.turn, c.beat)
	}
	if err == nil && c.whole == nil && c.options.Rounds == RoundsAuto {
		err = c.measureWays(ctx, s)
	}
	if err != nil {
		c.broker.close()
		return nil, err
	}
	c.work.Go(c.watch)
	c.options.Notice(c.broker.greeting())
	return c, nil
}

// newCoordinator returns one that has no server yet.
func newCoordinator(ctx context.Context, s *study.Setup, o Options) (*Coordinator, error) {
	o.fill()
	c := &Coordinator{
		options: o, store: s.Store, stop: make(chan struct{}), seats: map[string]*seat{},
		unsent: map[int]int{}, rounds: map[place]result{}, settled: map[int]int{}, paces: map[int]*pace{}, lost: map[place][]string{},
		cohort: s.Config.Cohort, plain: s.Unscored, tempos: map[int]*tempo{}, shares: map[share]result{}, lostShares: map[share][]string{}, sent: map[*float32]*sent{},
		interrupted: func(do context.CancelFunc) func() bool { return context.AfterFunc(ctx, do) },
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
	c.level, c.most = thisMachine("").Level, w.MostBytes()
	return c, nil
}

// whole says why rounds of a study are trained whole, nil if they can be shared.
func whole(s *study.Setup) error {
	m, err := fl.MethodByName(s.Config.Method)
	if err != nil {
		return err
	}
	return m.CheckShards(s.Config.Client.Client)
}

// Close ends the cluster. Workers are told that the study has ended, or are left
// waiting for it to be resumed.
func (c *Coordinator) Close(ended bool) {
	close(c.stop)
	c.work.Wait()
	switch {
	case c.site != nil:
		c.leaveSite()
	case ended:
		c.dismiss()
	}
	c.mu.Lock()
	for _, s := range c.seats {
		if !s.out {
			c.record(study.WorkerRecord{Worker: s.name, State: study.WorkerLeft})
		}
	}
	c.mu.Unlock()
	if c.site != nil {
		return
	}
	if ended {
		_ = c.broker.conn.FlushTimeout(time.Second) // who does not hear it finds the file gone
	}
	c.broker.close()
	if ended {
		_ = removeJoin(c.broker.path) // a worker that comes too late does without
	}
}

// dismissal is how long workers are waited for that are to hear that the study ended.
const dismissal = 2 * time.Second

// dismiss tells workers that the study has ended, for a moment also those that have not
// asked what to do yet.
func (c *Coordinator) dismiss() {
	for end := time.Now().Add(max(c.options.Beat, dismissal)); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		missing := 0
		for _, s := range c.seats {
			switch {
			case s.pending != nil:
				s.answer(order{Order: orderStop})
			case !s.out && (s.last == nil || s.last.Order != orderStop):
				missing++
			}
		}
		c.mu.Unlock()
		if missing == 0 || time.Now().After(end) {
			return
		}
	}
}

// haste is how long what moves blobs may go on once the study is interrupted.
const haste = 2 * time.Second

// hurried returns a context that ends soon after the study is interrupted, even where ctx
// outlasts that; done frees it.
func (c *Coordinator) hurried(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := c.interrupted(func() { time.AfterFunc(haste, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}

// record writes a row about a worker, once the study has begun. An error of the store
// comes back with the next row of the study itself.
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
