package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// again plays every study once more, changed by how, and compares what is said.
func (s *suite) again(ctx context.Context, p *host.Plugin, how func(*Study)) error {
	for i, study := range s.studies() {
		how(&study)
		out, err := s.play(ctx, study, p)
		if err != nil {
			return err
		}
		if err := same(out, s.want[i]); err != nil {
			return err
		}
	}
	return nil
}

// deterministic plays the studies in another process, with plans of evaluations in
// between.
func deterministic(ctx context.Context, s *suite) (string, error) {
	return "", s.with(ctx, func(p *host.Plugin) error { return s.again(ctx, p, func(study *Study) { study.Tests = true }) })
}

// sessions plays a study while another one of the same process is under way, and
// once more after it.
func sessions(ctx context.Context, s *suite) (string, error) {
	return "", s.with(ctx, func(p *host.Plugin) error {
		other := s.studies()[0]
		other.Seed++
		calls, inside := 0, false
		other.Before = func() {
			if calls++; calls == 3 {
				inside = true
			}
		}
		var met error
		other.Timed = func(time.Duration) {
			if inside {
				inside = false
				met = s.again(ctx, p, func(*Study) {})
			}
		}
		if _, err := s.play(ctx, other, p); err != nil {
			return err
		}
		if met != nil {
			return fmt.Errorf("with a concurrent session: %w", met)
		}
		if err := s.again(ctx, p, func(*Study) {}); err != nil {
			return fmt.Errorf("after another session: %w", err)
		}
		return nil
	})
}

// reopened opens every session anew after each of its calls.
func reopened(ctx context.Context, s *suite) (string, error) {
	return "", s.with(ctx, func(p *host.Plugin) error {
		return s.again(ctx, p, func(study *Study) { study.Reopen = true })
	})
}

// killed kills the process before calls, then during calls.
func killed(ctx context.Context, s *suite) (string, error) {
	calls := 0
	for _, study := range s.studies() {
		study.Before = func() { calls++ }
		if err := s.with(ctx, func(p *host.Plugin) error {
			_, err := s.play(ctx, study, p)
			return err
		}); err != nil {
			return "", err
		}
	}
	every := max(1, calls/max(1, s.o.Kills/2))
	kills := 0
	for _, late := range []time.Duration{0, 200 * time.Microsecond} {
		if err := s.quietly(ctx, s.o.Timeout, func(p *host.Plugin) error {
			n := 0
			return s.again(ctx, p, func(study *Study) {
				study.Before = func() {
					if n++; n > 10 && n%every != 0 { // the first ones, then evenly
						return
					}
					if pid := p.PID(); pid != 0 {
						kills++
						after(late, func() { kill(pid) })
					}
				}
			})
		}); err != nil {
			return "", fmt.Errorf("killed midway: %w", err)
		}
	}
	return fmt.Sprintf("%d kills in %d calls", kills, 2*calls), nil
}

// after runs f now, or a little later beside what follows.
func after(d time.Duration, f func()) {
	if d == 0 {
		f()
		return
	}
	time.AfterFunc(d, f)
}

// kill ends a process at once; it may be gone.
func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// stopped lets the process stand still once in each study.
func stopped(ctx context.Context, s *suite) (string, error) {
	if !canStop {
		return skip + "processes cannot be stopped on this system", nil
	}
	timeout := max(time.Second, 4*s.slowest)
	stops := 0
	err := s.quietly(ctx, timeout, func(p *host.Plugin) error {
		err := s.again(ctx, p, func(study *Study) {
			calls := 0
			study.Before = func() {
				if calls++; calls == 5 {
					if pid := p.PID(); pid != 0 {
						stops++
						stop(pid)
					}
				}
			}
		})
		if err == nil && stops > 0 && p.Restarts() == 0 {
			err = errors.New("no hanging process was replaced")
		}
		return err
	})
	return fmt.Sprintf("replaced after %s, %d times", round(timeout), stops), err
}

// failures lets some trials fail, then all.
func failures(ctx context.Context, s *suite) (string, error) {
	if !s.about.Trials {
		return skip + "not a tuner of trials", nil
	}
	return "", s.with(ctx, func(p *host.Plugin) error {
		for _, which := range []func(int) bool{
			func(trial int) bool { return trial%3 == 0 },
			func(int) bool { return true },
		} {
			study := s.studies()[0]
			study.Fails = which
			out, err := s.play(ctx, study, p)
			if err != nil {
				return err
			}
			if out.Best >= 0 && !(out.Trials[out.Best].Score < 2) {
				return fmt.Errorf("returned trial %d, which has no score", out.Best)
			}
		}
		return restarted(p, 0)
	})
}

// errEnough ends a study that has run for long enough.
var errEnough = errors.New("enough")

// long plays many trials, and many rounds of a client tuner.
func long(ctx context.Context, s *suite) (string, error) {
	var texts []string
	for _, study := range s.roles() {
		l := longStudy{Study: study}
		if study.Slots > 0 {
			l.Budget = tuners.Budget{Rounds: s.o.Trials, TrialRounds: s.o.Trials}
		} else {
			l.Budget.Rounds = s.o.Trials * s.budget.TrialRounds
		}
		err := s.with(ctx, func(p *host.Plugin) error {
			if err := l.play(ctx, s, p); err != nil {
				return err
			}
			return restarted(p, 0)
		})
		if err != nil {
			return "", err
		}
		texts = append(texts, l.String())
	}
	return strings.Join(texts, "; "), nil
}

// longStudy is a study that is repeated until there were enough trials or rounds.
type longStudy struct {
	Study
	played, studies, largest int
	times                    []time.Duration
	took                     time.Duration
	short                    bool // it took too long for all
}

// play plays.
func (l *longStudy) play(ctx context.Context, s *suite, p *host.Plugin) error {
	req, err := s.setup(l.Budget)
	if err != nil {
		return err
	}
	if problems, err := p.Validate(ctx, req); err != nil {
		return err
	} else if len(problems) > 0 { // it refuses a study that large
		l.Budget = s.budget
	}
	begin := time.Now()
	defer func() { l.took = time.Since(begin) }()
	l.Timed = func(d time.Duration) { l.times = append(l.times, d) }
	for l.played < s.o.Trials && time.Since(begin) < s.o.Long {
		before := l.played
		l.Limit = func(trials int) error {
			if before+trials >= s.o.Trials || time.Since(begin) > s.o.Long {
				return errEnough
			}
			return nil
		}
		l.Seed++
		out, err := s.play(ctx, l.Study, p)
		l.studies++
		l.largest = max(l.largest, out.State)
		n := out.reported
		if l.Slots > 0 {
			n = out.Rounds
		}
		l.played += n
		switch {
		case err != nil && !errors.Is(err, errEnough):
			return fmt.Errorf("after %d %s: %w", l.played, l.what(), err)
		case n == 0 && err == nil:
			return fmt.Errorf("%w: study %d has no %s", errBadEnd, l.studies, l.what())
		}
	}
	l.short = l.played < s.o.Trials
	return nil
}

// what is counted.
func (l *longStudy) what() string {
	if l.Slots > 0 {
		return "rounds"
	}
	return "trials"
}

// String tells what was played.
func (l *longStudy) String() string {
	short := ""
	if l.short {
		short = " (stopped short)"
	}
	return fmt.Sprintf("%d %s of %d studies in %s%s, p99 %s, largest state %d bytes", l.played, l.what(), l.studies, round(l.took), short,
		round(time.Duration(latencyOf(l.times).P99*1000)), l.largest)
}
