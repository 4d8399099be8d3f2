package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/store"
)

// Options say how a coordinator works. None of them reaches a result.
type Options struct {
	// Version is what this fedfast is: workers of another version are refused.
	Version string
	// Notice is told in lines what happens to the cluster, from several goroutines;
	// nil is nobody.
	Notice func(line string)
	// Beat is how often workers say that they live, 0 for 2 s, and Silence how long
	// one that does not is waited for, 0 for 30 s. One whose connection has
	// ended is waited for two beats.
	Beat, Silence time.Duration
}

func (o *Options) fill() {
	if o.Beat == 0 {
		o.Beat = 2 * time.Second
	}
	if o.Silence == 0 {
		o.Silence = 30 * time.Second
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
	broker  *broker
	blobs   *blobs
	store   *store.Store
	config  string // the study file
	facts   study.Facts
	level   string
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
	lost    map[place][]string // names of the workers that were lost at a round
	err     error              // ends the study
}

var _ study.Trainer = (*Coordinator)(nil)

// place is the round of a trial after so many.
type place struct{ trial, rounds int }

// result is who has trained a round, with the digest of its record.
type result struct {
	sum    [32]byte
	worker string
}

// Open opens a cluster for a study that can begin, at an address, and writes the join
// file. What it needs of the set-up are Config, Data, Model, Workers and Store.
func Open(ctx context.Context, s *study.Setup, address string, o Options) (*Coordinator, error) {
	o.fill()
	c := &Coordinator{
		options: o, store: s.Store, stop: make(chan struct{}), seats: map[string]*seat{},
		rounds: map[place]result{}, lost: map[place][]string{},
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
	w, err := study.NewWorker(*s)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if c.facts, err = w.Facts(ctx); err != nil {
		return nil, err
	}
	c.level = thisMachine("").Level
	if c.broker, err = openBroker(s.Store.Dir(), address); err != nil {
		return nil, err
	}
	if c.blobs, err = createBlobs(ctx, c.broker.conn); err == nil {
		err = c.listen()
	}
	if err != nil {
		c.broker.close()
		return nil, err
	}
	c.work.Go(c.watch)
	c.options.Notice(fmt.Sprintf("coordinator at %s; add workers with: fedfast worker --join %s", c.broker.url, c.broker.path))
	return c, nil
}

// Close ends the cluster. Workers are told that the study has ended, or are left
// waiting for it to be resumed.
func (c *Coordinator) Close(ended bool) {
	close(c.stop)
	c.work.Wait()
	c.mu.Lock()
	for _, s := range c.seats {
		if !s.out {
			c.record(study.WorkerRecord{Worker: s.name, State: study.WorkerLeft})
		}
		if ended && s.pending != nil {
			s.answer(order{Order: orderStop})
		}
	}
	c.mu.Unlock()
	if ended {
		_ = c.broker.conn.FlushTimeout(time.Second) // who does not hear it finds the file gone
	}
	c.broker.close()
	if ended {
		_ = removeJoin(c.broker.path) // a worker that comes too late does without
	}
}

// listen answers workers.
func (c *Coordinator) listen() error {
	handle := func(subject string, f func(*nats.Msg)) error {
		_, err := c.broker.conn.Subscribe(subject, f)
		return err
	}
	return errors.Join(handle(subjectHello, c.hello), handle(subjectTurn, c.turn), handle(subjectBeat, c.beat))
}

// respond answers a message.
func respond(m *nats.Msg, v any) {
	text, err := json.Marshal(v)
	if err == nil {
		_ = m.Respond(text) // who does not hear it asks again
	}
}

// hello lets a worker in, in two messages, or refuses it.
func (c *Coordinator) hello(m *nats.Msg) {
	var h hello
	if err := json.Unmarshal(m.Data, &h); err != nil {
		respond(m, welcome{Refused: "its hello cannot be read: " + err.Error()})
		return
	}
	if why := c.refuse(&h); why != "" {
		c.options.Notice(fmt.Sprintf("a worker on %s was refused: %s", h.Host, why))
		respond(m, welcome{Refused: why})
		return
	}
	if h.Facts == nil {
		respond(m, welcome{Worker: token(), Config: c.config, Beat: c.options.Beat.Milliseconds()})
		return
	}
	if !isToken(h.Worker) {
		respond(m, welcome{Refused: "it has not said hello before"})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seats[h.Worker]
	if s == nil { // else the answer was lost
		c.joined++
		s = newSeat(h, inboxOf(m.Reply), fmt.Sprintf("%s-%d", h.Host, c.joined))
		c.seats[h.Worker] = s
		c.record(study.WorkerRecord{Worker: s.name, State: study.WorkerJoined, Host: h.Host, PID: h.PID, CPU: h.CPU, Level: h.Level, Workers: h.Workers})
		c.options.Notice(fmt.Sprintf("%s joined (%s, level %s, %d at once); %s", s.name, h.CPU, h.Level, h.Workers, c.count()))
	}
	respond(m, welcome{Worker: h.Worker, Name: s.name})
}

// inboxOf is the name of a connection, as a reply to it begins with it.
func inboxOf(reply string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(reply, inboxes), ".")
	return name
}

// count says how many workers there are.
func (c *Coordinator) count() string {
	n := 0
	for _, s := range c.seats {
		if !s.out {
			n++
		}
	}
	if n == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", n)
}

// refuse says why a worker may not join, empty if it may.
func (c *Coordinator) refuse(h *hello) string {
	generic := func(level string) bool { return level == "generic" }
	switch {
	case h.Protocol != protocolVersion:
		return fmt.Sprintf("it speaks version %d of the protocol, the coordinator version %d: run the coordinator's version of fedfast there", h.Protocol, protocolVersion)
	case h.Version != c.options.Version:
		return fmt.Sprintf("it is fedfast %s, the coordinator is fedfast %s: run the coordinator's version there", h.Version, c.options.Version)
	case generic(h.Level) != generic(c.level):
		return fmt.Sprintf("it computes at level %s, the coordinator at level %s, which has other bits: choose the same with --cpu", h.Level, c.level)
	case h.Facts == nil:
		return ""
	case h.Facts.Data != c.facts.Data:
		return fmt.Sprintf("its data are %s; the study's are %s: name the study's with --data", h.Facts.Data, c.facts.Data)
	case h.Facts.Layout != c.facts.Layout:
		return "its network has another memory layout than the study's: run the coordinator's version of fedfast there"
	case h.Facts.Golden != c.facts.Golden:
		return fmt.Sprintf("its first rounds have other bits than the study's (%.12s instead of %.12s), so its kind of CPU (%s, level %s) or its build of fedfast cannot be used for this study", h.Facts.Golden, c.facts.Golden, h.CPU, h.Level)
	}
	return ""
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

// watch finds workers that are lost.
func (c *Coordinator) watch() {
	tick := time.NewTicker(c.options.Beat / 2)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
		}
		here := c.connected()
		c.mu.Lock()
		for _, s := range c.seats {
			if here[s.inbox] {
				s.connected = time.Now()
			}
			switch {
			case s.out:
			case time.Since(s.seen) > c.options.Silence:
				c.lose(s, fmt.Sprintf("nothing was heard of it for %v", c.options.Silence))
			case time.Since(s.connected) > 2*c.options.Beat && time.Since(s.seen) > 2*c.options.Beat:
				c.lose(s, "its connection has ended")
			}
		}
		c.mu.Unlock()
	}
}

// connected returns the names of the connections that there are.
func (c *Coordinator) connected() map[string]bool {
	here := map[string]bool{}
	all, err := c.broker.server.Connz(&server.ConnzOptions{Limit: 1 << 16})
	if err != nil {
		return here
	}
	for _, conn := range all.Conns {
		here[conn.Name] = true
	}
	return here
}

// lose gives a worker up.
func (c *Coordinator) lose(s *seat, why string) {
	at := ""
	if s.lease != 0 {
		at = fmt.Sprintf(" with trial %d after round %d, which another one takes over", s.trial, s.rounds)
		if s.busy {
			p := place{s.trial, s.rounds}
			c.lost[p] = append(c.lost[p], s.name)
			if names := c.lost[p]; len(names) >= mostLost {
				c.fail(fmt.Errorf("trial %d, round %d: %d workers were lost while they trained it: %s; find out what ended them, then resume the study", p.trial, p.rounds+1, len(names), strings.Join(names, ", ")))
			}
		}
	}
	c.remove(s, study.WorkerLost)
	c.options.Notice(fmt.Sprintf("%s is lost%s: %s; %s", s.name, at, why, c.count()))
}

// remove takes a worker out. Its seat stays, so that what it may still say is
// compared.
func (c *Coordinator) remove(s *seat, state string) {
	s.out, s.lease = true, 0
	close(s.gone)
	c.record(study.WorkerRecord{Worker: s.name, State: state})
}

// Place begins or resumes the training of a trial at the next free worker.
func (c *Coordinator) Place(ctx context.Context, trial int, start func() (*fl.Snapshot, error)) (study.Training, error) {
	c.mu.Lock()
	c.begun = true
	c.record()
	c.mu.Unlock()
	for {
		s, err := c.take(ctx)
		if err != nil {
			return nil, err
		}
		t, err := c.begin(ctx, s, trial, start)
		if err == nil {
			return t, nil
		}
		if t != nil {
			t.End()
		}
		if !errors.Is(err, study.ErrLost) {
			return nil, err
		}
	}
}

// take waits for a free worker.
func (c *Coordinator) take(ctx context.Context) (*seat, error) {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	for _, s := range c.seats {
		if s.free() {
			s.taken = true
			c.mu.Unlock()
			return s, nil
		}
	}
	w := make(chan *seat, 1)
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	select {
	case s, ok := <-w:
		if !ok {
			c.mu.Lock()
			defer c.mu.Unlock()
			return nil, c.err
		}
		return s, nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(o chan *seat) bool { return o == w })
	select {
	case s, ok := <-w: // it came meanwhile
		if ok {
			s.taken = false
			c.offer(s)
		}
	default:
	}
	return nil, ctx.Err()
}

// offer gives a free worker to who waits for one.
func (c *Coordinator) offer(s *seat) {
	if s.free() && len(c.waiting) > 0 {
		s.taken = true
		c.waiting[0] <- s
		c.waiting = c.waiting[1:]
	}
}

// begin leases a trial to a worker.
func (c *Coordinator) begin(ctx context.Context, s *seat, trial int, start func() (*fl.Snapshot, error)) (*training, error) {
	from, err := start()
	rounds, blob := 0, ""
	if err == nil && from != nil {
		rounds = from.Round
		blob, err = c.blobs.put(ctx, from)
	}
	c.mu.Lock()
	s.taken = false
	if err != nil {
		c.offer(s)
		c.mu.Unlock()
		return nil, err
	}
	c.lease++
	t := &training{coordinator: c, seat: s, lease: c.lease, trial: trial, rounds: rounds}
	if !s.out {
		s.lease, s.trial, s.rounds, s.busy = t.lease, trial, rounds, false
	}
	c.mu.Unlock()
	if err := study.RecordLease(c.store, trial, rounds, study.LeaseRecord{Lease: t.lease, Worker: s.name}); err != nil {
		return t, err
	}
	_, err = t.call(ctx, order{Order: orderStart, Lease: t.lease, Trial: trial, Snapshot: blob}, stateReady)
	if blob != "" {
		err = errors.Join(err, c.blobs.remove(context.WithoutCancel(ctx), blob))
	}
	return t, err
}

// judge compares a round's record with what another worker has measured. The first
// one stands.
func (c *Coordinator) judge(worker string, p place, record []byte) error {
	now := result{sha256.Sum256(record), worker}
	then, known := c.rounds[p]
	if !known {
		c.rounds[p] = now
		return nil
	}
	if then.sum == now.sum {
		return nil
	}
	err := fmt.Errorf("trial %d, round %d: the workers %s and %s have come to different bits, so one of their machines computes wrongly: %s, %s; leave it out, and begin the study again",
		p.trial, p.rounds+1, then.worker, now.worker, c.describe(then.worker), c.describe(now.worker))
	c.fail(err)
	return err
}

// describe says what a worker is.
func (c *Coordinator) describe(name string) string {
	for _, s := range c.seats {
		if s.name == name {
			return fmt.Sprintf("%s is fedfast %s on %s, level %s", name, s.machine.Version, s.machine.CPU, s.machine.Level)
		}
	}
	return name
}
