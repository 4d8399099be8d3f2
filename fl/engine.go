package fl

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/choose"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/internal/trainer"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn"
)

// Config describes a federated training.
type Config struct {
	// Model is the network that all clients train.
	Model *nn.Model
	// Data holds the clients. Each needs at least one training example.
	Data *data.Federation
	// Method is the federated method, such as methods.FedAvg() of package
	// fl/methods, or what MethodByName returns.
	Method Method
	// Cohort is the number of clients in a round, >= 1.
	Cohort int
	// Replacement draws cohorts with replacement: a client drawn twice
	// trains twice. Otherwise Cohort is at most the number of clients.
	Replacement bool
	// BySize, with Replacement, draws clients in proportion to their training samples, and has
	// them weigh equally: the mean is then that over all clients weighted by their samples, on
	// the mean over draws (scheme I of Li et al. 2020, arXiv:1907.02189).
	BySize bool
	// Poisson draws each client by itself in each round, with probability Cohort over the
	// number of clients: cohorts vary in size and may be empty.
	Poisson bool
	// Shuffle goes through the clients in passes: each pass has a random order of them and as
	// many rounds as it has whole cohorts, and trains no client twice.
	Shuffle bool
	// Shared has all trials draw the same cohorts, by the seed and the round alone. It is not
	// for a fleet, nor for a Privacy or a Sampler.
	Shared bool
	// Privacy, when not nil, clips the clients' changes and adds noise to their sum.
	Privacy *Privacy
	// Updates says what happens to the clients' updates on their way to the server,
	// Aggregation what the server makes of them.
	Updates     Updates
	Aggregation Aggregation
	// Seed keys every random draw.
	Seed uint64
	// Workers is the number of client tasks that run at once; 0 means one per
	// processor. It does not change any result.
	Workers int
	// HeadLayers is the number of last layers with parameters that are the head
	// of methods that treat it apart; 0 is 1.
	HeadLayers int
	// Widths are the widths of the clients' sub-networks, each in (0, 1]: client
	// i has Widths[i mod len], unless ClientParams.Width says otherwise. nil takes
	// those from the method. Only methods that read client.widths have any.
	Widths []float64
	// Statistics says what becomes of the running statistics of batch normalization:
	// StatisticsAverage or another of these; empty is the method's.
	Statistics string
	// StateMemory is how many bytes of memory the clients' states may take; what
	// is beyond goes to a temporary file. 0 is 2 GiB.
	StateMemory int64
	// KeepOptimizer has each client keep what its local optimizer remembers, for
	// rounds with client.optimizer_state = "keep". Clients then have a state also where
	// the method keeps none. It must be set where a round's hyperparameters keep.
	KeepOptimizer bool
	// Batch is the largest batch that clients may train on, by which New counts the memory
	// of batch normalization; 0 is 64.
	Batch int
	// Adam says that clients may train by Adam or AdamW, so that New counts the memory
	// of their second moments, Momentum that they may train with momentum.
	Adam, Momentum bool

	// Measures has validation scores keep the answers behind them, from which Score.Metric makes what the
	// errors of clients do not add up to, such as a ROC AUC.
	Measures bool

	// Trials and Kept are how many trials are in flight at a time, 0 for one, and
	// of how many others the weights are kept: New refuses what does not fit into
	// memory.
	Trials, Kept int

	// Server are the hyperparameters by which Method.NewSender builds its servers; nil are
	// the method's defaults.
	Server *ServerParams

	// Fleet are the clients' devices, on which trainings run in simulated time; nil is a
	// training without. Time says how the server works on them; the zero value is
	// fleet.DefaultTime.
	Fleet *fleet.Config
	Time  fleet.Time

	// Sampler says how clients are chosen; the zero Sampler draws them at random.
	Sampler fleet.Sampler

	// Digests has rounds tell the hashes of what each client returns, see Slot.Digests.
	Digests bool

	// Elsewhere has shards of rounds and evaluations done by other engines; nil has
	// this one do all.
	Elsewhere shard.Engines

	// NewTrainer makes the trainer of a worker; nil is Model.NewWorkspace.
	NewTrainer func() trainer.Trainer
}

// Head returns where the parameters of the model's head lie.
func (c *Config) Head() nn.Span { return c.Model.Head(max(1, c.HeadLayers)) }

// Engine runs the client tasks of any number of trials on one pool of workers.
// Its methods may be called from several goroutines.
type Engine struct {
	digested atomic.Int64 // nanoseconds, see Digested

	cfg     Config
	pool    *pool
	head    nn.Span
	store   *store    // of the clients' states, nil for methods without any
	setup   any       // of the method
	kept    []nn.Span // of the model, that clients keep by Config.Statistics
	aside   []nn.Span // that only their means move
	layout  func() [32]byte
	fleet   clock.Fleet    // nil for none
	places  func() []int32 // of the trained parameters, in the usual order
	strips  func() []strip // of the trained parameters
	uplink  *uplink        // of the clients' updates; nil where nothing happens to them
	order   *choose.Order  // of the clients, for tiers
	weights []int64        // of the clients, to choose them by

	aggregator Aggregator
	holding    bool // the updates of a round one by one

	forwardFLOPs float64 // of an example in an evaluation
	trainFLOPs   float64 // of an example
}

// New checks cfg and starts the workers. Close releases them.
func New(cfg Config) (*Engine, error) {
	if cfg.Model == nil || cfg.Data == nil {
		return nil, errors.New("fl: Config needs a Model and Data")
	}
	if cfg.Method.Local == nil {
		return nil, errors.New("fl: Config needs a Method, such as methods.FedAvg() of package fl/methods")
	}
	if err := cfg.Method.check(); err != nil {
		return nil, err
	}
	if cfg.Workers < 0 {
		return nil, fmt.Errorf("workers = %d: must be 1 or more, or 0 for one per processor", cfg.Workers)
	}
	cfg.Workers = cfg.workers()
	clients := len(cfg.Data.Clients)
	if cfg.Cohort < 1 {
		return nil, &key.Error{Key: "cohort", Problem: fmt.Sprintf(" = %d: must be 1 or more", cfg.Cohort)}
	}
	if !cfg.Replacement && cfg.Cohort > clients {
		return nil, &key.Error{Key: "cohort", Problem: fmt.Sprintf(" = %d: %s has %d clients; lower it or sample with replacement (sampling = \"with\")", cfg.Cohort, cfg.Data.Name, clients)}
	}
	for _, c := range cfg.Data.Clients {
		if c.Train.Len() == 0 {
			return nil, fmt.Errorf("%s: client %s has no training samples", cfg.Data.Name, c.ID)
		}
	}
	if why := cfg.Method.Closed; why != "" && slices.ContainsFunc(cfg.Data.Unseen, func(c data.Client) bool { return c.Train.Len() > 0 }) {
		return nil, &key.Error{Key: "data.unseen_clients", Problem: fmt.Sprintf(": a new client has no model in method %q: %s; leave it out, or use another method", cfg.Method.Name, why)}
	}
	if err := checkFit(cfg.Model, cfg.Data); err != nil {
		return nil, err
	}
	if cfg.HeadLayers < 0 || cfg.StateMemory < 0 {
		return nil, fmt.Errorf("head_layers = %d, data.state_memory = %d: must be 0 (the default) or more", cfg.HeadLayers, cfg.StateMemory)
	}
	if cfg.Time == (fleet.Time{}) {
		cfg.Time = fleet.DefaultTime()
	}
	if cfg.Updates == (Updates{}) {
		cfg.Updates = DefaultUpdates()
	}
	if cfg.Aggregation == (Aggregation{}) {
		cfg.Aggregation = DefaultAggregation()
	}
	aggregator, err := cfg.Aggregation.Aggregator()
	if err := errors.Join(err, cfg.checkUpdates(), cfg.checkAggregator(&aggregator), cfg.CheckTime(cfg.Time),
		cfg.checkCohorts(), cfg.checkPrivacy(), cfg.CheckSampler(cfg.Sampler), cfg.checkStatistics()); err != nil {
		return nil, err
	}
	if err := cfg.CheckMemory(); err != nil {
		return nil, err
	}
	if cfg.Server == nil {
		_, s := cfg.Method.Defaults()
		cfg.Server = &s
	}
	e := &Engine{cfg: cfg, head: cfg.Head(), layout: sync.OnceValue(func() [32]byte { return layout(cfg.Model) })}
	e.kept, e.aside = cfg.keptSpans(), cfg.asideSpans()
	e.places = sync.OnceValue(func() []int32 { return trainedPlaces(&e.cfg) })
	e.strips = sync.OnceValue(func() []strip { return trainedStrips(e.cfg.Model.Size(), trainedPlaces(&e.cfg)) })
	e.uplink, e.aggregator, e.holding = newUplink(&e.cfg, e.places), aggregator, cfg.holds()
	forward, flops := cfg.Model.FLOPs()
	e.forwardFLOPs, e.trainFLOPs = float64(forward), float64(flops)
	if size, keeps := cfg.stateSize(); keeps {
		if cfg.Replacement {
			return nil, fmt.Errorf("sampling with replacement: %s a state for each client, so a client cannot be twice in a cohort; use \"without\"", cfg.keeper())
		}
		e.store = newStore(size, cfg.stateRoom())
	}
	if len(cfg.Widths) > 0 && !slices.Contains(cfg.Method.Settings(), "client.widths") {
		return nil, fmt.Errorf("client.widths: method %q does not use them; leave them out", cfg.Method.Name)
	}
	if cfg.Method.Prepare != nil {
		var err error
		if e.setup, err = cfg.Method.Prepare(&e.cfg); err != nil {
			return nil, err
		}
	}
	if err := e.checkSender(); err != nil {
		return nil, err
	}
	if cfg.Fleet != nil {
		var err error
		if e.fleet, err = newFleet(&cfg, e.setup); err != nil {
			return nil, err
		}
	}
	e.prepareChoices()
	if cfg.NewTrainer == nil {
		cfg.NewTrainer = func() trainer.Trainer { return cfg.Model.NewWorkspace() }
	}
	e.pool = newPool(cfg.Model, cfg.Workers, cfg.NewTrainer)
	return e, nil
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
		return fmt.Errorf("model %s predicts at each of %d steps, data %s has one label per sample", m.Name(), n, d.Name)
	case n == 1 && d.EveryStep:
		return fmt.Errorf("model %s predicts once per sample, data %s has a label at every step", m.Name(), d.Name)
	}
	if err := checkLoss(m, d); err != nil {
		return err
	}
	if m.Classes() < d.Classes {
		return misfit("the number of classes", m.Classes(), d.Classes)
	}
	return nil
}

// Workers returns the number of client tasks that run at once.
func (e *Engine) Workers() int { return e.cfg.Workers }

// Digested adds to the time that digests of weights and of what clients returned took, and returns it; what
// workers do in parallel counts as a part of the time.
func (e *Engine) Digested(d time.Duration) time.Duration {
	return time.Duration(e.digested.Add(int64(d)))
}

// Model returns the network that the engine trains.
func (e *Engine) Model() *nn.Model { return e.cfg.Model }

// Close stops the workers; rounds and evaluations must have ended. Those that
// follow fail.
func (e *Engine) Close() {
	e.pool.close()
	if e.store != nil {
		e.store.close()
	}
}

// seconds returns how long the local training lasts on a device of the default fleet,
// so that what depends on time depends on nothing of this machine: the bytes on their
// way there and back, and the operations of the local steps.
func (l *Local) seconds(down, up int64) float64 {
	d := fleet.DefaultDevice()
	return l.flops/d.FLOPS + float64(down+up)/d.Down
}

// bytes returns how many a client receives and sends whose values are of a number: as float32,
// and what the keys update.* leave of them, with the statistics, which are sent as they are, and
// what else the method has sent.
func (e *Engine) bytes(values int, p *Updates) (down, up int64) {
	exact := e.cfg.sentBuffers()
	w := e.uplink.wire(values-exact, p)
	down, up = 4*int64(values), w.Bytes()+4*int64(exact)
	if extra := e.cfg.Method.Extra; extra != nil {
		more, back := extra(e.cfg.Server)
		down, up = int64(1+more)*down, up+4*int64(back*values)
	}
	return down, up
}
