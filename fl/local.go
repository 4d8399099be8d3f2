package fl

import (
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// The purposes of random draws, the last part of their key, so that no two keys
// are equal. Never renumber them.
const (
	purposeInit uint64 = iota + 1
	purposeCohort
	purposeShuffle
	purposeDropout
	purposeAugment
	purposeTest
	purposeSample
	purposeScore
	purposeTested
	purposeValidate
)

// Local is one client's local training, the argument of Method.Local.
type Local struct {
	// Params are the client's hyperparameters, ServerParams those of the server.
	Params       ClientParams
	ServerParams ServerParams
	// Round is the number of the round, from 0.
	Round int
	// Train and Val hold the client's training and validation examples.
	Train, Val data.View
	// Broadcast holds the weights that the server sent; read-only.
	Broadcast []float32
	// Weights hold the broadcast weights before and the client's after.
	Weights []float32
	// Weight is the client's weight in the aggregate: the number of its training
	// examples, unless the method sets another.
	Weight float64

	// Steps counts the local steps taken, Examples the training examples
	// processed.
	Steps, Examples int
	// Loss is the sum of the training losses over the Labels processed, each
	// taken before its step.
	Loss   float64
	Labels int

	client int
	engine *Engine
	server Server    // of the trial; read-only
	state  []float32 // what the client keeps, changed in place; zero when fresh
	fresh  bool      // no state was kept of the client
	upload []float32 // what goes to the server, when it is not Broadcast - Weights

	worker *worker
	key    uint64 // of this visit: seed, trial, round, slot, client
	passes uint64

	score        func(weights []float32)                          // measures the personalized model; nil when nobody asks
	evaluate     func(data.View, *data.Augment, *tally) nn.Result // how, when not by the weights in the whole network
	net          *narrowWorker                                    // the client's sub-network; nil is the whole one
	absent       []int32                                          // classes whose logits are held at 0
	phi, prior   float64                                          // the least cosines so far, when asked for
	wantPhi      bool
	wantPrior    bool
	exampleFLOPs float64 // of a training step
	flops        float64 // operations spent
	traffic      int     // parameters that are sent to the client, and back
}

// SGD runs the client's local steps by SGD with momentum, weight decay and a
// proximal term of weight mu that pulls towards the broadcast weights. The
// training examples are shuffled anew for each pass.
func (l *Local) SGD(mu float64) { l.steps(course{mu: mu}) }

// course is a run of local steps. Its zero value is that of FedAvg.
type course struct {
	params  *ClientParams // nil is the client's
	weights []float32     // nil is the client's
	mu      float64       // weight of the proximal term towards the broadcast weights
	only    nn.Span       // empty is all
	shift   []float32     // added to each gradient, when not nil
	each    func(step int)
	apart   bool // a model besides the one that the method trains: its loss does not count
}

// steps runs a course.
func (l *Local) steps(c course) {
	p, w := l.Params, l.Weights
	if c.params != nil {
		p = *c.params
	}
	if c.weights != nil {
		w = c.weights
	}
	ws, velocity, start := l.worker.ws, l.worker.velocity, l.Broadcast
	if l.net != nil {
		ws, w, velocity, start = l.net.ws, l.net.weights, l.net.velocity, l.net.start
	}
	opt := nn.Optimizer{Velocity: velocity, SGD: nn.SGD{LR: float32(p.LR), Momentum: float32(p.Momentum), WeightDecay: float32(p.WeightDecay), Mu: float32(c.mu)}}
	if c.mu != 0 {
		opt.Anchor = start
	}
	opts := l.trainOpts(p)
	opts.Only, opts.Shift = c.only, c.shift
	if (l.wantPhi || l.wantPrior) && !c.apart {
		opts.Probe = &l.worker.probe
		opts.Probe.Anchor, opts.Probe.Prior = start, l.wantPrior
	}
	batches := l.newBatches(0, p)
	for step := range p.LocalSteps(l.Train.Len()) {
		b := batches.fill()
		opts.Step = uint32(l.Steps)
		if opts.Probe != nil {
			opts.Probe.Reset()
		}
		r := ws.Step(w, b, opts, &opt)
		if opts.Probe != nil {
			l.phi = min(l.phi, opts.Probe.Cosine())
			if cos, ok := opts.Probe.PriorCosine(); ok { // before the first step nothing is displaced
				l.prior = min(l.prior, cos)
			}
		}
		l.Steps++
		if !c.apart {
			l.Loss += r.Loss
			l.Labels += r.Count
		}
		if c.each != nil {
			c.each(step)
		}
	}
}

// trainOpts returns the options of the visit's steps; their Step is to be set.
func (l *Local) trainOpts(p ClientParams) nn.TrainOpts {
	return nn.TrainOpts{Key: kernels.Key(l.key, purposeDropout), Dropout: float32(p.Dropout), Absent: l.absent}
}

// personal tells which weights are the client's personalized model, for methods
// that make others than what Local returns. They are measured at once.
func (l *Local) personal(weights []float32) {
	if l.score != nil {
		l.score(weights)
		l.score = nil
	}
}

// scoreApart makes and scores the personalized model from the broadcast weights,
// when somebody asks for its score; it leaves no other trace.
func (l *Local) scoreApart(m personalizer) {
	if l.score == nil {
		return
	}
	trained, score, done := l.worker.vector(0), l.score, *l
	copy(trained, l.Weights)
	copy(l.Weights, l.Broadcast)
	m.personalize(l)
	score(l.Weights)
	*l = done
	l.score = nil
	copy(l.Weights, trained)
}

// measure scores the client's model as it is after its training on a set of
// examples. t, when not nil, counts what masks leave.
func (l *Local) measure(v data.View, aug *data.Augment, t *tally) nn.Result {
	if l.evaluate != nil {
		return l.evaluate(v, aug, t)
	}
	return l.worker.evaluate(l.Weights, v, aug, t)
}

// uniform gives all clients one weight unless the server asks for their numbers of
// examples.
func (l *Local) uniform() {
	if !l.ServerParams.Weighted {
		l.Weight = 1
	}
}

// visit is what the engine tells a worker about one client's local training.
type visit struct {
	engine  *Engine
	client  int
	params  ClientParams
	server  ServerParams
	round   int
	weights []float32 // broadcast
	state   Server
	kept    *block // the client's state; nil when there is none
	key     uint64
}

// begin prepares a client's local training in the worker's own weights.
func (w *worker) begin(v visit) (*Local, error) {
	copy(w.local, v.weights)
	e := v.engine
	c := &e.cfg.Data.Clients[v.client]
	l := &Local{
		Params: v.params, ServerParams: v.server, Round: v.round, Train: c.Train, Val: c.Val,
		Broadcast: v.weights, Weights: w.local, Weight: float64(c.Train.Len()),
		client: v.client, engine: e, server: v.state, fresh: v.kept == nil, worker: w, key: v.key,
		phi: math.Inf(1), prior: math.Inf(1), exampleFLOPs: e.trainFLOPs, traffic: e.cfg.Model.NumParams(),
	}
	if e.store == nil {
		return l, nil
	}
	w.state = grown(w.state, e.store.size)
	l.state = w.state
	if l.fresh {
		clear(l.state)
		return l, nil
	}
	return l, e.store.read(l.state, v.kept)
}
