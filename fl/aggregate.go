package fl

import (
	"math"
	"sync"

	"github.com/fedfast/fedfast/kernels"
)

// aggregate sums the weighted changes of a round's clients in the order of
// their tasks, whatever the order in which they finish. A result that comes
// early waits in a spare buffer, so few workers ever wait for each other.
type aggregate struct {
	pool *pool

	hasExtra, hasSigns bool

	mu      sync.Mutex
	moved   *sync.Cond
	sum     []float32 // sum of weight_i delta_i over the results taken
	extra   []float32 // the method's second sum, nil unless it has one
	signs   []float32 // sum of weight_i sign(delta_i), nil unless asked for
	weight  float64   // sum of the weights
	number  float64   // sum of weight_i number_i
	taken   int       // results with a weight
	next    int       // the task whose result comes next
	pending map[int]contribution
}

// contribution is one client's change w - w_i; weight 0 leaves it out.
type contribution struct {
	delta  []float32
	weight float64
	gather func(extra, delta []float32) // adds to the second sum; may be nil
	number float64                      // see Update.Number
}

func newAggregate(p *pool, extra, signs bool) *aggregate {
	a := &aggregate{pool: p, hasExtra: extra, hasSigns: signs, pending: map[int]contribution{}}
	a.moved = sync.NewCond(&a.mu)
	return a
}

// begin borrows the memory of the sums when it is needed first, so that rounds
// which wait for workers hold none.
func (a *aggregate) begin() {
	if a.sum != nil {
		return
	}
	a.sum = a.pool.borrowSum()
	if a.hasExtra {
		a.extra = a.pool.borrowSum()
	}
	if a.hasSigns {
		a.signs = a.pool.borrowSum()
	}
}

// deliver takes the result of a task and returns the buffer that the worker
// may use from now on: its own, or a spare one when the result has to wait.
//
// A worker that finds no spare buffer waits. That cannot lock up: tasks start
// in order, so the task that comes next is always at work or delivered, and
// its worker never waits here.
func (a *aggregate) deliver(task int, c contribution) []float32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	for task != a.next {
		if spare := a.pool.spare(); spare != nil {
			a.pending[task] = c
			return spare
		}
		a.moved.Wait()
	}
	a.take(c)
	for {
		waiting, ok := a.pending[a.next]
		if !ok {
			break
		}
		delete(a.pending, a.next)
		a.take(waiting)
		a.pool.giveBack(waiting.delta)
	}
	a.moved.Broadcast()
	return c.delta
}

func (a *aggregate) take(c contribution) {
	a.next++
	a.begin()
	if c.weight > 0 {
		kernels.Axpy(a.sum, float32(c.weight), c.delta)
		a.weight += c.weight
		a.number += float64(c.weight * c.number)
		a.taken++
		if c.gather != nil {
			c.gather(a.extra, c.delta)
		}
		if a.signs != nil {
			addSigns(a.signs, float32(c.weight), c.delta)
		}
	}
}

// addSigns adds weight sign(delta).
func addSigns(sum []float32, weight float32, delta []float32) {
	for i, d := range delta {
		switch {
		case d > 0:
			sum[i] += weight
		case d < 0:
			sum[i] -= weight
		}
	}
}

// release gives the memory back; the results are not valid after it.
func (a *aggregate) release() {
	for _, sum := range [][]float32{a.sum, a.extra, a.signs} {
		if sum != nil {
			a.pool.returnSum(sum)
		}
	}
}

// mean returns sum_i p_i (w - w_i), the server's pseudo-gradient, with p_i the
// shares of the weights that were taken, and sum_i p_i number_i. They are 0 when
// those were all 0; there must have been a result.
func (a *aggregate) mean() (delta []float32, number float64) {
	if a.weight == 0 {
		return a.sum, 0
	}
	kernels.Scale(a.sum, float32(1/a.weight))
	return a.sum, a.number / a.weight
}

// deltaBlock is how many weights are worked on while they are in the first cache:
// as many as Dot sums at a time, so that the norm has the bits of kernels.Norm.
const deltaBlock = 4096

// delta turns a client's weights into its change w - w_i in place and returns
// the change's norm, which is not finite when the client diverged.
func delta(broadcast, local []float32) float64 {
	var total float64
	for at := 0; at < len(local); at += deltaBlock {
		end := min(at+deltaBlock, len(local))
		d := local[at:end]
		kernels.Sub(d, broadcast[at:end], d)
		total += kernels.Dot(d, d)
	}
	return math.Sqrt(total)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
