package fl

import (
	"math"
	"reflect"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/measure"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/tuners"
)

// TestMeasures compares measures with the error and the loss of the same evaluation, and holds that they
// are the same for any number of workers, and where other engines measure.
func TestMeasures(t *testing.T) {
	fed := *fltest.OpenGlyphs(t, 30, 20)
	fed.Unseen, fed.Clients = fed.Clients[24:], fed.Clients[:24]
	model := fltest.SmallCNN(t, &fed)
	config := func(workers int) Config {
		return Config{Method: average(), Model: model, Data: &fed, Cohort: 12, Seed: 3, Workers: workers, Measures: true}
	}
	client, server := average().Defaults()
	client.LR, client.Batch = 0.1, 4
	plan := Plan{Server: server, Clients: []ClientParams{client}, Probes: []string{"val_error_before", "val_error_after"}}
	train := func(e *Engine) (*Evaluation, []float64) {
		tr := e.NewTrial(0)
		var scores []float64
		for _, r := range runRounds(t, tr, plan, 4) {
			for _, name := range []string{tuners.MetricROCAUC, tuners.MetricF1, tuners.MetricLogLoss} {
				scores = append(scores, r.Score(false, ScoreOptions{}).Metric(name), r.Score(true, ScoreOptions{}).Metric(name))
			}
		}
		v, err := e.Validate(t.Context(), tr.Weights(), EvalConfig{})
		if err != nil {
			t.Fatal(err)
		}
		scores = append(scores, v.Metric(tuners.MetricPRAUC))
		eval, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{Clients: plan.Clients, Measures: true, Round: 4})
		if err != nil {
			t.Fatal(err)
		}
		return eval, scores
	}
	one := newEngine(t, config(1))
	eval, scores := train(one)
	for name, s := range map[string]*Summary{
		"global": &eval.GlobalTest, "personalized": &eval.PersonalizedTest,
		"unseen": &eval.Unseen, "adapted": &eval.UnseenAdapted,
	} {
		m := s.Measures
		if m == nil || m.Samples != s.Examples || m.Every != 0 {
			t.Fatalf("%s: measures %+v of %d samples", name, m, s.Examples)
		}
		if got := *m.Values["f1_micro"].Value; math.Abs(got-(1-s.Error)) > 1e-12 {
			t.Errorf("%s: accuracy %v, error %v", name, got, s.Error)
		}
		if got := *m.Values[tuners.MetricLogLoss].Value; math.Abs(got-s.Loss) > 1e-5 {
			t.Errorf("%s: log loss %v, loss %v", name, got, s.Loss)
		}
		if v := m.Values[tuners.MetricROCAUC]; v.Clients+v.Undefined != s.Clients {
			t.Errorf("%s: ROC AUC of %d clients and not of %d, of %d", name, v.Clients, v.Undefined, s.Clients)
		}
	}
	if eval.GlobalVal.Measures != nil {
		t.Error("measures of validation samples, for which nobody asked")
	}
	c := config(2)
	c.Elsewhere = &others{engines: []*Engine{one, newEngine(t, config(3))}, parts: 3}
	for name, e := range map[string]*Engine{"7 workers": newEngine(t, config(7)), "elsewhere": newEngine(t, c)} {
		again, others := train(e)
		if !reflect.DeepEqual(again, eval) || !reflect.DeepEqual(others, scores) {
			t.Errorf("%s: other measures, or the scores %v, want %v", name, others, scores)
		}
	}
	bare := config(1)
	bare.Measures = false
	if s := runRounds(t, newEngine(t, bare).NewTrial(0), plan, 1)[0].Score(false,
		ScoreOptions{}); !math.IsNaN(s.Metric(tuners.MetricROCAUC)) {
		t.Error("a ROC AUC without answers")
	}
	if worst := WorstScore(false); worst.Metric(tuners.MetricROCAUC) != 0 || worst.Metric(tuners.MetricLogLoss) < 1e5 {
		t.Error("the worst score is not the worst in every metric")
	}
	mixed := scoreMean{}
	mixed.add(Score{Answers: append(measure.Begin(2, false), 0, .9, .1, 1, .2, .8)}, 2)
	mixed.add(WorstScore(false), 2)
	if got := mixed.mean().Metric(tuners.MetricROCAUC); got != 0.5 {
		t.Errorf("a ROC AUC of 1 with half of the weight dropped = %v, want 0.5", got)
	}
}

// TestAnswersOfSome asks for the answers about one of several samples, whatever the batches are.
func TestAnswersOfSome(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 2, 300)
	e := newEngine(t, Config{Method: average(), Model: fltest.SmallCNN(t, fed), Data: fed, Cohort: 2, Seed: 3, Workers: 1})
	w := e.NewTrial(0).Weights()
	answers := func(every, client int, v data.View) (all measure.Answers) {
		err := e.each(t.Context(), 1, func(_ int, worker *worker) error {
			s, err := worker.score(w, nil, v, e.newTally(every, client, v))
			all = s.Answers
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	v, size := fed.Clients[0].Train, answerSize(e.cfg.Model)
	whole, some := answers(1, 0, v), answers(7, 9, v)
	want := whole[:1:1]
	for i := 9 % 7; i < v.Len(); i += 7 {
		want = append(want, whole[1+i*size:][:size]...)
	}
	if v.Len() < evalBatch || !reflect.DeepEqual(some, want) {
		t.Errorf("%d numbers about every seventh of %d samples, want %d others", len(some), v.Len(), len(want))
	}
	if n := e.everyOf(true, 10*mostAnswers); n < 10*size {
		t.Errorf("one in %d of too many samples", n)
	}
}
