package conformance

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// Verdict says how a check ended.
type Verdict string

// The verdicts.
const (
	Passed  Verdict = "passed"
	Failed  Verdict = "failed"
	Skipped Verdict = "skipped" // it needs another check that failed, or does not concern this tuner
)

// Check is one check of a report.
type Check struct {
	Name    string  `json:"name"`
	About   string  `json:"about"` // what is checked
	Verdict Verdict `json:"verdict"`
	Message string  `json:"message,omitempty"` // one line: what is wrong, why it was skipped, or what was measured
	Seconds float64 `json:"seconds"`
}

// Report is what came of all checks.
type Report struct {
	Tuner   string  `json:"tuner"`
	Version string  `json:"version,omitempty"`
	Path    string  `json:"path"`
	SHA256  string  `json:"sha256,omitempty"`
	Passed  bool    `json:"passed"`
	Checks  []Check `json:"checks"`
	Latency Latency `json:"latency"`
}

// Latency is how long the calls of one study took, in microseconds.
type Latency struct {
	Calls int     `json:"calls"`
	P50   float64 `json:"p50_us"`
	P99   float64 `json:"p99_us"`
	Max   float64 `json:"max_us"`
}

// Options say how a tuner is checked. The zero value takes the defaults.
type Options struct {
	Options tuners.Params // of the tuner
	Timeout time.Duration // of one call; 0 takes 10 s
	P99     time.Duration // the slowest percentile of calls that is allowed; 0 takes 1 s
	Trials  int           // of the long study; 0 takes 10,000
	Long    time.Duration // after which the long study may stop short; 0 takes 30 s
	Kills   int           // how often the process is killed; 0 takes 40
	// Abandon is a command that calls the function Abandon with the reference that
	// follows in JSON: a host that is going to be killed. Without it that check is
	// skipped.
	Abandon []string
	// Probes returns an error for names that are no probes of a study; nil takes
	// all.
	Probes func(names ...string) error
	Only   []string     // names of the checks that are wanted, with those that they need; none is all
	Logger *slog.Logger // for what the tuner prints; nil drops it
	// Ended is called with each check when it has ended; may be nil.
	Ended func(Check)
}

func (o Options) withDefaults() Options {
	o.Timeout, o.P99, o.Long = cmp.Or(o.Timeout, 10*time.Second), cmp.Or(o.P99, time.Second), cmp.Or(o.Long, 30*time.Second)
	o.Trials, o.Kills, o.Logger = cmp.Or(o.Trials, 10_000), cmp.Or(o.Kills, 40), cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// suite is a run of all checks on one tuner.
type suite struct {
	ref     host.Ref
	o       Options
	about   tuners.Description
	budget  tuners.Budget // that the tuner accepts
	report  *Report
	noise   host.Noise
	times   []time.Duration // of the calls of an undisturbed study
	slowest time.Duration
	want    []*Outcome // what an undisturbed process says, study by study
}

// Run checks the tuner. The error is for failures of the checks themselves; what is
// wrong with the tuner is in the report.
func Run(ctx context.Context, ref host.Ref, o Options) (*Report, error) {
	if ref.Attach != nil {
		return nil, fmt.Errorf("tuner %q: the check starts and kills the program itself; give the program instead of attaching to it", ref.Name)
	}
	wanted, err := selected(o.Only)
	if err != nil {
		return nil, err
	}
	s := &suite{ref: ref, o: o.withDefaults(), report: &Report{Tuner: ref.Name, Path: ref.Path, SHA256: ref.SHA256, Passed: true}}
	for _, c := range checks {
		if !wanted[c.name] {
			continue
		}
		if err := s.run(ctx, c); err != nil {
			return nil, err
		}
		if s.o.Ended != nil {
			s.o.Ended(s.report.Checks[len(s.report.Checks)-1])
		}
	}
	return s.report, nil
}

// Names returns the names of all checks in their order.
func Names() []string { return list.Of(checks, func(c check) string { return c.name }) }

// CheckNames returns an error for the first name that no check has.
func CheckNames(names []string) error {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("unknown check %q; available: %s", name, strings.Join(Names(), ", "))
		}
	}
	return nil
}

// selected returns the checks that are wanted and those that they need.
func selected(only []string) (map[string]bool, error) {
	if len(only) == 0 {
		only = Names()
	}
	if err := CheckNames(only); err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, name := range only {
		wanted[name] = true
	}
	for _, c := range slices.Backward(checks) { // a check needs earlier ones only
		for _, needed := range c.needs {
			wanted[needed] = wanted[needed] || wanted[c.name]
		}
	}
	return wanted, nil
}

// run runs one check unless one that it needs has failed.
func (s *suite) run(ctx context.Context, c check) error {
	done := Check{Name: c.name, About: c.about, Verdict: Passed}
	for _, needed := range c.needs {
		i := slices.IndexFunc(s.report.Checks, func(d Check) bool { return d.Name == needed })
		if s.report.Checks[i].Verdict != Passed {
			done.Verdict, done.Message = Skipped, "needs "+needed
			s.report.Checks = append(s.report.Checks, done)
			return nil
		}
	}
	begin := time.Now()
	message, err := c.run(ctx, s)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	done.Seconds, done.Message = time.Since(begin).Seconds(), message
	if err != nil {
		done.Verdict, s.report.Passed = Failed, false
		done.Message = strings.TrimPrefix(oneline.Of(err.Error()), fmt.Sprintf("tuner %q: ", s.ref.Name))
	} else if rest, skipped := strings.CutPrefix(message, skip); skipped {
		done.Verdict, done.Message = Skipped, rest
	}
	s.report.Checks = append(s.report.Checks, done)
	return nil
}

// skip begins the message of a check that does not concern the tuner.
const skip = "skipped: "

// startTimeout is the least time for a start, as in a study.
const startTimeout = 60 * time.Second

// launch starts a process for one check.
func (s *suite) launch(ctx context.Context, timeout time.Duration, log *slog.Logger) (*host.Plugin, error) {
	return host.Launch(ctx, s.ref, host.Options{
		CallTimeout: timeout, StartTimeout: max(s.o.Timeout, startTimeout), Restarts: 2, Backoff: time.Millisecond, Logger: log,
	})
}

// end closes a process and keeps what it printed to stdout.
func (s *suite) end(p *host.Plugin) {
	if n := p.Noise(); n.Bytes > 0 && s.noise.Bytes == 0 {
		s.noise = n
	}
	p.Close()
}

// with runs f on a process of its own.
func (s *suite) with(ctx context.Context, f func(*host.Plugin) error) error {
	p, err := s.launch(ctx, s.o.Timeout, s.o.Logger)
	if err != nil {
		return err
	}
	defer s.end(p)
	return f(p)
}

// quietly is with for a process that is going to be lost on purpose, about which
// the log shall say nothing.
func (s *suite) quietly(ctx context.Context, timeout time.Duration, f func(*host.Plugin) error) error {
	p, err := s.launch(ctx, timeout, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer s.end(p)
	return f(p)
}

// roles are the studies in which the tuner shows what it is: one of its own when it
// decides about trials, and one under a trial tuner that is known to be right, told
// by its slots, when it is a client tuner.
func (s *suite) roles() []Study {
	var all []Study
	base := Study{Surface: Bowl(), Options: s.o.Options, Budget: s.budget, Seed: 7, Probes: s.o.Probes}
	if s.about.Trials {
		all = append(all, base)
	}
	if s.about.Rounds {
		under := base
		under.Budget = tuners.Budget{Rounds: 3 * 10, TrialRounds: 10}
		under.Slots = 5
		all = append(all, under)
	}
	return all
}

// studies are the roles and, for a tuner that decides about trials, a study with
// several of them in flight, and if it can one with several objectives or a constraint.
func (s *suite) studies() []Study {
	all := s.roles()
	if s.about.Trials {
		many := all[0]
		many.Parallel, many.Seed, many.Objective = 3, 8, tuners.Objective{Metric: tuners.MetricLoss}
		all = append(all, many)
		several := all[0]
		several.Seed = 9
		if s.about.Multi {
			several.Extra = []tuners.Objective{{Metric: tuners.MetricBytesUp}}
		}
		if s.about.Constraints {
			several.Constraints = []tuners.Constraint{{Metric: tuners.MetricBytesUp, Bound: 1.5}}
		}
		if several.many() {
			all = append(all, several)
		}
	}
	return all
}

// play plays a study with the tuner in its role: for the last kind it is the client
// tuner of a search that is part of the check.
func (s *suite) play(ctx context.Context, study Study, t tuners.Tuner) (*Outcome, error) {
	if study.Slots == 0 {
		return study.Play(ctx, t)
	}
	study.Clients, study.ClientOptions, study.Options = t, study.Options, nil
	return study.Play(ctx, host.Local(points{}))
}

// same compares what was said with what an undisturbed process said.
func same(got, want *Outcome) error {
	for i, said := range want.Said {
		switch {
		case i >= len(got.Said):
			return fmt.Errorf("response %d is missing, before it was %q", i+1, said)
		case got.Said[i] != said:
			return fmt.Errorf("response %d is %q, before it was %q", i+1, got.Said[i], said)
		}
	}
	return nil
}
