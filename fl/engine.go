package fl

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/nn"
)

// Config describes a federated training.
type Config struct {
	// Model is the network that all clients train.
	Model *nn.Model
	// Data holds the clients. Each needs at least one training example.
	Data *data.Federation
	// Method is the federated method; nil is FedAvg.
	Method Method
	// Cohort is the number of clients in a round, >= 1.
	Cohort int
	// Replacement draws cohorts with replacement: a client drawn twice
	// trains twice. Otherwise Cohort is at most the number of clients.
	Replacement bool
	// Seed keys every random draw.
	Seed uint64
	// Workers is the number of client tasks that run at once; 0 is one a
	// processor. It does not change any result.
	Workers int
}

// Engine runs the client tasks of any number of trials on one pool of workers.
// Its methods may be called from several goroutines.
type Engine struct {
	cfg  Config
	pool *pool
}

// New checks cfg and starts the workers. Close releases them.
func New(cfg Config) (*Engine, error) {
	if cfg.Model == nil || cfg.Data == nil {
		return nil, errors.New("fl: Config needs a Model and Data")
	}
	if cfg.Method == nil {
		cfg.Method = fedAvg{}
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Workers < 0 {
		return nil, fmt.Errorf("workers = %d: must be 1 or more, or 0 for one a processor", cfg.Workers)
	}
	clients := len(cfg.Data.Clients)
	if cfg.Cohort < 1 {
		return nil, fmt.Errorf("cohort = %d: must be 1 or more", cfg.Cohort)
	}
	if !cfg.Replacement && cfg.Cohort > clients {
		return nil, fmt.Errorf("cohort = %d: %s has %d clients; lower it or sample with replacement", cfg.Cohort, cfg.Data.Name, clients)
	}
	for _, c := range cfg.Data.Clients {
		if c.Train.Len() == 0 {
			return nil, fmt.Errorf("%s: client %s has no training examples", cfg.Data.Name, c.ID)
		}
	}
	if err := checkFit(cfg.Model, cfg.Data); err != nil {
		return nil, err
	}
	return &Engine{cfg: cfg, pool: newPool(cfg.Model, cfg.Workers)}, nil
}

// checkFit compares what the model reads with what the clients hold.
func checkFit(m *nn.Model, d *data.Federation) error {
	in := m.Input()
	misfit := func(what string, model, set int) error {
		return fmt.Errorf("model %s does not fit data %s: %s is %d in the model and %d in the data", m.Name(), d.Name, what, model, set)
	}
	if d.Kind == data.Tokens {
		switch {
		case in.Seq != d.SeqLen:
			return misfit("the sequence length", in.Seq, d.SeqLen)
		case in.Vocab < d.Vocab:
			return misfit("the vocabulary", in.Vocab, d.Vocab)
		}
	} else {
		switch {
		case in.Seq != 0:
			return fmt.Errorf("model %s reads token sequences, data %s holds none", m.Name(), d.Name)
		case in.H*in.W*in.C != d.H*d.W*d.C:
			return misfit("the number of inputs", in.H*in.W*in.C, d.H*d.W*d.C)
		}
	}
	switch n := m.LabelsPerExample(); {
	case n != 1 && !d.EveryStep:
		return fmt.Errorf("model %s predicts at each of %d steps, data %s has one label an example", m.Name(), n, d.Name)
	case n == 1 && d.EveryStep:
		return fmt.Errorf("model %s predicts once an example, data %s has a label at every step", m.Name(), d.Name)
	}
	if m.Classes() < d.Classes {
		return misfit("the number of classes", m.Classes(), d.Classes)
	}
	return nil
}

// Workers returns the number of client tasks that run at once.
func (e *Engine) Workers() int { return e.cfg.Workers }

// Model returns the network that the engine trains.
func (e *Engine) Model() *nn.Model { return e.cfg.Model }

// Close stops the workers; rounds and evaluations must have ended.
func (e *Engine) Close() { e.pool.close() }
