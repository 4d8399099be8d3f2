package config

import (
	"fmt"
	"path/filepath"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/tuners"
)

// Config is everything that decides the result of a run or of a study; its
// keys are the keys of the study file. What is known of each stands in its tags,
// see package key, from which errors, the reference and completion are made.
type Config struct {
	Name       string `toml:"name" doc:"the study's name, for its folder and logs; unset is that of the file or preset"`
	Method     string `toml:"method" doc:"the federated method, see fedfast list methods" also:"algorithm strategy"`
	HeadLayers int    `toml:"head_layers" in:"[1, inf)" doc:"last layers with parameters that methods which treat a head apart take for it"`
	Model      Model  `toml:"model" doc:"the network: a name of fedfast list models, or its layers as [[model.layers]], see fedfast list layers"`
	Init       string `toml:"init" doc:"how the network starts: torch, glorot, keras, haiku or gpt2 for weights drawn as PyTorch, TensorFlow, Keras, Haiku or GPT-2 does by default, or the name of a .safetensors file to start from; unset is the model's own way, and layers that name one keep it" also:"initializer initialization pretrained checkpoint"`
	Precision  string `toml:"precision" of:"fp32 bf16" doc:"the format of the factors of products: bf16 is faster and needs a processor with AVX512_BF16 (or --cpu generic, slowly: the same bits but for GRUs); weights, sums and all else are fp32 in both" also:"dtype amp mixed_precision"`
	Rounds     int    `toml:"rounds" by:"run" in:"[1, inf)" doc:"rounds of a plain run; a study has budget.rounds" also:"num_rounds communication_rounds iterations"`
	Cohort     int    `toml:"cohort" in:"[1, inf)" doc:"clients that train in a round" also:"clients_per_round participants cohort_size sample_size"`
	Sampling   string `toml:"sampling" of:"without with" doc:"whether a cohort is drawn without or with replacement"`
	Nonfinite  string `toml:"nonfinite" of:"drop fail" doc:"what becomes of a client whose result is not finite: it is left out and counted, or the trial is given up"`
	Seed       uint64 `toml:"seed" in:"[0, inf)" doc:"seed of every random draw" also:"random_seed"`
	Objective  string `toml:"objective" by:"tune" of:"error loss accuracy recall rmse mae r2" doc:"what a study minimizes, or maximizes: error and loss of any data (the error is 1 - recall where examples have several labels, the RMSE where there are numbers to predict), accuracy of classes, recall of several labels, rmse, mae and r2 of numbers (r2 of several is the mean over them); accuracy, recall and r2 are maximized" also:"metric"`
	Target     string `toml:"target" by:"tune" of:"personalized global" doc:"whether the objective measures the models after their clients' training, or the one before it"`
	Select     string `toml:"select" by:"tune" of:"finalists paper" doc:"how a study chooses the model that it returns: among finalists that are scored on all clients when the budget is spent, or by the best score of any cohort"`

	Loss        Loss           `toml:"loss"`
	Client      Client         `toml:"client"`
	Server      Server         `toml:"server"`
	Data        Data           `toml:"data"`
	Score       Score          `toml:"score" by:"tune"`
	Finalists   Finalists      `toml:"finalists" by:"tune"`
	Eval        Eval           `toml:"eval"`
	Budget      Budget         `toml:"budget" by:"tune"`
	Tuner       Tuner          `toml:"tuner" by:"tune"`
	ClientTuner ClientTuner    `toml:"client_tuner" by:"tune"`
	Space       map[string]any `toml:"space" by:"tune" doc:"a dimension of the search space: the hyperparameter of that name, such as {log10 = [-4, 0]}; none removes it"`
}

// The commands that begin with a configuration: ModeTune a study of many trials,
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

// The values of Config.Select.
const (
	SelectFinalists = "finalists"
	SelectPaper     = "paper"
)

// Model is a network by name or by its layers.
type Model struct {
	// Name is one of models.Names, empty when Layers are given.
	Name string
	// Layers compose a network of the built-in layers.
	Layers []models.LayerSpec
	// preset is the preset that names the model for other data than the
	// configuration's.
	preset string
}

// Client holds the keys client.*; a trial's params and the client tuner's plans
// override them.
type Client struct {
	hyper.Client
	Trainable []string  `toml:"trainable" doc:"patterns of the names of parameters that are trained, such as head.* (the last head_layers layers), body.* (the others), dense2.* or *.bias, in which a * is any characters; all others stay as they start; unset trains all" also:"requires_grad unfreeze finetune"`
	Widths    []float64 `toml:"widths" in:"(0, 1]" doc:"widths of the clients' sub-networks: client i has number i modulo their count; unset is 1, 1/2, 1/4, 1/8, 1/16"`
}

// Server holds the keys server.*; a trial's params override them.
type Server = hyper.Server

// Data holds the keys data.*.
type Data struct {
	data.Config
	ProxyTest   int `toml:"proxy_test" in:"[0, inf)" doc:"how many of the data.proxy samples score models of proxy federations; no client of one holds them"`
	StateMemory int `toml:"state_memory" in:"[0, inf)" doc:"MiB of memory for states that the clients of a method keep; the rest goes to a temporary file"`
}

// Score holds the keys score.*.
type Score struct {
	Discount float64 `toml:"discount" in:"[0, 1]" doc:"weighs the rounds since the last rung by discount^age; 0 scores by the last round alone"`
	Clients  int     `toml:"clients" in:"[0, inf)" doc:"scores on so many clients of the cohort, drawn anew each round; 0 is all of it"`
	Uniform  bool    `toml:"uniform" doc:"gives the scored clients one weight instead of their numbers of validation examples"`
	Epsilon  float64 `toml:"epsilon" in:"[0, inf)" doc:"privacy that each round's score and each finalist's spends: Laplace noise of scale 1/(epsilon k) on the error of k clients; 0 is none"`
	Both     bool    `toml:"both" doc:"also records each round's score under the other target, so that a study with that target can share its rounds"`
}

// check returns an error for options that cannot be used with an objective.
func (s Score) check(objective string) error {
	switch objective {
	case tuners.MetricError, tuners.MetricAccuracy, tuners.MetricRecall:
	case tuners.MetricLoss:
		if s.Epsilon > 0 {
			return &key.Error{Key: "score.epsilon", Problem: ": a loss has no bound, so no noise makes it private; use objective = \"error\""}
		}
	default:
		if s.Epsilon > 0 {
			return &key.Error{Key: "score.epsilon", Problem: fmt.Sprintf(": objective = %q has no bound, so no noise makes it private; leave score.epsilon out", objective)}
		}
	}
	return s.Options().Check()
}

// Options returns what the engine needs to take a score.
func (s Score) Options() fl.ScoreOptions {
	return fl.ScoreOptions{Clients: s.Clients, Uniform: s.Uniform, Epsilon: s.Epsilon}
}

// Finalists holds the keys finalists.*. A finalist's score is one evaluation as
// noisy as the study's others: score.clients, score.uniform and score.epsilon
// hold for it, too.
type Finalists struct {
	Snapshots int `toml:"snapshots" in:"[1, inf)" doc:"trials whose model of the lowest score is a finalist; also the most last survivors that are: trials that were not stopped and ran the longest"`
	Clients   int `toml:"clients" in:"[0, inf)" doc:"clients on whose validation examples finalists are scored, drawn by the seed, the same ones for each; 0 is all"`
}

// Eval holds the keys eval.*.
type Eval struct {
	Clients      int     `toml:"clients" in:"[0, inf)" doc:"clients, drawn by the seed, on which the end result is measured; 0 is all"`
	Personalized bool    `toml:"personalized" doc:"also measures the models that these clients train from the result, at the price of their training"`
	Every        int     `toml:"every" in:"[0, inf) or -1" doc:"rounds between measurements of the global model on test samples: the curve of a training; 0 is never; -1 is about 20 measurements a trial on up to 100 clients, always the same ones, fewer where that would take more than 5 % of the training's multiply-adds" also:"eval_every eval_interval test_every"`
	EveryClients int     `toml:"every_clients" in:"[0, inf)" doc:"clients for each of these measurements, drawn anew each time, the same for all trials; 0 takes those of the end result, or with eval.every = -1 what that says"`
	Goal         float64 `toml:"goal" in:"[0, 1]" doc:"global test accuracy at which a plain run, or the one trial of a client tuner alone, ends; 0 is none" also:"target_accuracy"`
	Patience     int     `toml:"patience" in:"[0, inf)" doc:"early stopping: a plain run, or the one trial of a client tuner alone, ends after so many measurements in a row without a lower error on the clients' validation samples, which eval.every then measures too; 0 is none" also:"early_stopping early_stop"`
}

// Budget holds the keys budget.*.
type Budget struct {
	Rounds      int `toml:"rounds" in:"[1, inf)" doc:"rounds of all trials of a study together"`
	TrialRounds int `toml:"trial_rounds" in:"[1, inf)" doc:"rounds of one trial at most; set in the old proportion where only budget.rounds is set"`
}

// Tuner holds the keys tuner.*.
type Tuner struct {
	Name     string         `toml:"name" doc:"the tuner that decides which trials run and how far, see fedfast list tuners"`
	Parallel int            `toml:"parallel" in:"[1, 10000]" doc:"trials in flight; from 2 on the tuner hears of each trial as soon as that has reached its round, in simulated order, and is asked anew" also:"concurrency"`
	Allow    []string       `toml:"allow" of:"client_key examples_train examples_val" doc:"facts about clients that tuners may see: who they are, and the sizes of their sets"`
	Options  map[string]any `toml:"options" doc:"an option of the tuner, see fedfast list tuners NAME"`
}

// ClientTuner holds the keys client_tuner.*.
type ClientTuner struct {
	Name    string         `toml:"name" doc:"the tuner that sets the clients' hyperparameters round by round; none is none"`
	Options map[string]any `toml:"options" doc:"an option of the client tuner, see fedfast list tuners NAME"`
}

// Default is what a study file starts from.
func Default() Config {
	c := Config{
		Method:     "fedavg",
		HeadLayers: 1,
		Precision:  nn.FP32.String(),
		Rounds:     100,
		Cohort:     10,
		Sampling:   "without",
		Nonfinite:  NonfiniteDrop,
		Objective:  "error",
		Target:     "personalized",
		Select:     SelectFinalists,
		Finalists:  Finalists{Snapshots: 4, Clients: 1000},
		Data:       Data{StateMemory: fl.DefaultStateMemory >> 20, ProxyTest: 1000},
		Eval:       Eval{Personalized: true, Every: AutoEvery},
		Tuner:      Tuner{Name: "sha", Parallel: 1, Allow: []string{"examples_train", "examples_val"}},
	}
	c.setHyper(hyper.DefaultClient(), hyper.DefaultServer())
	return c
}

// setHyper writes hyperparameters into the keys.
func (c *Config) setHyper(p fl.ClientParams, s fl.ServerParams) {
	c.Client, c.Server = Client{Client: p}, s
}

// KeepsOptimizer says whether clients keep what their local optimizers remember.
func (c *Config) KeepsOptimizer() bool { return c.Client.Keeps() }

// MayAdapt says whether clients may train by Adam or AdamW.
func (c *Config) MayAdapt() bool {
	_, searched := c.Space["client.optimizer"]
	return searched || c.Client.Adaptive() || c.ClientTuner.Name != ""
}

// MayHaveMomentum says whether clients may train with momentum.
func (c *Config) MayHaveMomentum() bool {
	_, searched := c.Space["client.momentum"]
	return searched || c.Client.Momentum != 0 || c.ClientTuner.Name != ""
}

// Hyper returns the hyperparameters before any tuning.
func (c *Config) Hyper() hyper.Values { return hyper.Values{Client: c.Client.Client, Server: c.Server} }

// AutoEvery as Eval.Every measures the global model about 20 times a trial.
const AutoEvery = -1

const needsEvery = " needs eval.every, the rounds from one measurement to the next, such as 5"

// DropAuto makes AutoEvery never, for trainings that take no longer than they did when
// they were first recorded.
func (e *Eval) DropAuto() {
	if e.Every == AutoEvery {
		e.Every = 0
	}
}

// check returns an error for a goal that is never looked at, and for clients that
// are never drawn.
func (e Eval) check() error {
	switch {
	case e.Every != 0:
		return nil
	case e.Goal > 0:
		return &key.Error{Key: "eval.goal", Problem: needsEvery}
	case e.Patience > 0:
		return &key.Error{Key: "eval.patience", Problem: needsEvery}
	case e.EveryClients > 0:
		return &key.Error{Key: "eval.every_clients", Problem: needsEvery}
	}
	return nil
}

// data returns what data.Open needs.
func (c *Config) data() data.Config {
	d := c.Data.Config
	d.Seed = c.Seed
	return d
}

// Absolute makes the names of files independent of the working directory, which
// must not matter to those who resume a study.
func (c *Config) Absolute() (err error) {
	if c.Data.Path != "" {
		if c.Data.Path, err = filepath.Abs(c.Data.Path); err != nil {
			return err
		}
	}
	if FromFile(c.Init) {
		c.Init, err = filepath.Abs(c.Init)
	}
	return err
}

// Aim returns the objective of a study.
func (c *Config) Aim() tuners.Objective { return tuners.ObjectiveOf(c.Objective, c.Target) }

// Request is what a tuner with these options is asked about a study of the
// configuration, whose space lacks what the client tuner adds.
func (c *Config) Request(options map[string]any) (tuners.ValidateRequest, error) {
	space, err := tuners.ParseSpace(c.Space)
	if err != nil {
		return tuners.ValidateRequest{}, err
	}
	params, err := tuners.ParamsOf(options)
	if err != nil {
		return tuners.ValidateRequest{}, fmt.Errorf("options.%w", err)
	}
	return tuners.ValidateRequest{
		Space: space, Options: params, Objective: c.Aim(),
		Budget: tuners.Budget{Rounds: c.Budget.Rounds, TrialRounds: c.Budget.TrialRounds},
	}, nil
}
