package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// site is the server of a cluster, and that of its metrics.
type site struct {
	broker  *wire.Broker
	metrics *http.Server
}

// open opens both. Where it fails, nothing of it stays.
func (s *site) open(ctx context.Context, dir, address string, o *Options, now func() load) (b *wire.Blobs, err error) {
	if s.metrics, err = serveMetrics(o, now); err != nil {
		return nil, err
	}
	if s.broker, err = wire.Open(ctx, dir, address, o.files()); err != nil {
		_ = s.metrics.Close() // nobody was told of it
		return nil, err
	}
	s.broker.Notice = o.Notice
	if b, err = s.broker.CreateBlobs(ctx); err != nil {
		s.close(false)
	}
	return b, err
}

func (s *site) close(ended bool) {
	_ = s.metrics.Close() // who asks is told no more
	s.broker.Close(ended)
}

// load is what there is to do for workers: the tasks, which are trials and parts of shared
// rounds and evaluations, that wait for one or that one carries out, and the workers, with
// those that are idle, and those of all time.
type load struct{ waiting, running, workers, idle, joined int }

// load locks mu itself.
func (p *pool) load() load {
	p.mu.Lock()
	defer p.mu.Unlock()
	return load{
		waiting: len(p.waiting), running: p.count(func(s *workerHandle) bool { return s.lease != 0 }),
		workers: p.here(), idle: p.count((*workerHandle).free), joined: p.joined,
	}
}

func (s *Hub) load() load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total()
}

// total is the load of all studies, with the workers that wait for one or are sent to one.
// mu is locked.
func (s *Hub) total() load {
	all := load{workers: len(s.parked), idle: len(s.parked)}
	for _, c := range s.open {
		l := c.pool.load()
		all.waiting, all.running, all.joined = all.waiting+l.waiting, all.running+l.running, all.joined+l.joined
		all.workers, all.idle = all.workers+l.workers+len(s.coming[c]), all.idle+l.idle
	}
	return all
}

// metricsText is a load in the text format of Prometheus.
const metricsText = `# HELP fedfast_tasks Trials, and parts of shared rounds and evaluations.
# TYPE fedfast_tasks gauge
fedfast_tasks{state="waiting"} %d
fedfast_tasks{state="running"} %d
# HELP fedfast_workers Workers that have joined and not left.
# TYPE fedfast_workers gauge
fedfast_workers{state="idle"} %d
fedfast_workers{state="busy"} %d
`

// serveMetrics tells the load at the address of the options until the server is closed.
func serveMetrics(o *Options, now func() load) (*http.Server, error) {
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Minute}
	if o.Metrics == "" {
		return s, nil
	}
	at, err := net.Listen("tcp", o.Metrics)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w; must be HOST:PORT of this machine, such as 127.0.0.1:0", o.Metrics, err)
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		l := now()
		_, _ = fmt.Fprintf(w, metricsText, l.waiting, l.running, l.idle, l.workers-l.idle) // who asked may be gone
	})
	o.Notice(fmt.Sprintf("metrics at http://%s/metrics", at.Addr()))
	go func() { _ = s.Serve(at) }() // until it is closed
	return s, nil
}
