package fl

import (
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/robust"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/internal/trainer"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tensor"
)

// pool runs client tasks on a fixed number of workers. Those of one run start in
// their order; runs that come at once are worked on one after the other, but no
// worker is idle while a task waits.
type pool struct {
	runs    chan *run
	closing sync.Once
	closed  chan struct{}
	workers int
	wg      sync.WaitGroup
	size    int // packed parameters of the model

	mu   sync.Mutex
	free [][]float32 // buffers for early results that nobody holds
	left int         // buffers that may still be allocated for early results
	sums [][]float32 // buffers for the sums of rounds that nobody holds
}

// sparePerWorker is the number of buffers per worker for early results, those that
// wait for a slower client before them in the order of summing.
const sparePerWorker = 2

func newPool(m *nn.Model, workers int, newTrainer func() trainer.Trainer) *pool {
	p := &pool{runs: make(chan *run), closed: make(chan struct{}), workers: workers, size: m.Size(), left: sparePerWorker * workers}
	for range workers {
		w := &worker{
			ws:       newTrainer(),
			local:    m.NewParams(),
			velocity: m.NewParams(),
			inputs:   inputSize(m.Input()),
			seq:      m.Input().Seq,
			labels:   m.LabelsPerExample(),
			targets:  m.TargetsPerExample(),
			several:  several(m),
		}
		p.wg.Go(func() {
			for {
				select {
				case r := <-p.runs:
					r.work(w)
				case <-p.closed:
					return
				}
			}
		})
	}
	return p
}

func inputSize(s nn.Shape) int {
	if s.Seq > 0 {
		return 0
	}
	return s.H * s.W * s.C
}

// close ends the workers when they have finished the runs that they began.
func (p *pool) close() {
	p.closing.Do(func() { close(p.closed) })
	p.wg.Wait()
}

// errClosed is wrapped by the error of a round or an evaluation on an engine
// that was closed.
var errClosed = errors.New("the engine is closed: start another one with New, and restore the trial from a snapshot that was taken before")

// spare returns a weight-sized buffer for an early result, or nil when all are
// in use.
func (p *pool) spare() []float32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		buf := p.free[n-1]
		p.free = p.free[:n-1]
		return buf
	}
	if p.left == 0 {
		return nil
	}
	p.left--
	return tensor.Aligned(p.size)
}

func (p *pool) giveBack(buf []float32) {
	p.mu.Lock()
	p.free = append(p.free, buf)
	p.mu.Unlock()
}

// borrowSum returns a zeroed weight-sized buffer.
func (p *pool) borrowSum() []float32 {
	p.mu.Lock()
	n := len(p.sums)
	if n == 0 {
		p.mu.Unlock()
		return tensor.Aligned(p.size)
	}
	sum := p.sums[n-1]
	p.sums = p.sums[:n-1]
	p.mu.Unlock()
	clear(sum)
	return sum
}

// returnSums takes back those of a part.
func (p *pool) returnSums(part *part) {
	p.mu.Lock()
	p.sums = append(p.sums, part.vectors()...)
	p.mu.Unlock()
}

// run runs n tasks and waits for all of them. The first panic of a task, in the
// order of the tasks, becomes an error. Closing the pool either lets all of them run
// or none, which is errClosed.
func (p *pool) run(n int, task func(i int, w *worker) error) error {
	select {
	case <-p.closed:
		return errClosed
	default:
	}
	if n == 0 {
		return nil
	}
	r := &run{task: task, errs: make([]error, n), done: make(chan struct{})}
	r.left.Store(int64(n))
	if !p.offer(r) {
		return errClosed
	}
	<-r.done
	for _, err := range r.errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// offer hands a run to as many workers as it has tasks for and says whether any took
// it. One is enough for all tasks.
func (p *pool) offer(r *run) (taken bool) {
	for range min(len(r.errs), p.workers) {
		select {
		case p.runs <- r:
			taken = true
		case <-r.done: // before another worker was free
			return taken
		case <-p.closed:
			return taken
		}
	}
	return taken
}

// run is a number of tasks, of which workers take one after the other.
type run struct {
	task func(i int, w *worker) error
	errs []error // of the tasks
	next atomic.Int64
	left atomic.Int64 // tasks that have not ended
	done chan struct{}
}

// work takes tasks until none is left.
func (r *run) work(w *worker) {
	for {
		i := int(r.next.Add(1)) - 1
		if i >= len(r.errs) {
			return
		}
		r.errs[i] = r.one(i, w)
		if r.left.Add(-1) == 0 {
			close(r.done)
		}
	}
}

// one runs a task; its panic becomes an error.
func (r *run) one(i int, w *worker) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &shard.PanicError{Value: x, Stack: debug.Stack()}
		}
	}()
	return r.task(i, w)
}

// worker is what one client task at a time works in.
type worker struct {
	ws       trainer.Trainer
	local    []float32 // the weights of the client at work
	velocity []float32
	second   []float32 // nil until a client trains with Adam
	inputs   int       // floats of an example, 0 for token sequences
	seq      int       // tokens of an example, 0 for images and vectors
	labels   int       // labels of an example
	targets  int       // numbers of its targets, 0 for classes
	several  int       // outputs of a regression that has more than one, else 0
	batch    nn.Batch
	outputs  []float32 // of the network, of a batch, where there are several
	order    []int32   // positions of a batch
	pass     [][]int32 // positions of passes over the training examples
	visit    visit     // of the client at work

	state     []float32   // of the client at work
	sent      []float32   // what it was sent, where that is its own
	vectors   [][]float32 // weight-sized scratch memory that methods borrow
	aside     []float32   // what it trained that the server's optimizer must not see
	gradients []float32   // of the examples of a private step, together
	trained   []float32   // the client's weights while others are scored
	uplink    uplinkMemory
	robust    robust.Memory
	probe     nn.Displacement // of the steps
	optimizer nn.Optimizer    // of the run of steps
	subnets   []*subnetWorker // that the worker had last, the newest last
}

// vector returns weight-sized scratch memory by its number; its values are
// anything.
func (w *worker) vector(i int) []float32 {
	for len(w.vectors) <= i {
		w.vectors = append(w.vectors, nil)
	}
	return room(&w.vectors[i], len(w.local))
}

// room returns v with n floats, allocated in large pages when it has fewer: passes over
// vectors of a model's size are then twice as fast.
func room(v *[]float32, n int) []float32 {
	if cap(*v) < n {
		*v = tensor.Aligned(n)
	}
	*v = (*v)[:n]
	return *v
}

// sized returns the worker's batch with room for n examples.
func (w *worker) sized(n int) *nn.Batch {
	b := &w.batch
	b.N = n
	b.X = grown(b.X, n*w.inputs)
	b.Tokens = grown(b.Tokens, n*w.seq)
	b.Labels = grown(b.Labels, n*w.labels)
	b.Right, b.Best, b.Outputs, b.Frozen = nil, nil, nil, nil
	return b
}

// fill reads the examples at pos of v into the worker's batch.
func (w *worker) fill(v data.View, pos []int32, aug *data.Augment) (*nn.Batch, error) {
	n := len(pos)
	b := w.sized(n)
	if w.targets > 0 {
		b.Targets = grown(b.Targets, n*w.targets)
		if err := v.FillTargets(pos, b.Targets); err != nil {
			return nil, err
		}
	}
	return b, v.Fill(pos, b.X, b.Tokens, b.Labels, aug)
}

// grown returns s with length n, allocating only when its capacity is less.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// evalBatch is the number of examples that are evaluated at a time.
const evalBatch = 64

// frozenBatches is how many batches a worker must evaluate with the same weights for what it
// makes of them to pay: that takes as long as it saves with 4 to 6 of wide dense layers.
const frozenBatches = 8

// frozen returns what a number of tasks of an evaluation say of the weights that they share,
// nil where that does not pay.
func (e *Engine) frozen(tasks int) *nn.Frozen {
	if tasks < frozenBatches*e.cfg.Workers {
		return nil
	}
	return new(nn.Frozen)
}

// evaluate measures weights on all of v. t, when not nil, counts what masks leave.
func (w *worker) evaluate(weights []float32, v data.View, aug *data.Augment, t *tally) (outcome, error) {
	return w.evaluateIn(w.ws, weights, nil, v, aug, t)
}

// evaluateIn does so with a trainer, perhaps of another network than the whole one. frozen is
// for weights that are measured on several views, else nil.
func (w *worker) evaluateIn(ws trainer.Trainer, weights []float32, frozen *nn.Frozen, v data.View, aug *data.Augment, t *tally) (outcome, error) {
	if frozen == nil && v.Len() > frozenBatches*evalBatch {
		frozen = new(nn.Frozen)
	}
	sum := outcome{outputs: make([]nn.Fit, w.several)}
	err := w.eachBatch(v, aug, 1, func(b *nn.Batch) {
		if w.several > 0 {
			w.outputs = grown(w.outputs, len(b.Targets))
			b.Outputs = w.outputs
		} else if t != nil && t.every > 0 {
			w.outputs = grown(w.outputs, b.N*t.classes)
			b.Outputs = w.outputs
		}
		if t != nil {
			t.right = grown(t.right, len(b.Labels))
			b.Right = t.right
		}
		b.Frozen = frozen
		r := ws.Evaluate(weights, b)
		if t != nil {
			t.add(b.Labels)
			t.answer(b)
		}
		sum.Add(r)
		if w.several > 0 {
			sum.add(b)
		}
	})
	if err != nil {
		return outcome{}, err
	}
	return sum, nil
}

// eachBatch calls f with all of v, evalBatch examples at a time, and with those that would
// be less than the least of a batch as a part of the one before them.
func (w *worker) eachBatch(v data.View, aug *data.Augment, least int, f func(b *nn.Batch)) error {
	for at := 0; at < v.Len(); {
		n := min(evalBatch, v.Len()-at)
		if v.Len()-at-n < least {
			n = v.Len() - at
		}
		w.order = grown(w.order, n)
		for i := range w.order {
			w.order[i] = int32(at + i)
		}
		b, err := w.fill(v, w.order, aug)
		if err != nil {
			return err
		}
		f(b)
		at += n
	}
	return nil
}
