package play_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

var about = tuners.Description{Name: "scripted", Trials: true, Fork: true}

var space = tuners.Space{{Name: "client.n", Kind: tuners.Uniform, Lo: 0, Hi: 1000}}

func start(trial, to int) tuners.Decision {
	return tuners.Decision{Kind: tuners.Start, Trial: trial, ToRound: to, Params: tuners.Params{"client.n": tuners.Num(1)}}
}

func resume(trial, to int) tuners.Decision {
	return tuners.Decision{Kind: tuners.Resume, Trial: trial, ToRound: to}
}

var wait = []tuners.Decision{{Kind: tuners.Wait}}

// scripted is a session with fixed answers and a runner whose trials end where it
// says; it writes down what is said.
type scripted struct {
	answers [][]tuners.Decision
	ends    map[int]int    // trials that fail or reach their goal there
	fails   map[int]bool   // of those
	broken  map[int]string // trials that end the study with an error
	slow    *rand.Rand     // of how often a trial lets others run first
	cancel  func(trial, round int)

	mu     sync.Mutex
	log    []string
	active int
	most   int // that ran at once
}

func (s *scripted) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *scripted) Suggest(context.Context, int) ([]tuners.Decision, error) {
	if len(s.answers) == 0 {
		s.say("done")
		return []tuners.Decision{{Kind: tuners.Done, Best: -1}}, nil
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	s.say("suggest %d", len(a))
	return a, nil
}

func (s *scripted) Report(_ context.Context, r tuners.TrialReport) error {
	s.say("report %d at %d", r.Trial, r.Round)
	return nil
}

func (s *scripted) Act(context.Context, tuners.Decision) error { return nil }

func (s *scripted) Reporting(context.Context, tuners.TrialReport) error { return nil }

func (s *scripted) Run(ctx context.Context, seg play.Segment, begins func(int)) (tuners.TrialReport, error) {
	s.mu.Lock()
	s.active++
	s.most = max(s.most, s.active)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.active--
		s.mu.Unlock()
	}()
	if why := s.broken[seg.Trial]; why != "" {
		return tuners.TrialReport{}, errors.New(why)
	}
	end, early := s.ends[seg.Trial]
	for round := seg.From; round < seg.To && (!early || round < end); round++ {
		if s.cancel != nil {
			s.cancel(seg.Trial, round)
		}
		if ctx.Err() != nil {
			return tuners.TrialReport{}, ctx.Err()
		}
		begins(round)
		s.mu.Lock()
		n := 0
		if s.slow != nil {
			n = s.slow.IntN(200)
		}
		s.mu.Unlock()
		for range n {
			runtime.Gosched()
		}
	}
	r := tuners.TrialReport{Trial: seg.Trial, Round: seg.To}
	if early && end < seg.To {
		if r.Round = max(end, seg.From); s.fails[seg.Trial] {
			r.Failed = true
			begins(end)
		}
	}
	return r, nil
}

func (s *scripted) play(ctx context.Context, parallel, lanes int) error {
	book := rules.NewBook(about, tuners.OpenRequest{
		Space: space, Trial: tuners.StudySession,
		Budget: tuners.Budget{Rounds: 1000, TrialRounds: 100},
	})
	_, err := play.Study{Session: s, Runner: s, Book: book, Parallel: parallel, Lanes: lanes}.Play(ctx)
	return err
}

// TestReportsComeInSimulatedOrder plays a study in which the order can be counted
// by hand, with any number of lanes and however long rounds take.
func TestReportsComeInSimulatedOrder(t *testing.T) {
	build := func() *scripted {
		return &scripted{
			answers: [][]tuners.Decision{
				{start(0, 4), start(1, 1), start(2, 2), start(3, 9)}, // at 0
				{resume(1, 2)},              // at 1, when 1 has reported: to 2
				wait,                        // at 2, when 1 has: before 2, whose number is higher
				{start(4, 1), resume(1, 9)}, // at 2: 4 to 3, 1 to 9
				wait,                        // at 3, when 4 has
				{resume(0, 5)},              // at 4, when 0 has: it fails in its next round, at 5
				wait,                        // at 5, when 0 has failed
				wait,                        // at 7, when 3 has reached its goal
			}, // 1 reports last
			ends: map[int]int{0: 4, 3: 7}, fails: map[int]bool{0: true},
		}
	}
	want := []string{
		"suggest 4", "report 1 at 1", "suggest 1", "report 1 at 2", "suggest 1", "report 2 at 2", "suggest 2",
		"report 4 at 1", "suggest 1",
		"report 0 at 4", "suggest 1", "report 0 at 4", "suggest 1", "report 3 at 7", "suggest 1", "report 1 at 9", "done",
	}
	for _, lanes := range []int{0, 1, 2, 3, 8} {
		for seed := range uint64(20) {
			s := build()
			s.slow = rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
			if err := s.play(t.Context(), 4, lanes); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(s.log, want) {
				t.Fatalf("%d lanes, seed %d:\n%s\nwant\n%s", lanes, seed, strings.Join(s.log, "\n"), strings.Join(want, "\n"))
			}
			if s.most > max(1, lanes) {
				t.Errorf("%d trials ran at once in %d lanes", s.most, lanes)
			}
		}
	}
}

// TestTrialsRunBesideEachOther holds one trial back until another one, which was
// sent on after a report, has run.
func TestTrialsRunBesideEachOther(t *testing.T) {
	free := make(chan struct{})
	s := &scripted{answers: [][]tuners.Decision{{start(0, 1), start(1, 9)}, {start(2, 4)}, wait}}
	s.cancel = func(trial, round int) {
		switch {
		case trial == 1 && round == 6:
			<-free
		case trial == 2 && round == 3:
			close(free)
		}
	}
	if err := s.play(t.Context(), 2, 2); err != nil {
		t.Fatal(err)
	}
	want := []string{"suggest 2", "report 0 at 1", "suggest 1", "report 2 at 4", "suggest 1", "report 1 at 9", "done"}
	if !slices.Equal(s.log, want) {
		t.Errorf("got %q, want %q", s.log, want)
	}
}

// TestOneInFlightIsToldByNumber asks again when all of an answer have ended.
func TestOneInFlightIsToldByNumber(t *testing.T) {
	for _, lanes := range []int{1, 3} {
		s := &scripted{answers: [][]tuners.Decision{{start(0, 4), start(1, 1), start(2, 2)}, {resume(2, 3), resume(1, 2)}}}
		if err := s.play(t.Context(), 1, lanes); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"suggest 3", "report 0 at 4", "report 1 at 1", "report 2 at 2", "suggest 2",
			"report 1 at 2", "report 2 at 3", "done",
		}
		if !slices.Equal(s.log, want) {
			t.Errorf("%d lanes: got %q, want %q", lanes, s.log, want)
		}
	}
}

// TestWhatEndsAStudy returns the first cause, when nothing runs any more.
func TestWhatEndsAStudy(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		for _, lanes := range []int{1, 3} {
			s := &scripted{
				answers: [][]tuners.Decision{{start(0, 50), start(1, 50), start(2, 50)}},
				broken:  map[int]string{1: "out of luck"},
			}
			if err := s.play(t.Context(), parallel, lanes); err == nil || err.Error() != "out of luck" {
				t.Errorf("got %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			s = &scripted{
				answers: [][]tuners.Decision{{start(0, 50), start(1, 50), start(2, 50)}},
				cancel: func(trial, round int) {
					if trial == 1 && round == 20 {
						cancel()
					}
				},
			}
			if err := s.play(ctx, parallel, lanes); !errors.Is(err, context.Canceled) || s.active > 0 {
				t.Errorf("got %v, and %d trials run on", err, s.active)
			}
			cancel()
			s = &scripted{answers: [][]tuners.Decision{{start(0, 5)}, {start(7, 5)}}}
			if err := s.play(t.Context(), parallel, lanes); !errors.Is(err, rules.ErrBadAnswer) {
				t.Errorf("got %v, want a bad answer", err)
			}
		}
	}
}
