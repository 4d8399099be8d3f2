package command

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/progress"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// equalCost is the value of --baseline for as many configurations as the rounds of the
// study pay for.
const equalCost = "equal"

// mostConfigurations bounds --baseline.
const mostConfigurations = 100_000

// baselineFlag is the value of --baseline.
type baselineFlag struct {
	n     int // 0 is none
	equal bool
}

// String writes the value.
func (b *baselineFlag) String() string {
	if b.equal {
		return equalCost
	}
	return strconv.Itoa(b.n)
}

// Set reads the value.
func (b *baselineFlag) Set(text string) error {
	if text == equalCost {
		*b = baselineFlag{equal: true}
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > mostConfigurations {
		return fmt.Errorf("must be an integer from 0 to %s, or %s", table.Count(mostConfigurations), equalCost)
	}
	*b = baselineFlag{n: n}
	return nil
}

// Type names the value in the help.
func (b *baselineFlag) Type() string { return "N" }

// asked says whether a baseline is asked for.
func (b *baselineFlag) asked() bool { return b.n > 0 || b.equal }

// lengthOf is how many rounds each configuration of a baseline trains: as many as the
// trial that the tuner kept.
func lengthOf(c *config.Config, r *study.Result) int {
	if r.Survivor != nil {
		return r.Survivor.Round
	}
	return c.Budget.TrialRounds
}

// of is how many configurations a study is compared with, 0 for none: without the flag
// those with which a comparison was begun.
func (b *baselineFlag) of(c *config.Config, r *study.Result, begun *study.Comparison) int {
	switch {
	case b.equal:
		return max(1, (r.Rounds+lengthOf(c, r)/2)/lengthOf(c, r))
	case b.n == 0 && begun != nil:
		return begun.Configurations
	}
	return b.n
}

// planned is about how many there will be, before the study has run.
func (b *baselineFlag) planned(c *config.Config) int {
	if b.equal {
		return max(1, c.Budget.Rounds/max(1, c.Budget.TrialRounds))
	}
	return b.n
}

// random runs the baseline, if one is asked for or was begun, unless it is recorded.
func (o *tuneOptions) random(ctx context.Context, a *app, s *opened, setup study.Setup, r *study.Result) (*study.BaselineResult, error) {
	n := o.baseline.of(s.Config, r, s.Stored.Baseline)
	if done := s.Stored.Tune; done != nil && done.Baseline != nil && n == len(done.Baseline.Trials) {
		return done.Baseline, nil
	}
	if n == 0 {
		return nil, nil
	}
	const name = "random"
	tuner, err := a.launch(ctx, "--baseline", name)
	if err != nil {
		return nil, err
	}
	defer tuner.Close()
	rounds := lengthOf(s.Config, r)
	setup.Tuner, setup.ClientTuner, setup.Config.Tuner.Name = tuner, nil, name
	w := newBaselineWatch(a.err, n, rounds)
	defer w.Close()
	setup.Observer = w
	return study.Baseline(ctx, setup, r, n, rounds)
}

// printBaseline prints what random search reaches beside the study.
func printBaseline(w io.Writer, r *study.Result) error {
	b := r.Baseline
	if b == nil {
		return nil
	}
	measure, share := study.MeasureName(r.Measure)
	what := fmt.Sprintf("%s test %s", b.Target, measure)
	fmt.Fprintf(w, "\nrandom search: %s of %s each, %.1f seconds\n", oneline.Count(len(b.Trials), "configuration"), oneline.Count(b.Rounds, "round"), b.Seconds)
	t := table.New(w, what, "", "params")
	for i, trial := range b.Trials {
		note := ""
		if i == b.Best {
			note = "best"
		}
		t.Row(errorText(r.Measure, &trial.TestError)+plusMinus(share, trial.StdErr), note, short(trial.Params))
	}
	if err := t.Flush(); err != nil || b.MedianInterval == nil {
		return err
	}
	_, err := fmt.Fprintf(w, "90 %% interval of the median: %s to %s\n", errorText(r.Measure, &b.MedianInterval[0]), errorText(r.Measure, &b.MedianInterval[1]))
	return err
}

// plusMinus writes a standard error as a share behind what it is of.
func plusMinus(share bool, stdErr *float64) string {
	if !share || stdErr == nil {
		return ""
	}
	return fmt.Sprintf(" (s.e. %.2f)", 100**stdErr)
}

// half writes half the width of an interval, in points.
func half(x *float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf(" +- %.1f", 100**x)
}

// baselineWatch shows the progress of a baseline; its events are nobody's.
type baselineWatch struct{ *progress.Display }

func newBaselineWatch(w io.Writer, n, rounds int) baselineWatch {
	head := fmt.Sprintf("comparing with random search: %s of %s each\n", oneline.Count(n, "configuration"), oneline.Count(rounds, "round"))
	return baselineWatch{progress.New(w, terminalColumns(w), head, time.Now)}
}

var _ study.Observer = baselineWatch{}

// Event is of no use after the study.
func (baselineWatch) Event(study.Event) {}

// Progress shows a round.
func (w baselineWatch) Progress(p study.Progress) { w.Update(p) }

// checked lets a study with a baseline begin only where there is something to compare.
func (b *baselineFlag) checked(setup *study.Setup) error {
	if !b.asked() {
		return nil
	}
	if err := study.CheckBaseline(setup.Data); err != nil {
		return fmt.Errorf("--baseline %v: %w", b, err)
	}
	return nil
}
