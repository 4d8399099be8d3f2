package estimate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// Plan is what a study trains, as far as that is known before it starts.
type Plan struct {
	// Sides is the number of trials on proxy federations with which a client tuner
	// is prepared, Rounds that of the rounds after them.
	Sides, Rounds int
	// SideWork is the work of the trials on proxy federations, Work that of the rounds,
	// of their scores and of the evaluation at the end, FinalWork that of scoring
	// the most finalists that there can be.
	SideWork, Work, FinalWork Work
	// ReferenceWork is the work of Reference rounds with the configured values.
	Reference     int
	ReferenceWork Work
	// Random is how many random configurations are compared with, RandomRounds how
	// long each trains, at most.
	Random, RandomRounds int
	RandomWork           Work
	ends                 float64 // examples of Work that are of evaluations at the end
}

// Rest returns how much work comes after the rounds, in multiples of that of the rounds:
// evaluations of models, and random configurations.
func (p Plan) Rest() (evaluations, random float64) {
	rounds := p.Work.Examples - p.ends
	if !(rounds > 0) {
		return 0, 0
	}
	return (p.ends + p.FinalWork.Examples + p.ReferenceWork.Examples) / rounds, p.RandomWork.Examples / rounds
}

// All is the whole work.
func (p Plan) All() []Work {
	return []Work{p.SideWork, p.Work, p.FinalWork, p.ReferenceWork, p.RandomWork}
}

// String says what is trained: "264 trials on proxy federations and 500 rounds".
func (p Plan) String() string {
	text := oneline.Count(p.Rounds, "round")
	if p.Sides > 0 {
		text = oneline.Count(p.Sides, "trial") + " on proxy federations and " + text
	}
	if p.Reference > 0 {
		text += fmt.Sprintf(", then %s of the configured values", oneline.Count(p.Reference, "round"))
	}
	if p.Random > 0 {
		text += fmt.Sprintf(", then %s of %s", oneline.Count(p.Random, "random configuration"), oneline.Count(p.RandomRounds, "round"))
	}
	return text
}

// Compare adds n random configurations that a study is compared with afterwards, as
// long as its longest trials.
func (p *Plan) Compare(s *study.Setup, n int) error {
	c := &s.Config
	points, err := pointsOf(c)
	if err != nil {
		return fmt.Errorf("estimate: %w", err)
	}
	task, err := newTasks(s, Count(s.Data, c))
	if err != nil {
		return fmt.Errorf("estimate: %w", err)
	}
	p.Random, p.RandomRounds = n, c.Budget.TrialRounds
	p.RandomWork = task.rounds(n*c.Budget.TrialRounds, n, points, 0)
	return nil
}

// Of returns the plan of a study that `fedfast tune` runs (config.ModeTune) or of a
// training that `fedfast run` runs (config.ModeRun). Its rounds are the most that
// the budget allows: a goal, or trials that fail, end it earlier. Hyperparameters
// from a search space count by their mean over it; what a client tuner does to them
// round by round is not known before, except what it tells itself, see
// tuners.Estimator. Narrow sub-networks (heterofl) count as whole ones, those that a
// tuner picks (supernet) as the mean of all.
func Of(ctx context.Context, s *study.Setup, mode string) (Plan, error) {
	return OfCounts(ctx, s, mode, Count(s.Data, &s.Config))
}

// OfCounts is Of for a federation of these counts, which need not be at hand: the
// set-up has no Data.
func OfCounts(ctx context.Context, s *study.Setup, mode string, n Counts) (Plan, error) {
	c := &s.Config
	task, err := newTasks(s, n)
	if err != nil {
		return Plan{}, fmt.Errorf("estimate: %w", err)
	}
	if mode == config.ModeRun {
		points, rounds := []fl.ClientParams{c.Client.Client}, c.Rounds
		if c.Time.Seconds > 0 && s.Data != nil {
			in, err := s.RoundsIn(ctx, c.Time.Seconds)
			if err != nil {
				return Plan{}, fmt.Errorf("estimate: %w", err)
			}
			rounds = int(min(float64(rounds), math.Ceil(in)))
		}
		return Plan{Rounds: rounds, Work: task.rounds(rounds, 1, points, int(task.cohort)), ends: task.rounds(0, 1, points, 0).Examples}, nil
	}
	about, err := s.Tuner.Describe(ctx)
	if err != nil {
		return Plan{}, fmt.Errorf("estimate: %w", err)
	}
	budget, err := roundsOf(ctx, s)
	if err != nil {
		return Plan{}, fmt.Errorf("estimate: %w", err)
	}
	rounds, parallel, finalists := budget.Rounds, 0, c.Finalists.Most()
	lone := s.ClientTuner == nil && about.Rounds
	given, _ := tuners.ValueOf(c.Tuner.Options["trials"])
	if most, ok := given.Float(); ok && most > 0 {
		rounds = int(min(float64(rounds), most*float64(budget.TrialRounds)))
		finalists = int(min(float64(finalists), 2*most))
	}
	if lone {
		rounds, parallel, finalists = budget.TrialRounds, int(task.cohort), 2
	}
	points, err := pointsOf(c)
	if err != nil {
		return Plan{}, fmt.Errorf("estimate: %w", err)
	}
	p := Plan{Rounds: rounds}
	before, err := workOf(ctx, s)
	if err != nil {
		return Plan{}, fmt.Errorf("estimate: %w", err)
	}
	if before.Points != nil {
		if points, err = pointsAt(c, before.Points); err != nil {
			return Plan{}, fmt.Errorf("estimate: %w", err)
		}
	}
	if before.Trials > 0 {
		p.Sides, p.SideWork = before.Trials, task.sides(before, points)
	}
	p.Work, p.ends = task.rounds(rounds, 2, points, parallel), task.rounds(0, 2, points, 0).Examples
	if c.Select == config.SelectFinalists && !c.ToGoal() {
		p.FinalWork = task.finalists(finalists, points)
	}
	if c.Compares() {
		p.Reference = budget.TrialRounds
		p.ReferenceWork = task.rounds(p.Reference, 1, []fl.ClientParams{c.Client.Client}, 0)
	}
	part, err := share(ctx, s)
	if err != nil {
		return Plan{}, fmt.Errorf("estimate: %w", err)
	}
	p.ends, p.Work.Examples, p.FinalWork.Examples = part*p.ends, part*p.Work.Examples, part*p.FinalWork.Examples
	return p, nil
}

// roundsOf returns the budget in rounds, about, if it is one in simulated seconds or updates.
func roundsOf(ctx context.Context, s *study.Setup) (config.Budget, error) {
	b := s.Config.Budget
	if each := s.Config.Time.Updates(s.Config.Cohort); b.Updates > 0 {
		b.Rounds, b.TrialRounds = (b.Updates-1)/each+1, (b.TrialUpdates-1)/each+1
	}
	most := b.TrialSeconds
	if most == 0 {
		return b, nil
	}
	if s.Data == nil {
		return b, errors.New("budget.trial_seconds: the rounds of simulated seconds are unknown without the data")
	}
	each, err := s.RoundsIn(ctx, float64(most))
	if err != nil {
		return b, err
	}
	if b.Seconds > 0 {
		share := float64(b.Seconds) / float64(most)
		return config.Budget{Rounds: int(math.Ceil(share * each)), TrialRounds: int(math.Ceil(each))}, nil
	}
	share := min(1, each/float64(b.TrialRounds))
	return config.Budget{Rounds: int(math.Ceil(share * float64(b.Rounds))), TrialRounds: int(math.Ceil(share * float64(b.TrialRounds)))}, nil
}

// workOf asks the client tuner, or the tuner that is both, what it trains beside
// the rounds.
func workOf(ctx context.Context, s *study.Setup) (tuners.Work, error) {
	c := &s.Config
	t, options := s.ClientTuner, c.ClientTuner.Options
	if t == nil {
		t, options = s.Tuner, c.Tuner.Options
	}
	req, err := c.Request(options)
	if err != nil {
		return tuners.Work{}, err
	}
	return tuners.WorkOf(ctx, t, req)
}

// drawn is how many points of a search space stand for it.
const drawn = 256

// pointsOf returns what clients may train with: points of the search space, or what
// the study sets without one.
func pointsOf(c *config.Config) ([]fl.ClientParams, error) {
	var space tuners.Space
	for _, name := range slices.Sorted(maps.Keys(c.Space)) {
		if _, ok := hyper.FindTunable(name); !ok {
			continue
		}
		d, err := tuners.ParseDim(name, c.Space[name])
		if err != nil {
			return nil, err
		}
		space = append(space, d)
	}
	if len(space) == 0 {
		return pointsAt(c, []tuners.Params{{}})
	}
	points := list.Made(drawn, func(i int) tuners.Params { return space.Sample(tuners.NewDraws(0, i, 0, "estimate")) })
	return pointsAt(c, points)
}

// pointsAt returns what clients train with at points.
func pointsAt(c *config.Config, points []tuners.Params) ([]fl.ClientParams, error) {
	out := make([]fl.ClientParams, len(points))
	for i, p := range points {
		h, err := c.Hyper().With(p, nil)
		if err != nil {
			return nil, err
		}
		out[i] = h.Client
	}
	return out, nil
}
