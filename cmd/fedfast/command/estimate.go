package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// What is worth telling: the least time, in seconds, and the least memory, in bytes.
const (
	worthTelling       = 10
	worthTellingMemory = 1e9
)

// estimateOf returns a line with the estimated time of a new study on this machine, with
// its baseline, and the memory that the program takes for it. It is empty when both are
// small or cannot be estimated: what is wrong with the study is an error when it begins.
func estimateOf(ctx context.Context, setup *study.Setup, mode string, baseline int, all int64) string {
	c, err := workdir.EstimateSetup(ctx, setup, mode, baseline)
	if c.Memory = all; err != nil || c.Seconds < worthTelling && all < worthTellingMemory {
		return ""
	}
	return estimateLine(c)
}

// printEstimate prints what a new study of one seed would take, and trains nothing.
func (o *studyOptions) printEstimate(ctx context.Context, a *app, args []string, mode string, baseline int) error {
	if o.seeds > 0 {
		return usageError{errors.New("--estimate is for one seed: leave out --seeds")}
	}
	if !o.given(a, args) {
		return usageError{errors.New("--estimate is for a new study: leave out --study, or give a study file or a preset")}
	}
	want, err := o.configure(ctx, a, args, mode)
	if err != nil {
		return err
	}
	c, err := workdir.Estimate(ctx, want.config, mode, workdir.Options{
		Workers: a.workers, Log: a.newLog(), Launcher: a.launcher(false), Baseline: baseline,
	})
	if err != nil {
		return want.places.Explain(err)
	}
	c.Memory = memory.Expect(c.Memory)
	if a.json {
		return a.printJSON(c)
	}
	return table.Text(a.out, strings.Split(strings.TrimSpace(estimateLine(c)), "\n")...)
}

// estimateLine writes an estimate.
func estimateLine(c workdir.Cost) string {
	waits := ""
	if c.Waiting > worthTellingMemory/100 {
		waits = fmt.Sprintf(", and %s of memory or disk per waiting trial", memory.Size(c.Waiting))
	}
	line := fmt.Sprintf("estimate: %s: %s on %s (%s samples/s per worker), %s of memory%s\n",
		c.Plan, inWords(c.Seconds), oneline.Count(c.Workers, "worker"), oneline.Digits(int(c.SamplesPerSecond)), memory.Size(c.Memory), waits)
	if c.BF16Share > 0 && c.BF16Share < slowBF16 {
		faster := nn.FP32
		if kernels.Current() == kernels.AMX {
			faster = nn.BF16AMX
		}
		line += fmt.Sprintf("bf16: this CPU multiplies bf16 no faster than fp32; precision = %q is likely faster\n", faster)
	}
	return line
}

// slowBF16 is the share of float32's speed below which a study in bf16 is told so: rounding
// takes time, too.
const slowBF16 = 1.25

// inWords says a time as people do: "about 41 minutes".
func inWords(seconds float64) string {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	switch {
	case seconds < 1.5:
		return "about a second"
	case seconds < 1.5*minute:
		return fmt.Sprintf("about %.0f seconds", seconds)
	case seconds < 1.5*hour:
		return fmt.Sprintf("about %.0f minutes", seconds/minute)
	case seconds < 2*day:
		return fmt.Sprintf("about %.1f hours", seconds/hour)
	}
	return fmt.Sprintf("about %.1f days", seconds/day)
}
