package study

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// moment is a round of a trial.
type moment struct{ trial, round int }

// person watches a study, has trials ended after rounds of them, and the study after
// a round of a trial, and interrupts its process after a number of rounds.
type person struct {
	eventLog
	t       *testing.T
	control *Control
	trials  []moment
	study   moment
	mu      sync.Mutex
	rounds  int
	cut     int // rounds, 0 for none
	cancel  func()
}

func (p *person) Progress(now Progress) {
	if now.Preparing {
		return
	}
	at := moment{now.Trial, now.TrialRound}
	if slices.Contains(p.trials, at) {
		if err := p.control.StopTrial(at.trial); err != nil && now.Clients > 0 {
			p.t.Errorf("trial %d after round %d: %v", at.trial, at.round, err)
		}
	}
	if at == p.study {
		if err := p.control.StopStudy(); err != nil && now.Clients > 0 {
			p.t.Errorf("the study after round %d of trial %d: %v", at.round, at.trial, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rounds++; p.rounds == p.cut {
		p.cancel()
	}
}

// stopped works on a study in which a user ends trials, until it is complete or cut
// rounds have ended.
func stopped(t *testing.T, s Setup, dir string, trials []moment, all moment, cut int) (*result.Result, *outcome, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	st := openStore(t, dir)
	defer func() { _ = st.Close() }()
	p := &person{t: t, control: &Control{}, trials: trials, study: all, cut: cut, cancel: cancel}
	s.Store, s.Observer, s.Control = st, p, p.control
	r, err := Tune(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if sum := s.Model.SHA256(r.Best.Weights); sum != r.WeightsSHA256 {
		t.Errorf("the weights are %s, the result says %s", sum, r.WeightsSHA256)
	}
	if err := p.control.StopStudy(); err == nil {
		t.Error("a study that has ended can be stopped")
	}
	r.Seconds, r.RoundsPerSecond = 0, 0
	text, err := json.Marshal(r)
	return r, &outcome{string(text), p.text.String()}, err
}

// actStudy is a small study under one of the tuners, which take the end of a trial in
// different ways.
func actStudy(t *testing.T, tuner, client string, parallel, workers int) Setup {
	t.Helper()
	s := glyphStudy(t, plugins.Builtin()[tuner])
	s.Workers, s.SnapshotEvery = workers, 50*time.Millisecond
	c := &s.Config
	c.Budget = config.Budget{Rounds: 54, TrialRounds: 9}
	c.Tuner.Name, c.Tuner.Parallel = tuner, parallel
	switch tuner {
	case "fedex":
		c.Budget.Rounds = 9
	case "pbt":
		c.Tuner.Options = map[string]any{"population": 4, "interval": 3}
	case "sha":
		c.Budget.Rounds = 24
		fallthrough
	case "asha":
		c.Tuner.Options = map[string]any{"eliminations": 1}
	}
	if client != "" {
		c.ClientTuner = config.ClientTuner{Name: client, Options: map[string]any{"configs": 3}}
		s.ClientTuner = plugins.Builtin()[client]
	}
	return s
}

// TestActsAreCarriedOutAndRepeated ends trials and the study as a person does. The
// trials end after the round in which they were asked to, the study with what there
// is; and interrupted anywhere and resumed it comes to the same.
func TestActsAreCarriedOutAndRepeated(t *testing.T) {
	for name, tt := range map[string]struct {
		tuner, client string
		parallel      int
		trials        []moment
		study         moment
		cuts          []int
	}{
		"sha":               {"sha", "", 1, []moment{{1, 1}}, moment{}, []int{3, 9}},
		"sha and the study": {"sha", "fedex", 1, []moment{{0, 1}}, moment{2, 2}, []int{1, 4}},
		"asha":              {"asha", "", 3, []moment{{0, 1}, {3, 2}}, moment{5, 1}, []int{4, 7}},
		"pbt":               {"pbt", "", 1, []moment{{1, 2}, {0, 4}}, moment{}, []int{2, 9}},
		"random":            {"random", "", 2, []moment{{0, 9}, {1, 4}}, moment{2, 5}, []int{15}},
		"fedex alone":       {"fedex", "", 1, nil, moment{0, 4}, []int{4}},
	} {
		t.Run(name, func(t *testing.T) {
			study := func() Setup { return actStudy(t, tt.tuner, tt.client, tt.parallel, 1) }
			dir := filepath.Join(t.TempDir(), "whole")
			r, want, err := stopped(t, study(), dir, tt.trials, tt.study, 0)
			if err != nil {
				t.Fatal(err)
			}
			if r.Stopped != (tt.study != moment{}) {
				t.Errorf("the result says stopped: %t", r.Stopped)
			}
			for _, at := range tt.trials {
				got := r.Trials[at.trial]
				if last := at.round == 9; got.Rounds != at.round || last != (got.Stopped == "") || got.Failed != "" {
					t.Errorf("trial %d ended after %d rounds (stopped %q, failed %q), want after %d", at.trial, got.Rounds, got.Stopped, got.Failed, at.round)
				}
				if r.Survivor != nil && r.Survivor.Number == at.trial && got.Stopped != "" {
					t.Errorf("trial %d, which a person ended, is returned as the survivor", at.trial)
				}
			}
			if at := tt.study; r.Stopped && r.Trials[at.trial].Rounds != at.round {
				t.Errorf("trial %d ran %d rounds, the study ended after %d of it", at.trial, r.Trials[at.trial].Rounds, at.round)
			}
			if _, again, err := stopped(t, study(), dir, nil, moment{}, 0); err != nil {
				t.Error(err)
			} else {
				again.equal(t, want, "told again")
			}
			for _, cut := range tt.cuts {
				dir := filepath.Join(t.TempDir(), "study")
				if _, _, err := stopped(t, study(), dir, tt.trials, tt.study, cut); !errors.Is(err, context.Canceled) {
					t.Fatalf("interrupted after %d rounds: %v", cut, err)
				}
				_, got, err := stopped(t, study(), dir, tt.trials, tt.study, 0)
				if err != nil {
					t.Fatal(err)
				}
				got.equal(t, want, "interrupted")
			}
		})
	}
}

// TestStudyIsStoppedBesideItsTrials ends a study whose trials run in parallel:
// whatever round each was in, the record tells it, and repeats it.
func TestStudyIsStoppedBesideItsTrials(t *testing.T) {
	for _, tuner := range []string{"asha", "random"} {
		study := func() Setup { return actStudy(t, tuner, "", 4, 3) }
		dir := filepath.Join(t.TempDir(), "study")
		_, want, err := stopped(t, study(), dir, nil, moment{2, 3}, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := stopped(t, study(), dir, nil, moment{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		got.equal(t, want, tuner)
	}
}

// TestActsThatCannotBe checks the errors.
func TestActsThatCannotBe(t *testing.T) {
	c := &Control{}
	if err := c.StopStudy(); err == nil || !strings.Contains(err.Error(), "no trials are running") {
		t.Errorf("before the study: %v", err)
	}
	s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3), rung: 2, to: 5})
	var missing, ended error
	s.Control, s.Observer = c, &onRound{func(p Progress) {
		missing = errors.Join(missing, c.StopTrial(7))
		if p.TrialRound == 4 { // the other one was stopped by the tuner
			ended = errors.Join(ended, c.StopTrial(1-p.Trial))
		}
	}}
	if _, err := Tune(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(missing, ErrNoSuchTrial) || ended == nil || !strings.Contains(ended.Error(), "has already ended") {
		t.Errorf("no such trial: %v; one that has ended: %v", missing, ended)
	}
}

// TestPausedTrialIsStopped ends a trial that waits at a rung, for which its tuner has
// other plans.
func TestPausedTrialIsStopped(t *testing.T) {
	for _, chosen := range []bool{true, false} {
		s := glyphStudy(t, &script{params: learningRates(0.3, 1e-4), rung: 2, to: 5})
		c := &Control{}
		dir := filepath.Join(t.TempDir(), "study")
		st, err := store.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		s.Store, s.Control, s.Observer = st, c, &onRound{func(p Progress) {
			if p.Trial == 1 && p.TrialRound == 1 { // the first one has run its two
				if err := c.StopTrial(0); err != nil {
					t.Error(err)
				}
			}
		}}
		s.Tuner.(*script).mangle = func(step int, ds []tuners.Decision) []tuners.Decision {
			switch {
			case step == 0 || step == 1 && chosen:
				return ds
			case chosen: // it was sent on, and told that this cannot be
				return []tuners.Decision{{Kind: tuners.Done, Best: -1}}
			}
			return []tuners.Decision{{Kind: tuners.Done, Best: 0}}
		}
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		if got := r.Trials[0]; got.Rounds != 2 || got.Stopped == "" || r.Survivor != nil && r.Survivor.Number == 0 {
			t.Errorf("the trial is %+v, the survivor %+v", got, r.Survivor)
		}
	}
}

// onRound calls a function as rounds end.
type onRound struct{ f func(Progress) }

func (o *onRound) Event(Event)         {}
func (o *onRound) Progress(p Progress) { o.f(p) }
func (o *onRound) Evaluated(Evaluated) {}

// TestReferenceIsStopped ends the trial of the file's own values, or the study during it, also when
// the process ends there and the study is resumed.
func TestReferenceIsStopped(t *testing.T) {
	for name, tt := range map[string]struct {
		trials []moment
		study  moment
	}{"trial": {[]moment{{3, 2}}, moment{}}, "study": {nil, moment{3, 2}}} {
		study := func() Setup { return referenceStudy(t, 1e-4, 0.3, 1e-3) }
		r, want, err := stopped(t, study(), filepath.Join(t.TempDir(), "whole"), tt.trials, tt.study, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Reference.Trial
		if got.Rounds != 2 || got.Stopped == "" || r.Reference.Gain != nil || r.Best.Number == 3 ||
			r.Stopped != (name == "study") {
			t.Errorf("%s: stopped %t; the reference is %+v", name, r.Stopped, r.Reference)
		}
		dir := filepath.Join(t.TempDir(), "study")
		if _, _, err := stopped(t, study(), dir, tt.trials, tt.study, r.Rounds+2); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: interrupted: %v", name, err)
		}
		_, again, err := stopped(t, study(), dir, tt.trials, tt.study, 0)
		if err != nil {
			t.Fatal(err)
		}
		again.equal(t, want, name)
	}
}
