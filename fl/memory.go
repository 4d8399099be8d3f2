package fl

import (
	"fmt"
	"runtime"

	"github.com/fedfast/fedfast/data/sys/memory"
	"github.com/fedfast/fedfast/nn"
)

// The vectors of a model's size that any training has: those of a trial, and those
// of each worker.
const (
	trialVectors  = 3 // weights, their sum, the best ones
	workerVectors = 3 // the client's weights, their velocity and gradient
)

// CheckMemory returns an error for a model whose training with so many workers
// needs more memory than there is, before any of it is taken. It counts what every
// method needs; a method's own vectors, activations and examples come on top.
func CheckMemory(m *nn.Model, workers int) error {
	vectors := trialVectors + workerVectors*int64(workers)
	if err := memory.Check(4 * int64(m.Size()) * vectors); err != nil {
		name, n := m.Largest()
		return fmt.Errorf("model %s has %d parameters, %d of them in %s, and with %d workers %w; make it smaller or take fewer workers",
			m.Name(), m.NumParams(), n, name, workers, err)
	}
	return nil
}

// usableWorkers bounds the workers: more than some for each processor do nothing
// but take memory.
func usableWorkers(n int) int { return min(n, max(64, 4*runtime.GOMAXPROCS(0))) }
