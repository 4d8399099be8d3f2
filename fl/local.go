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
	purposeSend
	purposeDispatch
	purposeAsync
	purposeNoise
	purposeUpdate
	purposeAttackers
	purposeChoice
	purposeGroups
	purposeAudit
	purposePass
	purposeTree
	purposeExamples
	purposeAlone
)

// Local is one client's local training, the argument of Method.Local. It belongs to
// one goroutine, and nothing of it may be kept after Local returns.
type Local struct {
	// Params are the client's hyperparameters, ServerParams those of the server.
	Params       ClientParams
	ServerParams ServerParams
	// Round is the number of the round, from 0; Client that of the client in the
	// federation, where unseen clients come after the others.
	Round, Client int
	// Train and Val hold the client's training and validation examples.
	Train, Val data.View
	// Setup is what the method's Prepare returned, shared by all clients.
	Setup any
	// Server is the server side of the trial, to be read alone. It is nil unless the
	// method has clients keep a state, or NewSender.
	Server Server
	// Broadcast holds the weights that the server sent; read-only.
	Broadcast []float32

	// Weights hold the broadcast weights before and the client's after.
	Weights []float32
	// State is what the client keeps where the method has StateLen, to be changed in place.
	// It is 0, and Fresh true, for a client that was never drawn before.
	State []float32
	Fresh bool
	// Weight is the client's weight in the aggregate: the number of its training
	// examples, unless the method sets another. 0 leaves the client out.
	Weight float64
	// Number is a number of the client for the server, see Update.Number.
	Number float64
	// Upload, when not nil, goes to the server instead of Broadcast - Weights.
	// It has the model's size, and may be a Vector.
	Upload []float32
	// Absent lists classes whose logits are held at 0 while the client trains.
	Absent []int32
	// LogitBias is added to the logits while the client trains, see nn.TrainOpts; nil adds
	// nothing.
	LogitBias []float32

	// Steps counts the local steps taken, Examples the training examples
	// processed.
	Steps, Examples int
	// Loss is the sum of the training losses over the Labels processed, each
	// taken before its step.
	Loss   float64
	Labels int

	squares float64 // of the batches' mean losses, each times its labels

	engine *Engine
	worker *worker
	// personal are Params.Personal before any schedule.
	personal ClientParams
	// kept is all that the client keeps: State, then what its optimizers remember, then
	// left, then its own part of the model.
	kept, memories, own []float32

	left   []float32                        // of kept: what compression left out of the client's updates
	label  func(label, classes int32) int32 // of an attacker who trains with other labels
	key    uint64                           // of this training: seed, trial, round, slot, client
	passes uint64

	score        func(weights []float32) error // measures the personalized model; nil when nobody asks
	subnet       *subnetWorker                 // trained instead of the whole network; nil trains the whole
	phi, prior   float64                       // the least cosines so far, when asked for
	wantPhi      bool
	wantPrior    bool
	labelWeight  float64 // of the labels' classes, 0 for a loss without
	exampleFLOPs float64 // of a training step
	flops        float64 // operations spent
	traffic      int     // parameters that are sent to the client, and back
	trace        *Trace  // nil for none
}

// Model returns the whole network.
func (l *Local) Model() *nn.Model { return l.engine.cfg.Model }

// Head returns where the parameters of the head lie, see Config.HeadLayers; Body
// where the others do.
func (l *Local) Head() nn.Span { return l.engine.head }

// Body returns where the parameters before the head lie. It is empty for a model
// that is all head.
func (l *Local) Body() nn.Span { return nn.Span{Lo: 0, Hi: l.engine.head.Lo} }

// Vector returns scratch memory of the model's size by its number, 0, 1, ...; its
// values are anything. The same number is the same memory for as long as the client
// trains.
func (l *Local) Vector(i int) []float32 { return l.worker.vector(i) }

// Uniform gives all clients one weight unless server.weighted says otherwise.
func (l *Local) Uniform() {
	if !l.ServerParams.Weighted {
		l.Weight = 1
	}
}

// Personalized tells which weights are the client's personalized model, for methods
// that make others than what Local returns. They are measured at once, so that they
// may change afterwards.
func (l *Local) Personalized(weights []float32) error {
	if l.score == nil {
		return nil
	}
	score := l.score
	l.score = nil
	return score(weights)
}

// ScorePersonalized has Method.Personalize make the client's model from the broadcast
// weights, when its score is asked for. Nothing of l changes by it.
func (l *Local) ScorePersonalized() error {
	personalize := l.engine.cfg.Method.Personalize
	if l.score == nil || personalize == nil {
		return nil
	}
	trained, score, done := room(&l.worker.trained, len(l.Weights)), l.score, *l
	l.memories, l.Params = nil, l.personal
	copy(trained, l.Weights)
	copy(l.Weights, l.Broadcast)
	err := personalize(l)
	if err == nil {
		err = score(l.Weights)
	}
	*l = done
	l.score = nil
	copy(l.Weights, trained)
	return err
}

// hold puts the frozen parameters back where a method's arithmetic has moved them by
// a rounding error, and takes them out of what it uploads.
func (l *Local) hold() {
	m := l.engine.cfg.Model
	m.Hold(l.Weights, l.Broadcast)
	if l.Upload != nil {
		m.Hold(l.Upload, nil)
	}
}

// measure scores the client's model as it is after its training on a set of
// examples. t, when not nil, counts what masks leave.
func (l *Local) measure(v data.View, aug *data.Augment, t *tally) (outcome, error) {
	if s := l.subnet; s != nil {
		return l.worker.evaluateIn(s.ws, s.weights, nil, v, aug, t)
	}
	return l.worker.evaluate(l.Weights, v, aug, t)
}

// MeanLoss returns the mean loss of weights of the model's size on samples of the client's,
// without augmentation. It must not be called between two batches of Batches.
func (l *Local) MeanLoss(weights []float32, v data.View) (float64, error) {
	r, err := l.worker.evaluate(weights, v, nil, nil)
	l.flops += float64(v.Len()) * l.engine.forwardFLOPs
	return scoreOf(r).Loss, err
}

// client returns a client of the federation by its number, where unseen ones come after the
// others.
func (e *Engine) client(number int) *data.Client {
	if n := len(e.cfg.Data.Clients); number >= n {
		return &e.cfg.Data.Unseen[number-n]
	}
	return &e.cfg.Data.Clients[number]
}

// localTask is what the engine tells a worker about one client's local training.
type localTask struct {
	engine  *Engine
	client  int // unseen ones come after the others
	params  ClientParams
	server  ServerParams
	round   int
	weights []float32 // broadcast
	state   Server
	kept    *block // the client's state; nil when there is none
	key     uint64
}

// begin prepares a client's local training in the worker's own weights.
func (w *worker) begin(v localTask) (*Local, error) {
	copy(w.local, v.weights)
	w.visit.begun = false
	e := v.engine
	c := e.client(v.client)
	l := &Local{
		Params: v.params.InRound(v.round), ServerParams: v.server, Round: v.round, Client: v.client, Train: c.Train, Val: c.Val,
		Setup: e.setup, Server: v.state, Broadcast: v.weights, Weights: w.local, Fresh: v.kept == nil, Weight: float64(c.Train.Len()),
		engine: e, worker: w, key: v.key, personal: v.params.Personal(),
		phi: math.Inf(1), prior: math.Inf(1), exampleFLOPs: e.trainFLOPs, traffic: e.cfg.Sent(),
	}
	if err := l.recall(v.kept); err != nil {
		return nil, err
	}
	if s := e.sending(v.state); s != nil {
		if err := s.Send(l); err != nil {
			return nil, err
		}
		l.Broadcast = room(&w.sent, len(l.Weights))
		copy(l.Broadcast, l.Weights)
	}
	if l.ownValues(); e.cfg.BySize {
		l.Weight = 1
	}
	return l, nil
}

// recall has the client find what it keeps; nil is what one that was never drawn does.
func (l *Local) recall(kept *block) error {
	e, w := l.engine, l.worker
	if e.store == nil {
		return nil
	}
	w.state = grown(w.state, e.store.size)
	l.kept = w.state
	memories := e.cfg.memories() * memorySize(e.cfg.Model)
	left := e.uplink.left()
	own := e.store.size - memories - left - length(e.kept)
	if e.cfg.Method.StateLen != nil {
		l.State = l.kept[:own:own]
	}
	rest := l.kept[own:]
	l.memories, l.left, l.own = rest[:memories:memories], rest[memories:memories+left:memories+left], rest[memories+left:]
	if l.Fresh {
		clear(l.kept)
		return nil
	}
	return e.store.read(l.kept, kept)
}

// trainOpts are the options of the training's steps, without their number.
func (l *Local) trainOpts(p ClientParams) nn.TrainOpts {
	return nn.TrainOpts{Key: kernels.Key(l.key, purposeDropout), Dropout: float32(p.Dropout), Absent: l.Absent, LogitBias: l.LogitBias}
}
