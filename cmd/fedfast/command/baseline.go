package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/progress"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// equalCost is the value of --baseline for as many configurations as the rounds of the
// study pay for.
const equalCost = "equal"

// mostConfigurations bounds --baseline.
const mostConfigurations = 100_000

// baselineFlag is the value of --baseline: names of eval.baselines, and of a tune the number of random
// configurations, see workdir.Options.Baseline.
type baselineFlag struct {
	random  int
	without []string
	run     bool // of run, which has no random search
}

// String writes the value.
func (b *baselineFlag) String() string {
	all := b.without
	switch {
	case b.random == workdir.EqualRounds:
		all = append(all, equalCost)
	case b.random > 0 || len(all) == 0 && !b.run:
		all = append(all, strconv.Itoa(b.random))
	}
	return strings.Join(all, ",")
}

// Set reads the value.
func (b *baselineFlag) Set(text string) error {
	*b = baselineFlag{run: b.run}
	for name := range strings.SplitSeq(text, ",") {
		number := strings.TrimPrefix(name, "random=")
		n, err := strconv.Atoi(number)
		switch known := name == config.BaselineLocal || name == config.BaselinePooled; {
		case known && !slices.Contains(b.without, name):
			b.without = append(b.without, name)
		case b.run:
			return errors.New("must be local, pooled or both, separated by a comma")
		case number == equalCost:
			b.random = workdir.EqualRounds
		case known || err != nil || n < 0 || n > mostConfigurations:
			return fmt.Errorf("must be of local, pooled and random=N, separated by commas, where N is an integer from 0 to %s, or %s",
				oneline.Digits(mostConfigurations), equalCost)
		default:
			b.random = n
		}
	}
	return nil
}

// Type names the value in the help.
func (b *baselineFlag) Type() string { return "LIST" }

// set turns names into an assignment to eval.baselines, none without any.
func (b *baselineFlag) set() (assignments []string) {
	if len(b.without) == 0 {
		return nil
	}
	return []string{`eval.baselines=["` + strings.Join(b.without, `","`) + `"]`}
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
