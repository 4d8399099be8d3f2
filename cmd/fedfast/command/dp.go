package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/privacy"
)

// dpOptions are the flags of the commands of dp.
type dpOptions struct {
	plan           privacy.Plan
	epsilon, delta float64
	trials         float64
}

func newDP(a *app) *cobra.Command {
	const about = "The release is a sum over a cohort, plus Gaussian noise, in each of a number of steps. Clients are drawn by\n" +
		"Poisson sampling: each with probability --q in each step, and neighbors differ by one client. With --fixed,\n" +
		"cohorts have a fixed size, --q is the share of the clients in one, and neighbors differ in one client's data,\n" +
		"so that the sensitivity is twice the clipping norm; only RDP accounts for that."
	o := &dpOptions{}
	epsilon := &cobra.Command{
		Use:   "epsilon",
		Short: "Compute the epsilon of a plan",
		Long: "Compute the epsilon that a plan costs at a delta, by Rényi divergences (RDP) and by the distribution of " +
			"the\nprivacy loss (PLD). Both are upper bounds. With --trials it is the epsilon of tuning: each trial\n" +
			"follows the plan, whose last step releases its score, after each one tuning ends with probability 1/--trials,\n" +
			"and nothing but the best trial is released (Papernot and Steinke 2022); only RDP accounts for that.\n\n" + about,
		Args: cobra.NoArgs,
		RunE: a.work(func(*cobra.Command, []string) error { return flagged(o.printEpsilon(a)) }),
	}
	sigma := &cobra.Command{
		Use:   "sigma",
		Short: "Compute the noise that an epsilon needs",
		Args:  cobra.NoArgs,
		RunE:  a.work(func(*cobra.Command, []string) error { return flagged(o.printSigma(a)) }),
	}
	for _, cmd := range []*cobra.Command{epsilon, sigma} {
		f := cmd.Flags()
		f.Float64Var(&o.plan.Q, "q", 0.01, "sampling rate: the expected share of the clients in a cohort")
		f.IntVar(&o.plan.Steps, "steps", 1000, "number of releases, such as rounds")
		f.Float64Var(&o.delta, "delta", 1e-6, "delta")
		f.BoolVar(&o.plan.Fixed, "fixed", false, "cohorts have a fixed size")
	}
	epsilon.Flags().Float64Var(&o.plan.Sigma, "sigma", 1, "noise multiplier: the standard deviation over the sensitivity")
	epsilon.Flags().Float64Var(&o.trials, "trials", 0, "mean number of trials, of which only the best is released; 0: a single training")
	sigma.Flags().Float64Var(&o.epsilon, "epsilon", 2, "epsilon to stay within")
	return group("dp", "Account for differential privacy", epsilon, sigma, newDPAudit(a))
}

// flagged writes an error about a value as one about its flag, as wrong usage.
func flagged(err error) error {
	if bad, ok := errors.AsType[*key.Error](err); ok {
		return usageError{errors.New("--" + bad.Key + strings.Replace(bad.Problem, " =", "", 1))}
	}
	return err
}

// accountedPlan is what dp epsilon prints. PLD is NaN, null in JSON, where there is none.
type accountedPlan struct {
	RDP   float64 `json:"rdp"`
	Order float64 `json:"order"`
	PLD   float64 `json:"pld"`
}

func (o *dpOptions) printEpsilon(a *app) error {
	if err := cmp.Or(o.plan.Check(), privacy.CheckDelta(o.delta)); err != nil {
		return err
	}
	if o.trials != 0 && !(o.trials >= 1 && o.trials <= privacy.MostTrials) {
		return &key.Error{Key: "trials", Problem: fmt.Sprintf(" = %v: must be from 1 to %v, or 0 for a single training", o.trials, privacy.MostTrials)}
	}
	result := accountedPlan{PLD: math.NaN()}
	if o.trials > 0 {
		result.RDP, result.Order = privacy.Plans{o.plan}.BestOf(o.trials, o.delta)
	} else {
		result.RDP, result.Order = o.plan.RDP(o.delta)
	}
	if !o.plan.Fixed && o.trials == 0 {
		result.PLD = o.plan.PLD(o.delta)
	}
	if a.json {
		return a.printJSON(result)
	}
	return a.printAccounts("epsilon", result.RDP, fmt.Sprintf("RDP, order %g", result.Order), result.PLD)
}

// calibratedPlan is what dp sigma prints.
type calibratedPlan struct {
	RDP float64 `json:"rdp"`
	PLD float64 `json:"pld"`
}

func (o *dpOptions) printSigma(a *app) error {
	o.plan.Sigma = 1
	if err := cmp.Or(o.plan.Check(), privacy.CheckDelta(o.delta)); err != nil {
		return err
	}
	result, plans := calibratedPlan{PLD: math.NaN()}, privacy.Plans{o.plan}
	var err error
	if result.RDP, err = plans.Noise(o.epsilon, o.delta, false); err != nil {
		return err
	}
	if !o.plan.Fixed {
		if result.PLD, err = plans.Noise(o.epsilon, o.delta, true); err != nil {
			return err
		}
	}
	if a.json {
		const millionth = 1e6 // of which it is a multiple
		return a.printJSON(calibratedPlan{math.Round(result.RDP*millionth) / millionth, math.Round(result.PLD*millionth) / millionth})
	}
	return a.printAccounts("sigma", result.RDP, "RDP", result.PLD)
}

// printAccounts prints a number by both accountants.
func (a *app) printAccounts(what string, rdp float64, by string, pld float64) error {
	text := fmt.Sprintf("%s %.6f (%s)\n", what, rdp, by)
	if !math.IsNaN(pld) {
		text += fmt.Sprintf("%s %.6f (PLD)\n", what, pld)
	}
	_, err := fmt.Fprint(a.out, text)
	return err
}

// errAudit is the error of an audit that found something.
var errAudit = errors.New("audit: the run is less private than its account says")

// auditOptions are the flags of dp audit.
type auditOptions struct {
	configOptions
	canaries int
}

func newDPAudit(a *app) *cobra.Command {
	o := &auditOptions{}
	cmd := &cobra.Command{
		Use:   "audit [FILE]",
		Short: "Look for bugs in the privacy of a run",
		Args:  cobra.MaximumNArgs(1),
		RunE:  a.work(func(cmd *cobra.Command, args []string) error { return o.print(cmd.Context(), a, args) }),
	}
	o.addFlags(cmd)
	cmd.Flags().IntVar(&o.canaries, "canaries", 100, "number of clients that are canaries")
	return cmd
}

func (o *auditOptions) print(ctx context.Context, a *app, args []string) error {
	c, places, err := o.load(a, args, config.ModeRun)
	if err != nil {
		return err
	}
	if err := c.CheckFor(config.ModeRun); err != nil {
		return usageError{places.Explain(err)}
	}
	r, err := workdir.Audit(ctx, c, o.canaries, workdir.Options{Workers: a.workers, Log: a.newLog(), Launcher: a.launcher(false)})
	if err != nil {
		return places.Explain(err)
	}
	if a.json {
		err = a.printJSON(r)
	} else {
		noise := "as promised"
		if r.NoiseTooLow {
			noise = "too low"
		}
		_, err = fmt.Fprintf(a.out, "epsilon %.4g at delta %g (account)\nepsilon %.4g or more (95 %% confidence, %d canaries, %d rounds)\nnoise %s\n",
			r.Epsilon, r.Delta, r.LowerBound, r.Canaries, r.Rounds, noise)
	}
	if err == nil && !r.Passed {
		return errAudit
	}
	return err
}
