package study

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// script is a tuner that runs trials with given params to a rung, keeps the
// best one, and runs it on.
type script struct {
	params   []tuners.Params
	rung, to int
	// mangle changes the decisions before they are returned, to play a tuner
	// that misbehaves.
	mangle func(step int, ds []tuners.Decision) []tuners.Decision
}

func (s *script) Describe(context.Context) (tuners.Description, error) {
	return tuners.Description{Name: "script", Trials: true}, nil
}

func (s *script) Validate(_ context.Context, r tuners.ValidateRequest) ([]tuners.Problem, error) {
	if r.Budget.TrialRounds < s.to {
		return []tuners.Problem{{Key: "budget.trial_rounds", Message: fmt.Sprintf("is %d: must be %d or more",
			r.Budget.TrialRounds, s.to)}}, nil
	}
	return nil, nil
}

func (s *script) Open(_ context.Context, r tuners.OpenRequest) (tuners.Session, error) {
	return &scriptSession{script: s, space: r.Space, scores: map[int]float64{}}, nil
}

type scriptSession struct {
	tuners.TrialsOnly
	script *script
	space  tuners.Space
	step   int
	scores map[int]float64
	order  []int // of the reports
	best   int
}

func (s *scriptSession) Suggest(context.Context, int) ([]tuners.Decision, error) {
	var ds []tuners.Decision
	switch s.step {
	case 0:
		for i, p := range s.script.params {
			ds = append(ds, tuners.Decision{Kind: tuners.Start, Trial: i, Params: p, ToRound: s.script.rung})
		}
	case 1:
		score := math.Inf(1)
		for i := range s.script.params {
			if s.scores[i] < score {
				s.best, score = i, s.scores[i]
			}
		}
		for i := range s.script.params {
			if i != s.best {
				ds = append(ds, tuners.Decision{Kind: tuners.Stop, Trial: i})
			}
		}
		ds = append(ds, tuners.Decision{Kind: tuners.Resume, Trial: s.best, ToRound: s.script.to})
	default:
		ds = append(ds, tuners.Decision{Kind: tuners.Done, Best: s.best})
	}
	if s.script.mangle != nil {
		ds = s.script.mangle(s.step, ds)
	}
	for i, d := range ds { // what a client tuner adds
		for _, dim := range s.space {
			if _, has := d.Params[dim.Name]; !has && d.Params != nil && dim.Name != "client.lr" {
				ds[i].Params = ds[i].Params.Merge(tuners.Params{dim.Name: dim.Value(dim.Lo)})
			}
		}
	}
	s.step++
	return ds, nil
}

func (s *scriptSession) Report(_ context.Context, r tuners.TrialReport) error {
	s.scores[r.Trial] = r.Score
	s.order = append(s.order, r.Trial)
	return nil
}

func (s *scriptSession) State() []byte { return nil }

// slotTuner is a client tuner that gives every slot its own learning rate; its
// sessions remember in their state how many rounds they have seen.
type slotTuner struct{}

func (s *slotTuner) Describe(context.Context) (tuners.Description, error) {
	return tuners.Description{
		Name: "slots", Rounds: true, Controls: []string{"client.lr"},
		Adds: []tuners.Dim{{Name: "slots.spread", Kind: tuners.Uniform, Lo: 0, Hi: 1}}, Probes: []string{
			"val_error_after",
			"examples_val",
		},
	}, nil
}

func (s *slotTuner) Validate(context.Context, tuners.ValidateRequest) ([]tuners.Problem, error) {
	return nil, nil
}

func (s *slotTuner) Open(_ context.Context, r tuners.OpenRequest) (tuners.Session, error) {
	n := 0
	if r.State != nil {
		if err := json.Unmarshal(r.State, &n); err != nil {
			return nil, err
		}
	}
	return &slotSession{params: r.Params, rounds: n}, nil
}

type slotSession struct {
	tuners.RoundsOnly
	params tuners.Params
	rounds int
}

func (s *slotSession) PlanRound(_ context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	if r.Round != s.rounds {
		return tuners.Plan{}, fmt.Errorf("asked for round %d after %d rounds", r.Round, s.rounds)
	}
	var p tuners.Plan
	for i := range r.Slots {
		p.Clients = append(p.Clients, tuners.Params{"client.lr": tuners.Num(s.params.Float("client.lr",
			0) * (1 + 0.1*float64(i)))})
	}
	return p, nil
}

func (s *slotSession) ObserveRound(_ context.Context, o tuners.Observation) error {
	for _, slot := range o.Slots {
		if e := slot.Probes["val_error_after"]; !(e >= 0 && e <= 1) || slot.Probes["examples_val"] < 1 {
			return fmt.Errorf("observed %v", slot.Probes)
		}
	}
	s.rounds++
	return nil
}

func (s *slotSession) State() []byte { return fmt.Appendf(nil, "%d", s.rounds) }

// recorder keeps what a study tells.
type recorder struct {
	mu       sync.Mutex
	events   []Event
	progress int

	evaluated atomic.Int64 // calls of Evaluated
}

func (r *recorder) Event(e Event) { r.events = append(r.events, e) }

func (r *recorder) Progress(Progress) {
	r.mu.Lock()
	r.progress++
	r.mu.Unlock()
}

func (r *recorder) Evaluated(Evaluated) { r.evaluated.Add(1) }

// glyphStudy is a tiny study on the embedded set.
func glyphStudy(t *testing.T, tuner tuners.Tuner) Setup {
	t.Helper()
	c := config.Default()
	c.Name, c.Method, c.Cohort, c.Seed, c.Sampling = "test", "reptile", 3, 4, "with"
	c.Model.Name = "logistic"
	c.Tuner.Reference = false
	c.Data.Name, c.Data.Clients, c.Data.Samples = "glyphs", 9, 30
	c.Tuner.Name, c.Budget = "script", config.Budget{Rounds: 30, TrialRounds: 5}
	c.Space = map[string]any{"client.lr": map[string]any{"log10": []any{-4.0, 0.0}}}
	fed, model, err := config.Prepare(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	return Setup{Config: c, Data: fed, Model: model, Tuner: tuner, Workers: 1}
}

func learningRates(lrs ...float64) []tuners.Params {
	var ps []tuners.Params
	for _, lr := range lrs {
		ps = append(ps, tuners.Params{"client.lr": tuners.Num(lr)})
	}
	return ps
}

func TestTuneIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	type outcome struct {
		result *result.Result
		events []Event
	}
	var outcomes []outcome
	for _, workers := range []int{1, 2, 4} {
		s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3, 1e-3, 0.1), rung: 3, to: 5})
		s.ClientTuner = &slotTuner{}
		s.Workers = workers
		rec := &recorder{}
		s.Observer = rec
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if rec.progress != r.Rounds || r.Rounds != 4*3+2 {
			t.Errorf("%d workers: %d rounds, %d of them shown; want 14", workers, r.Rounds, rec.progress)
		}
		outcomes = append(outcomes, outcome{strip(r), rec.events})
	}
	for _, o := range outcomes[1:] {
		if !reflect.DeepEqual(o.result, outcomes[0].result) {
			t.Errorf("results differ:\n%+v\n%+v", o.result, outcomes[0].result)
		}
		if !reflect.DeepEqual(o.events, outcomes[0].events) {
			t.Error("events differ")
		}
	}
}

// TestTuneReturnsTheBestRoundAndTheSurvivor is the choice of the FedEx paper's
// authors: the lowest score of any cohort.
func TestTuneReturnsTheBestRoundAndTheSurvivor(t *testing.T) {
	s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3, 1e-3), rung: 2, to: 4})
	s.Config.Select = config.SelectPaper
	rec := &recorder{}
	s.Observer = rec
	r, err := Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	best := Event{Score: new(math.Inf(1))}
	for _, e := range rec.events {
		if e.Event == "round" && *e.Score < *best.Score {
			best = e
		}
	}
	if r.Best.Score != *best.Score || r.Best.Number != best.Trial || r.Best.Round != best.Round {
		t.Errorf("returned trial %d at round %d with %v; the events say %d, %d, %v", r.Best.Number, r.Best.Round,
			r.Best.Score, best.Trial, best.Round, *best.Score)
	}
	if r.Finalists != nil || r.Luckiest != nil || r.Best.CohortScore != r.Best.Score {
		t.Errorf("finalists %v, luckiest %v, scores %v and %v", r.Finalists, r.Luckiest, r.Best.Score, r.Best.CohortScore)
	}
	if r.Survivor == nil || r.Survivor.Round != 4 || r.Trials[r.Survivor.Number].Rounds != 4 {
		t.Errorf("survivor %+v", r.Survivor)
	}
	if len(r.Trials) != 3 || len(r.Trials[r.Survivor.Number].Rungs) != 2 {
		t.Errorf("trials %+v", r.Trials)
	}
	if len(r.WeightsSHA256) != 64 || r.WeightsSHA256 != r.Best.SHA256 || r.SurvivorSHA256 != r.Survivor.SHA256 {
		t.Errorf("digests %q, %q", r.WeightsSHA256, r.SurvivorSHA256)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		`"best"`, `"trials"`, `"global_test_error"`, `"personalized_val_error"`,
		`"survivor_sha256"`, `"seconds"`,
	} {
		if !strings.Contains(string(text), key) {
			t.Errorf("the JSON lacks %s", key)
		}
	}
}

func TestTuneRefusesImpossibleDecisions(t *testing.T) {
	tests := []struct {
		want   string
		mangle func(step int, ds []tuners.Decision) []tuners.Decision
	}{
		{"new trial has number 7, want 0", func(_ int,
			ds []tuners.Decision,
		) []tuners.Decision {
			ds[0].Trial = 7
			return ds
		}},
		{
			"to round 6: want a round in [1, 5] (budget.trial_rounds)",
			func(_ int, ds []tuners.Decision) []tuners.Decision { ds[0].ToRound = 6; return ds },
		},
		{"to round 0: want", func(_ int, ds []tuners.Decision) []tuners.Decision { ds[0].ToRound = 0; return ds }},
		{
			"trial 6 to round 5: the study would run 35 rounds, more than budget.rounds = 30",
			func(int, []tuners.Decision) []tuners.Decision {
				many := make([]tuners.Decision, 7)
				for i := range many {
					many[i] = tuners.Decision{Kind: tuners.Start, Trial: i, Params: learningRates(0.1)[0], ToRound: 5}
				}
				return many
			},
		},
		{"answer with 10001 decisions: at most 10000", func(_ int, ds []tuners.Decision) []tuners.Decision {
			return make([]tuners.Decision, 10_001)
		}},
		{"client.lr = -1 is outside [0.0001, 1]", func(_ int, ds []tuners.Decision) []tuners.Decision {
			ds[0].Params = tuners.Params{"client.lr": tuners.Num(-1)}
			return ds
		}},
		{"trial 0: client.lr is missing", func(_ int, ds []tuners.Decision) []tuners.Decision {
			ds[0].Params = tuners.Params{"client.lrr": tuners.Num(1)}
			return ds
		}},
		{
			"starts a trial, no trial is running, and the study is not done",
			func(int, []tuners.Decision) []tuners.Decision { return []tuners.Decision{{Kind: tuners.Wait}} },
		},
		{
			"trial 0 is not paused (running: false, stopped or failed: true, released: false)",
			func(step int, ds []tuners.Decision) []tuners.Decision {
				if step == 1 {
					return []tuners.Decision{{Kind: tuners.Stop, Trial: 0}, {Kind: tuners.Resume, Trial: 0, ToRound: 5}}
				}
				return ds
			},
		},
		{
			"trial 0 is running to round 1; it can be stopped when it has reported",
			func(_ int, ds []tuners.Decision) []tuners.Decision {
				return append(ds, tuners.Decision{Kind: tuners.Stop, Trial: 0})
			},
		},
		{
			"trial 0 is not paused (running: true, stopped or failed: false, released: false)",
			func(_ int, ds []tuners.Decision) []tuners.Decision {
				return append(ds, tuners.Decision{Kind: tuners.Resume, Trial: 0, ToRound: 2})
			},
		},
	}
	for _, tt := range tests {
		s := glyphStudy(t, &script{params: learningRates(0.1), rung: 1, to: 2, mangle: tt.mangle})
		if _, err := Tune(t.Context(), s); err == nil || !strings.Contains(err.Error(), tt.want) ||
			!strings.HasPrefix(err.Error(), `tuner "script": bad answer to Suggest: `) {
			t.Errorf("got error %v, want one from the tuner with %q", err, tt.want)
		}
	}
}

// wrongPlan is a client tuner that plans what it may not.
type wrongPlan struct {
	slotTuner
	plan tuners.Plan
}

func (w *wrongPlan) Open(context.Context, tuners.OpenRequest) (tuners.Session, error) {
	return &wrongSession{plan: w.plan}, nil
}

type wrongSession struct {
	slotSession
	plan tuners.Plan
}

func (s *wrongSession) PlanRound(context.Context, tuners.PlanRequest) (tuners.Plan, error) {
	return s.plan, nil
}

func TestTuneRefusesImpossiblePlans(t *testing.T) {
	for want, plan := range map[string]tuners.Plan{
		"params for 2 slots, want 1 for all or 3":      {Clients: learningRates(0.1, 0.2)},
		"slot 0: client.lr = 5 is outside [0.0001, 1]": {Clients: learningRates(5)},
		"server: server.lr is not one of the params that it controls": {
			Server:  tuners.Params{"server.lr": tuners.Num(1)},
			Clients: learningRates(0.1),
		},
		"plan with a table, but its description does not declare tables": {Table: []tuners.Cell{{Params: learningRates(0.1)[0]}}},
	} {
		s := glyphStudy(t, &script{params: learningRates(0.1), rung: 1, to: 2})
		s.ClientTuner = &wrongPlan{plan: plan}
		want = `tuner "slots": bad answer to PlanRound (trial 0, round 0): ` + want
		if _, err := Tune(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

func TestTuneChecksTheSetup(t *testing.T) {
	tests := []struct {
		want   string
		change func(*Setup)
	}{
		{"budget.trial_rounds: is 1: must be 2 or more", func(s *Setup) { s.Config.Budget.TrialRounds = 1 }},
		{`space.client.x: unknown hyperparameter`, func(s *Setup) {
			s.Config.Space = map[string]any{"client.x": map[string]any{"uniform": []any{0.0, 1.0}}}
		}},
		{"space: it is empty", func(s *Setup) { s.Config.Space = nil }},
		{"client.lr = -1", func(s *Setup) { s.Config.Client.LR = -1 }},
		{"it sets no client hyperparameters", func(s *Setup) { s.ClientTuner = &script{} }},
		{"it runs no trials", func(s *Setup) { s.Tuner = &slotTuner{} }},
		{"unknown method", func(s *Setup) { s.Config.Method = "fedavgg" }},
	}
	for _, tt := range tests {
		s := glyphStudy(t, &script{params: learningRates(0.1), rung: 1, to: 2})
		tt.change(&s)
		if _, err := Tune(t.Context(), s); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got error %v, want one with %q", err, tt.want)
		}
	}
}

func TestRunAndBaseline(t *testing.T) {
	s := glyphStudy(t, nil)
	s.Config.Rounds = 6
	s.Config.Method = "fedavg"
	s.Config.Client.LR = 0.003
	var sums []string
	for _, workers := range []int{1, 3} {
		s.Workers = workers
		r, err := Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.TrainLoss) != 6 || r.TrainLoss[5] >= r.TrainLoss[0] {
			t.Errorf("training losses %v", r.TrainLoss)
		}
		sums = append(sums, r.WeightsSHA256)
	}
	if sums[0] != sums[1] {
		t.Errorf("1 worker gives %s, 3 workers %s", sums[0], sums[1])
	}
	s.Tuner = &script{
		params: learningRates(1e-4, 0.3, 1e-3), rung: 2, to: 3,
		mangle: func(step int, ds []tuners.Decision) []tuners.Decision {
			if step == 1 {
				return []tuners.Decision{{Kind: tuners.Done, Best: 0}}
			}
			return ds
		},
	}
	s.Config.Target = tuners.TargetPersonalized
	b, err := Baseline(t.Context(), s, &result.Result{}, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	best := b.Trials[b.Best]
	if len(b.Trials) != 3 || b.MedianTest != median3(b.Trials) || b.Target != tuners.TargetPersonalized ||
		b.BestTest != best.TestError || b.Spent() != 9 {
		t.Errorf("baseline %+v", b)
	}
	for _, x := range b.Trials {
		if x.Score < best.Score || x.StdErr == nil || !(*x.StdErr >= 0) {
			t.Errorf("%+v, the best being %+v", x, best)
		}
	}
	s.Config.Target = tuners.TargetGlobal
	if global, err := Baseline(t.Context(), s, &result.Result{}, 3, 3); err != nil ||
		global.Target != tuners.TargetGlobal || global.BestTest == b.BestTest {
		t.Errorf("of the global model %+v, of personalized ones %+v; %v", global, b, err)
	}
}

func median3(ts []result.BaselineTrial) float64 {
	a, b, c := ts[0].TestError, ts[1].TestError, ts[2].TestError
	return max(min(a, b), min(max(a, b), c))
}

func TestDiscountedMean(t *testing.T) {
	xs := []float64{1, 0.5, 0.25, 1}
	for _, discount := range []float64{0, 0.5, 1} {
		var d result.Discounted
		for n, x := range xs {
			got := d.Add(x, discount)
			var sum, weight float64
			for age := range n + 1 {
				w := math.Pow(discount, float64(age))
				sum += w * xs[n-age]
				weight += w
			}
			if math.Abs(got-sum/weight) > 1e-15 {
				t.Errorf("discount %v after %d scores: %v, want %v", discount, n+1, got, sum/weight)
			}
		}
	}
}

func TestLanesKeepTheOrderOfTrials(t *testing.T) {
	rec := &recorder{}
	l := &lanes{to: rec}
	a, b, c := l.open(), l.open(), l.open()
	c.event(Event{Trial: 2})
	a.event(Event{Trial: 0})
	c.end()
	b.event(Event{Trial: 1})
	a.event(Event{Trial: 0, Round: 1})
	a.end()
	b.event(Event{Trial: 1, Round: 1})
	b.end()
	var got []int
	for _, e := range rec.events {
		got = append(got, e.Trial*10+e.Round)
	}
	if want := []int{0, 1, 10, 11, 20}; !reflect.DeepEqual(got, want) {
		t.Errorf("events came as %v, want %v", got, want)
	}
}
