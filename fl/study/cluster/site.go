package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study"
)

// Site has the trials of several studies trained by the same workers. A worker is with
// one study at a time. One that has nothing to do there goes over to a study whose
// trials wait.
type Site struct {
	options Options
	broker  *broker
	blobs   *blobs
	stop    chan struct{}
	work    sync.WaitGroup

	mu     sync.Mutex // guards what follows; a Coordinator's own is taken behind it
	open   []*Coordinator
	where  map[string]*Coordinator      // by what a worker's turns begin with
	coming map[*Coordinator][]time.Time // workers that were sent there and are not there yet
	parked map[string]parked            // workers for which there is nothing, by their connection
	opened int
	alone  vigil // without a worker
}

// parked is the hello of a worker that waits, and since when it does.
type parked struct {
	hello *nats.Msg
	since time.Time
}

// arrives is how long a worker that was sent to a study counts as there, and how long
// one that waits for a study says hello again at the latest.
const arrives = 15 * time.Second

// siteTick is how often a site looks for workers that may go elsewhere.
const siteTick = 100 * time.Millisecond

// OpenSite opens a cluster for studies to come, at an address, and writes a join file
// below a directory. Rounds are not shared: other studies are what idle workers do.
func OpenSite(ctx context.Context, dir, address string, o Options) (*Site, error) {
	o.Rounds = RoundsNever
	o.fill()
	s := &Site{
		options: o, stop: make(chan struct{}), where: map[string]*Coordinator{}, coming: map[*Coordinator][]time.Time{},
		parked: map[string]parked{},
	}
	var err error
	if s.broker, err = dial(ctx, dir, address, &o); err != nil {
		return nil, err
	}
	if s.blobs, err = createBlobs(ctx, s.broker.conn, s.broker.scope); err == nil {
		err = s.broker.listen(s.hello, s.turn, s.beat)
	}
	if err != nil {
		s.broker.close()
		return nil, err
	}
	s.work.Go(s.watch)
	o.Notice(s.broker.greeting())
	return s, nil
}

// Open adds a study that can begin. Its Close leaves the workers with the site.
func (s *Site) Open(ctx context.Context, setup *study.Setup) (*Coordinator, error) {
	c, err := newCoordinator(ctx, setup, s.options)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	c.site, c.broker = s, s.broker
	c.blobs = s.blobs.of(fmt.Sprintf("-%d", s.opened), c.most)
	s.open = append(s.open, c)
	c.work.Go(c.watch)
	return c, nil
}

// Idle returns how many workers have nothing to do, in any study.
func (s *Site) Idle() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := 0
	for _, w := range s.parked {
		if time.Since(w.since) < arrives {
			idle++
		}
	}
	for _, c := range s.open {
		free, wanted := c.balance()
		idle += free - max(0, wanted-len(s.coming[c]))
	}
	return max(0, idle)
}

// Close ends the site, whose studies are closed. Workers end when there is nothing more
// to do, or wait for the site to be opened again.
func (s *Site) Close(ended bool) {
	close(s.stop)
	s.work.Wait()
	s.mu.Lock()
	if ended {
		for _, w := range s.parked {
			s.broker.scope.respond(w.hello, welcome{Over: true})
		}
		_ = s.broker.conn.FlushTimeout(time.Second) // who does not hear it finds the file gone
	}
	s.mu.Unlock()
	s.broker.close()
	if ended {
		_ = removeJoin(s.broker.path) // a worker that comes too late does without
	}
}

// remove takes a study out.
func (s *Site) remove(c *Coordinator) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(o *Coordinator) bool { return o == c })
	delete(s.coming, c)
	for worker, at := range s.where {
		if at == c {
			delete(s.where, worker)
		}
	}
}

// watch places workers.
func (s *Site) watch() {
	tick := time.NewTicker(siteTick)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		s.place()
		s.lonely()
		s.mu.Unlock()
	}
}

// lonely says now and then that trials wait and that there is no worker.
func (s *Site) lonely() {
	here, joined, wanted := len(s.parked), 0, 0
	for _, c := range s.open {
		c.mu.Lock()
		here, joined, wanted = here+c.here()+len(s.coming[c]), joined+c.joined, wanted+len(c.waiting)
		c.mu.Unlock()
	}
	s.alone.look(here == 0 && wanted > 0, joined, &s.options, s.broker)
}

// neediest returns the study with the most trials that wait for a worker, nil if none
// has any.
func (s *Site) neediest() *Coordinator {
	var best *Coordinator
	most := 0
	for _, c := range s.open {
		s.coming[c] = slices.DeleteFunc(s.coming[c], func(at time.Time) bool { return time.Since(at) > arrives })
		free, wanted := c.balance()
		if need := wanted - free - len(s.coming[c]); need > most {
			best, most = c, need
		}
	}
	return best
}

// place sends workers that wait to studies that need them; where none waits, one that
// is idle in another study is had say hello again.
func (s *Site) place() {
	for {
		c := s.neediest()
		if c == nil {
			return
		}
		m := s.unpark()
		if m == nil {
			for _, from := range s.open {
				if from != c && from.letGo() {
					return // it comes back as one that waits
				}
			}
			return
		}
		s.send(m, c)
	}
}

// unpark takes a worker that waits, nil if none does.
func (s *Site) unpark() *nats.Msg {
	for inbox, w := range s.parked {
		delete(s.parked, inbox)
		if time.Since(w.since) <= arrives { // else it is gone
			return w.hello
		}
	}
	return nil
}

// send answers a worker's first hello.
func (s *Site) send(m *nats.Msg, c *Coordinator) {
	var h hello
	if !s.broker.scope.read(m, &h) {
		return
	}
	worker := token()
	if c.greet(m, &h, worker) {
		s.where[worker] = c
		s.coming[c] = append(s.coming[c], time.Now())
	}
}

// hello parks workers that come, and hands those on that know where they belong.
func (s *Site) hello(m *nats.Msg) {
	var h hello
	if !s.broker.scope.read(m, &h) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Facts == nil {
		if why := s.full(&h); why != "" {
			s.broker.scope.respond(m, welcome{Refused: why})
			return
		}
		s.parked[s.broker.scope.inboxOf(m.Reply)] = parked{m, time.Now()}
		s.place()
		return
	}
	c := s.where[h.Worker]
	if c == nil {
		s.broker.scope.respond(m, welcome{Again: true})
		return
	}
	if c.greet(m, &h, "") && len(s.coming[c]) > 0 {
		s.coming[c] = s.coming[c][1:]
	}
}

// full says why a worker cannot wait here, empty if it can.
func (s *Site) full(h *hello) string {
	if len(s.parked) >= mostWorkers {
		maps.DeleteFunc(s.parked, func(_ string, w parked) bool { return time.Since(w.since) > arrives })
	}
	if len(s.parked) >= mostWorkers {
		return fmt.Sprintf("%d workers wait for a study, which is as many as there may be", len(s.parked))
	}
	return h.wrong()
}

// turn hands a turn on to the worker's study.
func (s *Site) turn(m *nats.Msg) {
	var t turn
	if !s.broker.scope.read(m, &t) {
		return
	}
	if c := s.at(t.Worker); c != nil {
		c.turn(m)
		return
	}
	s.broker.scope.respond(m, order{Seq: t.Seq, Order: orderAgain})
}

// beat hands a beat on.
func (s *Site) beat(m *nats.Msg) {
	var b beat
	if s.broker.scope.read(m, &b) {
		if c := s.at(b.Worker); c != nil {
			c.beat(m)
		}
	}
}

// at is the study of a worker.
func (s *Site) at(worker string) *Coordinator {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.where[worker]
}

// balance says how many workers are idle, and how many trials wait for one.
func (c *Coordinator) balance() (free, wanted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.seats {
		if s.free() {
			free++
		}
	}
	return free, len(c.waiting)
}

// letGo has an idle worker say hello again, if there is one.
func (c *Coordinator) letGo() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) > 0 {
		return false
	}
	for _, s := range c.seats {
		if s.free() {
			s.answer(order{Order: orderAgain})
			c.remove(s, study.WorkerLeft)
			c.options.Notice(fmt.Sprintf("%s goes over to another study; %s", s.name, c.count()))
			return true
		}
	}
	return false
}

// leaveSite ends the coordinator of a study of a site.
func (c *Coordinator) leaveSite() {
	c.site.remove(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.seats {
		if s.pending != nil {
			s.answer(order{Order: orderAgain})
		}
	}
}
