// Package fathom is the built-in tuner `fathom`: FATHOM (Federated AuTomatic
// Hyperparameter OptiMization, 2022), which adapts the clients' learning rate,
// local epochs and batch size in every round of one training run. Each moves along
// the gradient of the loss bound with respect to its logarithm: cosines of vectors
// that the clients and the server have at hand anyway.
//
// FATHOM is a client tuner. It starts from the values that the study or a wrapper's
// trial has for client.lr, client.epochs and client.batch. Alone it runs one trial
// of budget.trial_rounds rounds. The clients' batches should wrap around the end of
// an epoch (client.wrap = true), since the batch may outgrow a client's examples.
package fathom

import (
	"strconv"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// The params that FATHOM controls.
const (
	lr     = "client.lr"
	epochs = "client.epochs"
	size   = "client.batch"
)

// The probes that FATHOM's equations read.
const (
	localProbe  = "min_cos_grad_displacement"       // phi of a client, as the authors' code has it
	priorProbe  = "min_cos_grad_prior_displacement" // the same as the paper's text has it
	globalProbe = "cos_delta_smoothed"              // cosine of the round's change and the smoothed one before
	examples    = "examples_train"
)

// Tuner is FATHOM.
var Tuner = options.Tuner[settings]{About: tuners.Description{
	Name:    "fathom",
	Version: "1.1.0",
	Doc:     "FATHOM: adapts the clients' learning rate, local epochs and batch size in each round, by hypergradients.",
	Options: []tuners.Option{
		{Name: "gamma_lr", Default: tuners.Num(0.01), Doc: "step of the log learning rate"},
		{Name: "gamma_epochs", Default: tuners.Num(0.01), Doc: "step of the log local epochs"},
		{Name: "gamma_batch", Default: tuners.Num(0.1), Doc: "step of the log batch size"},
		{Name: "alpha", Default: tuners.Num(0.5), Doc: "smoothing of the changes over rounds, 0..1 (1 excluded)"},
		{Name: "max_lr", Default: tuners.Num(0.5), Doc: "upper bound of the learning rate (the paper: 0.5 for FEMNIST, 1 for Stack Overflow)"},
		{Name: "max_epochs", Default: tuners.Num(10), Doc: "upper bound of the local epochs"},
		{Name: "max_batch", Default: tuners.Num(5096), Doc: "upper bound of the batch size"},
		{Name: "clip_logs", Default: tuners.Bool(true), Doc: "clip the logarithms; false clips only the values sent to clients, as in the authors' code"},
		{Name: "halve", Default: tuners.Bool(false), Doc: "halve the learning rate after a round whose change points against the smoothed changes before it (ours: a way back from steps that are too long)"},
		{Name: "as_paper", Default: tuners.Bool(false), Doc: "compute the local cosine with the displacement before a step, times the learning rate, as in the paper (use with client.floor = true)"},
	},
	Trials:   true,
	Seconds:  true,
	Jobs:     true,
	Rounds:   true,
	Free:     true,
	Controls: []string{size, epochs, lr},
	Probes:   []string{globalProbe, localProbe, priorProbe},
	Scalars:  []string{examples},
}, Plan: readSettings, Trial: newSession}

// settings are the checked options.
type settings struct {
	gammaLR, gammaEpochs, gammaBatch float64
	alpha                            float64
	most                             logs // of each of the three
	clipLogs, halve, asPaper         bool
}

// probe names the smoothed cosine with its option.
func (s settings) probe() string {
	return globalProbe + "{alpha=" + strconv.FormatFloat(s.alpha, 'g', -1, 64) + "}"
}

// localProbe names the cosine of each client.
func (s settings) localProbe() string {
	if s.asPaper {
		return priorProbe
	}
	return localProbe
}

// readSettings fills in the defaults and returns everything that is wrong.
func readSettings(r *options.Reader, _ tuners.ValidateRequest) settings {
	positive := func(name string) float64 {
		return r.Real(name, "greater than 0", func(x float64) bool { return x > 0 })
	}
	step := func(name string) float64 { return r.Real(name, "non-negative", func(x float64) bool { return x >= 0 }) }
	s := settings{
		gammaLR: step("gamma_lr"), gammaEpochs: step("gamma_epochs"), gammaBatch: step("gamma_batch"),
		alpha:    r.Real("alpha", "from 0 to 1, 1 excluded", func(x float64) bool { return x >= 0 && x < 1 }),
		most:     logsOf(positive("max_lr"), positive("max_epochs"), positive("max_batch")),
		clipLogs: r.Truth("clip_logs"), halve: r.Truth("halve"), asPaper: r.Truth("as_paper"),
	}
	return s
}
