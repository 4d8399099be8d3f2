package fl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/measure"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// Summary is a model's score over clients.
type Summary struct {
	// Error and Loss are means over the clients, weighted by their numbers
	// of examples.
	Score
	// MAE and R2 are the mean absolute error of a regression and its coefficient of
	// determination, over all examples, of several outputs the mean over them; nil for
	// other losses, and R2 of outputs that are not finite.
	MAE *float64 `json:"mae,omitempty"`
	R2  *float64 `json:"r2,omitempty"`
	// Unweighted is the plain mean of the clients' errors.
	Unweighted float64 `json:"unweighted"`
	// StdErr is the standard error of Error over the clients, taken as a sample of
	// many: that of a ratio of sums. nil of one client, and of regressions.
	StdErr *float64 `json:"std_error,omitempty"`
	// P10, P50 and P90 are percentiles of the clients' errors.
	P10 float64 `json:"p10"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	// Worst is the mean error of the tenth of the clients with the highest, of one client at
	// least; Variance that of the clients' errors, all of them alike.
	Worst    float64 `json:"worst_decile"`
	Variance float64 `json:"variance"`
	// Jain is Jain's index of the clients' accuracies: 1 if all are equal, 1/n if one of n
	// clients has all. nil of regressions.
	Jain *float64 `json:"jain,omitempty"`
	// Central says that the examples are the federation's own test set, which is of no
	// client: it counts as one.
	Central bool `json:"central,omitempty"`
	// Clients and Examples count what was measured.
	Clients  int `json:"clients"`
	Examples int `json:"examples"`
	// Masked are the errors without the labels of the federation's masks, in their
	// order; nil where it has none. A mask that leaves no label is not among them.
	Masked []MaskedError `json:"masked,omitempty"`
	// Measures are ROC AUC, F1 and the like, of models that are Measured, on test examples;
	// nil where EvalConfig.Measures does not ask for them.
	Measures *measure.Measures `json:"measures,omitempty"`
}

// Evaluation is a model measured on all clients, in both ways in which
// federated models are used. Where the clients have no examples for a measure, or
// it was left out, its Summary's Clients are 0.
type Evaluation struct {
	// GlobalVal and GlobalTest score the weights as they are on every
	// client's validation and test examples, or GlobalTest on the federation's own
	// test set, see data.Federation.Test.
	GlobalVal  Summary `json:"global_val"`
	GlobalTest Summary `json:"global_test"`
	// PersonalizedVal and PersonalizedTest score, on the same examples, the
	// weights that each client trains from them on its training examples.
	PersonalizedVal  Summary `json:"personalized_val"`
	PersonalizedTest Summary `json:"personalized_test"`
	// Unseen scores the weights as they are on clients that never train.
	Unseen Summary `json:"unseen"`
	// UnseenAdapted scores the personalized models of those of them that have training
	// examples, after local training as in a client's first round.
	UnseenAdapted Summary `json:"unseen_adapted"`
	// Clients are the errors behind GlobalTest and PersonalizedTest, in the order of the
	// clients, of those with test samples.
	Clients []ClientError `json:"-"`
}

// ClientError is what one client's test samples measured.
type ClientError struct {
	// Client is its index in the federation, Samples the number of its test samples.
	Client, Samples int
	// Name is what the data call it.
	Name string
	// Global and Personalized are the errors of the weights as they are, and of those that
	// the client trains from them; NaN where that was not measured.
	Global, Personalized float64
	// GlobalAUC and PersonalizedAUC are the ROC AUC of both, nil where it is undefined or was not measured.
	GlobalAUC, PersonalizedAUC *float64
	// Skew is how far the class shares of its training samples are from those of all clients' together, see
	// data.LabelSkew; nil where that is unknown.
	Skew *float64
}

// clientErrors lists the test errors of clients.
func clientErrors(clients []data.Client, ids []int, scores []clientScores) []ClientError {
	var all []ClientError
	for i := range scores {
		global, personal := scores[i].globalTest, scores[i].personalTest
		c := ClientError{
			Client: ids[i], Name: clients[ids[i]].ID, Samples: max(global.n, personal.n), Global: math.NaN(), Personalized: math.NaN(),
			GlobalAUC: global.auc(), PersonalizedAUC: personal.auc(),
		}
		if global.n > 0 {
			c.Global = global.Error
		}
		if personal.n > 0 {
			c.Personalized = personal.Error
		}
		if c.Samples > 0 {
			all = append(all, c)
		}
	}
	return all
}

// MarshalJSON writes null for what was measured on no client: an error of 0 would
// be that of a perfect model. It is read back as a Summary whose Clients are 0.
func (e Evaluation) MarshalJSON() ([]byte, error) {
	some := func(s *Summary) any {
		switch {
		case s.Clients == 0:
			return nil
		case math.IsNaN(s.Loss): // see Summarize
			return struct {
				Summary
				Loss *float64 `json:"loss"`
			}{Summary: *s}
		}
		return s
	}
	return json.Marshal(struct {
		GlobalVal        any `json:"global_val"`
		GlobalTest       any `json:"global_test"`
		PersonalizedVal  any `json:"personalized_val"`
		PersonalizedTest any `json:"personalized_test"`
		Unseen           any `json:"unseen"`
		UnseenAdapted    any `json:"unseen_adapted"`
	}{some(&e.GlobalVal), some(&e.GlobalTest), some(&e.PersonalizedVal), some(&e.PersonalizedTest), some(&e.Unseen), some(&e.UnseenAdapted)})
}

// clientScores are the scores of one client; a count of 0 marks a set without
// examples.
type clientScores struct {
	globalVal, globalTest, personalVal, personalTest setScore
}

// setScore is a score with the number of examples behind it, and what masks leave
// of it.
type setScore struct {
	Score
	n      int
	masked []maskedScore
}

// EvalConfig says how a model is measured.
type EvalConfig struct {
	// Clients holds the hyperparameters of the local training behind the
	// personalized scores: one for all clients of the federation, or one for
	// each, unseen clients after the others. nil leaves the personalized scores out.
	Clients []ClientParams
	// Server holds the server hyperparameters that such training looks at; nil is
	// the method's defaults.
	Server *ServerParams
	// Kept has the personalized scores be those of the models that the clients have, see
	// Method.Kept, instead of those that they train. It needs Clients all the same.
	Kept bool
	// Alone, when > 0, has Evaluate leave out all but the personalized scores, and has these be of the models
	// that clients make all alone, without a server: by a number of trainings of a round, a fraction of one
	// too, with plain local steps and the schedules of Round rounds. Of the model at ten times on the way that
	// of the lowest validation loss is the client's.
	Alone float64
	// Unseen has Engine.EvaluateSplit measure the clients that never train, who are
	// data.Federation.Unseen and adapt the model for personalized scores. Engine.Evaluate
	// measures them besides.
	Unseen bool
	// Round is how many rounds the model has trained, which is Local.Round of the local
	// training. Its learning rate is the rate of ClientParams.Personal in every round.
	Round int
	// State is the method's memory of the trial, see Trial.State. nil stands for a
	// trial that has not begun.
	State *State
	// Sample, when > 0, is the number of clients to measure on, drawn by the seed
	// alone: the same ones for every model. 0 measures on all.
	Sample int
	// Measures asks for Summary.Measures on test examples.
	Measures bool
	// Noise is the noise of a round's score, which Validate adds. Its Clients are drawn anew for
	// each Trial and Round, as is the noise of its Epsilon, whose scale fits a mean over
	// all scored clients. Evaluate refuses it.
	Noise ScoreOptions
	// Trial is the number of the trial that trained the model, by which Noise is drawn.
	Trial int
	// Arch, as ClientParams.Arch, picks a sub-network, whose weights Validate scores as they
	// are. Evaluate refuses it.
	Arch string
	// Done, when not nil, is told after each client, from several goroutines,
	// how many of how many clients have been measured.
	Done func(clients, of int)
}

// Evaluate measures weights on the clients. The local training behind the
// personalized scores draws from a random stream that belongs to evaluation:
// equal weights and hyperparameters give equal scores.
func (e *Engine) Evaluate(ctx context.Context, weights []float32, cfg EvalConfig) (*Evaluation, error) {
	if cfg.Arch != "" || cfg.Noise != (ScoreOptions{}) {
		return nil, errors.New("evaluation: Arch and Noise are for Validate")
	}
	fed := e.cfg.Data
	plan, err := e.evalPlan(cfg.Clients, cfg.Server)
	if err != nil {
		return nil, err
	}
	ids, unseenIDs := e.evalSample(len(fed.Clients), cfg.Sample), e.evalSample(len(fed.Unseen), cfg.Sample)
	alone := cfg.Alone > 0
	if alone {
		unseenIDs = nil
	}
	done := counted(cfg.Done, len(ids)+len(unseenIDs))
	samples := fed.Test.Len()
	for _, i := range ids {
		samples += fed.Clients[i].Test.Len()
	}
	every := e.everyOf(cfg.Measures, samples)
	seen, err := e.measure(ctx, &shard.Exam{
		Weights: weights, Clients: ids, Every: every, Alone: cfg.Alone, GlobalVal: !alone, GlobalTest: !alone,
		PersonalVal: cfg.Clients != nil, PersonalTest: cfg.Clients != nil,
		Kept: cfg.Kept, Params: paramsOf(cfg.Clients, 0, ids), Server: plan.Server, Round: cfg.Round,
	}, cfg.State, e.serverOf(cfg.State, weights, cfg.Clients != nil), done)
	if err != nil {
		return nil, err
	}
	unseen, err := e.measure(ctx, &shard.Exam{
		Weights: weights, Clients: unseenIDs, Unseen: true, Every: every, GlobalTest: true, PersonalTest: cfg.Clients != nil,
		Params: paramsOf(cfg.Clients, len(fed.Clients), unseenIDs), Server: plan.Server, Round: cfg.Round,
	}, cfg.State, e.serverOf(cfg.State, weights, cfg.Clients != nil), done)
	if err != nil {
		return nil, err
	}
	globalVal := func(c *clientScores) setScore { return c.globalVal }
	personalVal := func(c *clientScores) setScore { return c.personalVal }
	tested := func(clients []clientScores, of, val func(c *clientScores) setScore) Summary {
		s := e.fold(clients, of)
		if s.answers = nil; every > 0 {
			s.Measures = measure.Of(answersOf(clients, of), answersOf(seen, val), every, false)
		}
		return s
	}
	global := func(c *clientScores) setScore { return c.globalTest }
	personal := func(c *clientScores) setScore { return c.personalTest }
	test := tested(seen, global, globalVal)
	if fed.Test.Len() > 0 && !alone {
		if test, err = e.evaluateCentral(ctx, weights, every, answersOf(seen, globalVal)); err != nil {
			return nil, err
		}
	}
	return &Evaluation{
		GlobalVal:        e.fold(seen, globalVal),
		GlobalTest:       test,
		PersonalizedVal:  e.fold(seen, personalVal),
		PersonalizedTest: tested(seen, personal, personalVal),
		Unseen:           tested(unseen, global, globalVal),
		UnseenAdapted:    tested(unseen, personal, personalVal),
		Clients:          clientErrors(e.cfg.Data.Clients, ids, seen),
	}, nil
}

// evalPlan is the plan of the local training behind personalized scores; clients
// of nil are missing.
func (e *Engine) evalPlan(clients []ClientParams, server *ServerParams) (Plan, error) {
	plan := Plan{Clients: clients}
	_, plan.Server = e.cfg.Method.Defaults()
	if server != nil {
		plan.Server = *server
	}
	if clients == nil {
		return plan, nil
	}
	if err := plan.check(&e.cfg, len(e.cfg.Data.Clients)+len(e.cfg.Data.Unseen)); err != nil {
		return plan, fmt.Errorf("evaluation: %w", err)
	}
	return plan, nil
}

// paramsOf returns the hyperparameters of some clients, of which those of client 0 are at index from,
// where each has its own.
func paramsOf(all []ClientParams, from int, clients []int) []ClientParams {
	if len(all) <= 1 {
		return all
	}
	return list.Of(clients, func(c int) ClientParams { return all[from+c] })
}

// personal trains a client's own model from weights, by a random stream that
// belongs to evaluation, or has it make the one that it has. memory is the server's, of
// the state.
func (e *Engine) personal(w *worker, x *shard.Exam, client int, params ClientParams, state *State, memory Server) (*Local, error) {
	l, err := w.begin(localTask{
		engine: e, client: client, params: params.Personal(), server: x.Server, round: x.Round, weights: x.Weights,
		state: memory, kept: state.of(client), key: kernels.Key(e.cfg.Seed, uint64(client), purposeTest),
	})
	if err != nil {
		return nil, err
	}
	m := &e.cfg.Method
	switch {
	case !x.Kept && m.Personalize != nil:
		err = m.Personalize(l)
	case !x.Kept:
		err = m.Local(l)
	case m.Kept != nil:
		err = m.Kept(l)
	}
	l.hold()
	return l, err
}

// each runs n tasks of an evaluation, until ctx ends.
func (e *Engine) each(ctx context.Context, n int, task func(i int, w *worker) error) error {
	return e.pool.run(n, func(i int, w *worker) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return task(i, w)
	})
}

// fold summarizes the clients' scores, with and without what masks hide.
func (e *Engine) fold(clients []clientScores, of func(*clientScores) setScore) Summary {
	s := summarize(clients, of)
	s.Masked = summarizeMasked(clients, of, e.cfg.Data.Masks)
	return s
}

// score measures weights on a set of examples without augmentation; frozen as evaluateIn has it.
func (w *worker) score(weights []float32, frozen *nn.Frozen, v data.View, t *tally) (setScore, error) {
	if v.Len() == 0 {
		return setScore{}, nil
	}
	r, err := w.evaluateIn(w.ws, weights, frozen, v, nil, t)
	if err != nil {
		return setScore{}, err
	}
	return scored(r, v, t), nil
}

// scoreSet measures the client's model after its training likewise.
func (l *Local) scoreSet(v data.View, t *tally) (setScore, error) {
	if v.Len() == 0 {
		return setScore{}, nil
	}
	r, err := l.measure(v, nil, t)
	if err != nil {
		return setScore{}, err
	}
	return scored(r, v, t), nil
}

// scored is the score of a result on v, of which t holds what masks leave.
func scored(r outcome, v data.View, t *tally) setScore {
	return setScore{Score: t.score(r), n: v.Len(), masked: t.scores(r)}
}

// summarize folds the clients' scores in the order of the clients.
func summarize(clients []clientScores, of func(*clientScores) setScore) Summary {
	var s Summary
	var all scoreMean
	var rates []float64
	lost := false
	for i := range clients {
		c := of(&clients[i])
		if c.n == 0 {
			continue
		}
		lost = lost || c.Fit.lost()
		all.add(c.Score, float64(c.n))
		s.Unweighted += c.Error
		s.Examples += c.n
		rates = append(rates, c.Error)
	}
	s.Clients = len(rates)
	if s.Clients == 0 {
		return Summary{}
	}
	s.Score = all.mean()
	if !s.Fit.zero() {
		s.MAE = new(s.Fit.MAE)
		if !lost {
			s.R2 = new(s.Fit.R2())
		}
	}
	s.Unweighted /= float64(s.Clients)
	if s.Clients > 1 && s.Fit.zero() {
		squares := 0.0
		for i := range clients {
			if c := of(&clients[i]); c.n > 0 {
				r := float64(c.n) * (c.Error - s.Error)
				squares += float64(r * r)
			}
		}
		s.StdErr = new(math.Sqrt(squares*float64(s.Clients)/float64(s.Clients-1)) / float64(s.Examples))
	}
	slices.Sort(rates)
	s.P10 = stat.Quantile(0.1, stat.Empirical, rates, nil)
	s.P50 = stat.Quantile(0.5, stat.Empirical, rates, nil)
	s.P90 = stat.Quantile(0.9, stat.Empirical, rates, nil)
	s.spread(rates)
	return s
}

// spread fills in how even errors are, which ascend.
func (s *Summary) spread(rates []float64) {
	var jain float64
	s.Worst, s.Variance, jain = evenness(rates, s.Unweighted)
	if s.Fit.zero() && !math.IsNaN(jain) {
		s.Jain = &jain
	}
}

// evenness returns the mean of the highest tenth of errors, which ascend, their variance
// around their mean, and Jain's index (sum x)^2 / (n sum x^2) of the accuracies x, NaN when
// all of these are 0.
func evenness(rates []float64, mean float64) (worst, variance, jain float64) {
	n := len(rates)
	highest := rates[n-max(1, n/10):]
	for _, x := range highest {
		worst += x
	}
	var sum, squares float64
	for _, x := range rates {
		away, right := x-mean, 1-x
		variance += float64(away*away) / float64(n)
		sum += right
		squares += float64(right * right)
	}
	return worst / float64(len(highest)), variance, float64(sum*sum) / (float64(n) * squares)
}
