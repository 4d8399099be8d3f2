package fedex

import (
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/internal/tuner/internal/start"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// session is one trial's FedEx.
type session struct {
	tuners.RoundsOnly
	record.Record
	req           tuners.OpenRequest
	options       settings
	configs       []tuners.Params
	gamma, eta0   float64
	after, before string // names of the probes
	state         state
}

var _ tuners.Prober = (*session)(nil)

func newSession(req tuners.OpenRequest, o settings) (tuners.Session, error) {
	s := &session{req: req, options: o, gamma: o.gamma, after: "val_error_after", before: "val_error_before"}
	if req.Objective.Metric == tuners.MetricLoss {
		s.after, s.before = "val_loss_after", "val_loss_before"
	}
	if o.gamma == -1 {
		g, ok := req.Params[Gamma].Float()
		if !ok || !(g >= 0 && g <= 1) {
			return nil, fmt.Errorf("fedex: trial %d: %s must be from 0 to 1, not %s", req.Trial, Gamma, req.Params[Gamma])
		}
		s.gamma = g
	}
	space, err := start.Dims("fedex", req, controls)
	if err != nil {
		return nil, err
	}
	s.state.Origin = req.Trial
	if req.State != nil {
		if err := record.Read("fedex", req.State, &s.state); err != nil {
			return nil, err
		}
	}
	s.configs = drawConfigs(space, req.Params, o, req.Seed, s.state.Origin)
	if req.State == nil {
		s.state = uniform(len(s.configs), req.Trial)
	} else if len(s.state.Z) != len(s.configs) || s.state.Moments != nil && len(s.state.Moments) != len(s.configs) {
		return nil, fmt.Errorf("fedex: the recorded state has %d configurations, the options give %d", len(s.state.Z), len(s.configs))
	}
	switch s.eta0 = o.eta0; {
	case s.eta0 == 0 && o.schedule == Noise:
		s.eta0 = 1
	case s.eta0 == 0:
		s.eta0 = math.Sqrt(float64(2 * det.Log(float64(len(s.configs)))))
	}
	return s, s.Save(&s.state)
}

// Probes names what the session's steps use.
func (s *session) Probes() []string {
	if s.options.diff {
		return []string{s.after, s.before}
	}
	return []string{s.after}
}

// PlanRound draws a configuration for each slot from theta, or takes the arg max
// for all when latched (or testing with mle). All plans for Test draw the same
// numbers.
func (s *session) PlanRound(_ context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	if r.Trial != s.req.Trial || r.Slots < 1 {
		return tuners.Plan{}, fmt.Errorf("fedex: plan of %d slots for trial %d requested from the session of trial %d", r.Slots, r.Trial, s.req.Trial)
	}
	theta, best, plan := s.state.theta(), s.state.best(), tuners.Plan{Notes: s.notes(r)}
	if r.Purpose == tuners.Test {
		plan.Likeliest, plan.Probability = s.configs[best], min(1, theta[best])
	}
	if s.state.Latched || r.Purpose == tuners.Test && s.options.mle {
		plan.Clients = []tuners.Params{s.configs[best]}
		return plan, nil
	}
	plan.Clients = list.Of(s.picks(r, theta), func(j int) tuners.Params { return s.configs[j] })
	return plan, nil
}

// notes show people theta, unless it is too long, with its entropy in nats, and before a
// trial's first round the numbers of the configurations that theta is about. Four
// decimals are enough to look at.
func (s *session) notes(r tuners.PlanRequest) map[string][]float64 {
	round := func(x float64) float64 { return math.Round(x*1e4) / 1e4 }
	notes := map[string][]float64{"entropy": {round(s.state.entropy())}}
	if len(s.state.Z) < tuners.MaxNoteNumbers {
		theta := s.state.theta()
		for j, p := range theta {
			theta[j] = round(p)
		}
		notes["theta"] = theta
	}
	if r.Round > 0 || (len(s.configs[0])+1)*len(s.configs) >= tuners.MaxNoteNumbers {
		return notes
	}
	for _, name := range s.configs[0].Keys() {
		values := make([]float64, len(s.configs))
		for j, c := range s.configs {
			x, ok := c[name].Float()
			if !ok {
				values = nil
				break
			}
			values[j] = x
		}
		if values != nil {
			notes["theta: "+name] = values
		}
	}
	return notes
}

// picks draws j_i for each slot. The draws are keyed, so ObserveRound finds the
// same ones again.
func (s *session) picks(r tuners.PlanRequest, theta []float64) []int {
	draws := tuners.NewDraws(s.req.Seed, s.req.Trial, r.Round, "fedex picks")
	if r.Purpose == tuners.Test {
		draws = tuners.NewDraws(s.req.Seed, s.req.Trial, 0, "fedex test picks")
	}
	return list.Made(r.Slots, func(i int) int { return draws.Pick(theta) })
}

// draws returns what each slot of an observation was drawn as, without its score. A job that
// began in an earlier round was drawn from the theta of that round.
func (s *session) draws(o tuners.Observation) ([]outcome, error) {
	type planned struct {
		theta []float64
		picks []int
	}
	slots := map[int]int{} // of the rounds' plans, as far as they are asked for
	name := func(i int) (round, slot int) {
		if j := o.Slots[i].Job; j != nil {
			return j.Round, j.Slot
		}
		return o.Round, i
	}
	for i := range o.Slots {
		round, slot := name(i)
		slots[round] = max(slots[round], slot+1)
	}
	plans := map[int]planned{}
	draws := make([]outcome, len(o.Slots))
	for i := range draws {
		round, slot := name(i)
		p, known := plans[round]
		if !known {
			if p.theta = s.state.at(round, o.Round); p.theta == nil {
				return nil, fmt.Errorf("a job of round %d, whose plan is unknown", round)
			}
			p.picks = s.picks(tuners.PlanRequest{Round: round, Slots: slots[round]}, p.theta)
			plans[round] = p
		}
		draws[i] = outcome{config: p.picks[slot], theta: p.theta[p.picks[slot]]}
	}
	return draws, nil
}

// ObserveRound takes the step that the round's probes give. A client whose result was
// dropped or lost counts against its configuration, see options.dropped: it has an error of 1, or
// under the loss the round's largest one, and the mean weight of the round's others, since
// nothing else is known of it. Clients without validation examples do not count; a score
// that is not finite counts as the worst finite one of the round. A round without any score
// changes nothing.
func (s *session) ObserveRound(_ context.Context, o tuners.Observation) error {
	if o.Trial != s.req.Trial {
		return fmt.Errorf("fedex: observation of trial %d sent to the session of trial %d", o.Trial, s.req.Trial)
	}
	if s.state.Latched {
		return nil
	}
	draws, err := s.draws(o)
	if err != nil {
		return fmt.Errorf("fedex: round %d: %w", o.Round, err)
	}
	var round, dropped []outcome
	total, worst := 0.0, math.Inf(-1)
	for i, slot := range o.Slots {
		if slot.Dropped {
			if s.options.dropped == Worst || s.options.dropped == Diverged && (slot.Job == nil || slot.Job.Fate == "") {
				dropped = append(dropped, draws[i])
			}
			continue
		}
		weight, score, err := s.score(slot)
		if err != nil {
			return fmt.Errorf("fedex: round %d, slot %d: %w", o.Round, i, err)
		}
		if weight == 0 {
			continue
		}
		total += weight
		if det.Finite(score) {
			worst = max(worst, score)
		}
		draws[i].score, draws[i].weight = score, weight
		round = append(round, draws[i])
	}
	mean := 1.0
	if len(round) > 0 {
		mean = total / float64(len(round))
	}
	if s.req.Objective.Metric != tuners.MetricLoss && len(dropped) > 0 {
		worst = max(worst, 1)
	}
	for _, d := range dropped {
		d.score, d.weight = math.Inf(1), mean
		round = append(round, d)
		total += mean
	}
	if len(o.Slots) > 0 && o.Slots[0].Job != nil {
		s.state.remember(o.Round, o.Oldest)
	}
	if !det.Finite(worst) {
		return s.Save(&s.state)
	}
	for i := range round {
		round[i].weight /= total
		if !det.Finite(round[i].score) {
			round[i].score = worst
		}
	}
	lambda := 0.0
	if s.options.baseline == Past {
		lambda = s.state.baseline()
	}
	if err := s.state.step(round, lambda, s.gamma, s.eta0, s.options.cutoff, s.options.schedule); err != nil {
		return err
	}
	return s.Save(&s.state)
}

// score reads a slot's weight |V_i|, times that of its staleness, and score.
func (s *session) score(slot tuners.Slot) (weight, score float64, err error) {
	weight, ok := slot.Probes["examples_val"]
	if !ok || !det.Finite(weight) || weight < 0 {
		return 0, 0, fmt.Errorf("examples_val is missing or no count (%v)", weight)
	}
	if weight == 0 {
		return 0, 0, nil
	}
	if score, ok = slot.Probes[s.after]; !ok {
		return 0, 0, fmt.Errorf("probe %s is missing", s.after)
	}
	if s.options.diff {
		before, ok := slot.Probes[s.before]
		if !ok {
			return 0, 0, fmt.Errorf("probe %s is missing", s.before)
		}
		score -= before
	}
	if slot.Job != nil {
		weight *= slot.Job.Weight
	}
	return weight, score, nil
}
