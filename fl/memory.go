package fl

import (
	"fmt"
	"math"
	"runtime"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
)

// The vectors of a model's size that any training has, besides those of its
// method's server and the gradient in a workspace.
const (
	engineVectors = 3                  // a snapshot or a file that is written
	trialVectors  = 3                  // weights, the sum of a round, the best weights
	workerVectors = 2 + sparePerWorker // the client's weights, their velocity; results that wait
	adamVectors   = 1                  // of a worker: second moments
)

// checkHessian returns an error for a client that uses products with the Hessian of a
// model that has none.
func (c *Config) checkHessian(p ClientParams) error {
	if !c.Method.SecondOrder || p.FirstOrder {
		return nil
	}
	if err := c.Model.CheckHessian(); err != nil {
		return fmt.Errorf("method %q: %w; client.first_order = true leaves them out", c.Method.Name, err)
	}
	return nil
}

// CheckModel returns an error for a model that no training fits into the memory
// that there is, before any of it is taken.
func CheckModel(m *nn.Model) error {
	return checkMemory(m, 1, 1, 4*int64(m.Size())*(engineVectors+trialVectors+workerVectors+1))
}

// checkMemory returns an error for a training that needs more bytes than there are,
// before any of them is taken. The examples are in memory already. Of the clients'
// states it counts those at work: the others go to a file where there is no room.
func (c *Config) checkMemory() error {
	bytes := c.needed()
	return checkMemory(c.Model, c.Workers, max(1, c.Trials), int64(min(bytes, math.MaxInt64/2)))
}

// stateSize returns the floats that a client keeps, and whether there are states.
func (c *Config) stateSize() (floats int, keeps bool) {
	if c.Method.StateLen != nil {
		floats = c.Method.StateLen(c)
	}
	return floats + c.memories()*memorySize(c.Model), c.keeps()
}

// keeps says whether clients keep anything.
func (c *Config) keeps() bool {
	return c.Method.StateLen != nil || c.KeepOptimizer
}

// keeper says what has clients keep something.
func (c *Config) keeper() string {
	if c.Method.StateLen != nil {
		return fmt.Sprintf("method %q keeps", c.Method.Name)
	}
	return fmt.Sprintf("client.optimizer_state = %q keeps", hyper.Keep)
}

// stateRoom returns the bytes of memory that clients' states may take: what the
// training itself leaves, at most StateMemory. Where none is left all go to a file.
func (c *Config) stateRoom() int64 {
	most := c.StateMemory
	if most == 0 {
		most = DefaultStateMemory
	}
	if free := memory.Available(); free < memory.Unknown {
		most = min(most, max(1, (free-int64(min(c.needed(), math.MaxInt64/2)))/2))
	}
	return most
}

// needed returns the bytes that a training takes at least.
func (c *Config) needed() float64 {
	trials := max(1, c.Trials)
	server, borrowed := 0, 0 // the latter by methods that do more than local SGD
	if c.Method.NewServer != nil {
		server = len(c.Method.NewServer(0).State())
	}
	if c.Method.Gather != nil {
		server, borrowed = server+1, 1
	}
	if c.Method.StateLen != nil {
		borrowed = 2
	}
	if c.Adam && !c.KeepOptimizer {
		borrowed += adamVectors
	}
	second := c.Method.SecondOrder && c.Model.CheckHessian() == nil
	if second {
		borrowed = 4
	}
	sums := openSums(c.Cohort) - 1 // of groups, besides the first
	if c.Method.Gather != nil {
		sums *= 2
	}
	vectors := float64(engineVectors+server) + float64(min(trials, c.Workers)*sums) + float64(trials*(trialVectors+server)+c.Kept) + float64(c.Workers*(workerVectors+borrowed))
	state, _ := c.stateSize() // of the client at work, and as it was
	return vectors*4*float64(c.Model.Size()) + float64(c.Workers)*(float64(c.Model.WorkspaceBytes(second)+int64(c.mostKept()))+2*4*float64(state))
}

func checkMemory(m *nn.Model, workers, trials int, bytes int64) error {
	if err := memory.Check(bytes); err != nil {
		name, n := m.Largest()
		return fmt.Errorf("model %s has %d parameters, %d of them in %s, and with %s %w; make it smaller or take fewer workers",
			m.Name(), m.NumParams(), n, name, counts(workers, trials), err)
	}
	return nil
}

// counts tells what takes memory besides the model.
func counts(workers, trials int) string {
	text := oneline.Count(workers, "worker")
	if trials > 1 {
		text += " and " + oneline.Count(trials, "trial") + " in flight"
	}
	return text
}

// usableWorkers bounds the workers: more than some for each processor do nothing
// but take memory.
func usableWorkers(n int) int { return min(n, max(64, 4*runtime.GOMAXPROCS(0))) }
