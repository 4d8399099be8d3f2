// Package playtest plays studies of trial tuners against scores that a test makes
// up. It is for tests.
package playtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// Failure is the score of a trial that fails.
var Failure = math.NaN()

// Study is a study to play.
type Study struct {
	Tuner    tuners.Tuner
	Request  tuners.OpenRequest
	Parallel int                                                       // trials in flight, as tuner.parallel; 0 is 1
	Measure  func(point tuners.Params) tuners.Measured                 // of a sub-network; nil when the tuner may ask for none
	Score    func(trial int, params tuners.Params, round int) float64  // NaN is a failure
	Values   func(params tuners.Params) map[string]float64             // of several objectives; nil with one
	Next     func(running []int) int                                   // index of the trial, of those in flight in the order of their start, that reports next; nil is simulated time
	Local    func(client int, point tuners.Params) float64             // the score of one of LocalClients clients that train by themselves; nil when the tuner may not ask for it
	Forked   func(trial, source int)                                   // receives every fork before the copy's score is asked for; nil when the tuner may not fork
	Rungs    bool                                                      // reports are handed over together and the tuner is asked after the last one, not after each
	Cut      int                                                       // the number of calls after which the session is closed and opened again from its state, again and again; 0 is never
	Check    func(session tuners.Session, decisions []tuners.Decision) // is shown every answer to Suggest; may be nil
}

// Result is what came of a study.
type Result struct {
	Params map[int]tuners.Params
	Rounds map[int]int // that each trial was sent to
	Spent  int         // rounds in all
	Stages [][]int     // the trials of each answer that started or resumed some
	Live   int         // the most trials that were started and not stopped at one time
	Best   int
	Log    []string // every decision
}

// Play plays the study with the scheduler of real studies, which checks every
// answer. It fails the test when the tuner errs or exceeds the trials in flight.
func (s Study) Play(t testing.TB) Result {
	t.Helper()
	ctx := t.Context()
	about, err := s.Tuner.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{
		study: s, t: t, result: Result{Params: map[int]tuners.Params{}, Rounds: map[int]int{}, Best: -1},
		running: map[int]bool{}, live: map[int]bool{},
	}
	p.open(ctx, s.Request)
	parallel := s.Parallel
	if s.Rungs {
		parallel = 1
	}
	best, err := play.Study{
		Session: p, Runner: p, Book: rules.NewBook(about, s.Request), Parallel: parallel,
		Next: s.Next,
	}.Play(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p.result.Best = best
	return p.result
}

// player is the session and the runner of a study.
type player struct {
	study         Study
	t             testing.TB
	session       tuners.Session
	calls         int
	result        Result
	stage         []int
	running, live map[int]bool
}

func (p *player) open(ctx context.Context, req tuners.OpenRequest) {
	p.t.Helper()
	session, err := host.Local(p.study.Tuner).Open(ctx, req)
	if err != nil {
		p.t.Fatal(err)
	}
	p.session = session
}

// cut opens the session again from its state when it is time for that.
func (p *player) cut(ctx context.Context) {
	if p.calls++; p.study.Cut > 0 && p.calls%p.study.Cut == 0 {
		req := p.study.Request
		req.State = slices.Clone(p.session.State())
		p.open(ctx, req)
	}
}

// Suggest asks the tuner, and looks at what it wants in flight.
func (p *player) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	n = max(n, p.study.Parallel)
	decisions, err := p.session.Suggest(ctx, n)
	if err != nil {
		return nil, err
	}
	if p.study.Check != nil {
		p.study.Check(p.session, decisions)
	}
	p.cut(ctx)
	alone := len(p.running) == 0 // all of an answer may run in parallel
	p.stage = nil
	for _, d := range decisions {
		p.result.Log = append(p.result.Log, describe(d))
		if d.Sends() {
			p.stage = append(p.stage, d.Trial)
			p.running[d.Trial] = true
		}
	}
	if len(p.running) > n && p.stage != nil && !alone {
		p.t.Fatalf("%d trials in flight, want at most %d", len(p.running), n)
	}
	if p.stage != nil {
		p.result.Stages = append(p.result.Stages, p.stage)
	}
	return decisions, nil
}

// Report tells the tuner a score.
func (p *player) Report(ctx context.Context, r tuners.TrialReport) error {
	err := p.session.Report(ctx, r)
	p.cut(ctx)
	return err
}

// Act notes what becomes of a trial.
func (p *player) Act(_ context.Context, d tuners.Decision) error {
	r := &p.result
	switch d.Kind {
	case tuners.Start, tuners.Fork:
		r.Params[d.Trial] = d.Params
		p.live[d.Trial] = true
		if d.Kind == tuners.Fork {
			if p.study.Forked == nil {
				p.t.Fatal("an unexpected fork")
			}
			p.study.Forked(d.Trial, d.Source)
			r.Rounds[d.Trial] = r.Rounds[d.Source]
		}
	case tuners.Stop:
		delete(p.live, d.Trial)
	case tuners.Resume, tuners.Wait, tuners.Release, tuners.Done, tuners.Score, tuners.Local:
	}
	if d.ToRound > 0 {
		r.Spent += d.ToRound - r.Rounds[d.Trial]
		r.Rounds[d.Trial] = d.ToRound
	}
	return nil
}

// Run makes the score up.
func (p *player) Run(_ context.Context, s play.Segment, _ func(int)) (tuners.TrialReport, error) {
	p.result.Live = max(p.result.Live, len(p.live))
	if s.LocalSearch != nil {
		return p.local(s), nil
	}
	if len(s.Points) > 0 {
		r := tuners.TrialReport{Trial: s.Trial, Round: s.To, Score: p.study.Score(s.Trial, p.result.Params[s.Trial], s.To)}
		for _, point := range s.Points {
			r.Measured = append(r.Measured, p.study.Measure(point))
		}
		return r, nil
	}
	score := p.study.Score(s.Trial, p.result.Params[s.Trial], s.To)
	r := tuners.TrialReport{Trial: s.Trial, Round: s.To, Score: score, Failed: math.IsNaN(score)}
	if p.study.Values != nil {
		r.Values = p.study.Values(p.result.Params[s.Trial])
	}
	return r, nil
}

// LocalClients train by themselves.
const LocalClients = 9

// local makes up what clients come to that train by themselves, with votes for the lowest.
func (p *player) local(s play.Segment) tuners.TrialReport {
	r := tuners.TrialReport{Trial: s.Trial, Score: math.NaN(), Measured: make([]tuners.Measured, len(s.Points))}
	for client := range LocalClients {
		r.Samples = append(r.Samples, 1)
		order := make([]int, len(s.Points))
		scores := make([]float64, len(s.Points))
		for i, point := range s.Points {
			order[i], scores[i] = i, p.study.Local(client, point)
			if s.LocalSearch.Votes == 0 {
				m := &r.Measured[i]
				m.Clients = append(m.Clients, scores[i])
				m.Score += scores[i] / LocalClients
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
		for _, i := range order[:min(s.LocalSearch.Votes, len(order))] {
			r.Measured[i].Votes++
		}
	}
	return r
}

// Reporting notes that a trial has ended.
func (p *player) Reporting(_ context.Context, r tuners.TrialReport) error {
	delete(p.running, r.Trial)
	return nil
}

// Reopened plays the study once for each number of calls in every, as its Cut, and
// fails the test when anything differs from the uncut study.
func (s Study) Reopened(t testing.TB, every ...int) {
	t.Helper()
	whole := s.Play(t)
	for _, s.Cut = range every {
		parts := s.Play(t)
		if !slices.Equal(parts.Log, whole.Log) {
			t.Errorf("opened again every %d calls, it decides otherwise: %v, want %v", s.Cut, parts.Log, whole.Log)
		}
	}
}

// InAnyOrder plays the study by rungs, whose trials report in the order of their start and in
// reverse, and fails the test when that changes a decision.
func (s Study) InAnyOrder(t testing.TB) {
	t.Helper()
	s.Rungs = true
	first := s.Play(t)
	s.Next = func(running []int) int { return len(running) - 1 }
	if last := s.Play(t); !slices.Equal(last.Log, first.Log) {
		t.Errorf("with reports in reverse:\n%s\nwant\n%s", strings.Join(last.Log, "\n"), strings.Join(first.Log, "\n"))
	}
}

// Mirrored plays the study as it is, minimizing, and maximizing the negative scores, and fails
// the test when these decide otherwise, or when a trial is the best of those that all fail.
func (s Study) Mirrored(t testing.TB) {
	t.Helper()
	down, score := s.Play(t), s.Score
	s.Request.Objective.Direction = tuners.Maximize
	s.Score = func(trial int, p tuners.Params, round int) float64 { return -score(trial, p, round) }
	if up := s.Play(t); up.Best != down.Best || !slices.Equal(up.Log, down.Log) {
		t.Errorf("maximizing -f: best %d, want %d as in minimizing f", up.Best, down.Best)
	}
	s.Score = func(int, tuners.Params, int) float64 { return math.NaN() }
	if r := s.Play(t); r.Best != -1 {
		t.Errorf("all fail: best %d", r.Best)
	}
}

// Rejects fails the test unless the tuner finds one problem with options and a budget, with this
// key and message in part, or none where the key is empty.
func Rejects(t testing.TB, tuner tuners.Tuner, req tuners.ValidateRequest, key, message string) {
	t.Helper()
	problems, err := tuner.Validate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if key == "" && problems != nil || key != "" && (len(problems) != 1 || problems[0].Key != key ||
		!strings.Contains(problems[0].Message, message)) {
		t.Errorf("%+v %v: got %v, want %q: %q", req.Budget, req.Options, problems, key, message)
	}
}

// space is the space of Over.
var space = tuners.Space{
	{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 5},
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "server.lr", Kind: tuners.Log10, Lo: -1, Hi: 1},
}

// Bowl is lowest (0) at client.lr = 0.01, server.lr = 1, client.epochs = 3.
func Bowl(_ int, p tuners.Params, _ int) float64 {
	c, s := math.Log10(p.Float("client.lr", 0))+2, math.Log10(p.Float("server.lr", 0))
	e := p.Float("client.epochs", 0) - 3
	return c*c + s*s + e*e/10
}

// Over is the study of a tuner on Bowl.
func Over(tuner tuners.Tuner, rounds, trialRounds int, options tuners.Params) Study {
	return Study{Tuner: tuner, Score: Bowl, Request: tuners.OpenRequest{
		Space: space, Options: options, Budget: tuners.Budget{Rounds: rounds, TrialRounds: trialRounds}, Seed: 4,
		Trial: tuners.StudySession,
	}}
}

// Ordered returns the trials' params by number.
func (r Result) Ordered() []tuners.Params {
	var out []tuners.Params
	for _, trial := range slices.Sorted(maps.Keys(r.Params)) {
		out = append(out, r.Params[trial])
	}
	return out
}

// describe writes a decision in one line.
func describe(d tuners.Decision) string {
	switch d.Kind {
	case tuners.Start:
		return fmt.Sprintf("start %d to %d with %s", d.Trial, d.ToRound, d.Params)
	case tuners.Resume:
		return fmt.Sprintf("resume %d to %d", d.Trial, d.ToRound)
	case tuners.Done:
		return fmt.Sprintf("done %d", d.Best)
	case tuners.Wait:
		return "wait"
	case tuners.Fork:
		return fmt.Sprintf("fork %d to %d with %s, to round %d", d.Source, d.Trial, d.Params, d.ToRound)
	case tuners.Score:
		return fmt.Sprintf("score %d: %v", d.Trial, d.Points)
	case tuners.Local:
		return fmt.Sprintf("local %+v: %v", *d.LocalSearch, d.Points)
	case tuners.Stop, tuners.Release:
	}
	return fmt.Sprintf("%s %d", d.Kind, d.Trial)
}
