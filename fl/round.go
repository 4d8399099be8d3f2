package fl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tensor"
)

// Slot is one place of a round's cohort: a client and what its local training
// measured.
type Slot struct {
	// Client is the index of the client in the federation.
	Client int
	// Params are the hyperparameters it trained with.
	Params ClientParams
	// Steps and Examples count its local steps and the examples processed.
	Steps, Examples int
	// TrainExamples and ValExamples are the sizes of its sets T_i and V_i.
	TrainExamples, ValExamples int
	// TrainLoss is the mean loss of its steps' batches, in nats.
	TrainLoss float64
	// Before and After score the weights that were sent and the client's own on
	// V_i; NaN where no probe asked for them.
	Before, After Score
	// DeltaNorm is the Euclidean norm of what the client returned, w - w_i unless
	// the method or Config.Updates say otherwise.
	DeltaNorm float64
	// MinCosine is FATHOM's phi_i: the least cosine, over the local steps, of the
	// step's gradient and the displacement from the broadcast weights after it;
	// NaN where no probe asked for it, 0 for a client that diverged and for methods
	// whose steps are not SGD's (MAML, Per-FedAvg).
	MinCosine float64
	// MinPriorCosine is the phi_i of FATHOM's text: the least cosine, over the
	// local steps but the first, of the step's gradient and the displacement before
	// it; 0 for a single step, and else as MinCosine.
	MinPriorCosine float64
	// Seconds is the local training's time on the simulated device: that of Job, or
	// without a fleet on a phone of 2020 that does 10 GFLOPS and sends or receives
	// 1.25 MB a second.
	Seconds float64
	// Job is when the client worked, with a fleet.
	Job clock.Job
	// Weight is the weight of the job's staleness, as a share of an update's without any.
	Weight float64
	// Down and Up are the bytes that the client received and sent.
	Down, Up int64
	// Attacker says that the client is one, see Updates.
	Attacker bool
	// Digests are the xxHash64 of what the client returned, of each tensor in the order of
	// nn.Model.EachSpan, with Config.Digests.
	Digests []int64
	// Dropped says that the change held a number that is not finite, so that
	// it was left out of the aggregate.
	Dropped bool

	squaredLoss float64 // mean of the squares of its batches' losses
}

// RoundResult is what a round measured.
type RoundResult struct {
	// Round is the round's number, from 0.
	Round int
	// Server are the server's hyperparameters of the round.
	Server ServerParams
	// Slots has one entry a place of the cohort, in the order of drawing; with an
	// asynchronous server one an update that the step took, in the order of arrival.
	Slots []Slot
	// TrainLoss is the mean training loss of the slots that were not dropped, weighted
	// by the number of training examples; NaN if all were dropped.
	TrainLoss float64
	// Steps and Examples are sums over the slots.
	Steps, Examples int
	// Down and Up are the bytes that they received and sent.
	Down, Up int64
	// Dropped counts the slots that were left out of the aggregate, Attackers those of
	// attackers.
	Dropped, Attackers int
	// Start and End are the simulated seconds at which the step before ended and this one
	// does, with a fleet; else NaN.
	Start, End float64
	// Lost are the jobs whose work was lost between them, Failed counts the rounds that
	// failed, Working the clients that are at work after the step, of which the first began
	// after Oldest steps.
	Lost                    []clock.Job
	Failed, Working, Oldest int

	// draws keys the noise on scores.
	draws      uint64
	numbers    bool               // of a regression
	aggregates map[string]float64 // probes of the whole round
}

// Round runs the trial's next round and moves its weights. On an error the
// trial is unchanged. ctx is looked at only before the round starts: a round that has begun
// ends.
func (t *Trial) Round(ctx context.Context, plan Plan) (*RoundResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cfg := &t.engine.cfg
	plan = plan.filled(cfg)
	slots := cfg.Cohort
	if cfg.Poisson {
		slots = len(t.engine.Cohort(t.number, t.round))
	} else if !t.engine.DrawsCohorts() {
		slots = 0
	}
	err := plan.check(cfg, slots)
	if err == nil {
		err = errors.Join(t.engine.checkBuilt(plan.Server), cfg.checkPlanned(&plan.Time), cfg.checkChoice(&plan.Sampler), t.planUpdates(&plan))
	}
	if err != nil {
		return nil, fmt.Errorf("round %d: %w", t.round, err)
	}
	probes, err := parseProbes(plan.Probes)
	if err != nil {
		return nil, err
	}
	result := &RoundResult{
		Round: t.round, Server: plan.Server, aggregates: map[string]float64{}, Start: math.NaN(), End: math.NaN(),
		draws: kernels.Key(cfg.Seed, uint64(t.number), uint64(t.round), purposeScore), numbers: cfg.Model.Loss().Numbers(),
	}
	clip := float32(t.Clip())
	undone := func(err error) error {
		if t.clip != nil {
			t.clip[0] = clip
		}
		if t.clock != nil {
			t.clock.Undo()
		} else if t.chooser != nil {
			t.chooser.Reset(nil)
		}
		return fmt.Errorf("trial %d, round %d: %w", t.number, t.round, err)
	}
	if t.clock != nil {
		err = t.simulate(ctx, plan, result)
	} else {
		result.Slots, err = t.slots(ctx, plan)
	}
	if err != nil {
		return nil, undone(err)
	}
	r := &round{Trial: t, plan: plan, probes: probes, slots: result.Slots}
	if t.trace != nil {
		t.trace.slot = slices.IndexFunc(r.slots, func(s Slot) bool { return s.Client == t.trace.Client })
	}
	own := t.own(result.Slots)
	t.hold(len(result.Slots))
	whole, err := r.train(ctx)
	if err != nil {
		return nil, undone(err)
	}
	defer t.engine.pool.returnSums(whole)
	if err := t.privatize(whole, result.Slots); err != nil {
		return nil, undone(err)
	}
	mean, number := whole.mean()
	if err := t.combine(mean, result.Slots); err != nil {
		return nil, undone(err)
	}
	aside := t.engine.takeAside(mean, whole.Extra, whole.Signs)
	u := &Update{Mean: mean, Number: number, Extra: whole.Extra, Own: own, Weight: whole.Weight, Taken: whole.Taken, Clients: len(cfg.Data.Clients), Round: t.round}
	putBack := t.remember()
	if err := t.keepVersion(plan); err != nil {
		return nil, undone(err)
	}
	t.observe(result, u, whole.Signs, probes)
	t.step(u, plan.Server, aside)
	if err := t.refresh(result.Slots); err != nil {
		putBack()
		return nil, undone(err)
	}
	t.commit(result.Slots, r.left)
	t.learn(result.Slots, result.Lost)
	t.round++
	result.total()
	return result, nil
}

// slots returns the places of the next round's cohort, before anything is measured.
func (t *Trial) slots(ctx context.Context, plan Plan) ([]Slot, error) {
	cohort := []int(nil)
	if t.chooser == nil {
		cohort = t.engine.Cohort(t.number, t.round)
	} else {
		t.setSampler(plan)
		var err error
		if cohort, err = t.chosen(ctx); err != nil {
			return nil, err
		}
	}
	slots := make([]Slot, len(cohort))
	for i, client := range cohort {
		params, err := plan.client(t.engine, i, client)
		if err == nil {
			slots[i], err = t.engine.slot(client, params)
		}
		if err != nil {
			return nil, err
		}
	}
	return slots, nil
}

// slot returns the place of a client, before anything is measured.
func (e *Engine) slot(client int, params ClientParams) (Slot, error) {
	c := &e.cfg.Data.Clients[client]
	return Slot{Client: client, Params: params, TrainExamples: c.Train.Len(), ValExamples: c.Val.Len()}, cmp.Or(e.cfg.checkKept(params), e.cfg.checkBatches(params, *c))
}

// step has the server move the weights. Frozen ones stay, whatever the method's
// arithmetic makes of a change of 0; what was set aside moves by its mean.
func (t *Trial) step(u *Update, p ServerParams, aside []float32) {
	m := t.engine.cfg.Model
	if len(m.Frozen()) == 0 && len(aside) == 0 {
		t.server.Step(t.weights, u, p)
		return
	}
	before := t.engine.pool.borrowSum()
	defer t.engine.pool.returnSums(&part{Sum: before})
	copy(before, t.weights)
	t.server.Step(t.weights, u, p)
	m.Hold(t.weights, before)
	t.moveAside(before, aside)
}

// localTask trains the client of a slot and measures it. It returns the client's
// change, which lies in w.local, and the state that the client keeps, nil without
// any.
func (t *Trial) localTask(w *worker, slot int, s *Slot, server ServerParams, probes probeSet) (contribution, *block, error) {
	e := t.engine
	client := &e.cfg.Data.Clients[s.Client]
	key, round := t.place(slot, s)
	aug := &data.Augment{Key: kernels.Key(key, purposeAugment)}
	s.Before, s.After, s.MinCosine, s.MinPriorCosine = unscored(), unscored(), math.NaN(), math.NaN()
	v := localTask{engine: e, client: s.Client, params: s.Params, server: server, round: round, weights: t.weights, key: key}
	if s.Job.Base != t.round && e.cfg.Time.Asynchronous() {
		v.weights = t.versions[s.Job.Base].Weights
	}
	if t.clients != nil {
		v.kept = t.clients[s.Client]
	}
	if e.looks() {
		v.state = t.server
	}
	l, err := w.begin(v)
	if err != nil {
		return contribution{}, nil, err
	}
	if t.trace != nil && t.trace.slot == slot {
		l.trace = t.trace
	}
	if probes.before {
		tally := e.newTally(e.scoredEvery(0), 0, client.Val)
		r, err := w.evaluate(l.Broadcast, client.Val, aug, tally)
		if err != nil {
			return contribution{}, nil, err
		}
		s.Before = tally.score(r)
	}
	l.wantPhi, l.wantPrior = probes.phi, probes.prior
	if probes.after {
		l.score = func(weights []float32) error {
			tally := e.newTally(e.scoredEvery(0), 0, client.Val)
			r, err := w.evaluate(weights, client.Val, aug, tally)
			s.After = tally.score(r)
			return err
		}
	}
	if s.Attacker = e.uplink.attacks(s.Client); s.Attacker {
		l.label = e.uplink.attack.Label
	}
	if err := e.cfg.Method.Local(l); err != nil {
		return contribution{}, nil, err
	}
	l.hold()
	if l.trace != nil {
		l.trace.Done(delta(l.Weights, slices.Clone(l.Broadcast)), l.Broadcast, l.Weights)
	}
	if l.score != nil {
		tally := e.newTally(e.scoredEvery(0), 0, client.Val)
		r, err := l.measure(client.Val, aug, tally)
		if err != nil {
			return contribution{}, nil, err
		}
		s.After = tally.score(r)
	}
	s.Down, s.Up = e.bytes(l.traffic, &t.updates)
	s.Steps, s.Examples, s.Seconds = l.Steps, l.Examples, l.seconds(s.Down, s.Up)
	if e.fleet != nil {
		s.Seconds = nanos.Seconds(s.Job.End - s.Job.Start)
	}
	s.TrainLoss, s.squaredLoss = l.trainLoss(), l.squares/float64(max(1, l.Labels))
	if probes.phi {
		s.MinCosine = direction(l.phi)
	}
	if probes.prior {
		s.MinPriorCosine = direction(l.prior)
	}
	l.setAside(v.weights)
	if l.Upload != nil {
		copy(w.local, l.Upload)
		s.DeltaNorm = kernels.Norm(w.local)
	} else {
		s.DeltaNorm = delta(l.Broadcast, w.local)
	}
	if det.Finite(s.DeltaNorm) && e.uplink.send(w, w.local, l.left, Upload{Client: s.Client, Round: round, Updates: &t.updates, key: key}) {
		s.DeltaNorm = kernels.Norm(w.local)
	}
	c := contribution{delta: w.local, weight: l.Weight, number: l.Number}
	if !l.putBack(w.local) || !det.Finite(s.DeltaNorm) || l.kept != nil && !det.Finite(kernels.Norm(l.kept)) {
		s.Dropped = true
		c = contribution{delta: w.local}
		if e.cfg.Privacy.noises(LocalNoise) {
			err = t.clipped(&c, 0, key)
		}
		return c, nil, err
	}
	t.age(&c, s, v.weights)
	if err := t.clipped(&c, s.DeltaNorm, key); err != nil {
		return contribution{delta: w.local}, nil, err
	}
	t.bounded(&c, s.DeltaNorm)
	if e.holding {
		t.held.take(slot, &c, e.aside)
	}
	if server := e.sending(t.server); server != nil {
		t.returned.take(slot, server, c, l)
	}
	if gather := e.cfg.Method.Gather; gather != nil {
		c.gather = func(extra, delta []float32) { gather(extra, delta, l) }
	}
	if l.kept == nil {
		return c, nil, nil
	}
	state, err := e.store.write(l.kept)
	return c, state, err
}

// digest fills in the hashes of what the client returned.
func (s *Slot) digest(m *nn.Model, change []float32) {
	m.EachSpan(func(_ string, at nn.Span) {
		s.Digests = append(s.Digests, int64(xxhash.Sum64(tensor.LittleEndian(change[at.Lo:at.Hi])))) //nolint:gosec // its bits
	})
}

// total fills the sums over the slots.
func (r *RoundResult) total() {
	var loss, weight float64
	for i := range r.Slots {
		s := &r.Slots[i]
		r.Steps += s.Steps
		r.Examples += s.Examples
		r.Down += s.Down
		r.Up += s.Up
		if s.Attacker {
			r.Attackers++
		}
		if s.Dropped {
			r.Dropped++
			continue
		}
		n := float64(s.TrainExamples)
		loss += float64(s.TrainLoss * n)
		weight += n
	}
	r.TrainLoss = loss / weight
}
