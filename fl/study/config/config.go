package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/limit"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/tuners"
)

// Config is everything that determines the result of a run or of a study. Its keys are
// the keys of the study file. The tags describe each key, see package key; errors, the
// reference and completion use them.
type Config struct {
	// name of the study, used for its folder and logs; default: the name of the file or preset
	Name string `toml:"name"`
	// federated method, see fedfast list methods
	Method string `toml:"method" also:"algorithm strategy"`
	// number of last layers with parameters that form the head
	HeadLayers int `toml:"head_layers" in:"[1, inf)"`
	// the model: a name from fedfast list models, or its layers as [[model.layers]], see fedfast list
	// layers
	Model Model `toml:"model"`
	// initialization: torch, glorot, keras, haiku or gpt2 for the defaults of PyTorch, TensorFlow, Keras,
	// Haiku or GPT-2, or a .safetensors file with the weights; default: the model's own; a layer's own
	// init takes precedence
	Init string `toml:"init" also:"initializer initialization pretrained checkpoint"`
	// format of the operands of matrix products, all else being fp32: bf16, faster on AMD Zen 4 and later
	// (AVX512_BF16), or bf16-amx, with sums in another order, on Intel Xeons since Sapphire Rapids (AMX, on
	// Linux); each has the same bits on every amd64 and arm64 processor, and with --cpu generic, slowly
	Precision string `toml:"precision" of:"fp32 bf16 bf16-amx" also:"dtype amp mixed_precision"`
	// number of rounds of fedfast run; a study has budget.rounds
	Rounds int `toml:"rounds" by:"run" in:"[1, inf)" also:"num_rounds communication_rounds iterations"`
	// number of clients per round
	Cohort int `toml:"cohort" in:"[1, inf)" also:"clients_per_round participants cohort_size sample_size"`
	// how cohorts are sampled: at random without or with replacement, with it in proportion to training
	// samples (size: scheme I of arXiv:1907.02189), each client with probability cohort/clients (poisson),
	// in passes over all clients in a random order (shuffle), by the highest losses among candidates
	// (power), by losses and seconds (oort), by the longest wait, or from one tier of equally fast clients
	// (TiFL)
	Sampling string `toml:"sampling" of:"without with size poisson shuffle power oort longest_waiting tiers" also:"selection client_selection selector sampler"`
	// whether each trial draws its own cohorts or a round has the same clients in every trial (shared);
	// default: shared with the tuner halving, where clients are drawn at random and the study is not
	// private, else own
	Cohorts string `toml:"cohorts" by:"tune" of:"own shared"`
	// on a client result that is not finite: drop the client, which then scores the worst, or fail the
	// trial
	Nonfinite string `toml:"nonfinite" of:"drop fail"`
	// seed of all random draws
	Seed uint64 `toml:"seed" in:"[0, inf)" also:"random_seed"`
	// which rounds record digests, for fedfast study diff: some: of the global weights and the server's
	// state, every N rounds; all: after each round, and of each tensor that each client returns; changes
	// no result
	Digests string `toml:"digests" of:"some all"`
	// metric to optimize: error and loss for all data (the error is 1 - recall for multi-label data, the
	// RMSE for regression), accuracy, roc_auc, pr_auc (average precision), f1, balanced_accuracy and
	// log_loss for classes, recall and mean_ap for multi-label data, rmse, mae and r2 for regression;
	// seconds_to_goal is the simulated time until the global model reaches the accuracy eval.goal on
	// validation samples: a trial that misses it within budget.trial_seconds ranks after the others, by
	// its error
	Objective string `toml:"objective" by:"tune" of:"error loss accuracy roc_auc pr_auc f1 balanced_accuracy log_loss recall mean_ap rmse mae r2 seconds_to_goal" also:"metric"`
	// all metrics to optimize, objective first, for a tuner that takes several: the study shows the Pareto
	// front, and returns the model that is best in objective; error_p90, error_worst, error_variance and
	// jain are the 90th percentile, the mean of the highest tenth and the variance of the errors of a
	// cohort's clients, and Jain's index of their accuracies (maximized); error_unseen and
	// error_unseen_adapted are errors on data.unseen_clients, before and after these adapt the model; the
	// rest are sums over a trial; default: objective alone
	Objectives []string `toml:"objectives" by:"tune" of:"error loss accuracy roc_auc pr_auc f1 balanced_accuracy log_loss recall mean_ap rmse mae r2 error_p90 error_worst error_variance jain error_unseen error_unseen_adapted seconds_simulated bytes_up bytes_down epsilon" also:"multi_objective metrics"`
	// bounds on metrics of objectives, such as "bytes_up <= 1e9" or "accuracy >= 0.5", for a tuner that
	// takes them: trials beyond them rank after all others
	Constraints []string `toml:"constraints" by:"tune" also:"bounds"`
	// whether the objective is measured on the personalized models, after local training, or on the global
	// model
	Target string `toml:"target" by:"tune" of:"personalized global"`
	// how the returned model is selected: among finalists, which are scored on all clients at the end, or
	// by the best score of any cohort (paper)
	Select string `toml:"select" by:"tune" of:"finalists paper"`

	Loss        Loss           `toml:"loss"`
	Client      Client         `toml:"client"`
	Server      Server         `toml:"server"`
	Norm        Norm           `toml:"norm"`
	Data        Data           `toml:"data"`
	Fleet       fleet.Config   `toml:"fleet"`
	Time        fleet.Time     `toml:"time"`
	Update      fl.Updates     `toml:"update"`
	Aggregator  fl.Aggregation `toml:"aggregator"`
	Sampler     fleet.Sampler  `toml:"sampler"`
	DP          DP             `toml:"dp"`
	Score       Score          `toml:"score" by:"tune"`
	Finalists   Finalists      `toml:"finalists" by:"tune"`
	Eval        Eval           `toml:"eval"`
	Budget      Budget         `toml:"budget" by:"tune"`
	Tuner       Tuner          `toml:"tuner" by:"tune"`
	ClientTuner ClientTuner    `toml:"client_tuner" by:"tune"`
	// a dimension of the search space, named like the hyperparameter, such as {log10 = [-4, 0]} or {int =
	// [8, 64], step = 8}; none removes it; space = "auto" has the method's keys in the ranges that the
	// tuned board found
	Space map[string]any `toml:"space" by:"tune"`

	// cohortOf is the preset that sets the cohort, if nothing above it does.
	cohortOf string
}

// The commands that start from a configuration: ModeTune runs a study of many trials,
// ModeRun one training.
const (
	ModeTune = "tune"
	ModeRun  = "run"
)

// The values of Config.Nonfinite.
const (
	NonfiniteDrop = "drop"
	NonfiniteFail = "fail"
)

// The values of Config.Digests.
const (
	DigestsSome = "some"
	DigestsAll  = "all"
)

// The values of Config.Select.
const (
	SelectFinalists = "finalists"
	SelectPaper     = "paper"
)

// The values of Config.Cohorts.
const (
	CohortsOwn    = "own"
	CohortsShared = "shared"
)

// halving is the tuner with which keys that say so have other values.
const halving = "halving"

// Model is a model given by name or by its layers.
type Model struct {
	// Name is one of models.Names, empty if Layers are given.
	Name string
	// Layers are the layers of the model.
	Layers []models.LayerSpec
	// preset is the preset that sets the model, if the configuration uses other data
	// than the preset.
	preset string
}

// Client holds the keys client.*; a trial's params and the client tuner's plans
// override them.
type Client struct {
	hyper.Client
	// patterns of the names of trained parameters, such as head.* (the last head_layers layers), body.*
	// (the others), dense2.* or *.bias; all others are frozen; default: all are trained
	Trainable []string `toml:"trainable" also:"requires_grad unfreeze finetune"`
	// widths of the clients' sub-networks: client i has the one at index i modulo their number; default:
	// 1, 1/2, 1/4, 1/8, 1/16
	Widths []float64 `toml:"widths" in:"(0, 1]"`
}

// Server holds the keys server.*; a trial's params override them.
type Server = hyper.Server

// Norm holds the keys norm.*.
type Norm struct {
	// running statistics of batch normalization: average: the mean of the clients' (default); keep: each
	// client keeps them with the scales and shifts (FedBN); affine-shared: each client keeps the
	// statistics alone (SiloBN); batch: the cohort computes those of each new model (static batch
	// normalization)
	Statistics string `toml:"statistics" of:"average keep affine-shared batch" also:"batchnorm bn"`
}

// Data holds the keys data.*.
type Data struct {
	data.Config
	// number of the data.proxy samples that score models of proxy federations; they belong to no client
	ProxyTest int `toml:"proxy_test" in:"[0, inf)"`
	// memory in MiB for the client states of a method; the rest is in a temporary file
	StateMemory int `toml:"state_memory" in:"[0, inf)"`
}

// Score holds the keys score.*.
type Score struct {
	// weight of earlier rounds since the last rung in a score: discount^age; 0 scores the last round only
	Discount float64 `toml:"discount" in:"[0, 1]"`
	// number of last rounds since the last rung whose mean is a score, instead of score.discount; 0: 3
	// with the tuner halving unless score.discount is set, else score.discount
	Rounds int `toml:"rounds" in:"[0, 1e6]"`
	// number of clients of the cohort to score on, drawn anew each round; 0: all
	Clients int `toml:"clients" in:"[0, inf)"`
	// weight scored clients equally instead of by their number of validation samples
	Uniform bool `toml:"uniform"`
	// privacy budget of each round's score and of each finalist's: Laplace noise of scale 1/(epsilon k) on
	// the error of k clients; 0: none
	Epsilon float64 `toml:"epsilon" in:"[0, inf)"`
	// also record each round's score under the other target, so that its study can share the rounds
	Both bool `toml:"both"`
}

// Discount returns the weight of earlier rounds in a score, score.discount, or from 2 on
// of how many last rounds it is the mean, as score.rounds says.
func (c *Config) Discount() float64 {
	switch s := c.Score; {
	case s.Rounds > 1:
		return float64(s.Rounds)
	case s.Rounds == 0 && s.Discount == 0 && c.Tuner.Name == halving:
		return 3
	}
	return c.Score.Discount
}

// SharesCohorts reports whether the clients of a round are the same in every trial.
func (c *Config) SharesCohorts() bool {
	return c.Cohorts == CohortsShared || c.Cohorts == "" && c.Tuner.Name == halving && c.checkShared() == ""
}

// checkCohorts returns an error for cohorts that cannot be shared and are to be.
func (c *Config) checkCohorts() error {
	if problem := c.checkShared(); c.Cohorts == CohortsShared && problem != "" {
		return &key.Error{Key: "cohorts", Problem: fmt.Sprintf(" = %q: %s; use %q", c.Cohorts, problem, CohortsOwn)}
	}
	return nil
}

// checkShared returns why trials cannot share cohorts, empty if they can.
func (c *Config) checkShared() string {
	switch {
	case c.Private():
		return "the account of dp.epsilon has each round draw its clients anew"
	case c.Devices() != nil:
		return "on a fleet, how long clients take decides who is free"
	case slices.Contains(fleet.Samplers, c.Sampling):
		return fmt.Sprintf("with sampling = %q, what clients have done decides", c.Sampling)
	}
	return ""
}

// check returns an error for options that cannot be used with an objective.
func (s Score) check(objective string) error {
	if s.Rounds > 0 && s.Discount > 0 {
		return &key.Error{Key: "score.rounds", Problem: ": a score is either the mean of as many rounds or weighed by score.discount; leave one of them out"}
	}
	switch objective {
	case tuners.MetricError, tuners.MetricAccuracy, tuners.MetricRecall:
	case tuners.MetricLoss:
		if s.Epsilon > 0 {
			return &key.Error{Key: "score.epsilon", Problem: ": a loss is unbounded, so noise cannot make it private; use objective = \"error\""}
		}
	default:
		if s.Epsilon > 0 {
			return &key.Error{Key: "score.epsilon", Problem: fmt.Sprintf(": objective = %q is unbounded, so noise cannot make it private; leave score.epsilon out", objective)}
		}
	}
	return s.Options().Check()
}

// Options returns the engine's options for a score.
func (s Score) Options() fl.ScoreOptions {
	return fl.ScoreOptions{Clients: s.Clients, Uniform: s.Uniform, Epsilon: s.Epsilon}
}

// Finalists holds the keys finalists.*. A finalist's score is one evaluation with the same
// noise as the study's others: score.clients, score.uniform and score.epsilon apply too.
type Finalists struct {
	// number of trials whose last model becomes a finalist: the tuner's choice, then those that ran
	// longest, also stopped ones
	Survivors int `toml:"survivors" in:"[0, inf)"`
	// number of trials whose lowest-scoring model becomes a finalist; used beside finalists.survivors
	Snapshots int `toml:"snapshots" in:"[0, inf)"`
	// number of clients on whose validation samples finalists are scored, the same for all; 0: all
	Clients int `toml:"clients" in:"[0, inf)"`
}

// Most returns how many finalists there are at most.
func (f Finalists) Most() int { return f.Survivors + f.Snapshots }

// Eval holds the keys eval.*.
type Eval struct {
	// number of clients, drawn by the seed, on which the final result is measured; 0: all
	Clients int `toml:"clients" in:"[0, inf)"`
	// also measure the clients' personalized models
	Personalized bool `toml:"personalized"`
	// train personalized models on each client's samples before they are measured; false: measure the
	// model that each client has, the global one with what it keeps under the method; scores of rounds and
	// finalists always train
	Adapt bool `toml:"adapt" also:"fine_tune finetune"`
	// simulated seconds between these measurements, instead of eval.every, on a fleet; 0: none
	EverySeconds float64 `toml:"every_seconds" in:"[0, inf)"`
	// number of rounds between measurements of a trial's model on test samples (the learning curve); 0:
	// never; -1: about 20 per trial on up to 100 clients, always the same ones, for at most 5 % of the
	// training's multiply-adds
	Every int `toml:"every" in:"[0, inf) or -1" also:"eval_every eval_interval test_every"`
	// models that eval.every and eval.record_every measure: the global model, or the clients' personalized
	// ones, see eval.adapt; auto: personalized in fedfast run with a method for these, unless eval.every,
	// eval.goal or eval.patience is set, else global
	EveryTarget string `toml:"every_target" of:"auto global personalized"`
	// number of clients for each measurement of eval.every, drawn anew each time, the same for all trials;
	// 0: as for the final result, or as eval.every = -1 says
	EveryClients int `toml:"every_clients" in:"[0, inf)"`
	// test accuracy (eval.every) at which fedfast run, or a client tuner's single trial, stops; 0: none
	Goal float64 `toml:"goal" in:"[0, 1]" also:"target_accuracy"`
	// number of rounds between records of the error on every client's validation and test samples, also
	// before a trial's first round and after its last; 0: none; fedfast table record sets it
	RecordEvery int `toml:"record_every" in:"[0, inf)" by:"tune"`
	// models without federation, trained with as many samples, to compare with: local, each client alone;
	// pooled, one model on the samples of all
	Baselines []string `toml:"baselines" of:"local pooled" also:"baseline"`
	// early stopping: fedfast run, or a client tuner's single trial, stops after this number of
	// measurements (eval.every) in a row without a lower error on validation samples, and returns the
	// model of the lowest one; 0: off
	Patience int `toml:"patience" in:"[0, inf)" also:"early_stopping early_stop"`
}

// Budget holds the keys budget.*.
type Budget struct {
	// total number of rounds of all trials of a study; not used with budget.seconds or budget.updates
	Rounds int `toml:"rounds" in:"[1, inf)"`
	// maximum number of rounds of one trial; in proportion if only budget.rounds is set; not used with
	// budget.seconds or budget.updates
	TrialRounds int `toml:"trial_rounds" in:"[1, inf)"`
	// simulated seconds of all trials of a study on a fleet, which its tuner spends instead of rounds: a
	// rung ends at the first step at or after its second
	Seconds int `toml:"seconds" in:"[1, 1e9]" also:"time max_seconds"`
	// simulated seconds of one trial, which ends at its first step at or after them; in proportion if only
	// budget.seconds is set
	TrialSeconds int `toml:"trial_seconds" in:"[1, 1e9]"`
	// number of clients' updates that the server takes in all trials of a study, which its tuner spends
	// instead of rounds: a rung ends at the first step that takes that update
	Updates int `toml:"updates" in:"[1, 1e9]" also:"max_updates"`
	// maximum number of updates of one trial, with budget.updates; in proportion if only that is set
	TrialUpdates int `toml:"trial_updates" in:"[1, 1e9]"`
	// WallSeconds changes no result.
	//
	// wall time in seconds after which fedfast tune stops, as if interrupted, each time that it is started
	// or resumed; changes no result; 0: no limit
	WallSeconds float64 `toml:"wall_seconds" in:"[0, inf)" also:"time_limit timeout max_time"`
}

// Tuners returns the budget as a tuner receives it, in rounds, simulated seconds or updates.
func (b Budget) Tuners() tuners.Budget {
	switch {
	case b.Seconds > 0:
		return tuners.Budget{Rounds: b.Seconds, TrialRounds: b.TrialSeconds, Seconds: true}
	case b.Updates > 0:
		return tuners.Budget{Rounds: b.Updates, TrialRounds: b.TrialUpdates, Updates: true}
	}
	return tuners.Budget{Rounds: b.Rounds, TrialRounds: b.TrialRounds}
}

// InRounds reports whether the budget counts rounds.
func (b Budget) InRounds() bool { return b.Tuners().InRounds() }

// Key returns the key of the whole budget, such as "budget.rounds".
func (b Budget) Key() string { return "budget." + b.Tuners().Unit() + "s" }

// Unit returns what the budget counts: "round", "simulated second" or "update".
func (b Budget) Unit() string {
	if b.Seconds > 0 {
		return "simulated second"
	}
	return b.Tuners().Unit()
}

// MayLackScores reports whether a round may have no score although its clients have validation
// samples: where it may draw no client, or samples of one class, for which a metric such as a ROC AUC
// is undefined.
func (c *Config) MayLackScores() bool {
	return c.Sampling == fl.SamplingPoisson || tuners.OfAnswers(c.Objective)
}

// The names of eval.baselines.
const (
	BaselineLocal  = "local"
	BaselinePooled = "pooled"
)

// ToGoal reports whether the objective is the simulated time to a goal.
func (c *Config) ToGoal() bool { return c.Objective == tuners.MetricSecondsToGoal }

// Validates reports whether measurements on the way take validation samples, too.
func (c *Config) Validates() bool { return c.Eval.Patience > 0 || c.ToGoal() }

// checkAim returns an error for the first key without which there is no time to a goal.
func (c *Config) checkAim() error {
	name, problem := "", ""
	switch {
	case !c.ToGoal():
		return nil
	case c.Eval.Goal == 0:
		name, problem = "eval.goal", "the accuracy to reach, such as 0.5"
	case c.Budget.TrialSeconds == 0:
		name, problem = "budget.trial_seconds", "the simulated seconds within which a trial has to reach eval.goal"
	case c.Eval.Every == 0 && c.Eval.EverySeconds == 0:
		name, problem = "eval.every_seconds", "the simulated seconds between measurements, such as 10"
	case c.Target != tuners.TargetGlobal:
		name, problem = "target = \"global\"", "the goal is one of the global model"
	case c.Eval.EveryTarget == tuners.TargetPersonalized:
		name, problem = "eval.every_target = \"global\"", "the goal is one of the global model"
	case c.Score.Both:
		name, problem = "score.both = false", "a time to a goal has no other target"
	default:
		return nil
	}
	return &key.Error{Key: "objective", Problem: fmt.Sprintf(" = %q: requires %s: %s", c.Objective, name, problem)}
}

// checkBudget returns an error for a budget in seconds or updates that has none for a trial,
// or whose rounds nobody can account for.
func (c *Config) checkBudget() error {
	switch b := c.Budget; {
	case b.Seconds > 0 && b.TrialSeconds == 0:
		return &key.Error{Key: "budget.trial_seconds", Problem: ": required by budget.seconds: the most simulated seconds of one trial"}
	case b.Updates > 0 && b.Seconds > 0:
		return &key.Error{Key: "budget.updates", Problem: ": a study counts either these or budget.seconds; leave one of them out"}
	case b.Updates > 0 && b.TrialUpdates == 0:
		return &key.Error{Key: "budget.trial_updates", Problem: ": required by budget.updates: the most updates of one trial"}
	case b.Updates == 0 && b.TrialUpdates > 0:
		return &key.Error{Key: "budget.trial_updates", Problem: ": not used without budget.updates; set it, or leave both out"}
	case !b.InRounds() && c.Private():
		return &key.Error{Key: b.Key(), Problem: ": the account of dp.epsilon counts rounds; use budget.rounds and budget.trial_rounds"}
	}
	return nil
}

// Tuner holds the keys tuner.*.
type Tuner struct {
	// tuner, which decides which trials run and how long, see fedfast list tuners
	Name string `toml:"name"`
	// number of concurrent trials; from 2 on, each is reported as soon as it reaches its round, in
	// simulated order
	Parallel int `toml:"parallel" in:"[1, 10000]" also:"concurrency"`
	// directories of finished studies of the same objective and target, whose trials the tuner begins with
	// (warm start); trials outside of the space are left out and counted
	From []string `toml:"from" also:"warm_start priors resume_from"`
	// what trial 0 of a tuner that draws its trials starts from: builtin, known good values (with SGD
	// client.lr 0.05, client.momentum 0.55, client.weight_decay 5e-4, client.epochs 3, client.batch 8;
	// server.lr 0.5 and server.momentum 0 with fedavg, fedavgm and reptile), clipped to the space; the
	// [client] and [server] of the file; or none: it is drawn; default: builtin with the tuner halving,
	// else none
	First string `toml:"start" of:"builtin file none"`
	// seconds that a tuner may take to start; 0: 60
	Start int `toml:"start_seconds" in:"[0, 3600]"`
	// also train the configured values, to compare with
	Reference bool `toml:"reference"`
	// facts about clients that tuners may see: their identity, and the numbers of their samples
	Allow []string `toml:"allow" of:"client_key examples_train examples_val"`
	// an option of the tuner, see fedfast list tuners NAME
	Options map[string]any `toml:"options"`
}

// ClientTuner holds the keys client_tuner.*.
type ClientTuner struct {
	// client tuner, which sets the clients' hyperparameters in every round; none: no client tuner
	Name string `toml:"name"`
	// an option of the client tuner, see fedfast list tuners NAME
	Options map[string]any `toml:"options"`
}

// Default returns the default configuration.
func Default() Config {
	c := Config{
		Method:     "fedavg",
		HeadLayers: 1,
		Precision:  nn.FP32.String(),
		Rounds:     100,
		Cohort:     10,
		Sampling:   "without",
		Nonfinite:  NonfiniteDrop,
		Digests:    DigestsSome,
		Objective:  "error",
		Target:     "personalized",
		Select:     SelectFinalists,
		Finalists:  Finalists{Survivors: 8, Clients: 1000},
		Update:     fl.DefaultUpdates(),
		Aggregator: fl.DefaultAggregation(),
		DP:         DP{Delta: defaultDelta},
		Data:       Data{StateMemory: limit.StateMemory >> 20, ProxyTest: 1000},
		Time:       fleet.DefaultTime(),
		Sampler:    fleet.DefaultSampler(),
		Eval:       Eval{Personalized: true, Adapt: true, Every: AutoEvery, EveryTarget: AutoTarget},
		Tuner:      Tuner{Name: halving, Parallel: 1, Reference: true, Allow: []string{"examples_train", "examples_val"}},
	}
	c.setHyper(hyper.DefaultClient(), hyper.DefaultServer())
	return c
}

// setHyper sets the keys of hyperparameters.
func (c *Config) setHyper(p fl.ClientParams, s fl.ServerParams) {
	c.Client, c.Server = Client{Client: p}, s
}

// KeepsOptimizer reports whether clients keep the state of their local optimizers.
func (c *Config) KeepsOptimizer() bool { return c.Client.Keeps() }

// MayAdapt reports whether clients may train with Adam or AdamW.
func (c *Config) MayAdapt() bool {
	_, searched := c.Space["client.optimizer"]
	return searched || c.Client.Adaptive() || c.ClientTuner.Name != ""
}

// MayHaveMomentum reports whether clients may train with momentum.
func (c *Config) MayHaveMomentum() bool {
	_, searched := c.Space["client.momentum"]
	return searched || c.Client.Momentum != 0 || c.ClientTuner.Name != ""
}

// Aggregation returns the keys aggregator.*. A bound that is in the search space alone is 1
// there: each trial has its own.
func (c *Config) Aggregation() fl.Aggregation {
	a := c.Aggregator
	if _, searched := c.Space["aggregator.bound"]; searched && a.Bound == 0 {
		a.Bound = 1
	}
	return a
}

// Hyper returns the hyperparameters before any tuning.
func (c *Config) Hyper() hyper.Values {
	return hyper.Values{Client: c.Client.Client, Server: c.Server, Time: c.Time, Sampler: c.Chosen(), Update: c.Update.Update, Aggregator: c.Aggregator.Aggregation}
}

// AutoEvery as Eval.Every measures a trial's model about 20 times.
const AutoEvery = -1

const needsEvery = ": requires eval.every, the number of rounds between measurements, such as 5"

// DropAuto replaces AutoEvery by 0, never, so that trainings take as long as when they
// were first recorded.
func (e *Eval) DropAuto() {
	if e.Every == AutoEvery {
		e.Every = 0
	}
}

// AutoTarget as Eval.EveryTarget is what Config.Measures says.
const AutoTarget = "auto"

// Models names the models of a target.
func Models(target string) string {
	if target == tuners.TargetPersonalized {
		return "personalized models"
	}
	return "the global model"
}

// Judged returns the target by which what a command of a mode trains is told and ranked: that of
// the objective, and of a plain run that of its method.
func (c *Config) Judged(mode string) string {
	if mode != ModeRun {
		return c.Aim().Target
	}
	if m, err := fl.MethodByName(c.Method); err == nil && m.Personal {
		return tuners.TargetPersonalized
	}
	return tuners.TargetGlobal
}

// Measures returns the target of the models that Eval.Every measures. Personalized ones are not
// measured unasked where a training would end by them or nothing bounds what they cost.
func (c *Config) Measures(mode string) string {
	switch e := c.Eval; {
	case e.EveryTarget != AutoTarget:
		return e.EveryTarget
	case mode == ModeRun && e.Every == AutoEvery && e.Personalized && e.Goal == 0 && e.Patience == 0:
		return c.Judged(mode)
	}
	return tuners.TargetGlobal
}

// checkBaselines returns an error for baselines beside a private training.
func (c *Config) checkBaselines() error {
	if len(c.Eval.Baselines) > 0 && c.Private() {
		const problem = ": their trainings are not in the account of dp.epsilon; leave them out"
		return &key.Error{Key: "eval.baselines", Problem: problem}
	}
	return nil
}

// check returns an error for settings that have no effect without eval.every.
func (e Eval) check() error {
	switch {
	case e.EverySeconds > 0 && e.Every > 0:
		return &key.Error{Key: "eval.every_seconds", Problem: ": cannot be used with eval.every; leave one of them out"}
	case e.Every != 0 || e.EverySeconds > 0:
		return nil
	case e.Goal > 0:
		return &key.Error{Key: "eval.goal", Problem: needsEvery}
	case e.Patience > 0:
		return &key.Error{Key: "eval.patience", Problem: needsEvery}
	case e.EveryClients > 0:
		return &key.Error{Key: "eval.every_clients", Problem: needsEvery}
	case e.EveryTarget == tuners.TargetPersonalized && e.RecordEvery == 0:
		return &key.Error{Key: "eval.every_target", Problem: needsEvery}
	}
	return nil
}

// Devices returns the configuration for fleet.New, nil for a study without simulated time:
// without [fleet], [time], dimensions of time.*, eval.every_seconds and budget.trial_seconds.
func (c *Config) Devices() *fleet.Config {
	tuned := func(name string) bool { return strings.HasPrefix(name, "time.") }
	if reflect.DeepEqual(c.Fleet, fleet.Config{}) && c.Time == fleet.DefaultTime() && c.Eval.EverySeconds == 0 &&
		c.Budget.TrialSeconds == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(c.Space)), tuned) {
		return nil
	}
	f := c.Fleet
	f.BF16 = c.Precision != nn.FP32.String()
	return &f
}

// Updates returns how many clients' updates a round takes, at most.
func (c *Config) Updates() int {
	_, most := c.Ends()
	return most.Time.Updates(c.Cohort)
}

// data returns the configuration for data.Open.
func (c *Config) data() data.Config {
	d := c.Data.Config
	d.Seed = cmp.Or(d.Seed, c.Seed)
	return d
}

// Absolute makes file names absolute, so that a study can be resumed from any working
// directory.
func (c *Config) Absolute() (err error) {
	c.Tuner.From = slices.Clone(c.Tuner.From)
	folder, err := os.Getwd()
	for _, path := range c.files() {
		*path = own.Join(folder, *path)
	}
	return err
}

// files returns the names of files and folders, by the keys that have them; those of
// tuner.from with their index after it.
func (c *Config) files() map[string]*string {
	all := map[string]*string{"data.path": &c.Data.Path}
	if FromFile(c.Init) {
		all["init"] = &c.Init
	}
	for key, path := range map[string]*string{"fleet.devices": &c.Fleet.Devices, "fleet.availability": &c.Fleet.Availability} {
		if fleet.IsFile(*path) {
			all[key] = path
		}
	}
	for i := range c.Tuner.From {
		all[fmt.Sprintf("tuner.from[%d]", i+1)] = &c.Tuner.From[i]
	}
	maps.DeleteFunc(all, func(_ string, path *string) bool { return *path == "" })
	return all
}

// Missing returns the keys of the files that a study needs to go on and that are not there.
func (c *Config) Missing() (keys []string) {
	for key, path := range c.files() {
		if !own.IsThere(*path) && slices.Contains(movable, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Moved adds to an error, if such files are not there, how to tell where they are.
func (c *Config) Moved(err error) error {
	keys := c.Missing()
	if err == nil || len(keys) == 0 {
		return err
	}
	return fmt.Errorf("%w; where it was moved, add --set %s=PATH", err, strings.Join(keys, "=PATH --set "))
}

// Aim returns the objective of a study.
func (c *Config) Aim() tuners.Objective { return tuners.ObjectiveOf(c.Objective, c.Target) }

// Aims returns all objectives, Aim first, and the constraints of a study that Check accepts.
func (c *Config) Aims() tuners.Aims {
	a := tuners.Aims{Objectives: []tuners.Objective{c.Aim()}}
	for i, name := range c.Objectives {
		if i > 0 {
			a.Objectives = append(a.Objectives, tuners.ObjectiveOf(name, c.Target))
		}
	}
	for _, text := range c.Constraints {
		if bound, err := tuners.ParseConstraint(text); err == nil {
			a.Constraints = append(a.Constraints, bound)
		}
	}
	return a
}

// Request returns the request with which a tuner validates a study with the configuration
// and these options. Its space does not contain the client tuner's dimensions.
func (c *Config) Request(options map[string]any) (tuners.ValidateRequest, error) {
	space, err := tuners.ParseSpace(c.Space)
	if err != nil {
		return tuners.ValidateRequest{}, err
	}
	params, err := tuners.ParamsOf(options)
	if err != nil {
		return tuners.ValidateRequest{}, fmt.Errorf("options.%w", err)
	}
	aims := c.Aims()
	return tuners.ValidateRequest{
		Space: space, Options: params, Objective: aims.Objectives[0], Extra: aims.Objectives[1:], Constraints: aims.Constraints,
		Budget: c.Budget.Tuners(), Private: c.Private(),
	}, nil
}
