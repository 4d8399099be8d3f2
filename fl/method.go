package fl

import (
	"errors"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl/hyper"
)

// Method is a federated method, the pair (Loc_c, Agg_b), as data and functions. This
// page lists all that a method can be: what is nil or empty is not there. A method
// holds no state of its own and serves any number of trials at once: its functions are
// called from several goroutines. Register makes it known by its name.
//
// To wrap a method, copy it and replace a function:
//
//	timed := method
//	timed.Local = func(l *fl.Local) error {
//		start := time.Now()
//		defer func() { spent.Add(int64(time.Since(start))) }()
//		return method.Local(l)
//	}
type Method struct {
	// Name is what configurations call the method. Required.
	Name string
	// Doc says in a line what the method does.
	Doc string
	// Paper is where the method comes from: authors and year, number.
	Paper string
	// Differs says in a line how the method differs from the paper and, where that is
	// public, from its authors' code, and which form a formula has that the paper leaves
	// open. Lists and the reference of methods show it.
	Differs string

	// Uses lists the hyperparameters that the method uses; it refuses others that are
	// set.
	Uses []hyper.Use
	// SetDefaults sets hyperparameters of its own that must not be 0 in those that all
	// methods start from, see Defaults.
	SetDefaults func(c *ClientParams, s *ServerParams)
	// Reads lists other keys of a study file that the method reads, such as
	// "head_layers", for reference pages and errors.
	Reads []string
	// Statistics is Config.Statistics where the method does not work with another, else
	// empty.
	Statistics string
	// Models are built-in models that the method can train, the first one to begin with;
	// nil if it can train any network.
	Models []string

	// Prepare returns an error that says why the method cannot be used with a model or
	// setting, or what Local.Setup is to be in every client's training, nil for nothing.
	// New calls it once. What it returns is shared by all workers.
	Prepare func(cfg *Config) (setup any, err error)

	// Local is Loc_c: it trains l.Weights, which hold the broadcast weights, in place. The
	// engine calls it for each client of a round and, without Personalize, for each client
	// that an evaluation of personalized models measures. An error ends the round and
	// leaves the trial as it was. Required.
	Local func(l *Local) error
	// Personalize makes l.Weights, which hold the broadcast weights, the client's
	// personalized model. It may read l.State, but nothing of what it changes besides the
	// weights is kept. Evaluations call it instead of Local.
	Personalize func(l *Local) error
	// Personal says that clients are to use models of their own: a run is told and ranked by
	// these, one of another method by the global model.
	Personal bool
	// Kept makes l.Weights, which hold the broadcast weights, the model that the client has
	// before it trains: of these weights and what it keeps. It may read and change what
	// Personalize may. Evaluations with EvalConfig.Kept call it instead of that; nil leaves
	// the weights as they are.
	Kept func(l *Local) error
	// Closed says in a line why a client that joins when the training is over has no model of
	// its own. Empty if it has: by Personalize where clients keep nothing, else by Local, as in
	// its first round, and then its model is the personalized one of that round.
	Closed string
	// StateLen returns the floats that each client keeps from round to round. New calls it
	// once; Local then finds the state in Local.State and changes it in place. A state that
	// is not finite afterwards drops the client from the round and stays as it was.
	StateLen func(cfg *Config) int
	// Memories is how many runs of steps a local training has that each remember by
	// themselves, see LocalRun.Memory; 0 is 1.
	Memories int
	// Plain says that Local looks at the samples by Local.SGD alone, with nothing set in its
	// LocalRun but Mu, and sends the change of the weights: so it can train by DP-SGD.
	Plain bool
	// SecondOrder says that clients use products with the Hessian, which need memory of
	// their own, unless client.first_order leaves them out.
	SecondOrder bool
	// Vectors is how many vectors of the model's size a client's training takes besides
	// what local SGD does, such as those of Local.Vector: memory is counted by it.
	Vectors int
	// Work returns how much a client's local training is, as the number of training
	// examples whose gradients for the whole network take as long; nil is Workload.SGD.
	// Estimates ahead of a training call it.
	Work func(w Workload) float64
	// Extra returns how many vectors of the size of what a client receives it receives besides the
	// weights, and sends besides its update, such as control variates; nil: none.
	Extra func(s *ServerParams) (down, up int)

	// Subnet returns the sub-network that ClientParams.Arch picks and that the client
	// trains; setup is what Prepare returned. A method without it refuses client.arch.
	Subnet func(setup any, c ClientParams) (*Subnet, error)
	// SubnetFLOPs returns the operations of a training step with that sub-network, for an
	// example. The engine asks for each client of a round before it begins, and has those
	// with the most work train first. The error says why there is no such sub-network.
	SubnetFLOPs func(setup any, c ClientParams) (float64, error)

	// Trains returns a sub-network as large as the one that a client trains: what its
	// training takes on a fleet goes by it. nil, and a nil Subnet, stand for Subnet, or
	// else the whole network.
	Trains func(setup any, client int, c ClientParams) (*Subnet, error)
	// Synchronous says in a line why a step of the server cannot take updates that began
	// from different versions of the model; empty if it can.
	Synchronous string
	// Whole says in a line why a client cannot do fewer local steps than it was told, as it
	// does with Time.Partial before a deadline; empty if it can.
	Whole string

	// NewServer returns the server side of Agg_b for one trial of a model with size packed
	// parameters. The engine calls it for every new or restored trial. Required, unless
	// there is NewSender.
	NewServer func(size int) Server
	// Gather adds a client's part to a second sum over the clients, Update.Extra, which has
	// the model's size and is 0 at first; delta is w - w_i. The engine calls it after the
	// client's Local, for one client after the other of a group, in an order that is fixed
	// before the round; the sums of groups are added up. It may read of l what Local left
	// there, but neither its weights nor its scratch memory, which another client may have
	// then.
	Gather func(extra, delta []float32, l *Local)
	// NewSender returns, instead of NewServer, a server side that sends each client weights
	// of its own, which it makes of what it keeps, and that gets its clients' changes one by
	// one. What a client was sent is then its Local.Broadcast, and what it returns is its
	// change from there. setup is what Prepare returned; of Config.Server it may use what
	// no tuner can set.
	NewSender func(cfg *Config, setup any) SendingServer
	// SenderLen returns how many numbers that keeps, and its OwnLen. New refuses what does
	// not fit into memory.
	SenderLen func(cfg *Config, setup any) (kept, own int)
}

// check returns an error for a method that lacks what any has.
func (m *Method) check() error {
	switch {
	case m.Name == "":
		return errors.New("fl: a Method needs a Name")
	case m.Local == nil:
		return fmt.Errorf("fl: method %q has no Local", m.Name)
	case (m.NewServer == nil) == (m.NewSender == nil):
		return fmt.Errorf("fl: method %q must have either NewServer or NewSender", m.Name)
	case (m.NewSender == nil) != (m.SenderLen == nil):
		return fmt.Errorf("fl: method %q must have both NewSender and SenderLen, or neither", m.Name)
	case (m.Subnet == nil) != (m.SubnetFLOPs == nil):
		return fmt.Errorf("fl: method %q must have both Subnet and SubnetFLOPs, or neither", m.Name)
	}
	return nil
}

// Server is the server side of Agg_b for one trial.
type Server interface {
	// Step moves the weights w by what the clients of a round returned. The engine
	// calls it once a round, after all clients, also where none of them returned
	// anything finite: u.Taken is 0 then.
	Step(w []float32, u *Update, p ServerParams)
	// State returns the arrays that must outlive the process, in a fixed
	// order, for snapshots; the caller may read and overwrite them.
	State() [][]float32
}

// SendingServer is the server side of a method with NewSender for one trial.
type SendingServer interface {
	Server
	// Begin fills the state of a trial that begins with the weights w; key keys what it
	// draws.
	Begin(w []float32, key uint64)
	// Send makes l.Weights, which hold the trial's, those that the client is sent. It does
	// not change the server's state: several workers call it at once. An error ends the
	// round.
	Send(l *Local) error
	// OwnLen returns how many floats of a client's change Step gets one by one.
	OwnLen() int
	// Take copies them from a client's change, w - w_i, to own, which is 0 at first. l is as
	// Local left it, and so are its Vectors.
	Take(own, delta []float32, l *Local)
}

// Update is what a round's clients returned together.
type Update struct {
	// Mean is the pseudo-gradient g = sum_i p_i (w - w_i), with p_i the shares of
	// the clients' weights: those of their training examples, unless the method
	// weighs otherwise. The server may overwrite it. It is 0 without any client.
	Mean []float32
	// Extra is the sum of Method.Gather, else nil.
	Extra []float32
	// Own is what each client returned to a SendingServer, else nil.
	Own *Own
	// Number is sum_i p_i n_i, where n_i is what the clients left in Local.Number.
	Number float64
	// Weight is the sum of the clients' weights, Taken their number: those whose
	// results were finite.
	Weight float64
	Taken  int
	// Clients is N, the number of clients in the federation.
	Clients int
	// Round is t = 0, 1, ...
	Round int
}

// Own is what the clients of a round returned one by one, in the order of its slots.
type Own struct {
	// Clients are the clients, Weights their weights: 0 for one that was left out.
	Clients []int
	Weights []float64
	// Changes hold OwnLen floats a slot, 0 for one that was left out. The server may
	// overwrite them.
	Changes []float32
	// Numbers are what the clients left in Local.Number; NaN for one that was left out.
	Numbers []float64

	each int
}

// Of returns the changes of a slot.
func (o *Own) Of(slot int) []float32 { return o.Changes[slot*o.each:][:o.each] }

// Workload is what the work of a client's local training depends on.
type Workload struct {
	Params ClientParams
	// Server has those of the server that no round changes.
	Server ServerParams
	// Train and Val are the numbers of the client's training and validation examples.
	Train, Val float64
	// Forward is the work of a forward pass over that of a gradient.
	Forward float64
}

// Of returns the work under a method, see Method.Work.
func (w Workload) Of(m *Method) float64 {
	if m.Work == nil {
		return w.SGD()
	}
	return m.Work(w)
}

// SGD returns the examples of the local steps that Local.SGD takes.
func (w Workload) SGD() float64 {
	if w.Params.Steps > 0 {
		return w.Steps(w.Params.Steps)
	}
	return w.Epochs(w.Params.Epochs)
}

// Epochs returns the examples of passes over the training examples, of one step at
// least.
func (w Workload) Epochs(passes float64) float64 {
	if b := float64(w.Params.Batch); w.Params.Drops(int(w.Train)) {
		whole, part := math.Modf(passes)
		full := func(examples float64) float64 { return b * math.Floor(examples/b) }
		return max(whole*full(w.Train)+full(math.Ceil(part*w.Train)), min(b, math.Ceil(part*w.Train)))
	}
	return max(passes*w.Train, min(float64(w.Params.Batch), w.Train))
}

// Steps returns the examples of a number of steps.
func (w Workload) Steps(number int) float64 {
	batch := float64(w.Params.Batch)
	if !w.Params.Wrap {
		batch = min(batch, w.Train)
	}
	return float64(number) * batch
}

// Defaults returns the hyperparameters that the method starts from.
func (m Method) Defaults() (ClientParams, ServerParams) {
	c, s := hyper.DefaultClient(), hyper.DefaultServer()
	if m.SetDefaults != nil {
		m.SetDefaults(&c, &s)
	}
	return c, s
}
