package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

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
		Long: "Train a private run in which some clients are canaries, which send what is easiest to find again when\n" +
			"a coin says so, and guess from what the server receives which of them took part. Print an epsilon that\n" +
			"the run exceeds with a confidence of 95 % (Steinke, Nasr and Jagielski 2023). The exit code is 1 if it\n" +
			"is above the account's epsilon, or the noise lower than promised.",
		Example: "  fedfast dp audit --preset dp --set rounds=20",
		Args:    cobra.MaximumNArgs(1),
		RunE:    a.work(func(cmd *cobra.Command, args []string) error { return o.print(cmd.Context(), a, args) }),
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
