package study

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// liveTuner is slotTuner with calls that fail once their context has ended, as
// those of a tuner in another process do.
type liveTuner struct{ slotTuner }

func (l *liveTuner) Open(ctx context.Context, r tuners.OpenRequest) (tuners.Session, error) {
	s, err := l.slotTuner.Open(ctx, r)
	return &liveSession{s}, err
}

type liveSession struct{ tuners.Session }

func (s *liveSession) PlanRound(ctx context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	if err := ctx.Err(); err != nil {
		return tuners.Plan{}, err
	}
	return s.Session.PlanRound(ctx, r)
}

func (s *liveSession) ObserveRound(ctx context.Context, o tuners.Observation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.Session.ObserveRound(ctx, o)
}

func TestARoundThatHasBegunEnds(t *testing.T) {
	s := glyphStudy(t, &script{params: learningRates(0.1), rung: 5, to: 5})
	s.ClientTuner = &liveTuner{}
	rec := &recorder{}
	s.Observer = rec
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d, err := newDriver(ctx, &s)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	method, tasks := mustMethod(t, "reptile"), 0
	train := method.Local
	method.Local = func(l *fl.Local) error {
		if tasks++; tasks == 8 {
			cancel()
		}
		return train(l)
	}
	d.engine.Close()
	// The second client of the third round's three cancels.
	d.engine, err = fl.New(fl.Config{
		Model: s.Model, Data: s.Data, Method: method, Cohort: 3, Replacement: true,
		Workers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	d.study.Engine = d.engine
	session, err := d.openStudySession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.follow(ctx, session); err != context.Canceled { //nolint:errorlint // it must not be wrapped
		t.Errorf("got error %v, want the bare context.Canceled", err)
	}
	tr := d.trial(0)
	m := tr.LastModel(0)
	if err := m.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tr.Rounds() != 3 || string(m.State) != "3" || len(rec.events) != 3 {
		t.Errorf("the trial counts %d rounds, the client tuner %s, the events %d; want 3 each", tr.Rounds(), m.State,
			len(rec.events))
	}
}

// TestReturnedModelIsThatOfItsRound trains the returned trial again for as many
// rounds as its model had and compares the weights.
func TestReturnedModelIsThatOfItsRound(t *testing.T) {
	s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3, 1e-3), rung: 2, to: 5})
	r, err := Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*result.Chosen{&r.Best, r.Survivor} {
		engine, err := s.engine()
		if err != nil {
			t.Fatal(err)
		}
		client := s.Config.Client.Client
		client.LR = c.Params.Float("client.lr", 0)
		tr := engine.NewTrial(c.Number)
		for range c.Round {
			if _, err := tr.Round(t.Context(), fl.Plan{
				Server:  s.Config.Server,
				Clients: []fl.ClientParams{client},
			}); err != nil {
				t.Fatal(err)
			}
		}
		engine.Close()
		if sum := s.Model.SHA256(tr.Weights()); sum != c.SHA256 {
			t.Errorf("trial %d after round %d has the weights %s, the study returned %s", c.Number, c.Round, sum, c.SHA256)
		}
	}
	if s.Model.SHA256(r.Best.Weights) != r.WeightsSHA256 {
		t.Error("Weights are not those of the digest")
	}
}

// TestBestModelsWhateverTheOrder ends trials in every order.
func TestBestModelsWhateverTheOrder(t *testing.T) {
	scores := []float64{0.5, 0.25, 0.25, math.NaN()}
	var orders [][]int
	var permute func(head, rest []int)
	permute = func(head, rest []int) {
		if len(rest) == 0 {
			orders = append(orders, slices.Clone(head))
		}
		for i := range rest {
			permute(append(head, rest[i]), slices.Concat(rest[:i], rest[i+1:]))
		}
	}
	permute(nil, []int{0, 1, 2, 3})
	for _, tt := range []struct {
		choice string
		want   []int
	}{{config.SelectPaper, []int{1}}, {config.SelectFinalists, []int{1, 2}}} {
		for _, order := range orders {
			s := newShelf(&config.Config{Select: tt.choice, Finalists: config.Finalists{Snapshots: 2}}, tuners.Objective{})
			for _, number := range order {
				if err := s.take(t.Context(), trial.Model{
					Score: scores[number],
					Trial: &trial.Trial{Spec: trial.Spec{Number: number}},
				}, true); err != nil {
					t.Fatal(err)
				}
			}
			var got []int
			for _, c := range s.best {
				got = append(got, c.Trial.Number)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: trials ending as %v keep the models of %v, want %v", tt.choice, order, got, tt.want)
			}
		}
	}
}

// TestTargetsScoreTheirModel compares the scores of a round with the probes of
// the same round.
func TestTargetsScoreTheirModel(t *testing.T) {
	for target, probe := range map[string]string{
		tuners.TargetGlobal:       "val_error_before",
		tuners.TargetPersonalized: "val_error_after",
	} {
		s := glyphStudy(t, &script{params: learningRates(0.1), rung: 1, to: 2})
		s.Config.Target = target
		rec := &recorder{}
		s.Observer = rec
		if _, err := Tune(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		engine, err := s.engine()
		if err != nil {
			t.Fatal(err)
		}
		client := s.Config.Client.Client
		client.LR = 0.1
		round, err := engine.NewTrial(0).Round(t.Context(), fl.Plan{
			Server:  s.Config.Server,
			Clients: []fl.ClientParams{client}, Probes: []string{probe},
		})
		engine.Close()
		if err != nil {
			t.Fatal(err)
		}
		var want, n float64
		for i := range round.Slots {
			e, _ := round.Slots[i].Probe(probe)
			want += e * float64(round.Slots[i].ValExamples)
			n += float64(round.Slots[i].ValExamples)
		}
		if got := *rec.events[0].Score; math.Abs(got-want/n) > 1e-12 {
			t.Errorf("target %s: round 1 scores %v, its %s %v", target, got, probe, want/n)
		}
	}
}

// curious is a client tuner that asks to see more.
type curious struct {
	slotTuner
	probes, scalars []string
}

func (c *curious) Describe(ctx context.Context) (tuners.Description, error) {
	d, err := c.slotTuner.Describe(ctx)
	d.Probes, d.Scalars = c.probes, c.scalars
	return d, err
}

func TestTunersSeeOnlyWhatTheStudyAllows(t *testing.T) {
	tests := []struct {
		tuner curious
		allow []string
		want  string
	}{
		{
			curious{scalars: []string{"examples_val"}},
			[]string{"examples_train"},
			`requests "examples_val" of each client, but tuner.allow has only ["examples_train"]`,
		},
		{curious{probes: []string{"examples_train"}}, nil, `requests "examples_train" of each client`},
		{curious{scalars: []string{"client_key"}}, nil, `requests "client_key" of each client`},
		{curious{probes: []string{"val_errors"}}, nil, `unknown probe "val_errors"`},
	}
	for _, tt := range tests {
		s := glyphStudy(t, &script{params: learningRates(0.1), rung: 1, to: 2})
		s.ClientTuner, s.Config.Tuner.Allow = &tt.tuner, tt.allow
		if _, err := Tune(t.Context(), s); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("probes %q, scalars %q, allowed %q: got error %v, want one with %q", tt.tuner.probes, tt.tuner.scalars,
				tt.allow, err, tt.want)
		}
	}
}

// TestMethodsAreCheckedWithTheTrialsParams tunes client.mu, which fedprox needs
// above 0 and the study's own value is not.
func TestMethodsAreCheckedWithTheTrialsParams(t *testing.T) {
	params := func(mu float64) []tuners.Params {
		return []tuners.Params{{"client.lr": tuners.Num(0.1), "client.mu": tuners.Num(mu)}}
	}
	for _, tt := range []struct {
		method string
		mu     float64
		want   string // empty: it runs
	}{
		{"fedprox", 0.01, ""},
		{"fedprox", 0, `client.mu = 0: method "fedprox" needs a finite number > 0`},
		{"fedavg", 0.01, `client.mu = 0.01: method "fedavg" does not use it`},
	} {
		s := glyphStudy(t, &script{params: params(tt.mu), rung: 1, to: 2})
		s.Config.Method = tt.method
		s.Config.Space["client.mu"] = map[string]any{"choice": []any{tt.mu}}
		_, err := Tune(t.Context(), s)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s with mu = %v: got error %v, want %q", tt.method, tt.mu, err, tt.want)
		}
		s.Config.Client.Mu = tt.mu
		if _, err := Run(t.Context(), s); (err == nil) != (tt.want == "") {
			t.Errorf("run of %s with mu = %v: got error %v, want %q", tt.method, tt.mu, err, tt.want)
		}
	}
}

// TestFewModelsWait runs many trials on two workers: the study holds the best
// models and one per worker, however many trials there are.
func TestFewModelsWait(t *testing.T) {
	var lrs []float64
	for i := range 12 {
		lrs = append(lrs, 0.01*float64(i+1))
	}
	s := glyphStudy(t, &script{
		params: learningRates(lrs...), rung: 2, to: 2,
		mangle: func(step int, ds []tuners.Decision) []tuners.Decision {
			if step > 0 {
				return []tuners.Decision{{Kind: tuners.Done, Best: -1}}
			}
			return ds
		},
	})
	s.Workers, s.Config.Finalists.Snapshots = 2, 4
	d, err := newDriver(t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	session, err := d.openStudySession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.follow(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if len(d.best) != 4 || d.best[0].Weights == nil || len(d.free) > s.Workers {
		t.Errorf("%d best models; %d wait beside them, want at most %d", len(d.best), len(d.free), s.Workers)
	}
}
