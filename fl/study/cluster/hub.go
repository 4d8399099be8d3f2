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
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/result"
)

// Hub lets several studies share the same workers. A worker belongs to one study at a
// time. When it has nothing to do there it moves to a study whose trials wait.
type Hub struct {
	options  Options
	site     // of all studies
	blobs    *wire.Blobs
	watching background

	mu     sync.Mutex // guards what follows; locked before a pool's
	open   []*Coordinator
	where  map[string]*Coordinator      // by the worker's token
	coming map[*Coordinator][]time.Time // workers that were sent there and have not arrived
	parked map[string]parked            // idle workers, by their connection
	opened int
	alone  vigil // without a worker
}

// parked is the hello of a waiting worker, and since when it waits.
type parked struct {
	hello *nats.Msg
	since time.Time
}

// arrives is how long a worker that was sent to a study counts as being there, and the
// maximum interval at which a waiting worker repeats its hello.
const arrives = 15 * time.Second

// hubTick is how often a hub reassigns workers.
const hubTick = 100 * time.Millisecond

// OpenHub opens a cluster for several studies at an address and writes a join file below
// a directory. Rounds are not shared: idle workers move to other studies instead.
func OpenHub(ctx context.Context, dir, address string, o Options) (*Hub, error) {
	o.Rounds = RoundsNever
	o.fill()
	s := &Hub{
		options: o, alone: newVigil(), where: map[string]*Coordinator{}, coming: map[*Coordinator][]time.Time{},
		parked: map[string]parked{},
	}
	var err error
	if s.blobs, err = s.site.open(ctx, dir, address, &s.options, s.load); err != nil {
		return nil, err
	}
	if err = s.broker.Listen(s.onHello, s.onRequest, s.onHeartbeat); err != nil {
		s.close(false)
		return nil, err
	}
	s.watching.begin(hubTick, s.watch)
	o.Notice(s.broker.Greeting())
	return s, nil
}

// Open adds a study. Closing the returned Coordinator leaves the workers with the hub.
func (s *Hub) Open(ctx context.Context, setup *study.Setup) (*Coordinator, error) {
	c, err := newCoordinator(ctx, setup, s.options)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	c.hub, c.broker = s, s.broker
	c.send(s.blobs.Of(fmt.Sprintf("-%d", s.opened), c.terms.most))
	s.open = append(s.open, c)
	c.watching.begin(c.options.Heartbeat/2, c.watch)
	return c, nil
}

// Idle returns the number of idle workers over all studies.
func (s *Hub) Idle() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := 0
	for _, w := range s.parked {
		if time.Since(w.since) < arrives {
			idle++
		}
	}
	for _, c := range s.open {
		l := c.pool.load()
		idle += l.idle - max(0, l.waiting-len(s.coming[c]))
	}
	return max(0, idle)
}

// Close closes the hub after all its studies are closed. Workers end if ended is set,
// otherwise they wait for the hub to be opened again.
func (s *Hub) Close(ended bool) {
	s.watching.end()
	s.mu.Lock()
	if ended {
		for _, w := range s.parked {
			s.broker.Scope.Respond(w.hello, wire.Welcome{Over: true})
		}
	}
	s.mu.Unlock()
	s.close(ended)
}

// remove removes a study.
func (s *Hub) remove(c *Coordinator) {
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

// watch assigns workers to studies, and reports now and then that trials wait while there is none.
func (s *Hub) watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place()
	l := s.total()
	s.alone.look(l.workers == 0 && l.waiting > 0, l.joined, s.options.Notice, s.broker.Path)
}

// neediest returns the study with the most trials waiting for a worker, nil if no trial
// waits.
func (s *Hub) neediest() *Coordinator {
	var best *Coordinator
	most := 0
	for _, c := range s.open {
		s.coming[c] = slices.DeleteFunc(s.coming[c], func(at time.Time) bool { return time.Since(at) > arrives })
		l := c.pool.load()
		if need := l.waiting - l.idle - len(s.coming[c]); need > most {
			best, most = c, need
		}
	}
	return best
}

// place sends waiting workers to studies that need them. If none is waiting, an idle
// worker of another study is released.
func (s *Hub) place() {
	for {
		c := s.neediest()
		if c == nil {
			return
		}
		m := s.unpark()
		if m == nil {
			for _, from := range s.open {
				if from != c && from.letGo() {
					return // it comes back as a waiting worker
				}
			}
			return
		}
		s.send(m, c)
	}
}

// unpark removes and returns the hello of a waiting worker, nil if there is none.
func (s *Hub) unpark() *nats.Msg {
	for inbox, w := range s.parked {
		delete(s.parked, inbox)
		if time.Since(w.since) <= arrives { // else it is gone
			return w.hello
		}
	}
	return nil
}

// send answers a worker's first hello.
func (s *Hub) send(m *nats.Msg, c *Coordinator) {
	var h wire.Hello
	if !s.broker.Scope.Read(m, &h) {
		return
	}
	worker := wire.Token()
	if c.greet(m, &h, worker) {
		s.where[worker] = c
		s.coming[c] = append(s.coming[c], time.Now())
	}
}

// onHello parks new workers and forwards those that have been assigned to a study.
func (s *Hub) onHello(m *nats.Msg) {
	var h wire.Hello
	if !s.broker.Scope.Read(m, &h) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Facts == nil {
		if why := s.full(&h); why != "" {
			s.broker.Scope.Respond(m, wire.Welcome{Refused: why})
			return
		}
		s.parked[s.broker.Scope.InboxOf(m.Reply)] = parked{m, time.Now()}
		s.place()
		return
	}
	c := s.where[h.Worker]
	if c == nil {
		s.broker.Scope.Respond(m, wire.Welcome{Again: true})
		return
	}
	if c.greet(m, &h, "") && len(s.coming[c]) > 0 {
		s.coming[c] = s.coming[c][1:]
	}
}

// full returns why a worker cannot wait here, empty if it can.
func (s *Hub) full(h *wire.Hello) string {
	if len(s.parked) >= wire.MaxWorkers {
		maps.DeleteFunc(s.parked, func(_ string, w parked) bool { return time.Since(w.since) > arrives })
	}
	if len(s.parked) >= wire.MaxWorkers {
		return fmt.Sprintf("the maximum of %d waiting workers is reached", len(s.parked))
	}
	return h.Wrong()
}

// onRequest forwards a request to the worker's study.
func (s *Hub) onRequest(m *nats.Msg) {
	var t wire.Request
	if !s.broker.Scope.Read(m, &t) {
		return
	}
	if c := s.at(t.Worker); c != nil {
		c.onRequest(m)
		return
	}
	s.broker.Scope.Respond(m, wire.Order{Seq: t.Seq, Order: wire.OrderAgain})
}

// onHeartbeat forwards a heartbeat.
func (s *Hub) onHeartbeat(m *nats.Msg) {
	var b wire.Heartbeat
	if s.broker.Scope.Read(m, &b) {
		if c := s.at(b.Worker); c != nil {
			c.onHeartbeat(m)
		}
	}
}

// at is the study of a worker.
func (s *Hub) at(worker string) *Coordinator {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.where[worker]
}

// letGo releases an idle worker, if there is one.
func (c *Coordinator) letGo() bool {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if len(c.pool.waiting) > 0 {
		return false
	}
	for _, s := range c.pool.handles {
		if s.free() {
			s.answer(wire.Order{Order: wire.OrderAgain})
			c.remove(s, result.WorkerLeft)
			c.options.Notice(fmt.Sprintf("%s moves to another study; %s", s.name, c.pool.inWords()))
			return true
		}
	}
	return false
}

// leaveHub takes the coordinator's study out of its hub and releases its workers.
func (c *Coordinator) leaveHub() {
	c.hub.remove(c)
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for _, s := range c.pool.handles {
		if s.pending != nil {
			s.answer(wire.Order{Order: wire.OrderAgain})
		}
	}
}

// background is a function that is called now and then until it is stopped.
type background struct {
	stop chan struct{}
	work sync.WaitGroup
}

// begin calls f at every tick.
func (b *background) begin(tick time.Duration, f func()) {
	b.stop = make(chan struct{})
	b.work.Go(func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-b.stop:
				return
			case <-ticker.C:
				f()
			}
		}
	})
}

// end ends the calls and waits for the last one.
func (b *background) end() {
	close(b.stop)
	b.work.Wait()
}
