package hyper

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
)

// scheduleConstant is the kind of a Schedule that changes nothing.
const scheduleConstant = "constant"

// schedules are the kinds of Schedule. To add one, add a row, and its name to the words of
// Schedule.Kind.
var schedules = []schedule{
	{name: scheduleConstant, rate: func(_ *Schedule, lr, _, _ float64, _ int) float64 { return lr }},
	{
		name: "cosine", uses: []string{"lr_min", "lr_length"}, needs: "lr_length",
		why: "the number of rounds until lr_min is reached",
		rate: func(_ *Schedule, lr, least, share float64, _ int) float64 {
			c := cosine(share)
			return least + float64(float64(lr-least)*float64(c*c)) // (1 + cos(pi t/T)) / 2
		},
	},
	{
		name: "linear", uses: []string{"lr_min", "lr_length"}, needs: "lr_length",
		why: "the number of rounds until lr_min is reached",
		rate: func(_ *Schedule, lr, least, share float64, _ int) float64 {
			return least + float64(float64(lr-least)*(1-share))
		},
	},
	{
		name: "step", uses: []string{"lr_min", "lr_every", "lr_factor"}, needs: "lr_every",
		why: "the interval between decays",
		rate: func(s *Schedule, lr, least, _ float64, t int) float64 {
			return max(least, float64(lr*wholePower(cmp.Or(s.Factor, defaultFactor), t/max(1, s.Every))))
		},
	},
}

// schedule is a kind of Schedule.
type schedule struct {
	name string
	// uses are the fields that it goes by, by their keys; needs is the one of them that must be
	// set, and why says for what. Over local steps a length need not be set.
	uses       []string
	needs, why string
	// rate returns the learning rate at time t, after the warmup, when a share of the length is
	// over, of an initial rate lr that is not to fall below least.
	rate func(s *Schedule, lr, least, share float64, t int) float64
}

// kind returns the row of the schedule; without a Kind it is constant.
func (s *Schedule) kind() *schedule {
	return &schedules[max(0, slices.IndexFunc(schedules, func(k schedule) bool { return k.name == s.Kind }))]
}

// Schedule defines how a learning rate changes over rounds or local steps, counted from 0.
type Schedule struct {
	// schedule of the learning rate: cosine or linear decay to lr_min, or step decay by lr_factor every
	// lr_every rounds or steps
	Kind string `toml:"lr_schedule" of:"constant cosine linear step" off:"constant" also:"schedule scheduler lr_scheduler"`
	// final value of the schedules cosine and linear, and lower bound of step; capped at the learning rate
	Min float64 `toml:"lr_min" in:"[0, inf)" off:"0" also:"min_lr eta_min"`
	// rounds after which the schedules cosine and linear reach lr_min; over local steps 0 means the whole
	// local training
	Length int `toml:"lr_length" in:"[0, inf)" off:"0" also:"t_max total_rounds"`
	// rounds or local steps between decays of the schedule step
	Every int `toml:"lr_every" in:"[0, inf)" off:"0" also:"step_size lr_step"`
	// factor of the schedule step; 0: 0.1
	Factor float64 `toml:"lr_factor" in:"[0, 1]" off:"0" also:"lr_gamma"`
	// warmup rounds or local steps W: the learning rate of number t = 0, 1, ... is multiplied by
	// (t+1)/(W+1); a schedule starts after them
	Warmup int `toml:"lr_warmup" in:"[0, inf)" off:"0" also:"warmup warmup_rounds warmup_steps"`
}

// constant reports whether the rate is always the same.
func (s *Schedule) constant() bool {
	return (s.Kind == scheduleConstant || s.Kind == "") && s.Warmup == 0
}

// rate returns the learning rate at time t for the initial rate lr; the schedule ends at
// time length.
func (s *Schedule) rate(lr float64, t, length int) float64 {
	if t < s.Warmup {
		return lr * (float64(t+1) / float64(s.Warmup+1))
	}
	t, length = t-s.Warmup, max(1, length-s.Warmup)
	least := min(s.Min, lr)
	share := min(1, float64(t)/float64(length))
	return s.kind().rate(s, lr, least, share, t)
}

// cosine returns cos(pi/2 x) for x in [0, 1] by its series, the same bits on every
// machine.
func cosine(x float64) float64 {
	if x == 1 {
		return 0
	}
	y := float64(math.Pi / 2 * x)
	square, term, sum := float64(y*y), 1.0, 1.0
	for k := 2.0; k <= 24; k += 2 {
		term = -float64(term*square) / float64(k*(k-1))
		sum += term
	}
	return sum
}

// UsingSchedule lists what the schedule of a table, "client" or "server", goes by.
func UsingSchedule(table string) []Use {
	var uses []Use
	for f := range reflect.TypeFor[Schedule]().Fields() {
		uses = append(uses, Use{Key: table + "." + f.Tag.Get("toml")})
	}
	return uses
}

// checkWhole returns an error for a field that the schedule does not use, or that is
// missing; table is client or server.
func (s *Schedule) checkWhole(table string, needsLength bool) error {
	kind, v := s.kind(), reflect.ValueOf(*s)
	for f, x := range v.Fields() {
		name := f.Tag.Get("toml")
		problem := ""
		switch {
		case name == "lr_schedule" || name == "lr_warmup":
		case name == kind.needs && x.IsZero() && (needsLength || name != "lr_length"):
			problem = fmt.Sprintf(" is not set: required by %s.lr_schedule = %q, %s", table, s.Kind, kind.why)
		case !x.IsZero() && !slices.Contains(kind.uses, name):
			var use []string
			for _, k := range schedules {
				if slices.Contains(k.uses, name) {
					use = append(use, k.name)
				}
			}
			problem = fmt.Sprintf(" = %v: only allowed with %s.lr_schedule = %s", x, table, strings.Join(use, " or "))
		}
		if problem != "" {
			return &key.Error{Key: table + "." + name, Problem: problem}
		}
	}
	if s.Length > 0 && s.Warmup >= s.Length {
		problem := fmt.Sprintf(" = %d: must be below %s.lr_length = %d", s.Warmup, table, s.Length)
		return &key.Error{Key: table + ".lr_warmup", Problem: problem}
	}
	return nil
}

// defaultFactor is Schedule.Factor where it is 0.
const defaultFactor = 0.1

// InRound returns the hyperparameters of round t = 0, 1, ...: with the learning rate
// that a schedule over rounds has then. Those of a schedule over local steps stay.
func (c Client) InRound(t int) Client {
	if c.LROver == overRounds && !c.constant() {
		c.LR = c.rate(c.LR, t, c.Length)
		c.Schedule = Schedule{Kind: scheduleConstant}
	}
	return c
}

// Personal returns the hyperparameters with which an evaluation trains a personalized
// model: at the learning rate PersonalLR, or LR where that is 0, and without a schedule
// over rounds, which may have fallen to 0 by then.
func (c Client) Personal() Client {
	if c.PersonalLR > 0 {
		c.LR = c.PersonalLR
	}
	if c.LROver == overRounds {
		c.Schedule = Schedule{Kind: scheduleConstant}
	}
	return c
}

// RateAt returns the learning rate of local step t out of steps. Unless the schedule is
// over local steps it is the value of InRound.
func (c *Client) RateAt(t, steps int) float64 {
	if c.LROver == overRounds || c.constant() {
		return c.LR
	}
	length := cmp.Or(c.Length, steps)
	return c.rate(c.LR, t, length)
}

// The words of Client.LROver.
const (
	overRounds = "rounds"
	overSteps  = "steps"
)

// checkSchedule returns an error for a schedule that is not whole.
func (c *Client) checkSchedule() error {
	if c.LROver == overSteps && c.constant() {
		return &key.Error{Key: "client.lr_over", Problem: " = \"steps\": requires client.lr_schedule or client.lr_warmup"}
	}
	return c.checkWhole("client", c.LROver == overRounds)
}

// Use is a hyperparameter that a method uses.
type Use struct {
	// Key names it, such as client.lr; see All.
	Key string
	// In is the range that the method needs, within the hyperparameter's own; the
	// zero Range is that.
	In key.Range
	// Words are those that the method needs of a text; nil are all.
	Words []string
	// Why says in an error why the method needs it, empty when that is plain.
	Why string
}

// Using lists hyperparameters that a method uses in their whole ranges.
func Using(keys ...string) []Use { return list.Of(keys, func(k string) Use { return Use{Key: k} }) }

// Needing lists a hyperparameter that a method uses in a range of its own, written
// as in the table of hyperparameters: "(0, inf)", "[1, inf)", "0 or 1", or the
// words of a text: "sgd adam". A range that cannot be read is a programmer's
// mistake, and panics.
func Needing(name, in, why string) []Use {
	if p, ok := Find(name); ok && p.Text() {
		return []Use{{Key: name, Words: strings.Fields(in), Why: why}}
	}
	return []Use{{Key: name, In: key.In(in), Why: why}}
}

// Fixed says whether the method needs one value alone.
func (u Use) Fixed() bool { return u.In.Single() || len(u.Words) == 1 }

// UsingSteps lists what fl.Batches goes by: the learning rate, which the engine changes
// from round to round as its schedule says, the number of steps and
// the batches of local training, and dropout.
func UsingSteps() []Use {
	return slices.Concat(Using("client.lr"), UsingSchedule("client"),
		Using("client.epochs", "client.steps", "client.batch", "client.dropout"),
		Using("client.wrap", "client.floor", "client.drop_last"))
}

// UsingSGD lists what fl.Local.SGD goes by: UsingSteps, the optimizer, clipping
// and weight decay.
func UsingSGD() []Use {
	return slices.Concat(UsingSteps(), Using("client.optimizer", "client.momentum", "client.nesterov", "client.clip_norm",
		"client.beta1", "client.beta2", "client.eps", "client.weight_decay", "client.bias_decay", "client.lr_over"))
}

// Check returns an error unless the hyperparameter is in the range that the named method needs.
func (u Use) Check(method string, v *Values) error {
	p, ok := Find(u.Key)
	if !ok {
		return fmt.Errorf("method %q uses %s, which is no hyperparameter; package fl/hyper lists them", method, u.Key)
	}
	if p.Text() {
		if text, _ := p.Value(v).(string); u.Words == nil || slices.Contains(u.Words, text) {
			return nil
		}
		p.Words = u.Words
	} else {
		if u.In.String() == "" || u.In.Holds(p.Get(v)) {
			return nil
		}
		p.In = u.In
	}
	problem := fmt.Sprintf(" = %s: method %q needs %s", p.Literal(v), method, p.Want())
	if u.Why != "" {
		problem += "; " + u.Why
	}
	return &key.Error{Key: u.Key, Problem: problem}
}

// OwnDropout as Client.Dropout keeps the model's own dropout rates.
const OwnDropout = -1

// Client holds the hyperparameters of one client's local training, c in Loc_c. The tags
// define their properties, see Table. Create it with DefaultClient, since zero values are
// not the defaults (a Dropout of 0 means no dropout); Check rejects other values.
type Client struct {
	// learning rate of the local steps
	LR float64 `toml:"lr" in:"(0, inf)" default:"0.1" also:"learning_rate step_size eta eta_l local_lr"`
	Schedule
	// whether client.lr_schedule and client.lr_warmup count rounds, or the steps of each local training
	LROver string `toml:"lr_over" of:"rounds steps" off:"rounds" also:"schedule_over"`
	// optimizer of the local steps, as in PyTorch
	Optimizer string `toml:"optimizer" of:"sgd adam adamw" off:"sgd" also:"local_optimizer optim"`
	// whether each local training resets the optimizer's moments or momentum buffer, or each client keeps
	// them across rounds
	OptimizerState string `toml:"optimizer_state" of:"reset keep" off:"reset" tune:"no" also:"keep_optimizer optimizer_memory"`
	// heavy-ball momentum of local SGD
	Momentum float64 `toml:"momentum" in:"[0, 1]" off:"0" also:"beta"`
	// use Nesterov momentum, with client.momentum
	Nesterov bool `toml:"nesterov" off:"0" also:"nesterov_momentum"`
	// maximum norm of each local step's gradient, without weight decay; 0: no clipping
	ClipNorm float64 `toml:"clip_norm" in:"[0, inf)" off:"0" also:"clip max_norm max_grad_norm grad_clip gradient_clipping"`
	// decay rate of the first moment of local Adam and AdamW
	Beta1 float64 `toml:"beta1" in:"[0, 1)" off:"0.9" also:"beta_1"`
	// decay rate of the second moment of local Adam and AdamW
	Beta2 float64 `toml:"beta2" in:"[0, 1)" off:"0.999" also:"beta_2"`
	// constant that local Adam and AdamW add to the root of the second moment
	Eps float64 `toml:"eps" in:"[1e-30, inf)" off:"1e-8" also:"epsilon"`
	// L2 coefficient on all parameters; decoupled weight decay with AdamW
	WeightDecay float64 `toml:"weight_decay" in:"[0, inf)" off:"0" also:"wd l2 decay"`
	// L2 coefficient on biases and normalization layers; -1: client.weight_decay
	BiasDecay float64 `toml:"bias_decay" in:"[0, inf) or -1" off:"-1" also:"norm_decay bias_weight_decay"`
	// weight of the proximal term mu/2 |w_k - w|^2 in the local objective, or of MOON's contrastive term
	Mu float64 `toml:"mu" in:"[0, inf)" off:"0" also:"proximal prox proximal_mu"`
	// passes over a client's training samples per round, also fractions
	Epochs float64 `toml:"epochs" in:"(0, 1e6]" default:"1" also:"local_epochs num_epochs passes"`
	// local steps per round; 0: given by client.epochs
	Steps int `toml:"steps" in:"[0, inf)" also:"local_steps num_steps iterations"`
	// samples per local step
	Batch int `toml:"batch" in:"[1, inf)" default:"20" also:"batch_size batchsize bs"`
	// rate of all dropout layers; -1: the model's own rates
	Dropout float64 `toml:"dropout" in:"[0, 1) or -1" default:"-1" also:"dropout_rate"`
	// fill the last batch of a pass from the next pass, so that all batches are full
	Wrap bool `toml:"wrap" tune:"no"`
	// with client.wrap, round the number of steps down instead of up, as in FATHOM's paper
	Floor bool `toml:"floor" tune:"no"`
	// omit the last batch of a pass if it is smaller than client.batch, drop_last=True in PyTorch; unlike
	// there, a client with fewer samples still trains
	DropLast bool `toml:"drop_last" tune:"no"`

	// weight of the regularizer that keeps a personalized model close to the client's or the broadcast
	// model
	Lambda float64 `toml:"lambda" in:"[0, inf)" off:"0" also:"lam regularization"`
	// learning rate with which evaluations train personalized models, and Ditto its personal models; 0:
	// client.lr, in evaluations without schedule and warmup over rounds
	PersonalLR float64 `toml:"personal_lr" in:"[0, inf)" off:"0" also:"personal_learning_rate"`
	// passes that train the personalized model; 0: client.epochs or client.steps
	PersonalEpochs float64 `toml:"personal_epochs" in:"[0, 1e6]" off:"0"`
	// passes that train only the head
	HeadEpochs float64 `toml:"head_epochs" in:"[0, 1e6]" off:"0"`
	// learning rate of the inner steps
	InnerLR float64 `toml:"inner_lr" in:"[0, inf)" off:"0" also:"inner_learning_rate alpha"`
	// inner steps that personalize a model, or per local step
	InnerSteps int `toml:"inner_steps" in:"[0, inf)" off:"0"`
	// omit the products with Hessians, two gradients each, from the meta-gradient
	FirstOrder bool `toml:"first_order" off:"0" also:"fo"`
	// train without the dynamic regularizer, whose state of the client stays as it is
	Plain bool `toml:"plain" off:"0"`
	// local steps before the first sample of the posterior
	BurnIn int `toml:"burn_in" in:"[0, inf)" off:"0" also:"burnin"`
	// local steps that are averaged into a sample of the posterior
	Window int `toml:"window" in:"[0, inf)" off:"0"`
	// shrinkage of the posterior's covariance; 0: FedAvg on the mean of the samples
	Rho float64 `toml:"rho" in:"[0, inf)" off:"0" also:"shrinkage"`
	// share of the channels in a client's sub-network; 0: given by client.widths
	Width float64 `toml:"width" in:"[0, 1]" off:"0"`
	// weight of a client's own model in its mixture with the shared one, in its first round
	Alpha float64 `toml:"alpha" in:"[0, 1]" off:"0"`
	// learn that weight along with the models
	AlphaAdapt bool `toml:"alpha_adapt" off:"0"`
	// learning rate of the weights with which a client mixes its own head into the shared one
	ALARate float64 `toml:"ala_rate" in:"[0, inf)" off:"0" also:"ala_lr ala_eta"`
	// share of the training samples on which a pass learns these weights
	ALAShare float64 `toml:"ala_share" in:"[0, 1]" off:"0" also:"rand_percent"`
	// learning rate of Adam for the weights of mixed operations, in steps on validation samples
	AlphaLR float64 `toml:"alpha_lr" in:"[0, inf)" off:"0" also:"arch_lr arch_learning_rate"`
	// decay rate of the first moment of that Adam
	AlphaBeta1 float64 `toml:"alpha_beta1" in:"[0, 1)" off:"0"`
	// decay rate of the second moment of that Adam
	AlphaBeta2 float64 `toml:"alpha_beta2" in:"[0, 1)" off:"0"`
	// L2 coefficient on the weights of mixed operations instead of client.weight_decay
	AlphaDecay float64 `toml:"alpha_decay" in:"[0, inf)" off:"0" also:"arch_weight_decay"`

	// temperature of FedLC's calibration of logits, of distillation, and of MOON's similarities
	Temperature float64 `toml:"temperature" in:"[0, inf)" off:"0" also:"tau"`
	// weight of the distillation of the broadcast model in the local loss
	Distill float64 `toml:"distill" in:"[0, inf)" off:"0" also:"distillation kd_weight"`

	// Arch is the sub-network of a client of the method supernet, empty for the whole
	// network; see Pick. It has no key: dimensions below tuners.ArchPrefix set it.
	Arch string `toml:"-"`

	begun bool // created by DefaultClient
}

// Server holds the hyperparameters of the server, b in Agg_b.
type Server struct {
	// server learning rate in the first round
	LR float64 `toml:"lr" in:"(0, inf)" off:"1" also:"learning_rate step_size eta eta_g global_lr server_lr"`
	Schedule
	// heavy-ball momentum of the server's step
	Momentum float64 `toml:"momentum" in:"[0, 1)" off:"0" also:"server_momentum"`
	// decay factor gamma of the server learning rate per round: lr gamma^t in round t
	Decay float64 `toml:"decay" in:"(0, 1]" off:"1" also:"lr_decay gamma"`

	// decay rate of the server's first moment
	Beta1 float64 `toml:"beta1" in:"[0, 1)" off:"0" also:"beta_1"`
	// decay rate of the server's second moment
	Beta2 float64 `toml:"beta2" in:"[0, 1)" off:"0" also:"beta_2"`
	// degree of adaptivity, added to the root of the second moment
	Tau float64 `toml:"tau" in:"[0, inf)" off:"0" also:"epsilon eps"`
	// weight of the dynamic regularizer
	Alpha float64 `toml:"alpha" in:"[0, inf)" off:"0"`
	// weight clients by their number of training samples; false: equally
	Weighted bool `toml:"weighted" off:"1"`
	// number of initial rounds that are plain FedAvg
	BurnIn int `toml:"burn_in" in:"[0, inf)" off:"0" also:"burnin"`
	// average the changes of each parameter only over the clients that hold it
	Holders bool `toml:"holders" off:"0"`

	// exponent of fairness: clients count by this power of their loss; 0: all alike
	Q float64 `toml:"q" in:"[0, 100]" off:"0"`
	// learning rate of the clients' weights, which rise with their losses
	LambdaLR float64 `toml:"lambda_lr" in:"[0, inf)" off:"0" also:"drfa_gamma gamma_lambda"`
	// step size alpha of attentive message passing between the clients' models
	AMPAlpha float64 `toml:"amp_alpha" in:"[0, inf)" off:"0" also:"alphaK alpha_k"`
	// scale sigma of the squared distance at which two clients' models stop attracting each other
	AMPSigma float64 `toml:"amp_sigma" in:"[0, inf)" off:"0" also:"sigma"`

	// number of models of which each client trains the one with its lowest loss
	Clusters int `toml:"clusters" in:"[0, 100]" off:"0" tune:"no" also:"num_clusters n_clusters"`
	// number of other clients' models that a client is sent
	Models int `toml:"models" in:"[0, 1000]" off:"0" tune:"no" also:"num_models"`

	// learning rate of the hypernetwork and of its client embeddings
	HyperLR float64 `toml:"hyper_lr" in:"[0, inf)" off:"0" also:"hypernetwork_lr hnet_lr"`
	// units per hidden layer of the hypernetwork
	HyperWidth int `toml:"hyper_width" in:"[0, 65536]" off:"0" tune:"no" also:"hyper_hid hidden_dim hypernetwork_width"`
	// number of hidden layers of the hypernetwork
	HyperDepth int `toml:"hyper_depth" in:"[0, 100]" off:"0" tune:"no" also:"n_hidden hypernetwork_depth"`
	// dimension of a client's embedding
	Embedding int `toml:"embedding" in:"[0, 65536]" off:"0" tune:"no" also:"embedding_size embed_dim client_embed_size"`
}

// Adaptive reports whether the local optimizer is Adam or AdamW.
func (c Client) Adaptive() bool { return c.Optimizer == "adam" || c.Optimizer == "adamw" }

// Keeps reports whether the state of the local optimizer is kept across rounds.
func (c Client) Keeps() bool { return c.OptimizerState == Keep }

// Keep is the value of client.optimizer_state with which the state is kept.
const Keep = "keep"

// DefaultClient returns the defaults: plain SGD, one epoch, batches of 20.
func DefaultClient() Client { return defaults().Client }

// DefaultServer returns the defaults: plain averaging.
func DefaultServer() Server { return defaults().Server }

// Cell is a row of a table that clients look up: the hyperparameters for a
// client whose samples have about this heterogeneity index and number.
type Cell struct {
	HI, Samples float64
	Params      Client
}
