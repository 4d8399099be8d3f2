package fl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/choose"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// checkChoice returns an error for how clients are to be chosen in a round.
func (c *Config) checkChoice(s *fleet.Sampler) error {
	if *s == c.Sampler {
		return nil
	}
	if s.Kind != c.Sampler.Kind {
		return errors.New("plan: Sampler has another kind than Config.Sampler")
	}
	return c.CheckSampler(*s)
}

// CheckSampler returns an error for clients that cannot be chosen so.
func (c *Config) CheckSampler(s fleet.Sampler) error {
	problem := ""
	switch s.Kind {
	case "":
		return nil
	case fleet.Power, fleet.Oort, fleet.LongestWaiting, fleet.Tiers:
	default:
		return &key.Error{Key: "sampling", Problem: fmt.Sprintf(" = %q: must be one of without, with, size, poisson, shuffle, %s", s.Kind, strings.Join(fleet.Samplers, ", "))}
	}
	clients, most := len(c.Data.Clients), c.Time.Working(c.Cohort)
	switch {
	case clients > choose.MaxClients:
		problem = fmt.Sprintf("%s has %d clients, at most %d can be chosen among; use \"without\"", c.Data.Name, clients, choose.MaxClients)
	case c.Replacement || c.Poisson || c.Shuffle:
		problem = "its clients are not drawn at random; leave Replacement, Poisson and Shuffle out"
	case c.Privacy != nil:
		problem = "the account of dp.* holds for clients that are drawn at random alone; use \"poisson\" or \"without\""
	case s.Kind == fleet.Power && c.Time.Asynchronous():
		problem = "a round waits for the losses of its candidates; use time.mode = \"sync\", or another sampling"
	case s.Kind == fleet.Tiers && c.Time.Asynchronous():
		problem = "a tier belongs to a round; use time.mode = \"sync\", or another sampling"
	case s.Kind == fleet.Tiers && c.Fleet == nil:
		problem = "tiers are of clients with unequal devices; add [fleet], or use \"without\""
	case s.Kind == fleet.Power && s.Candidates > 0 && (s.Candidates < most || s.Candidates > clients):
		return &key.Error{Key: "sampler.candidates", Problem: fmt.Sprintf(" = %d: must be at least %d, the clients that "+
			"train, and at most the %d clients of %s", s.Candidates, most, clients, c.Data.Name)}
	case s.Kind == fleet.Tiers && most > clients/max(s.Tiers, 1):
		return &key.Error{Key: "sampler.tiers", Problem: fmt.Sprintf(" = %d: a tier of the %d clients of %s has %d, but a "+
			"round begins with %d; lower sampler.tiers or cohort", s.Tiers, clients, c.Data.Name, clients/max(s.Tiers, 1), most)}
	default:
		return nil
	}
	return &key.Error{Key: "sampling", Problem: fmt.Sprintf(" = %q: %s", s.Kind, problem)}
}

// newChooser returns what a new trial chooses clients by, nil where they are drawn at random.
func (t *Trial) newChooser() choose.Chooser {
	e := t.engine
	s := &e.cfg.Sampler
	key := func(draw uint64) uint64 { return kernels.Key(e.cfg.Seed, uint64(t.number), purposeChoice, draw) }
	switch s.Kind {
	case fleet.LongestWaiting:
		return choose.NewLongest(len(e.cfg.Data.Clients), key)
	case fleet.Oort:
		return choose.NewOort(*s, e.weights, key)
	case fleet.Tiers:
		return choose.NewTiers(e.order, *s, key)
	case fleet.Power:
		p := choose.NewPower(e.weights, *s, key)
		p.Losses, p.Ask = t.losses, func(candidates []int32) []int32 {
			if t.clock == nil {
				return candidates
			}
			return t.clock.Ask(candidates, e.candidateWork)
		}
		return p
	}
	return nil
}

// setSampler has the chooser go by the sampler of a plan.
func (t *Trial) setSampler(plan Plan) {
	if t.chooser != nil && plan.Sampler != t.sampler {
		t.sampler = plan.Sampler
		t.chooser.Set(t.sampler)
	}
}

// prepareChoices computes what the choices of all trials read of the clients.
func (e *Engine) prepareChoices() {
	clients := e.cfg.Data.Clients
	switch e.cfg.Sampler.Kind {
	case fleet.Tiers:
		e.order = choose.NewOrder(e.expectedSeconds())
	case fleet.Oort:
		speeds := list.Made(len(clients), func(i int) float64 { return e.device(i).FLOPS })
		e.weights = choose.Weights(speeds)
	case fleet.Power:
		e.weights = make([]int64, len(clients))
		for i := range clients {
			e.weights[i] = int64(max(clients[i].Train.Len(), 1))
		}
	}
}

// chosen returns the cohort of a round without a fleet.
func (t *Trial) chosen(ctx context.Context) ([]int, error) {
	chosen, err := t.chooser.Choose(ctx, clock.Choice{Number: t.engine.cfg.Cohort, Draw: uint64(t.round)})
	return list.Of(chosen, func(client int32) int { return int(client) }), err
}

// learn has the chooser take in what a round has shown of its clients.
func (t *Trial) learn(slots []Slot, lost []clock.Job) {
	if t.chooser == nil {
		return
	}
	results := make([]choose.Result, 0, len(slots)+len(lost))
	for i := range slots {
		s := &slots[i]
		if t.clock == nil {
			t.chooser.End(int32(s.Client), uint64(t.round*t.engine.cfg.Cohort+i))
		}
		results = append(results, choose.Result{
			Client: int32(s.Client), Samples: s.TrainExamples, Loss: s.TrainLoss, Squared: s.squaredLoss, Seconds: s.Seconds, Dropped: s.Dropped,
		})
	}
	for i := range lost {
		j := &lost[i]
		results = append(results, choose.Result{
			Client: int32(j.Client), Samples: t.engine.cfg.Data.Clients[j.Client].Train.Len(), Seconds: nanos.Seconds(j.End - j.Start), Lost: true,
		})
	}
	t.chooser.Learn(t.round+1, results)
}

// expectedSeconds returns how long the clients' jobs take on the mean, with the method's
// default hyperparameters and without failures.
func (e *Engine) expectedSeconds() []float64 {
	all := make([]float64, len(e.cfg.Data.Clients))
	params, _ := e.cfg.Method.Defaults()
	for i := range all {
		d := e.device(i)
		flops, down, up, err := e.jobWork(i, params, &e.cfg.Updates)
		if err != nil { // other hyperparameters are needed: by the samples
			flops = e.trainFLOPs * float64(e.cfg.Data.Clients[i].Train.Len())
		}
		all[i] = flops/d.FLOPS + float64(down)/d.Down + float64(up)/d.Up
	}
	return all
}

// device returns the mean speed of a client's device.
func (e *Engine) device(client int) fleet.Device {
	if f, ok := e.fleet.(*fleet.Fleet); ok {
		return f.Device(client)
	}
	return fleet.DefaultDevice()
}

// losses measures the trial's weights on the training samples of clients. One that has no
// finite loss has none.
func (t *Trial) losses(ctx context.Context, clients []int32) ([]float64, error) {
	e := t.engine
	all := make([]float64, len(clients))
	frozen := e.frozen(len(clients))
	err := e.each(ctx, len(clients), func(i int, w *worker) error {
		r, err := w.evaluateIn(w.ws, t.weights, frozen, e.cfg.Data.Clients[clients[i]].Train, nil, nil)
		if err != nil {
			return err
		}
		if all[i] = scoreOf(r).Loss; !det.Finite(all[i]) {
			all[i] = -math.MaxFloat64
		}
		return nil
	})
	return all, err
}

// candidateWork returns what a candidate's evaluation takes: the weights that it receives,
// operations, and the loss that it sends.
func (e *Engine) candidateWork(_, client, _ int) clock.Load {
	each, _ := e.cfg.Model.FLOPs()
	n := float64(e.cfg.Data.Clients[client].Train.Len())
	return clock.Load{FLOPs: float64(each) * n, Down: 4 * int64(e.cfg.Sent()), Up: 4}
}
