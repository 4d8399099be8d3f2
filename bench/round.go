package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/methods"
	"github.com/fedfast/fedfast/nn"
)

// Round is what a result of whole rounds tells beyond its time.
type Round struct {
	Cohort  int `json:"cohort"`  // clients of a round
	Clients int `json:"clients"` // in all
	Trials  int `json:"trials"`  // at once
	// Speedup is the time of one worker over this row's; 0 where one worker was not
	// measured.
	Speedup float64 `json:"speedup,omitempty"`
	// Outside is the share of the workers' time that is not spent in nn: drawing
	// cohorts, shuffling and copying examples, copying and summing weights,
	// bookkeeping, and waiting for one another. OutsideSeconds is the same as a
	// part of the round's time.
	Outside        float64 `json:"outside"`
	OutsideSeconds float64 `json:"outside_seconds"`
	// AllocsPerStep and AllocsPerRound count allocations: those that come with each
	// local step, and the rest of a round.
	AllocsPerStep  float64 `json:"allocs_per_step"`
	AllocsPerRound float64 `json:"allocs_per_round"`
	// GCStop is the median time in seconds for which a garbage collection stops a
	// round; collections are forced to measure it.
	GCStop float64 `json:"gc_stop_seconds,omitempty"`
	// ClientSeconds is the time of a round times its workers over the clients
	// trained.
	ClientSeconds float64 `json:"client_seconds"`
	// Heap is the most memory in bytes that live objects took during the rounds;
	// RSS the most that the process held (Linux).
	Heap int64 `json:"heap_bytes,omitempty"`
	RSS  int64 `json:"rss_bytes,omitempty"`
}

// cells are the texts of a round in a table; those of no round are empty.
func (r *Round) cells() []string {
	if r == nil {
		return make([]string, 7)
	}
	stop, memory := "", ""
	if r.GCStop > 0 {
		stop = duration(r.GCStop)
	}
	if r.Heap > 0 {
		memory = fmt.Sprintf("%.0f MB heap, %.0f MB RSS", float64(r.Heap)/1e6, float64(r.RSS)/1e6)
	}
	return []string{
		filled("%.2f", r.Speedup), fmt.Sprintf("%.2f %%, %s", 100*r.Outside, duration(r.OutsideSeconds)),
		fmt.Sprintf("%.2f", r.AllocsPerStep), fmt.Sprintf("%.0f", r.AllocsPerRound), stop, duration(r.ClientSeconds), memory,
	}
}

// simulation is a federated training whose rounds are timed, through the engine as
// any caller uses it.
type simulation struct {
	net     network
	model   *nn.Model // the network in the precision of the rounds
	fed     *data.Federation
	engine  *fl.Engine
	trials  []*fl.Trial
	plan    fl.Plan
	cohort  int
	samples int // of a client
	local   *atomic.Int64

	seconds []float64 // of the rounds
	inside  []float64 // of all their local trainings
}

// timed returns a method that sums the time of its local trainings in nanoseconds.
func timed(m fl.Method, spent *atomic.Int64) fl.Method {
	train := m.Local
	m.Local = func(l *fl.Local) error {
		start := time.Now()
		defer func() { spent.Add(int64(time.Since(start))) }()
		return train(l)
	}
	return m
}

// newSimulation prepares rounds of federated averaging by plain SGD, one epoch
// each.
func newSimulation(net network, p nn.Precision, fed *data.Federation, cohort, batch, workers, trials int) (*simulation, error) {
	s := &simulation{net: net, model: net.WithPrecision(p), fed: fed, cohort: cohort, samples: fed.Clients[0].Train.Len(), local: &atomic.Int64{}}
	var err error
	s.engine, err = fl.New(fl.Config{Model: s.model, Data: fed, Method: timed(methods.FedAvg(), s.local), Cohort: cohort, Seed: 1, Workers: workers})
	if err != nil {
		return nil, err
	}
	for i := range trials {
		s.trials = append(s.trials, s.engine.NewTrial(i))
	}
	c := hyper.DefaultClient()
	c.LR, c.Batch = 1e-3, batch
	s.plan = fl.Plan{Server: hyper.DefaultServer(), Clients: []fl.ClientParams{c}}
	return s, nil
}

// all runs one round of every trial, all at once, and returns the local steps of
// one.
func (s *simulation) all(ctx context.Context, plan fl.Plan) (steps int, err error) {
	if len(s.trials) == 1 {
		r, err := s.trials[0].Round(ctx, plan)
		if err != nil {
			return 0, err
		}
		return r.Steps, nil
	}
	type end struct {
		steps int
		err   error
	}
	ends := make(chan end, len(s.trials))
	for _, t := range s.trials {
		go func() {
			r, err := t.Round(ctx, plan)
			if err != nil {
				ends <- end{0, err}
				return
			}
			ends <- end{r.Steps, nil}
		}()
	}
	for range s.trials {
		e := <-ends
		steps, err = e.steps, cmp.Or(err, e.err)
	}
	return steps, err
}

// take times rounds for so long, at least one, in a goroutine of their own: the
// meter's is locked to its thread, which no caller's is.
func (s *simulation) take(ctx context.Context, length time.Duration) error {
	ended := make(chan error)
	go func() { ended <- s.rounds(ctx, length) }()
	return <-ended
}

func (s *simulation) rounds(ctx context.Context, length time.Duration) error {
	for end := time.Now().Add(length); ; {
		s.local.Store(0)
		start := time.Now()
		if _, err := s.all(ctx, s.plan); err != nil {
			return err
		}
		s.seconds = append(s.seconds, time.Since(start).Seconds())
		s.inside = append(s.inside, time.Duration(s.local.Load()).Seconds())
		if time.Now().After(end) {
			return nil
		}
	}
}

// result folds the rounds that were timed, peak being that of one thread.
func (s *simulation) result(shape string, peak float64) (Result, error) {
	workers, clients := s.engine.Workers(), len(s.trials)*s.cohort
	_, flops := s.net.FLOPs()
	r := row{name: s.net.name, shape: shape, batch: s.plan.Clients[0].Batch, samples: clients * s.samples, optimizer: plainSGD}
	x := newResult(r, s.model.Precision(), s.seconds)
	x.Threads = workers
	x.GFLOPS = float64(flops) * x.SamplesPerSecond / 1e9
	x.PeakGFLOPS = peak * float64(workers)
	x.PeakFraction = x.GFLOPS / x.PeakGFLOPS
	outside := make([]float64, len(s.seconds))
	fill, err := s.fillSeconds()
	if err != nil {
		return Result{}, err
	}
	for i, t := range s.seconds {
		outside[i] = 1 - (s.inside[i]-fill)/(t*float64(workers))
	}
	x.Round = &Round{
		Cohort: s.cohort, Clients: len(s.fed.Clients), Trials: len(s.trials), Outside: median(outside),
		ClientSeconds: x.Seconds * float64(workers) / float64(clients),
	}
	x.Round.OutsideSeconds = x.Round.Outside * x.Seconds
	return x, nil
}

// fillSeconds returns how long the workers take in one round to shuffle and read
// examples, which is within the local trainings.
func (s *simulation) fillSeconds() (float64, error) {
	batch := s.plan.Clients[0].Batch
	in := s.net.Input()
	x, tokens := make([]float32, batch*in.Size()), make([]int32, batch*in.Seq)
	labels := make([]int32, batch*s.net.LabelsPerExample())
	order := make([]int32, s.samples)
	best := math.Inf(1)
	for range 3 {
		start := time.Now()
		for i := range len(s.trials) * s.cohort {
			for j := range order {
				order[j] = int32(j)
			}
			newStream(i).Shuffle(order)
			for pos := range slices.Chunk(order, batch) {
				if err := s.fed.Clients[i%len(s.fed.Clients)].Train.Fill(pos, x, tokens, labels, nil); err != nil {
					return 0, err
				}
			}
		}
		best = min(best, time.Since(start).Seconds())
	}
	return best, nil
}

// countAllocs sets the allocations per step and per round. It tells them apart by
// rounds of few and of more local steps, and takes the fewest of a number of tries.
func (s *simulation) countAllocs(ctx context.Context, r *Round, tries int) error {
	count := func(steps int) (allocs float64, done int, err error) {
		plan := s.plan
		plan.Clients = slices.Clone(plan.Clients)
		plan.Clients[0].Steps = steps
		least := math.Inf(1)
		var before, after runtime.MemStats
		for range tries {
			runtime.ReadMemStats(&before)
			if done, err = s.all(ctx, plan); err != nil {
				return 0, 0, err
			}
			runtime.ReadMemStats(&after)
			least = min(least, float64(after.Mallocs-before.Mallocs))
		}
		return least, done, nil
	}
	few, fewSteps, err := count(1)
	if err != nil {
		return err
	}
	more, moreSteps, err := count(4)
	if err != nil {
		return err
	}
	r.AllocsPerStep = (more - few) / float64(moreSteps-fewSteps)
	r.AllocsPerRound = few - r.AllocsPerStep*float64(fewSteps)
	return nil
}

// gcStop returns the median time for which a garbage collection stops a round.
func (s *simulation) gcStop(ctx context.Context, collections int) (float64, error) {
	sample := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	read := func() *metrics.Float64Histogram {
		metrics.Read(sample)
		return sample[0].Value.Float64Histogram()
	}
	h := read()
	before := slices.Clone(h.Counts)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range collections {
			time.Sleep(10 * time.Millisecond) // into the middle of a step
			runtime.GC()
		}
	}()
	plan := s.plan
	plan.Clients = slices.Clone(plan.Clients)
	plan.Clients[0].Steps = 4
	for {
		select {
		case <-done:
			after := read()
			return middle(after, before), nil
		default:
			if _, err := s.all(ctx, plan); err != nil {
				<-done
				return 0, err
			}
		}
	}
}

// middle returns the upper edge of the bucket that holds the median of what h
// counted since.
func middle(h *metrics.Float64Histogram, since []uint64) float64 {
	var total, below uint64
	for i, n := range h.Counts {
		total += n - since[i]
	}
	for i, n := range h.Counts {
		if below += n - since[i]; 2*below >= total && below > 0 {
			return h.Buckets[i+1]
		}
	}
	return 0
}
