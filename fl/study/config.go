package study

import (
	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn/models"
)

// Config is everything that decides the result of a run or of a study; its
// keys are the keys of the study file.
type Config struct {
	// Name is the study's name, for logs and folders.
	Name string `toml:"name"`
	// Method names the federated method, see fl.Methods.
	Method string `toml:"method"`
	// Model is the network: a name, or a list of layers.
	Model Model `toml:"model"`
	// Rounds is the length of a plain run; a study has Budget.
	Rounds int `toml:"rounds"`
	// Cohort is the number of clients in a round.
	Cohort int `toml:"cohort"`
	// Sampling of a cohort's clients: "without" or "with" replacement.
	Sampling string `toml:"sampling"`
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
}

// Server holds the keys server.*, see fl.ServerParams.
type Server struct {
	LR       float64 `toml:"lr"`
	Momentum float64 `toml:"momentum"`
	Decay    float64 `toml:"decay"`
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
	Labels        string    `toml:"labels"`
	Augment       string    `toml:"augment"`
}

// Score holds the keys score.*.
type Score struct {
	// Discount in [0, 1] weighs the rounds since the last rung: a round's
	// weight is Discount^age. 0 scores by the last round alone.
	Discount float64 `toml:"discount"`
}

// Eval holds the keys eval.*.
type Eval struct {
	// Clients is the number of clients, drawn by the seed, on which the end
	// result is measured; 0 is all.
	Clients int `toml:"clients"`
	// Personalized also measures the model that each of these clients trains
	// from the result, at the price of its local training.
	Personalized bool `toml:"personalized"`
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
	c, s := fl.DefaultClientParams(), fl.DefaultServerParams()
	return Config{
		Method:    "fedavg",
		Rounds:    100,
		Cohort:    10,
		Sampling:  "without",
		Objective: "error",
		Target:    "personalized",
		Client:    Client{LR: c.LR, Epochs: c.Epochs, Batch: c.Batch, Dropout: c.Dropout},
		Server:    Server{LR: s.LR, Momentum: s.Momentum, Decay: s.Decay},
		Data:      Data{Split: "80/10/10"},
		Eval:      Eval{Personalized: true},
		Tuner:     Tuner{Name: "sha", Parallel: 1, Allow: []string{"examples_train", "examples_val"}},
	}
}

// client returns the client hyperparameters before any tuning.
func (c *Config) client() fl.ClientParams {
	return fl.ClientParams{
		LR: c.Client.LR, Momentum: c.Client.Momentum, WeightDecay: c.Client.WeightDecay, Mu: c.Client.Mu,
		Epochs: c.Client.Epochs, Steps: c.Client.Steps, Batch: c.Client.Batch, Dropout: c.Client.Dropout, Wrap: c.Client.Wrap,
	}
}

// server returns the server hyperparameters before any tuning.
func (c *Config) server() fl.ServerParams {
	return fl.ServerParams{LR: c.Server.LR, Momentum: c.Server.Momentum, Decay: c.Server.Decay}
}

// eval returns how the end result is measured, with the hyperparameters of the
// personalized model's local training.
func (c *Config) eval(clients []fl.ClientParams, o Observer) fl.EvalConfig {
	if !c.Eval.Personalized {
		clients = nil
	}
	return fl.EvalConfig{Clients: clients, Sample: c.Eval.Clients, Done: o.Evaluated}
}

// data returns what data.Open needs.
func (c *Config) data() data.Config {
	d := c.Data
	return data.Config{
		Name: d.Name, Path: d.Path, Split: d.Split, IID: d.IID, Unseen: d.Unseen, MaxSamples: d.MaxSamples, MinSamples: d.MinSamples,
		Partition: d.Partition, Alpha: d.Alpha, Beta: d.Beta, Shards: d.Shards, ClientClasses: d.ClientClasses, HI: d.HI,
		Clients: d.Clients, Samples: d.Samples, Sizes: d.Sizes, SizeSigma: d.SizeSigma, SizeExponent: d.SizeExponent,
		Encoding: d.Encoding, Labels: d.Labels, Augment: d.Augment, Seed: c.Seed,
	}
}
