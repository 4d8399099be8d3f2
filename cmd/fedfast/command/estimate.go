package command

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/internal/estimate"
)

// worthTelling is the least estimate that is shown, in seconds.
const worthTelling = 10

// estimate says in a line how long a study that begins takes on this machine, with so
// many random configurations after it. It is empty when that is short or cannot be
// told.
func (a *app) estimate(ctx context.Context, setup *study.Setup, mode string, random int) string {
	plan, err := estimate.Of(ctx, setup, mode)
	if err == nil && random > 0 {
		err = plan.Compare(setup, random)
	}
	if err != nil {
		return "" // what is wrong with the study is told when it begins
	}
	e, err := estimate.New().Seconds(ctx, a.workers, worthTelling/2, plan.All()...)
	if err != nil || e.Seconds < worthTelling {
		return ""
	}
	return estimateLine(plan, e)
}

// estimateLine writes an estimate.
func estimateLine(plan estimate.Plan, e estimate.Estimate) string {
	workers, each := "1 worker", ""
	if e.Workers > 1 {
		workers, each = table.Count(e.Workers)+" workers", " each"
	}
	return fmt.Sprintf("estimate: %v: %s on %s (%s examples a second%s)\n", plan, estimate.Words(e.Seconds), workers, table.Count(int(e.Rate)), each)
}
