package fl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// Version is a model that clients at work began from.
type Version struct {
	// Base is how many steps the server had made.
	Base int
	// Weights are the model's packed weights; read-only.
	Weights []float32
}

// DrawsCohorts reports whether Cohort tells which clients a round trains: not on an
// asynchronous server, nor on a fleet whose clients may be away, fail or be late, nor with
// Config.Sampler.
func (e *Engine) DrawsCohorts() bool {
	return e.cfg.Sampler.Kind == "" && (e.fleet == nil || e.cfg.steady(&e.cfg.Time))
}

// steady reports whether all clients of every round arrive.
func (c *Config) steady(t *fleet.Time) bool {
	f := c.Fleet
	there := f.Availability == "" || f.Availability == fleet.Patterns[0]
	return !t.Asynchronous() && t.Deadline == 0 && t.Overselect == 1 && there && f.Dropout == 0 && f.Hazard == 0
}

// newFleet returns the engine's fleet.
func newFleet(c *Config, setup any) (*fleet.Fleet, error) {
	clients := make([]fleet.Client, len(c.Data.Clients))
	params, _ := c.Method.Defaults()
	memory, limited := c.DeviceMemory(c.Model), len(c.Fleet.Memory) > 0 || fleet.IsFile(c.Fleet.Devices)
	for i := range clients {
		clients[i] = fleet.Client{ID: c.Data.Clients[i].ID, Samples: c.Data.Clients[i].Train.Len(), Memory: memory}
		if !limited || c.Method.Trains == nil {
			continue
		}
		s, err := c.Method.Trains(setup, i, params)
		if err != nil {
			return nil, err
		}
		if s != nil {
			clients[i].Memory = c.DeviceMemory(s.Model)
		}
	}
	cfg := *c.Fleet
	_, flops := c.Model.FLOPs()
	cfg.SampleFLOPs = float64(flops)
	f, err := fleet.New(cfg, c.Seed, clients)
	if working := c.Time.Working(c.Cohort); err == nil && f.Able() < working {
		return nil, &key.Error{Key: "fleet.memory", Problem: fmt.Sprintf(": %d of %d clients have the memory that local "+
			"training takes, %.3g MB, but %d work at a time; lower cohort or client.batch, or take a smaller model", f.Able(),
			len(clients), float64(memory)/1e6, working)}
	}
	return f, err
}

// DeviceMemory returns the bytes that the local training of a model takes on a client's
// device: the weights as they were received and as they are trained, the gradient, what the
// optimizer and the method keep, and for a batch the layers' outputs and their gradients.
func (c *Config) DeviceMemory(m *nn.Model) int64 {
	vectors := 3 + c.Method.Vectors
	if c.Momentum || c.Adam {
		vectors++
	}
	if c.Adam {
		vectors++
	}
	params, _ := c.Method.Defaults()
	batch := cmp.Or(c.Batch, params.Batch)
	return 4 * (int64(vectors)*int64(m.NumParams()+m.NumBuffers()) + 2*int64(batch)*int64(m.Outputs()))
}

// jobWork returns what the training of a client takes, as far as it is known before:
// operations, and bytes to receive and to send.
func (e *Engine) jobWork(client int, p ClientParams, u *Updates) (flops float64, down, up int64, err error) {
	c := &e.cfg.Data.Clients[client]
	w := Workload{Params: p, Server: *e.cfg.Server, Train: float64(c.Train.Len()), Val: float64(c.Val.Len()), Forward: e.forwardFLOPs / max(1, e.trainFLOPs)}
	each, parameters := e.trainFLOPs, e.cfg.Sent()
	var s *Subnet
	switch m := &e.cfg.Method; {
	case m.Trains != nil:
		s, err = m.Trains(e.setup, client, p)
	case m.Subnet != nil:
		s, err = m.Subnet(e.setup, p)
	}
	if err != nil {
		return 0, 0, 0, err
	}
	if s != nil {
		_, flops := s.Model.FLOPs()
		each, parameters = float64(flops), s.Model.NumTrainable()
	}
	down, up = e.bytes(parameters, u)
	return float64(w.Of(&e.cfg.Method) * each), down, up, nil
}

// advance has the clock go on to the trial's next step.
func (t *Trial) advance(ctx context.Context, plan Plan) (*clock.Step, error) {
	e := t.engine
	if plan.Time != t.time {
		t.time = plan.Time
		t.clock.Set(e.clockConfig(t.number, &t.time))
	}
	t.setSampler(plan)
	has := e.cfg.Sampler.Kind == fleet.Power // the weights, which it has evaluated
	var failed error
	step, err := t.clock.Next(ctx, func(place, client, steps int) clock.Load {
		params, err := plan.client(e, place, client)
		l := clock.Load{Slot: plan.slot(place)}
		if err == nil {
			if l.Steps = params.LocalSteps(e.cfg.Data.Clients[client].Train.Len()); steps > 0 {
				params.Steps = steps
			}
			l.FLOPs, l.Down, l.Up, err = e.jobWork(client, params, &t.updates)
		}
		if err != nil && failed == nil {
			failed = err
		}
		if has {
			l.Down = 0
		}
		return l
	})
	if failed != nil {
		return nil, failed
	}
	return step, err
}

// mostForecast is how many rounds Forecast looks at.
const mostForecast = 200

// Forecast returns about how many rounds a trial runs in simulated seconds, by its clock
// alone: where many do, in proportion to the first ones.
func (e *Engine) Forecast(ctx context.Context, plan Plan, seconds float64) (float64, error) {
	if e.fleet == nil {
		return 0, errors.New("forecast of simulated time: the training has no fleet")
	}
	plan = plan.filled(&e.cfg)
	t := &Trial{engine: e, clock: e.newClock(0, nil), time: e.cfg.Time}
	if err := t.planUpdates(&plan); err != nil {
		return 0, err
	}
	for n := 1.0; ; n++ {
		if _, err := t.advance(ctx, plan); errors.Is(err, clock.ErrNobody) || errors.Is(err, clock.ErrFailing) {
			return n, nil // the trial fails, too
		} else if err != nil {
			return 0, err
		}
		switch now := nanos.Seconds(t.clock.Now()); {
		case now >= seconds:
			return n, nil
		case n == mostForecast:
			return n * seconds / max(now, 1e-9), nil
		}
	}
}

// simulate has the clock go on to the trial's next step, and lists its slots.
func (t *Trial) simulate(ctx context.Context, plan Plan, r *RoundResult) error {
	step, err := t.advance(ctx, plan)
	if err != nil {
		return err
	}
	r.Start, r.End, r.Failed, r.Lost, r.Working = nanos.Seconds(step.Start), nanos.Seconds(step.End), step.Failed, slices.Clone(step.Lost), t.clock.Working()
	r.Oldest = t.clock.Oldest()
	r.Slots = make([]Slot, len(step.Taken))
	for i, j := range step.Taken {
		params, began := t.jobs[j.Sequence]
		if !began {
			if params, err = plan.client(t.engine, j.Slot, j.Client); err != nil {
				return err
			}
		}
		if j.Steps > 0 {
			params.Steps = j.Steps
		}
		if r.Slots[i], err = t.engine.slot(j.Client, params); err != nil {
			return err
		}
		if r.Slots[i].Job, r.Slots[i].Weight = j, 1; t.time.Asynchronous() {
			r.Slots[i].Weight = t.time.Weight(j.Staleness) / t.time.Weight(0)
		}
	}
	return nil
}

// keepVersion keeps the model as it is before the step where clients at work need it, and
// what each of them trains with.
func (t *Trial) keepVersion(plan Plan) error {
	if !t.engine.cfg.Time.Asynchronous() {
		return nil
	}
	needed, jobs := map[int]bool{}, make(map[uint64]ClientParams, len(t.jobs))
	var err error
	t.clock.Live(func(j *clock.Job) {
		needed[j.Base] = true
		params, began := t.jobs[j.Sequence]
		if !began {
			var bad error
			params, bad = plan.client(t.engine, j.Slot, j.Client)
			err = cmp.Or(err, bad)
		}
		jobs[j.Sequence] = params
	})
	if err != nil {
		return err
	}
	t.jobs = jobs
	maps.DeleteFunc(t.versions, func(base int, _ Version) bool { return !needed[base] })
	if needed[t.round] {
		w := t.engine.cfg.Model.NewParams()
		copy(w, t.weights)
		t.versions[t.round] = Version{Base: t.round, Weights: w}
	}
	return nil
}

// place returns what a slot's training is keyed by, and the round that it is in.
func (t *Trial) place(slot int, s *Slot) (key uint64, round int) {
	cfg := &t.engine.cfg
	if cfg.Fleet == nil {
		return kernels.Key(cfg.Seed, uint64(t.number), uint64(t.round), uint64(slot), uint64(s.Client)), t.round
	}
	if cfg.Time.Asynchronous() {
		return kernels.Key(cfg.Seed, uint64(t.number), purposeAsync, s.Job.Sequence, uint64(s.Client)), s.Job.Base
	}
	return kernels.Key(cfg.Seed, uint64(t.number), uint64(t.round), uint64(s.Job.Place), uint64(s.Client)), t.round
}

// age weighs a client's change by its staleness. In mode async the change becomes that
// from the server's weights to the client's.
func (t *Trial) age(c *contribution, s *Slot, base []float32) {
	tm := &t.time
	if !tm.Asynchronous() {
		return
	}
	c.scale = tm.Weight(s.Job.Staleness)
	if tm.Mode == fleet.Async && s.Job.Base != t.round {
		for i := range c.delta {
			c.delta[i] += t.weights[i] - base[i]
		}
	}
	if c.weight > 0 && !tm.Weighted {
		c.weight = 1
	}
}

// restoreClock puts the clock of a trial into the state of a snapshot.
func (t *Trial) restoreClock(s *Snapshot) error {
	switch {
	case t.clock == nil && s.Clock == nil:
		return nil
	case t.clock == nil || s.Clock == nil:
		return fmt.Errorf("snapshot of trial %d at round %d: only one of it and the training has a fleet", s.Number, s.Round)
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("snapshot of trial %d at round %d: %s", s.Number, s.Round, fmt.Sprintf(format, args...))
	}
	if err := t.clock.Check(*s.Clock); err != nil {
		return bad("%v", err)
	}
	if s.Clock.Steps != s.Round {
		return bad("its clock made %d steps", s.Clock.Steps)
	}
	t.clock.Restore(*s.Clock)
	for _, v := range s.Versions {
		if len(v.Weights) != len(t.weights) {
			return bad("the model after %d steps has %d values, not %d", v.Base, len(v.Weights), len(t.weights))
		}
		t.versions[v.Base] = v
	}
	for _, j := range s.Jobs {
		t.jobs[j.Sequence] = j.Params
	}
	var err error
	t.clock.Live(func(j *clock.Job) {
		if _, ok := t.versions[j.Base]; !ok {
			err = bad("the model after %d steps is missing", j.Base)
		} else if _, ok := t.jobs[j.Sequence]; !ok {
			err = bad("the hyperparameters of client %d are missing", j.Client)
		}
	})
	return err
}

// sortedVersions returns the kept models, the earliest first.
func (t *Trial) sortedVersions() []Version {
	return slices.SortedFunc(maps.Values(t.versions), func(a, b Version) int { return a.Base - b.Base })
}

// sortedJobs returns what clients at work train with, by the numbers of their jobs.
func (t *Trial) sortedJobs() []jobParams {
	jobs := make([]jobParams, 0, len(t.jobs))
	for sequence, params := range t.jobs {
		jobs = append(jobs, jobParams{sequence, params})
	}
	slices.SortFunc(jobs, func(a, b jobParams) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return jobs
}

// Seconds returns the trial's simulated time; NaN without a fleet.
func (t *Trial) Seconds() float64 {
	if t.clock == nil {
		return math.NaN()
	}
	return nanos.Seconds(t.clock.Now())
}
