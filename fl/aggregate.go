package fl

import (
	"math"
	"sync"

	"github.com/fedfast/fedfast/kernels"
)

// aggregate sums the weighted changes of one group of a round's clients, in the
// order of their tasks, whatever the order in which they finish. A result that comes
// early waits in a spare buffer, so few workers ever wait for each other.
type aggregate struct {
	pool *pool
	of   sums // which sums there are
	left int  // results to come

	mu      sync.Mutex
	moved   *sync.Cond
	part    part
	next    int // the task of the group whose result comes next
	pending map[int]contribution
}

// sums says which sums a round has besides that of the changes.
type sums struct{ extra, signs bool }

// contribution is one client's change w - w_i; weight 0 leaves it out.
type contribution struct {
	delta  []float32
	weight float64
	scale  float64                      // of the change, but not of its weight; 0 is 1
	gather func(extra, delta []float32) // adds to the second sum; may be nil
	number float64                      // see Update.Number
}

func newAggregate(p *pool, of sums, tasks int) *aggregate {
	a := &aggregate{pool: p, of: of, left: tasks, pending: map[int]contribution{}}
	a.moved = sync.NewCond(&a.mu)
	return a
}

// begin borrows the memory of the sums when it is needed first, so that rounds
// which wait for workers hold none.
func (a *aggregate) begin() {
	if a.part.Sum != nil {
		return
	}
	a.part.Sum = a.pool.borrowSum()
	if a.of.extra {
		a.part.Extra = a.pool.borrowSum()
	}
	if a.of.signs {
		a.part.Signs = a.pool.borrowSum()
	}
}

// deliver takes the result of a task, by its number in the group, and returns the
// buffer that the worker may use from now on: its own, or a spare one when the result
// has to wait. whole is the group's sum for the one who delivers its last result.
//
// A worker that finds no spare buffer waits. That cannot lock up: tasks of a group
// start in order, so the task that comes next is always at work or delivered, and
// its worker never waits here.
func (a *aggregate) deliver(task int, c contribution) (buffer []float32, whole *part) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for task != a.next {
		if spare := a.pool.spare(); spare != nil {
			a.pending[task] = c
			return spare, nil
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
	if a.left == 0 {
		whole = &a.part
	}
	return c.delta, whole
}

func (a *aggregate) take(c contribution) {
	a.next++
	a.left--
	a.begin()
	p := &a.part
	if c.weight > 0 {
		scale := c.weight
		if c.scale != 0 {
			scale = float64(c.weight * c.scale)
		}
		kernels.Axpy(p.Sum, float32(scale), c.delta)
		p.Weight += c.weight
		p.Number += float64(c.weight * c.number)
		p.Taken++
		if c.gather != nil {
			c.gather(p.Extra, c.delta)
		}
		if p.Signs != nil {
			addSigns(p.Signs, float32(c.weight), c.delta)
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
