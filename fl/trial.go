package fl

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

// Trial is one federated training in progress: the weights, the server's state
// and the number of rounds done. It may be used by one goroutine at a time.
type Trial struct {
	engine  *Engine
	number  int
	round   int
	weights []float32
	server  Server
}

// NewTrial starts a training from freshly drawn weights. The number keys all
// its draws: trials with different numbers are independent, two with the same
// number and hyperparameters are equal bit for bit.
func (e *Engine) NewTrial(number int) *Trial {
	t := &Trial{engine: e, number: number, weights: e.cfg.Model.NewParams(), server: e.cfg.Method.NewServer(e.cfg.Model.Size())}
	e.cfg.Model.Init(t.weights, kernels.Key(e.cfg.Seed, uint64(number), purposeInit))
	return t
}

// Number returns the number that keys the trial's draws.
func (t *Trial) Number() int { return t.number }

// Rounds returns how many rounds the trial has done.
func (t *Trial) Rounds() int { return t.round }

// Weights returns the trial's weights in the model's packed layout. They
// change with the next round; copy them to keep them.
func (t *Trial) Weights() []float32 { return t.weights }

// Snapshot is the state of a trial between two rounds. A trial restored from
// it goes on with the same bits.
type Snapshot struct {
	// Number and Round are the trial's number and how many rounds it did.
	Number, Round int
	// Weights are the model's packed weights.
	Weights []float32
	// Server holds the arrays of the server's state.
	Server [][]float32
}

// Snapshot returns a copy of the trial's state.
func (t *Trial) Snapshot() Snapshot {
	s := Snapshot{Number: t.number, Round: t.round, Weights: slices.Clone(t.weights)}
	for _, a := range t.server.State() {
		s.Server = append(s.Server, slices.Clone(a))
	}
	return s
}

// Restore returns a trial in the state of a snapshot that an engine with the
// same model and method took.
func (e *Engine) Restore(s Snapshot) (*Trial, error) {
	t := &Trial{engine: e, number: s.Number, round: s.Round, weights: e.cfg.Model.NewParams(), server: e.cfg.Method.NewServer(e.cfg.Model.Size())}
	state := t.server.State()
	if len(s.Weights) != len(t.weights) || len(s.Server) != len(state) {
		return nil, fmt.Errorf("snapshot of trial %d at round %d does not fit model %s with method %s", s.Number, s.Round, e.cfg.Model.Name(), e.cfg.Method.Name())
	}
	copy(t.weights, s.Weights)
	for i, a := range state {
		if len(a) != len(s.Server[i]) {
			return nil, fmt.Errorf("snapshot of trial %d at round %d: server state %d has %d values, not %d", s.Number, s.Round, i, len(s.Server[i]), len(a))
		}
		copy(a, s.Server[i])
	}
	return t, nil
}
