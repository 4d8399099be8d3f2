package fl

import (
	"fmt"
	"math"
)

// OwnDropout as ClientParams.Dropout keeps the rates that the model was built
// with.
const OwnDropout = -1

// ClientParams are the hyperparameters of one client's local training, c in
// Loc_c.
type ClientParams struct {
	// LR is the learning rate of local SGD, > 0.
	LR float64
	// Momentum is the heavy-ball coefficient of local SGD, in [0, 1]; the
	// buffer starts afresh in each round.
	Momentum float64
	// WeightDecay is the L2 coefficient on all parameters, >= 0.
	WeightDecay float64
	// Mu is the coefficient of FedProx's proximal term, >= 0.
	Mu float64
	// Epochs is how often a client passes over its training examples, > 0.
	// It need not be whole: the fraction is a part of one more shuffled pass.
	Epochs float64
	// Steps, when > 0, is the number of local steps and overrides Epochs.
	Steps int
	// Batch is the number of examples of a step, >= 1.
	Batch int
	// Dropout replaces the rate of every dropout layer, in [0, 1);
	// OwnDropout keeps the model's own rates.
	Dropout float64
	// Wrap says what happens at the end of a pass. false: the short last
	// batch is kept and the next pass starts with a new batch. true: the
	// passes are joined, so each batch is full, a batch may exceed the
	// number of examples, and there are max(1, ceil(Epochs n / Batch)) steps.
	Wrap bool
	// Floor, with Wrap, rounds that number down instead of up, as FATHOM's paper
	// has it.
	Floor bool

	// What follows is for the methods that are named; 0 does nothing.

	// Lambda is the weight of the pull of Ditto's personalized model towards the
	// broadcast one, and of pFedMe's towards the client's, >= 0.
	Lambda float64
	// PersonalLR and PersonalEpochs are those of Ditto's personalized model, >= 0;
	// 0 is LR and Epochs (or Steps).
	PersonalLR, PersonalEpochs float64
	// HeadEpochs is how often FedRep and FedBABU pass over the training examples
	// to train the head alone, >= 0.
	HeadEpochs float64
	// InnerLR is the learning rate of the inner steps of Per-FedAvg (its a), MAML and
	// pFedMe, >= 0.
	InnerLR float64
	// InnerSteps is the number of such steps that personalize a model, in pFedMe that
	// each local step takes, >= 0.
	InnerSteps int
	// FirstOrder leaves the products with Hessians out of the meta-gradients of
	// Per-FedAvg and MAML.
	FirstOrder bool
	// BurnIn is the number of local steps before FedPA's first sample, Window the
	// number of steps that each sample averages, both >= 0.
	BurnIn, Window int
	// Rho is the shrinkage of FedPA's covariance, >= 0; 0 is FedAvg on the last
	// samples' mean.
	Rho float64
	// Width is the share of the channels of HeteroFL's sub-network, in (0, 1]; 0
	// is the client's own, see Config.Widths.
	Width float64
}

// ServerParams are the hyperparameters of the server, b in Agg_b.
type ServerParams struct {
	// LR is the server learning rate of round 0, > 0.
	LR float64
	// Momentum is the server's heavy-ball coefficient, in [0, 1).
	Momentum float64
	// Decay is gamma of alpha_t = LR gamma^t, in (0, 1].
	Decay float64

	// What follows is for the methods that are named; 0 does nothing.

	// Beta1 and Beta2 are the decay rates of the moments of FedAdagrad, FedAdam and
	// FedYogi, in [0, 1); Tau is their degree of adaptivity, >= 0.
	Beta1, Beta2, Tau float64
	// Alpha is the weight of FedDyn's dynamic regularizer, >= 0.
	Alpha float64
	// Weighted lets SCAFFOLD and FedDyn weigh clients by their training examples
	// instead of uniformly.
	Weighted bool
	// BurnIn is the number of FedPA's first rounds that are FedAvg's, >= 0.
	BurnIn int
}

// DefaultClientParams are plain SGD, one epoch, batches of 20.
func DefaultClientParams() ClientParams {
	return ClientParams{LR: 0.1, Epochs: 1, Batch: 20, Dropout: OwnDropout}
}

// DefaultServerParams make the server step plain averaging.
func DefaultServerParams() ServerParams {
	return ServerParams{LR: 1, Decay: 1}
}

// check is one condition on a hyperparameter.
type check struct {
	ok    bool
	key   string
	value float64
	want  string
}

func firstFailed(checks []check) error {
	for _, c := range checks {
		if !c.ok {
			return fmt.Errorf("%s = %v: must be %s", c.key, c.value, c.want)
		}
	}
	return nil
}

func notNegative(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }

// Check returns an error that names the first hyperparameter out of its range.
func (c ClientParams) Check() error {
	return firstFailed([]check{
		{c.LR > 0 && !math.IsInf(c.LR, 0), "client.lr", c.LR, "a finite number above 0"},
		{c.Momentum >= 0 && c.Momentum <= 1, "client.momentum", c.Momentum, "in [0, 1]"},
		{c.WeightDecay >= 0 && !math.IsInf(c.WeightDecay, 0), "client.weight_decay", c.WeightDecay, "a finite number of 0 or more"},
		{c.Mu >= 0 && !math.IsInf(c.Mu, 0), "client.mu", c.Mu, "a finite number of 0 or more"},
		{c.Steps > 0 || c.Epochs > 0 && c.Epochs <= 1e6, "client.epochs", c.Epochs, "above 0 and at most 1e6"},
		{c.Steps >= 0, "client.steps", float64(c.Steps), "0 (use epochs) or more"},
		{!c.Floor || c.Wrap && c.Steps == 0, "client.floor", 1, "false unless client.wrap is true and client.steps 0"},
		{c.Batch >= 1, "client.batch", float64(c.Batch), "a whole number of 1 or more"},
		{notNegative(c.Lambda), "client.lambda", c.Lambda, "a finite number of 0 or more"},
		{notNegative(c.PersonalLR), "client.personal_lr", c.PersonalLR, "a finite number of 0 (client.lr) or more"},
		{c.PersonalEpochs >= 0 && c.PersonalEpochs <= 1e6, "client.personal_epochs", c.PersonalEpochs, "from 0 (client.epochs) to 1e6"},
		{c.HeadEpochs >= 0 && c.HeadEpochs <= 1e6, "client.head_epochs", c.HeadEpochs, "from 0 to 1e6"},
		{notNegative(c.InnerLR), "client.inner_lr", c.InnerLR, "a finite number of 0 or more"},
		{c.InnerSteps >= 0, "client.inner_steps", float64(c.InnerSteps), "0 or more"},
		{c.BurnIn >= 0, "client.burn_in", float64(c.BurnIn), "0 or more"},
		{c.Window >= 0, "client.window", float64(c.Window), "0 or more"},
		{notNegative(c.Rho), "client.rho", c.Rho, "a finite number of 0 or more"},
		{c.Width >= 0 && c.Width <= 1, "client.width", c.Width, "in (0, 1], or 0 for the client's own"},
		{c.Dropout == OwnDropout || c.Dropout >= 0 && c.Dropout < 1, "client.dropout", c.Dropout, "in [0, 1), or -1 for the model's own rates"},
	})
}

// Check returns an error that names the first hyperparameter out of its range.
func (s ServerParams) Check() error {
	return firstFailed([]check{
		{s.LR > 0 && !math.IsInf(s.LR, 0), "server.lr", s.LR, "a finite number above 0"},
		{s.Momentum >= 0 && s.Momentum < 1, "server.momentum", s.Momentum, "in [0, 1)"},
		{s.Decay > 0 && s.Decay <= 1, "server.decay", s.Decay, "in (0, 1]"},
		{s.Beta1 >= 0 && s.Beta1 < 1, "server.beta1", s.Beta1, "in [0, 1)"},
		{s.Beta2 >= 0 && s.Beta2 < 1, "server.beta2", s.Beta2, "in [0, 1)"},
		{notNegative(s.Tau), "server.tau", s.Tau, "a finite number of 0 or more"},
		{notNegative(s.Alpha), "server.alpha", s.Alpha, "a finite number of 0 or more"},
		{s.BurnIn >= 0, "server.burn_in", float64(s.BurnIn), "0 or more"},
	})
}

// LocalSteps returns how many steps a client with n >= 1 training examples
// takes.
func (c ClientParams) LocalSteps(n int) int {
	if c.Steps > 0 {
		return c.Steps
	}
	perPass := func(examples float64) int {
		return int(math.Ceil(examples / float64(c.Batch)))
	}
	if c.Wrap && c.Floor {
		return max(1, int(c.Epochs*float64(n)/float64(c.Batch)))
	}
	if c.Wrap {
		return max(1, perPass(c.Epochs*float64(n)))
	}
	whole, part := math.Modf(c.Epochs)
	return max(1, int(whole)*perPass(float64(n))+perPass(part*float64(n)))
}

// examples returns how many training examples a client with n of them
// processes, the measure of its work.
func (c ClientParams) examples(n int) int {
	steps := c.LocalSteps(n)
	if c.Wrap || c.Steps > 0 {
		return steps * c.Batch
	}
	return min(steps*c.Batch, int(math.Ceil(c.Epochs*float64(n))))
}
