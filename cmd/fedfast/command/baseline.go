package command

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/progress"
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
		return fmt.Errorf("must be an integer from 0 to %s, or %s", oneline.Digits(mostConfigurations), equalCost)
	}
	*b = baselineFlag(n)
	return nil
}

// Type names the value in the help.
func (b *baselineFlag) Type() string { return "N" }

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
