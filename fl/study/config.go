package study

import (
	"errors"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/tuners"
)

// Config is everything that decides the result of a run or of a study; its
// keys are the keys of the study file.
type Config struct {
	// Name is the study's name, for logs and folders.
	Name string `toml:"name"`
	// Method names the federated method, see fl.Methods.
	Method string `toml:"method"`
	// HeadLayers is the number of last layers with parameters that methods with a
	// head apart take for it.
	HeadLayers int `toml:"head_layers"`
	// Model is the network: a name, or a list of layers.
	Model Model `toml:"model"`
	// Rounds is the length of a plain run; a study has Budget.
	Rounds int `toml:"rounds"`
	// Cohort is the number of clients in a round.
	Cohort int `toml:"cohort"`
	// Sampling of a cohort's clients: "without" or "with" replacement.
	Sampling string `toml:"sampling"`
	// Nonfinite says what becomes of a client whose result is not finite:
	// "drop" leaves it out of the aggregate and counts it, "fail" gives the
	// trial up.
	Nonfinite string `toml:"nonfinite"`
	// Seed keys every random draw.
	Seed uint64 `toml:"seed"`
	// Objective is what a study minimizes: "error" or "loss".
	Objective string `toml:"objective"`
	// Target is which model the objective measures: "personalized" or
	// "global".
	Target string `toml:"target"`
	// Client holds the client hyperparameters; a trial's params and the
	// client tuner's plans override them.
	Client Client `toml:"client"`
	// Server holds the server hyperparameters; a trial's params override
	// them.
	Server Server `toml:"server"`
	// Data names the federation.
	Data Data `toml:"data"`
	// Score says how a trial is scored.
	Score Score `toml:"score"`
	// Eval says on which clients the end result is measured.
	Eval Eval `toml:"eval"`
	// Budget is what a study may spend.
	Budget Budget `toml:"budget"`
	// Tuner decides which trials run and how far.
	Tuner Tuner `toml:"tuner"`
	// ClientTuner sets the clients' hyperparameters round by round.
	ClientTuner ClientTuner `toml:"client_tuner"`
	// Space maps the name of a hyperparameter to its dimension, such as
	// {log10 = [-4, 0]}.
	Space map[string]any `toml:"space"`
}

// The values of Config.Nonfinite.
const (
	NonfiniteDrop = "drop"
	NonfiniteFail = "fail"
)

// Model is a network by name or by its layers.
type Model struct {
	// Name is one of models.Names, empty when Layers are given.
	Name string
	// Layers compose a network of the built-in layers.
	Layers []models.LayerSpec
}

// Client holds the keys client.*, see fl.ClientParams.
type Client struct {
	LR          float64 `toml:"lr"`
	Momentum    float64 `toml:"momentum"`
	WeightDecay float64 `toml:"weight_decay"`
	Mu          float64 `toml:"mu"`
	Epochs      float64 `toml:"epochs"`
	Steps       int     `toml:"steps"`
	Batch       int     `toml:"batch"`
	Dropout     float64 `toml:"dropout"`
	Wrap        bool    `toml:"wrap"`
	Floor       bool    `toml:"floor"`

	Lambda         float64 `toml:"lambda"`
	PersonalLR     float64 `toml:"personal_lr"`
	PersonalEpochs float64 `toml:"personal_epochs"`
	HeadEpochs     float64 `toml:"head_epochs"`
	InnerLR        float64 `toml:"inner_lr"`
	InnerSteps     int     `toml:"inner_steps"`
	FirstOrder     bool    `toml:"first_order"`
	BurnIn         int     `toml:"burn_in"`
	Window         int     `toml:"window"`
	Rho            float64 `toml:"rho"`
	Width          float64 `toml:"width"`
	// Widths are the clients' own widths: client i has Widths[i mod len].
	Widths []float64 `toml:"widths"`
}

// Server holds the keys server.*, see fl.ServerParams.
type Server struct {
	LR       float64 `toml:"lr"`
	Momentum float64 `toml:"momentum"`
	Decay    float64 `toml:"decay"`

	Beta1    float64 `toml:"beta1"`
	Beta2    float64 `toml:"beta2"`
	Tau      float64 `toml:"tau"`
	Alpha    float64 `toml:"alpha"`
	Weighted bool    `toml:"weighted"`
	BurnIn   int     `toml:"burn_in"`
}

// Data holds the keys data.*, see data.Config.
type Data struct {
	Name          string    `toml:"name"`
	Path          string    `toml:"path"`
	Split         string    `toml:"split"`
	IID           bool      `toml:"iid"`
	Unseen        bool      `toml:"unseen"`
	MaxSamples    int       `toml:"max_samples"`
	MinSamples    int       `toml:"min_samples"`
	Partition     string    `toml:"partition"`
	Alpha         float64   `toml:"alpha"`
	Beta          float64   `toml:"beta"`
	Shards        int       `toml:"shards"`
	ClientClasses int       `toml:"client_classes"`
	HI            []float64 `toml:"hi"`
	Clients       int       `toml:"clients"`
	Samples       int       `toml:"samples"`
	Sizes         []int     `toml:"sizes"`
	SizeSigma     float64   `toml:"size_sigma"`
	SizeExponent  float64   `toml:"size_exponent"`
	Encoding      string    `toml:"encoding"`
	Vocab         int       `toml:"vocab"`
	Labels        string    `toml:"labels"`
	Augment       string    `toml:"augment"`
	Proxy         int       `toml:"proxy"`
	// ProxyTest is how many of the proxy samples score the models of side
	// federations; no client of one holds them.
	ProxyTest int `toml:"proxy_test"`
	// StateMemory is how many MiB of memory the clients' states may take, for
	// methods whose clients keep one; the rest goes to a temporary file.
	StateMemory int `toml:"state_memory"`
}

// Score holds the keys score.*.
type Score struct {
	// Discount in [0, 1] weighs the rounds since the last rung: a round's
	// weight is Discount^age. 0 scores by the last round alone.
	Discount float64 `toml:"discount"`
	// Clients, when above 0, scores on so many clients of the cohort, drawn anew
	// each round.
	Clients int `toml:"clients"`
	// Uniform gives the scored clients one weight instead of their numbers of
	// validation examples.
	Uniform bool `toml:"uniform"`
	// Epsilon, when above 0, adds Laplace noise of scale 1/(epsilon k) to the error
	// of k clients: the privacy that each round's score spends.
	Epsilon float64 `toml:"epsilon"`
	// Both also records each round's score under the other target, so that a
	// study with that target can share this one's rounds.
	Both bool `toml:"both"`
}

// check returns an error for options that cannot be used with an objective.
func (s Score) check(objective string) error {
	if s.Epsilon > 0 && objective == tuners.MetricLoss {
		return errors.New("score.epsilon: a loss has no bound, so no noise makes it private; use objective = \"error\"")
	}
	return s.options().Check()
}

// options returns what the engine needs to take a score.
func (s Score) options() fl.ScoreOptions {
	return fl.ScoreOptions{Clients: s.Clients, Uniform: s.Uniform, Epsilon: s.Epsilon}
}

// Eval holds the keys eval.*.
type Eval struct {
	// Clients is the number of clients, drawn by the seed, on which the end
	// result is measured; 0 is all.
	Clients int `toml:"clients"`
	// Personalized also measures the model that each of these clients trains
	// from the result, at the price of its local training.
	Personalized bool `toml:"personalized"`
	// Every, when above 0, measures the global model on the test examples after
	// every so many rounds.
	Every int `toml:"every"`
	// EveryClients, when above 0, takes these measurements on so many clients
	// with test examples, drawn anew for each round, the same for all trials;
	// 0 takes the clients of the end result.
	EveryClients int `toml:"every_clients"`
	// Goal, when above 0, is a global test accuracy in (0, 1]: a plain run, or
	// the one trial of a client tuner alone, ends with the measurement that
	// reaches it.
	Goal float64 `toml:"goal"`
}

// Budget holds the keys budget.*.
type Budget struct {
	// Rounds is T, the rounds of all trials together.
	Rounds int `toml:"rounds"`
	// TrialRounds is M, the most rounds of one trial.
	TrialRounds int `toml:"trial_rounds"`
}

// Tuner holds the keys tuner.*.
type Tuner struct {
	// Name is a built-in tuner's or that of a binary fedfast-tuner-NAME.
	Name string `toml:"name"`
	// Parallel is the number of trials in flight whose order can matter.
	Parallel int `toml:"parallel"`
	// Allow lists the facts about clients that tuners may see:
	// "examples_train" and "examples_val", the sizes of their sets.
	Allow []string `toml:"allow"`
	// Options are the tuner's own.
	Options map[string]any `toml:"options"`
}

// ClientTuner holds the keys client_tuner.*.
type ClientTuner struct {
	// Name is a client tuner's, or "none" or empty.
	Name string `toml:"name"`
	// Options are the tuner's own.
	Options map[string]any `toml:"options"`
}

// DefaultConfig is what a study file starts from.
func DefaultConfig() Config {
	c := Config{
		Method:     "fedavg",
		HeadLayers: 1,
		Rounds:     100,
		Cohort:     10,
		Sampling:   "without",
		Nonfinite:  NonfiniteDrop,
		Objective:  "error",
		Target:     "personalized",
		Data:       Data{Split: "80/10/10", StateMemory: fl.DefaultStateMemory >> 20, ProxyTest: 1000},
		Eval:       Eval{Personalized: true},
		Tuner:      Tuner{Name: "sha", Parallel: 1, Allow: []string{"examples_train", "examples_val"}},
	}
	c.setHyper(fl.DefaultClientParams(), fl.DefaultServerParams())
	return c
}

// setHyper writes hyperparameters into the keys.
func (c *Config) setHyper(p fl.ClientParams, s fl.ServerParams) {
	c.Client = Client{
		LR: p.LR, Momentum: p.Momentum, WeightDecay: p.WeightDecay, Mu: p.Mu,
		Epochs: p.Epochs, Steps: p.Steps, Batch: p.Batch, Dropout: p.Dropout, Wrap: p.Wrap, Floor: p.Floor,
		Lambda: p.Lambda, PersonalLR: p.PersonalLR, PersonalEpochs: p.PersonalEpochs, HeadEpochs: p.HeadEpochs,
		InnerLR: p.InnerLR, InnerSteps: p.InnerSteps, FirstOrder: p.FirstOrder,
		BurnIn: p.BurnIn, Window: p.Window, Rho: p.Rho, Width: p.Width,
	}
	c.Server = Server(s)
}

// client returns the client hyperparameters before any tuning.
func (c *Config) client() fl.ClientParams {
	k := c.Client
	return fl.ClientParams{
		LR: k.LR, Momentum: k.Momentum, WeightDecay: k.WeightDecay, Mu: k.Mu,
		Epochs: k.Epochs, Steps: k.Steps, Batch: k.Batch, Dropout: k.Dropout, Wrap: k.Wrap, Floor: k.Floor,
		Lambda: k.Lambda, PersonalLR: k.PersonalLR, PersonalEpochs: k.PersonalEpochs, HeadEpochs: k.HeadEpochs,
		InnerLR: k.InnerLR, InnerSteps: k.InnerSteps, FirstOrder: k.FirstOrder,
		BurnIn: k.BurnIn, Window: k.Window, Rho: k.Rho, Width: k.Width,
	}
}

// server returns the server hyperparameters before any tuning.
func (c *Config) server() fl.ServerParams { return fl.ServerParams(c.Server) }

// eval returns how the end result is measured, with the hyperparameters of the
// personalized model's local training.
// The method remembers memory of the trial.
func (c *Config) eval(clients []fl.ClientParams, server fl.ServerParams, memory *fl.State, o Observer) fl.EvalConfig {
	if !c.Eval.Personalized {
		clients = nil
	}
	return fl.EvalConfig{Clients: clients, Server: &server, State: memory, Sample: c.Eval.Clients, Done: o.Evaluated}
}

// data returns what data.Open needs.
func (c *Config) data() data.Config {
	d := c.Data
	return data.Config{
		Name: d.Name, Path: d.Path, Split: d.Split, IID: d.IID, Unseen: d.Unseen, MaxSamples: d.MaxSamples, MinSamples: d.MinSamples,
		Partition: d.Partition, Alpha: d.Alpha, Beta: d.Beta, Shards: d.Shards, ClientClasses: d.ClientClasses, HI: d.HI,
		Clients: d.Clients, Samples: d.Samples, Sizes: d.Sizes, SizeSigma: d.SizeSigma, SizeExponent: d.SizeExponent,
		Encoding: d.Encoding, Vocab: d.Vocab, Labels: d.Labels, Augment: d.Augment, Proxy: d.Proxy, Seed: c.Seed,
	}
}
