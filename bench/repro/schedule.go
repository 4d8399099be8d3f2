package repro

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// Schedule is what a training has to do, in which order: for asking how long some
// machines take for it.
type Schedule struct {
	Training string
	// Repeats is how many studies there are of it, which wait for nothing of each
	// other.
	Repeats int
	// Batches are the rounds of trials that run in parallel. A batch begins
	// when all of the one before has ended.
	Batches [][]int
	// Seconds is how long a round takes on a machine that has nothing else to do,
	// Bytes how large a model is.
	Seconds float64
	Bytes   int
}

// Schedules returns the schedules of cells on the papers' data, which need not be on
// this machine, for machines like this one that train workers clients at a time. The
// tuners decide on made-up scores; the numbers of trials and rounds do not depend on
// these. Trainings that share another one's rounds are left out, and so is the
// preparation of client tuners.
func Schedules(ctx context.Context, cells []Cell, workers int) ([]Schedule, error) {
	trainings, err := trainingsOf(cells)
	if err != nil {
		return nil, err
	}
	a := newAppraiser(workers)
	var out []Schedule
	for _, t := range trainings {
		if t.Shares != "" {
			continue
		}
		s, err := t.schedule(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Key, err)
		}
		one, err := a.cost(ctx, t, Options{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Key, err)
		}
		s.Seconds, s.Bytes = one.rounds.Seconds/float64(s.rounds()), one.bytes
		out = append(out, s)
	}
	return out, nil
}

// rounds is how many there are in one study.
func (s *Schedule) rounds() int {
	n := 0
	for _, batch := range s.Batches {
		for _, rounds := range batch {
			n += rounds
		}
	}
	return n
}

// schedule plays the tuner of a training.
func (t *Training) schedule(ctx context.Context) (Schedule, error) {
	s := Schedule{Training: t.Key, Repeats: t.Seeds}
	c, _, err := t.config(Options{}, 1, "")
	if err != nil {
		return s, err
	}
	if t.Mode == config.ModeRun {
		s.Batches = [][]int{{c.Rounds}}
		return s, nil
	}
	tuner := plugins.Builtin()[c.Tuner.Name]
	about, err := tuner.Describe(ctx)
	if err != nil {
		return s, err
	}
	if !about.Trials { // it leads one trial round by round
		s.Batches = [][]int{{c.Budget.TrialRounds}}
		return s, nil
	}
	v, err := c.Request(c.Tuner.Options)
	if err != nil {
		return s, err
	}
	req := tuners.OpenRequest{
		Study: t.Key, Space: v.Space, Options: v.Options, Budget: v.Budget, Objective: v.Objective, Seed: c.Seed, Trial: tuners.StudySession,
	}
	session, err := rules.Open(ctx, tuner, req)
	if err != nil {
		return s, err
	}
	p := &player{Session: session, schedule: &s}
	_, err = play.Study{Session: p, Runner: p, Book: rules.NewBook(about, req), Parallel: cmp.Or(c.Tuner.Parallel, 1)}.Play(ctx)
	return s, cmp.Or(err, session.Close(ctx))
}

// player is a session whose answers begin batches, and a Runner that trains nothing.
type player struct {
	play.Session
	schedule *Schedule
}

// Suggest asks the tuner, and ends a batch.
func (p *player) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	p.schedule.Batches = append(p.schedule.Batches, nil)
	return p.Session.Suggest(ctx, n)
}

// Act does nothing.
func (p *player) Act(context.Context, tuners.Decision) error { return nil }

// Run adds a segment to the batch.
func (p *player) Run(_ context.Context, s play.Segment, _ func(int)) (tuners.TrialReport, error) {
	last := &p.schedule.Batches[len(p.schedule.Batches)-1]
	*last = append(*last, s.To-s.From)
	return tuners.TrialReport{Trial: s.Trial, Round: s.To, Score: det.Unit(det.Mix(uint64(s.Trial)))}, nil
}

// Reporting does nothing.
func (p *player) Reporting(context.Context, tuners.TrialReport) error { return nil }
