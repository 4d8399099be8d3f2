// Package choose chooses the clients that train by what they have done. What a choice costs
// does not grow with the number of clients: it looks at those that it takes, and at those
// before them that are away, each once until it may be back.
package choose

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
)

// Chooser is what a trial chooses clients by.
type Chooser interface {
	clock.Chooser
	// Set has the next choice go by other options of the same kind.
	Set(s fleet.Sampler)
	// Learn takes in what a round, counted from 1, has shown of its clients, whose jobs
	// have ended.
	Learn(round int, results []Result)
	// State returns what was learned, as numbers that a float32 has exactly.
	State() [][]float32
	// Load takes over the state of another chooser; Reset follows.
	Load(state [][]float32) error
}

// Result is what a round has shown of a client.
type Result struct {
	Client int32
	// Samples are those that it has for training, Loss is their mean loss, and
	// Squared the mean of the squares of its batches' losses.
	Samples       int
	Loss, Squared float64
	// Seconds are those that it took.
	Seconds float64
	// Dropped says that its result is not used, Lost that there is none.
	Dropped, Lost bool
}

// Key returns the key of a choice's draws.
type Key func(draw uint64) uint64

// MaxClients is how many clients there may be, whose numbers a State can have.
const MaxClients = 1 << 24

// part is the base in which a state has numbers above 2^24.
const part = 1 << 24

// misfit is the error for a state that no chooser has.
func misfit(format string, args ...any) error {
	return fmt.Errorf("the choice of clients: "+format, args...)
}

// columns returns as many columns of equal lengths, of which the first has clients.
func columns(state [][]float32, number, clients int) ([][]float32, error) {
	if len(state) != number {
		return nil, misfit("%d arrays, not %d", len(state), number)
	}
	seen := make(map[float32]bool, len(state[0]))
	for _, a := range state {
		if len(a) != len(state[0]) {
			return nil, misfit("%d values for %d clients", len(a), len(state[0]))
		}
	}
	for _, x := range state[0] {
		if i := int(x); float32(i) != x || i < 0 || i >= clients || seen[x] {
			return nil, misfit("it has client %v, of %d", x, clients)
		}
		seen[x] = true
	}
	return state, nil
}

// Weights returns integers in proportion to those of clients, such that they can be
// summed.
func Weights(of []float64) []int64 {
	const most = 1 << 38
	w, highest := make([]int64, len(of)), slices.Max(of)
	for i, x := range of {
		w[i] = max(int64(x/max(highest, math.SmallestNonzeroFloat64)*most), 1)
	}
	return w
}
