package rules_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// scripted is a tuner that answers what the test wants.
type scripted struct {
	about     tuners.Description
	decisions [][]tuners.Decision
	plan      tuners.Plan
	probes    []string
}

func (s *scripted) Describe(context.Context) (tuners.Description, error) { return s.about, nil }

func (s *scripted) Validate(context.Context, tuners.ValidateRequest) ([]tuners.Problem, error) {
	return nil, nil
}

func (s *scripted) Open(context.Context, tuners.OpenRequest) (tuners.Session, error) {
	return &scriptedSession{s}, nil
}

type scriptedSession struct{ *scripted }

func (s *scriptedSession) Probes() []string { return s.probes }
func (s *scriptedSession) Suggest(context.Context, int) ([]tuners.Decision, error) {
	d := s.decisions[0]
	s.decisions = s.decisions[1:]
	return d, nil
}
func (s *scriptedSession) Report(context.Context, tuners.TrialReport) error { return nil }
func (s *scriptedSession) PlanRound(context.Context, tuners.PlanRequest) (tuners.Plan, error) {
	return s.plan, nil
}
func (s *scriptedSession) ObserveRound(context.Context, tuners.Observation) error { return nil }
func (s *scriptedSession) State() []byte                                          { return nil }
func (s *scriptedSession) Close(context.Context) error                            { return nil }

var about = tuners.Description{
	Name: "scripted", Trials: true, Rounds: true,
	Controls: []string{"client.*"}, Probes: []string{"p"},
}

var request = tuners.OpenRequest{
	Study: "test", Space: tuners.Space{{Name: "client.n", Kind: tuners.Uniform, Lo: 0, Hi: 1000}},
	Trial: tuners.StudySession, Seed: 4,
	Budget: tuners.Budget{Rounds: 10, TrialRounds: 5},
}

// oneLine fails the test unless the error holds the words, in one line.
func oneLine(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q lacks %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %q", err)
	}
}

func at(n float64) tuners.Params { return tuners.Params{"client.n": tuners.Num(n)} }

func TestDecisionsAreChecked(t *testing.T) {
	type list = []tuners.Decision
	start := func(trial int) tuners.Decision {
		return tuners.Decision{Kind: tuners.Start, Trial: trial, ToRound: 2, Params: at(1)}
	}
	one := func(ds ...tuners.Decision) []list { return []list{ds} }
	for _, c := range []struct {
		name  string
		steps []list // each is followed by reports of trials 0 and 1, but for the last
		fork  bool
		want  string // "" when allowed
	}{
		{"a study", []list{{start(0), start(1)}, {
			{Kind: tuners.Stop, Trial: 1},
			{Kind: tuners.Release, Trial: 1},
			{Kind: tuners.Resume, ToRound: 5},
		}, {{Kind: tuners.Done}}}, false, ""},
		{"none best", []list{{{Kind: tuners.Done, Best: -1}}}, false, ""},
		{"wait while running", []list{{start(0), {Kind: tuners.Wait}}}, false, ""},
		{"fork", []list{{start(0)}, {{Kind: tuners.Fork, Trial: 1, Source: 0, ToRound: 3, Params: at(2)}}}, true, ""},
		{"nothing", []list{{}}, false, "starts a trial, no trial"},
		{"wait for nothing", []list{{{Kind: tuners.Wait}}}, false, "no trial is running"},
		{"no kind", []list{{{}}}, false, "unknown kind"},
		{"skipped number", []list{{start(1)}}, false, "new trial has number 1, want 0"},
		{"number twice", []list{{start(0), start(0)}}, false, "new trial has number 0, want 1"},
		{"no params", []list{{{Kind: tuners.Start, ToRound: 1}}}, false, "trial 0: client.n is missing"},
		{"NaN", []list{{{Kind: tuners.Start, ToRound: 1, Params: at(math.NaN())}}}, false, "client.n = NaN is outside"},
		{
			"outside",
			[]list{{{Kind: tuners.Start, ToRound: 1, Params: at(1001)}}},
			false,
			"client.n = 1001 is outside [0, 1000]",
		},
		{
			"too far",
			[]list{{{Kind: tuners.Start, ToRound: 6, Params: at(1)}}},
			false,
			"want a round in [1, 5] (budget.trial_rounds)",
		},
		{"no rounds", []list{{{Kind: tuners.Start, Params: at(1)}}}, false, "to round 0: want"},
		{"unknown resume", []list{{{Kind: tuners.Resume, Trial: 3, ToRound: 1}}}, false, "trial 3 does not exist"},
		{"resume while running", []list{{start(0), {Kind: tuners.Resume, ToRound: 3}}}, false, "is not paused"},
		{"resume backwards", []list{{start(0)}, {{Kind: tuners.Resume, ToRound: 2}}}, false, "has already run 2 rounds"},
		{"resume stopped", []list{{start(0)}, {{Kind: tuners.Stop}, {
			Kind:    tuners.Resume,
			ToRound: 3,
		}}}, false, "is not paused"},
		{"unknown stop", []list{{{Kind: tuners.Stop, Trial: -1}}}, false, "trial -1 does not exist"},
		{
			"stop while running", one(start(0), tuners.Decision{Kind: tuners.Stop}), false,
			"trial 0 is running to round 2; it can be stopped when it has reported",
		},
		{
			"done while running", one(start(0), tuners.Decision{Kind: tuners.Done, Best: -1}), false,
			"the study cannot be over while a trial runs",
		},
		{
			"decisions after the end", one(tuners.Decision{Kind: tuners.Done, Best: -1}, start(0)), false,
			"decision 0, done: others follow it",
		},
		{
			"stopped best",
			[]list{{start(0)}, {{Kind: tuners.Stop}, {Kind: tuners.Done}}},
			false,
			"its choice is trial 0, which was stopped or has failed",
		},
		{"unknown best", []list{{{Kind: tuners.Done, Best: 4}}}, false, "trial 4 does not exist"},
		{
			"secret fork",
			[]list{{start(0)}, {{Kind: tuners.Fork, Trial: 1, ToRound: 3, Params: at(2)}}},
			false, "does not declare forks",
		},
		{"fork of released", []list{{start(0)}, {{Kind: tuners.Release}, {
			Kind: tuners.Fork, Trial: 1, ToRound: 3,
			Params: at(2),
		}}}, true, "no snapshot to fork"},
		{"scores", []list{
			{start(0)},
			{{Kind: tuners.Score, Points: []tuners.Params{nil}}},
			{{Kind: tuners.Resume, ToRound: 3}},
		}, false, ""},
		{
			"scores while running", one(start(0), tuners.Decision{Kind: tuners.Score, Points: []tuners.Params{nil}}), false,
			"decision 1, score: trial 0 is not paused (running: true",
		},
		{
			"scores of nothing",
			[]list{{start(0)}, {{Kind: tuners.Score}}},
			false,
			"decision 0, score: 0 sub-networks, want 1 to 4096",
		},
		{
			"scores of no sub-network",
			[]list{{start(0)}, {{Kind: tuners.Score, Points: []tuners.Params{at(1)}}}},
			false,
			"sub-network 0: client.n is not a choice of the model in the space",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := about
			d.Fork = c.fork
			s, err := rules.Open(t.Context(), &scripted{about: d, decisions: c.steps}, request)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.steps {
				_, err = s.Suggest(t.Context(), 1)
				if last := i == len(c.steps)-1; !last && err != nil {
					t.Fatal(err)
				}
				for trial := range 2 {
					if err := s.Report(t.Context(), tuners.TrialReport{Trial: trial, Round: 2}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			oneLine(t, err, `tuner "scripted": bad answer to Suggest: `, c.want)
			if !errors.Is(err, rules.ErrBadAnswer) {
				t.Error("it does not wrap ErrBadAnswer")
			}
		})
	}
}

func TestTheBudgetIsHeld(t *testing.T) {
	start := func(trial, to int) tuners.Decision {
		return tuners.Decision{Kind: tuners.Start, Trial: trial, ToRound: to, Params: at(1)}
	}
	s, err := rules.Open(t.Context(), &scripted{about: about, decisions: [][]tuners.Decision{
		{start(0, 5), start(1, 4)},
		{start(2, 2)},
		make([]tuners.Decision, tuners.MaxDecisions+1),
		{{Kind: tuners.Resume, Trial: 2, ToRound: 4}},
	}}, request) // 10 rounds
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Suggest(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for trial, to := range []int{5, 2} { // trial 1 fails and gives 2 rounds back
		if err := s.Report(t.Context(), tuners.TrialReport{Trial: trial, Round: to, Failed: to == 2}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Suggest(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if err := s.Report(t.Context(), tuners.TrialReport{Trial: 2, Round: 2}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Suggest(t.Context(), 1)
	oneLine(t, err, "answer with 10001 decisions: at most 10000")
	_, err = s.Suggest(t.Context(), 1)
	oneLine(t, err, "decision 0, resume: trial 2 to round 4: the study would run 11 rounds, more than budget.rounds = 10")
}

func TestPlansAreChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		plan tuners.Plan
		want string
	}{
		{"one for all", tuners.Plan{Clients: []tuners.Params{at(3)}}, ""},
		{"one a slot", tuners.Plan{Clients: []tuners.Params{at(3), at(4), {}}}, ""},
		{"outside of the space but controlled", tuners.Plan{Clients: []tuners.Params{{"client.lr": tuners.Num(0.1)}}}, ""},
		{"none", tuners.Plan{}, "params for 0 slots, want 1 for all or 3"},
		{"two of three", tuners.Plan{Clients: []tuners.Params{at(3), at(4)}}, "params for 2 slots"},
		{"too large", tuners.Plan{Clients: []tuners.Params{at(3), at(4), at(1e9)}}, "slot 2: client.n = 1e+09 is outside"},
		{
			"NaN",
			tuners.Plan{Clients: []tuners.Params{{"client.lr": tuners.Num(math.NaN())}}},
			"client.lr = NaN is not a finite value",
		},
		{
			"not its own",
			tuners.Plan{Clients: []tuners.Params{{"server.lr": tuners.Num(1)}}},
			"server.lr is not one of the params that it controls",
		},
		{"notes", tuners.Plan{Clients: []tuners.Params{at(3)}, Notes: map[string][]float64{"theta": make([]float64,
			tuners.MaxNoteNumbers-1), "entropy": {1}}}, ""},
		{"a note that is no number", tuners.Plan{
			Clients: []tuners.Params{at(3)},
			Notes:   map[string][]float64{"entropy": {math.Inf(1)}},
		}, "notes: entropy holds +Inf; numbers must be finite"},
		{"long notes", tuners.Plan{Clients: []tuners.Params{at(3)}, Notes: map[string][]float64{
			"a":     {0},
			"theta": make([]float64, tuners.MaxNoteNumbers),
		}}, "notes: 1025 numbers in total: at most 1024 are allowed"},
		{
			"a note of no line",
			tuners.Plan{Clients: []tuners.Params{at(3)}, Notes: map[string][]float64{"a\x1b": {0}}},
			"notes: its note has the character '\\x1b'",
		},
		{
			"a note of two lines",
			tuners.Plan{Clients: []tuners.Params{at(3)}, Notes: map[string][]float64{"a\nb": {0}}},
			"notes: its note has the character '\\n'",
		},
		{"a note that turns round", tuners.Plan{
			Clients: []tuners.Params{at(3)},
			Notes:   map[string][]float64{"a\u202eb": {0}},
		}, "notes: its note has the character '\\u202e'"},
		{
			"a param of two lines",
			tuners.Plan{Clients: []tuners.Params{{"client.\nlr": tuners.Num(0.1)}}},
			"slot 0: its param has the character '\\n'",
		},
		{"server", tuners.Plan{
			Server:  tuners.Params{"server.lr": tuners.Num(1)},
			Clients: []tuners.Params{at(3)},
		}, "server: server.lr is not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := rules.Open(t.Context(), &scripted{about: about, plan: c.plan}, request)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.PlanRound(t.Context(), tuners.PlanRequest{Trial: 2, Round: 7, Slots: 3})
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			oneLine(t, err, `tuner "scripted": bad answer to PlanRound (trial 2, round 7): `, c.want)
		})
	}
}

func TestTablesAndEnvironments(t *testing.T) {
	prepares := about
	prepares.Tables, prepares.Prepare, prepares.Controls = true, true, []string{"client.n"}
	cell := func(keys map[string]float64, n float64) tuners.Cell { return tuners.Cell{Keys: keys, Params: at(n)} }
	for _, c := range []struct {
		name   string
		tables bool
		plan   tuners.Plan
		want   string
	}{
		{"a table", true, tuners.Plan{Table: []tuners.Cell{cell(map[string]float64{
			"hi":      0.2,
			"samples": 100,
		}, 3), cell(nil, 4)}}, ""},
		{"a secret table", false, tuners.Plan{Table: []tuners.Cell{cell(nil, 3)}}, "does not declare tables"},
		{"both", true, tuners.Plan{
			Table:   []tuners.Cell{cell(nil, 3)},
			Clients: []tuners.Params{at(3)},
		}, "both a table and params"},
		{"a strange key", true, tuners.Plan{Table: []tuners.Cell{cell(map[string]float64{"age": 3},
			3)}}, "cell 0: its key age = 3"},
		{
			"a bad cell", true,
			tuners.Plan{Table: []tuners.Cell{cell(nil, 3), cell(nil, 1e9)}},
			"cell 1: client.n = 1e+09 is outside",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := prepares
			d.Tables = c.tables
			s, err := rules.Open(t.Context(), &scripted{about: d, plan: c.plan}, request)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = s.PlanRound(t.Context(), tuners.PlanRequest{Trial: 2, Round: 7, Slots: 3}); c.want != "" {
				oneLine(t, err, `bad answer to PlanRound (trial 2, round 7): `, c.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	mixed := func(d *tuners.Decision, params tuners.Params, samples float64) {
		d.Params, *d.Environment = params, tuners.Environment{Kind: tuners.Proxy, Clients: 2, Cohort: 2}
		d.Table = []tuners.Cell{
			cell(map[string]float64{"hi": 0.2, "samples": 10}, 3),
			cell(map[string]float64{"hi": 0.4, "samples": samples}, 4),
		}
	}
	good := tuners.Environment{Kind: tuners.Proxy, HI: 0.5, Samples: 10, Clients: 5, Cohort: 5}
	for _, c := range []struct {
		name  string
		trial int
		to    int
		alter func(d *tuners.Decision)
		want  string
	}{
		{"good", tuners.PrepareSession, 1000, func(*tuners.Decision) {}, ""},
		{"in a study", tuners.StudySession, 2, func(*tuners.Decision) {}, "only a start in a preparing session"},
		{
			"kind", tuners.PrepareSession, 2, func(d *tuners.Decision) { d.Environment.Kind = "moon" },
			`unknown environment "moon"`,
		},
		{"cohort", tuners.PrepareSession, 2, func(d *tuners.Decision) { d.Environment.Cohort = 6 }, "cohort 6"},
		{"hi", tuners.PrepareSession, 2, func(d *tuners.Decision) { d.Environment.HI = math.NaN() }, "not hi NaN"},
		{
			"round", tuners.PrepareSession, 0, func(*tuners.Decision) {},
			"to round 0: want a round in [1, 1000000] on a proxy federation",
		},
		{"mixed", tuners.PrepareSession, 2, func(d *tuners.Decision) { mixed(d, nil, 20) }, ""},
		{"a mixed one and params", tuners.PrepareSession, 2, func(d *tuners.Decision) {
			mixed(d, at(2),
				20)
		}, "both a table and params"},
		{
			"mixed samples", tuners.PrepareSession, 2, func(d *tuners.Decision) { mixed(d, nil, 20.5) },
			"cell 1: a client needs hi from 0 to 1, and samples from 1 to 1000000000, not hi 0.4, samples 20.5",
		},
		{"mixed and equal", tuners.PrepareSession, 2, func(d *tuners.Decision) {
			mixed(d, nil,
				20)
			d.Environment.Samples = 3
		}, "3 samples"},
		{
			"mixed clients", tuners.PrepareSession, 2, func(d *tuners.Decision) { mixed(d, nil, 20); d.Environment.Clients = 3 },
			"a table of 2 cells, and needs as many clients",
		},
		{"mixed params", tuners.PrepareSession, 2, func(d *tuners.Decision) {
			mixed(d, nil,
				20)
			d.Table[1].Params = at(1e9)
		}, "cell 1: client.n = 1e+09 is outside"},
		{"a table alone", tuners.StudySession, 2, func(d *tuners.Decision) {
			mixed(d, at(2),
				20)
			d.Environment = nil
		}, "needs an environment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := good
			d := tuners.Decision{Kind: tuners.Start, Params: at(2), ToRound: c.to, Environment: &e}
			c.alter(&d)
			req := request
			req.Trial = c.trial
			s, err := rules.Open(t.Context(), &scripted{about: prepares, decisions: [][]tuners.Decision{{d}}}, req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = s.Suggest(t.Context(), 1); c.want != "" {
				oneLine(t, err, "bad answer to Suggest: ", c.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAFreeTunerMayLeaveTheSpace(t *testing.T) {
	d := about
	d.Free = true
	s, err := rules.Open(t.Context(), &scripted{about: d, plan: tuners.Plan{Clients: []tuners.Params{at(1e9)}}}, request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.PlanRound(t.Context(), tuners.PlanRequest{Trial: 2, Slots: 3}); err != nil {
		t.Error(err)
	}
}

func TestUnknownProbesAreRefusedAtOpen(t *testing.T) {
	_, err := rules.Open(t.Context(), &scripted{about: about, probes: []string{"p", "weights"}}, request)
	oneLine(t, err, `bad answer to Open: probe "weights"`)
	if _, err := rules.Open(t.Context(), &scripted{about: about, probes: []string{"p{alpha=0.5}"}}, request); err != nil {
		t.Errorf("a known probe with an option: %v", err)
	}
}

func TestASessionFromAStateIsToldWhatWasBefore(t *testing.T) {
	for _, told := range []bool{false, true} {
		tuner := &scripted{about: about, decisions: [][]tuners.Decision{{{Kind: tuners.Resume, Trial: 7, ToRound: 3}}}}
		req := request
		req.State = []byte("late")
		s, err := rules.Open(t.Context(), tuner, req)
		if err != nil {
			t.Fatal(err)
		}
		if told {
			s.RecallSuggest([]tuners.Decision{{Kind: tuners.Start, ToRound: 2, Params: at(1)}})
			s.RecallReport(tuners.TrialReport{Round: 2})
		}
		_, err = s.Suggest(t.Context(), 1)
		if !told && err != nil { // it may exist
			t.Error(err)
		}
		if told {
			oneLine(t, err, "trial 7 does not exist")
		}
	}
}

// TestNamed names a tuner once.
func TestNamed(t *testing.T) {
	for text, want := range map[string]string{"x": "tuner mine: x", `tuner "mine": x`: `tuner "mine": x`} {
		if got := rules.Named("mine", errors.New(text)).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
