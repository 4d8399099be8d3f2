package command

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/progress"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// equalCost is the value of --baseline for as many configurations as the rounds of the
// study pay for.
const equalCost = "equal"

// mostConfigurations bounds --baseline.
const mostConfigurations = 100_000

// baselineFlag is the value of --baseline, see workdir.Options.Baseline.
type baselineFlag int

// String writes the value.
func (b *baselineFlag) String() string {
	if *b == workdir.EqualRounds {
		return equalCost
	}
	return strconv.Itoa(int(*b))
}

// Set reads the value.
func (b *baselineFlag) Set(text string) error {
	if text == equalCost {
		*b = workdir.EqualRounds
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > mostConfigurations {
		return fmt.Errorf("must be an integer from 0 to %s, or %s", table.Count(mostConfigurations), equalCost)
	}
	*b = baselineFlag(n)
	return nil
}

// Type names the value in the help.
func (b *baselineFlag) Type() string { return "N" }

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
