package fl

// Method is a federated method, the pair (Loc_c, Agg_b). A Method holds no state
// of its own and serves any number of trials at once: its methods are called from
// several goroutines. What more the engine may ask of it are the optional
// interfaces of this file; Register makes it known by its name.
type Method interface {
	// Name is what configurations call the method.
	Name() string
	// Doc says in a line what the method does.
	Doc() string
	// Paper is where the method comes from: authors and year, title, number.
	Paper() string
	// Uses lists the hyperparameters that the method uses; it refuses others that
	// are set.
	Uses() []Use
	// Local is Loc_c: it trains l.Weights, which hold the broadcast weights, in
	// place. The engine calls it for each client of a round, and, unless the method
	// is a Personalizer, for each client that an evaluation of personalized models
	// measures. An error ends the round and leaves the trial as it was.
	Local(l *Local) error
	// NewServer returns the server side of Agg_b for one trial of a model with size
	// packed parameters. The engine calls it for every new or restored trial.
	NewServer(size int) Server
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

// Update is what a round's clients returned together.
type Update struct {
	// Mean is the pseudo-gradient g = sum_i p_i (w - w_i), with p_i the shares of
	// the clients' weights: those of their training examples, unless the method
	// weighs otherwise. The server may overwrite it. It is 0 without any client.
	Mean []float32
	// Extra is the second sum of a Gatherer, else nil.
	Extra []float32
	// Own is what each client returned to the server of a Sender, else nil.
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

// Defaulter is a method with hyperparameters of its own that must not be 0.
type Defaulter interface {
	// Defaults sets them in those that all methods start from. The function
	// Defaults calls it.
	Defaults(c *ClientParams, s *ServerParams)
}

// Defaults returns the hyperparameters that a method starts from.
func Defaults(m Method) (ClientParams, ServerParams) {
	c, s := DefaultClientParams(), DefaultServerParams()
	if d, ok := m.(Defaulter); ok {
		d.Defaults(&c, &s)
	}
	return c, s
}

// Differing is a method that is not in every place what its paper prints.
type Differing interface {
	// Differs says in a line how it differs from the paper and, where that is public,
	// from its authors' code, and which form a formula has that the paper leaves open.
	// Lists and the reference of methods show it.
	Differs() string
}

// Preparer is a method that does not fit every model or setting, or that computes
// something once for all clients.
type Preparer interface {
	// Prepare returns an error that says why the method cannot be used, or what
	// Local.Setup is to be in every client's training, nil for nothing. New calls
	// it once. What it returns is shared by all workers.
	Prepare(cfg *Config) (setup any, err error)
}

// Stateful is a method whose clients keep a state from round to round.
type Stateful interface {
	// StateLen returns the floats of a client's state. New calls it once; Local
	// then finds the state in Local.State and changes it in place. A state that is
	// not finite afterwards drops the client from the round and stays as it was.
	StateLen(cfg *Config) int
}

// Personalizer is a method whose personalized model is not what Local returns.
type Personalizer interface {
	// Personalize makes l.Weights, which hold the broadcast weights, the client's
	// personalized model. It may read l.State, but nothing of what it changes
	// besides the weights is kept. Evaluations call it in the place of Local.
	Personalize(l *Local) error
}

// Cutter is a method whose clients train the sub-networks that ClientParams.Arch
// picks. Other methods refuse it.
type Cutter interface {
	// Work returns the operations of a training step with the sub-network of c, for
	// an example; setup is what Prepare returned. The engine asks for each client
	// of a round before it begins, and has those with the most work train first. The
	// error says why there is no such sub-network.
	Work(setup any, c ClientParams) (float64, error)
	// Cut returns the sub-network of c.
	Cut(setup any, c ClientParams) (*Subnet, error)
}

// Gatherer is a method whose server needs a second sum over the clients.
type Gatherer interface {
	// Gather adds a client's part to the sum, which has the model's size and is 0
	// at first; delta is w - w_i. The engine calls it after the client's Local, for
	// one client after the other of a group, in an order that is fixed before the round;
	// the sums of groups are added up. It may read of l what Local left there, but neither its weights nor its scratch
	// memory, which another client may have then.
	Gather(extra, delta []float32, l *Local)
}

// Reader is a method that reads keys of a study file besides hyperparameters.
type Reader interface {
	// Reads returns them, such as "head_layers", for reference pages and errors.
	Reads() []string
}
