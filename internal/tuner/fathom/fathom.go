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
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/kernels/det"
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
var Tuner = options.Tuner[settings]{About: options.About("fathom"), Plan: readSettings, Trial: newSession}

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

// logs are the natural logarithms of the three hyperparameters. All that is decided
// depends on them alone.
type logs struct {
	LR     float64 `json:"log_lr"`
	Epochs float64 `json:"log_epochs"`
	Batch  float64 `json:"log_batch"`
}

func logsOf(lr, epochs, batch float64) logs {
	return logs{det.Log(lr), det.Log(epochs), det.Log(batch)}
}

// state is what a session keeps.
type state struct {
	logs
	// Global and Local are what the last step was taken by, nil before the first.
	Global *float64 `json:"global,omitempty"`
	Local  *float64 `json:"local,omitempty"`
}

// notes show people what the hyperparameters are before they are bounded and
// rounded, and what moved them there.
func (s *state) notes() map[string][]float64 {
	all := map[string][]float64{}
	add := func(name string, x float64) {
		if det.Finite(x) {
			all[name] = []float64{x}
		}
	}
	add(lr, det.Exp(s.LR))
	add(epochs, det.Exp(s.Epochs))
	add(size, det.Exp(s.Batch))
	if s.Global != nil {
		add("cosine of the round", *s.Global)
		add("cosine of the clients", *s.Local)
	}
	return all
}

// clip bounds each from above. FATHOM has no lower bounds.
func (l logs) clip(most logs) logs {
	return logs{min(l.LR, most.LR), min(l.Epochs, most.Epochs), min(l.Batch, most.Batch)}
}

// params returns what clients train with: the batch is rounded to the nearest
// integer, at least 1.
func (l logs) params() tuners.Params {
	return tuners.Params{
		lr:     tuners.Num(det.Exp(l.LR)),
		epochs: tuners.Num(det.Exp(l.Epochs)),
		size:   tuners.Num(max(1, math.Round(det.Exp(l.Batch)))),
	}
}

// step moves the logarithms by equations 13 to 15 of the FATHOM paper: glob is the
// cosine of the round's change with the smoothed one before (minus their H and N),
// local the weighted mean of the clients' phi (minus their G). With halve a negative glob halves
// the learning rate instead.
func (l logs) step(s settings, glob, local float64) logs {
	if s.asPaper {
		local = float64(local * det.Exp(min(l.LR, s.most.LR)))
	}
	next := logs{
		LR:     l.LR + float64(s.gammaLR*glob),
		Epochs: l.Epochs + float64(s.gammaEpochs*(glob+local)),
		Batch:  l.Batch - float64(s.gammaBatch*local),
	}
	if s.halve && glob < 0 {
		next.LR = l.LR - math.Ln2
	}
	if s.clipLogs {
		return next.clip(s.most)
	}
	return next
}

// session is one trial's FATHOM.
type session struct {
	tuners.RoundsOnly
	record.Record
	trial    int
	settings settings
	state
}

var _ tuners.Prober = (*session)(nil)

func newSession(req tuners.OpenRequest, set settings) (tuners.Session, error) {
	s := &session{trial: req.Trial, settings: set}
	if req.State != nil {
		if err := record.Read("fathom", req.State, &s.state); err != nil {
			return nil, err
		}
		return s, s.Save(&s.state)
	}
	var start [3]float64
	for i, name := range []string{lr, epochs, size} {
		x, ok := req.Params[name].Float()
		if !ok || !(x > 0) || math.IsInf(x, 1) {
			return nil, fmt.Errorf("fathom: trial %d: initial %s must be greater than 0, not %s", req.Trial, name, req.Params[name])
		}
		start[i] = x
	}
	s.logs = logsOf(start[0], start[1], start[2])
	if set.clipLogs {
		s.logs = s.clip(set.most)
	}
	return s, s.Save(&s.state)
}

// Probes names what the session's steps use.
func (s *session) Probes() []string { return []string{s.settings.probe(), s.settings.localProbe()} }

// PlanRound returns the hyperparameters of the moment, the same for every client.
func (s *session) PlanRound(_ context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	if r.Trial != s.trial {
		return tuners.Plan{}, fmt.Errorf("fathom: plan for trial %d requested from the session of trial %d", r.Trial, s.trial)
	}
	return tuners.Plan{Clients: []tuners.Params{s.clip(s.settings.most).params()}, Notes: s.notes()}, nil
}

// ObserveRound takes the round's step. A client that dropped out, or whose cosine
// is not finite, does not count; a round without any that does changes nothing.
func (s *session) ObserveRound(_ context.Context, o tuners.Observation) error {
	if o.Trial != s.trial {
		return fmt.Errorf("fathom: observation of trial %d sent to the session of trial %d", o.Trial, s.trial)
	}
	glob, ok := o.Aggregates[s.settings.probe()]
	if !ok {
		return fmt.Errorf("fathom: round %d: probe %s is missing", o.Round, s.settings.probe())
	}
	sum, weight := 0.0, 0.0
	for i, slot := range o.Slots {
		if slot.Dropped {
			continue
		}
		phi, ok := slot.Probes[s.settings.localProbe()]
		n, counted := slot.Probes[examples]
		if !ok || !counted {
			return fmt.Errorf("fathom: round %d, slot %d: %s or %s is missing", o.Round, i, s.settings.localProbe(), examples)
		}
		if !det.Finite(phi) || !(n > 0) {
			continue
		}
		sum += float64(n * phi)
		weight += n
	}
	if weight == 0 || !det.Finite(glob) {
		return nil
	}
	local := sum / weight
	s.logs, s.Global, s.Local = s.step(s.settings, glob, local), &glob, &local
	return s.Save(&s.state)
}
