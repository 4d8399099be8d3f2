package command

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/internal/estimate"
	"github.com/fedfast/fedfast/internal/sys/memory"
)

// What is worth telling: the least time, in seconds, and the least memory, in bytes.
const (
	worthTelling       = 10
	worthTellingMemory = 1e9
)

// need is the memory of a study, see study.Setup.Memory, with what the program has
// already.
type need struct{ all, waiting int64 }

// needOf returns what a study needs, and has the program make do with that. The error
// is that of a study which does not fit into the memory that there is.
func needOf(setup *study.Setup) (need, error) {
	all, waiting, err := setup.Memory()
	if err != nil {
		return need{}, err
	}
	return need{memory.Expect(all), waiting}, nil
}

// estimate returns a line with the estimated time and memory of a new study on this
// machine, including a number of random configurations that are trained after it. It
// is empty when both are small or cannot be estimated.
func (a *app) estimate(ctx context.Context, setup *study.Setup, mode string, random int, n need) string {
	plan, err := estimate.Of(ctx, setup, mode)
	if err == nil && random > 0 {
		err = plan.Compare(setup, random)
	}
	if err != nil {
		return "" // what is wrong with the study is told when it begins
	}
	e, err := estimate.New().Seconds(ctx, a.workers, worthTelling/2, plan.All()...)
	if err != nil || e.Seconds < worthTelling && n.all < worthTellingMemory {
		return ""
	}
	return estimateLine(plan, e, n)
}

// estimateLine writes an estimate.
func estimateLine(plan estimate.Plan, e estimate.Estimate, n need) string {
	workers, each := "1 worker", ""
	if e.Workers > 1 {
		workers, each = table.Count(e.Workers)+" workers", " each"
	}
	waits := ""
	if n.waiting > worthTellingMemory/100 {
		waits = fmt.Sprintf(" and %s per waiting trial", memory.Size(n.waiting))
	}
	return fmt.Sprintf("estimate: %v: %s on %s (%s examples/s%s), %s of memory%s\n",
		plan, estimate.Words(e.Seconds), workers, table.Count(int(e.Rate)), each, memory.Size(n.all), waits)
}
