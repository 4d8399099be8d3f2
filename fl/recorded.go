package fl

import (
	"context"
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// ClientErrors measures a model on the validation and the test samples of every client, in the
// order of the clients; NaN without samples: with EvalConfig.Clients the personalized models,
// without them the weights as they are. The errors are those behind Evaluation.PersonalizedVal and
// PersonalizedTest, or GlobalVal and GlobalTest, of a regression the mean squared ones, whose means
// over clients are exact. Of v it takes Clients, Server, Kept, Round and State.
func (e *Engine) ClientErrors(ctx context.Context, weights []float32, v EvalConfig) (val, test []float64, err error) {
	plan, err := e.evalPlan(v.Clients, v.Server)
	if err != nil {
		return nil, nil, err
	}
	n, personal := len(e.cfg.Data.Clients), v.Clients != nil
	ids := e.evalSample(n, 0)
	x := &shard.Exam{
		Weights: weights, Clients: ids, GlobalVal: !personal, GlobalTest: !personal, PersonalVal: personal, PersonalTest: personal,
		Kept: v.Kept, Params: paramsOf(v.Clients, 0, ids), Server: plan.Server, Round: v.Round,
	}
	scores, err := e.measure(ctx, x, v.State, e.serverOf(v.State, weights, personal), func(int) {})
	if err != nil {
		return nil, nil, err
	}
	val, test = make([]float64, n), make([]float64, n)
	of := func(s *setScore) float64 {
		if s.n == 0 {
			return math.NaN()
		}
		return s.recorded(e.cfg.Model.Loss().Numbers())
	}
	for i := range scores {
		s := &scores[i]
		if val[i], test[i] = of(&s.globalVal), of(&s.globalTest); personal {
			val[i], test[i] = of(&s.personalVal), of(&s.personalTest)
		}
	}
	return val, test, nil
}

// Recorded takes scores from recorded errors of clients, such as those of ClientErrors, with
// the draws of an engine: from the errors of a trial's weights before a round it makes the
// score that RoundResult.Score made of that round, bit for bit, where the clients were drawn
// at random.
type Recorded struct {
	// Seed, Cohort, Replacement, Poisson and Shared are as in Config.
	Seed                         uint64
	Cohort                       int
	Replacement, Poisson, Shared bool
	// Val are the numbers of validation samples of all clients.
	Val []int
	// Numbers says that errors are the mean squared ones of regressions.
	Numbers bool
}

// recorded returns the error as it is recorded.
func (s Score) recorded(numbers bool) float64 {
	if numbers {
		return min(s.Fit.MSE, divergedFit*divergedFit)
	}
	return s.Error
}

// scoreOfRecorded is the score that an error was recorded of, as far as it is known.
func scoreOfRecorded(e float64, numbers bool) Score {
	if numbers {
		return Score{Error: math.Sqrt(e), Loss: math.NaN(), Fit: Fit{MSE: e, Square: 1}}
	}
	return Score{Error: e, Loss: math.NaN()}
}

// Clients draws the clients of a round of a trial, as Engine.Cohort does.
func (r *Recorded) Clients(trial, round int) []int {
	e := Engine{cfg: Config{
		Seed: r.Seed, Cohort: r.Cohort, Replacement: r.Replacement, Poisson: r.Poisson, Shared: r.Shared,
		Data: &data.Federation{Clients: make([]data.Client, len(r.Val))},
	}}
	return e.Cohort(trial, round)
}

// Score returns the score of a round of a trial, from 0. errors belong to all clients on
// their validation samples; dropped are the places in the cohort, ascending, whose work did
// not count. Its loss is NaN.
func (r *Recorded) Score(trial, round int, errors []float64, dropped []int, o ScoreOptions) Score {
	clients := r.Clients(trial, round)
	result := &RoundResult{Round: round, draws: kernels.Key(r.Seed, uint64(trial), uint64(round), purposeScore), numbers: r.Numbers, Slots: make([]Slot, len(clients))}
	for i, c := range clients {
		result.Slots[i] = Slot{Client: c, ValExamples: r.Val[c], Before: scoreOfRecorded(errors[c], r.Numbers)}
	}
	for _, i := range dropped {
		if i < len(clients) {
			result.Slots[i].Dropped = true
		}
	}
	return result.Score(false, o)
}

// Validate returns what Engine.Validate does of a model that a trial had after a round; of v
// it takes Sample, Noise, Trial and Round. errors belong to all clients on their
// validation samples.
func (r *Recorded) Validate(errors []float64, v EvalConfig) *Summary {
	ids := list.Places(len(r.Val), func(i int) bool { return r.Val[i] > 0 })
	scores := list.Of(validated(r.Seed, ids, v), func(i int) setScore {
		return setScore{Score: scoreOfRecorded(errors[i], r.Numbers), n: r.Val[i]}
	})
	return foldValidated(scores, v.Noise, validateKey(r.Seed, v))
}

// Summarize returns the summary of errors of clients with their numbers of samples, 0 for
// those that have none; numbers says that they are the mean squared ones of regressions. Its loss
// is NaN, and it has neither MAE nor R2.
func Summarize(errors []float64, samples []int, numbers bool) Summary {
	clients := make([]clientScores, len(errors))
	for i, n := range samples {
		clients[i].globalTest = setScore{Score: scoreOfRecorded(errors[i], numbers), n: n}
	}
	s := summarize(clients, func(c *clientScores) setScore { return c.globalTest })
	s.MAE, s.R2 = nil, nil
	return s
}
