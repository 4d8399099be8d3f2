package fathom

import (
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

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
