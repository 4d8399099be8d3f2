package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/conformance"
	"github.com/fedfast/fedfast/tuners/host"
)

// checkOptions are the flags of tuner check.
type checkOptions struct {
	options []string
	suite   conformance.Options
}

func newTunerCheck(a *app) *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:               "check NAME|BINARY|DIR",
		ValidArgsFunction: completeFirst(builtinNames),
		Short:             "Check that a tuner follows the protocol",
		Args:              cobra.ExactArgs(1),
		RunE:              a.work(func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) }),
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.options, "option", nil, "set an option of the tuner, `NAME=VALUE` (repeatable)")
	f.DurationVar(&o.suite.Timeout, "timeout", 10*time.Second, "time limit of a call")
	f.DurationVar(&o.suite.P99, "p99", time.Second, "maximum 99th percentile of call latency")
	f.DurationVar(&o.suite.Long, "long", 30*time.Second, "time limit of the check with 10,000 trials")
	f.StringSliceVar(&o.suite.Only, "only", nil, "run only these checks and their prerequisites: "+strings.Join(conformance.Names(), ", "))
	return cmd
}

// newTunerAbandon is the host that a check kills.
func newTunerAbandon(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "abandon REFERENCE",
		Short:  "Launch a tuner and wait to be killed (used by tuner check)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			return conformance.Abandon(cmd.Context(), args[0], a.out)
		}),
	}
}

func (o *checkOptions) run(ctx context.Context, a *app, what string) (err error) {
	ref, err := a.reference(what)
	if err != nil {
		return usageError{err}
	}
	if o.suite.Options, err = parseOptions(o.options); err != nil {
		return usageError{err}
	}
	if err := conformance.CheckNames(o.suite.Only); err != nil {
		return usageError{fmt.Errorf("--only %w", err)}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("locate the fedfast binary: %w", err)
	}
	o.suite.Abandon = []string{self, "tuner", "abandon"}
	o.suite.Probes = func(names ...string) error { return fl.Plan{Probes: names}.CheckProbes() }
	o.suite.Logger = a.newLog()
	width := len(slices.MaxFunc(conformance.Names(), func(a, b string) int { return len(a) - len(b) }))
	counts, failed := map[conformance.Verdict]int{}, []string(nil)
	if !a.json {
		fmt.Fprintf(a.out, "%s\n\n", ref)
	}
	o.suite.Ended = func(c conformance.Check) {
		if counts[c.Verdict]++; c.Verdict == conformance.Failed {
			failed = append(failed, c.Name)
		}
		if !a.json {
			line := fmt.Sprintf("%-*s %-7s %5.1f s  ", width, c.Name, c.Verdict, c.Seconds)
			_ = table.Text(a.out, line+cmp.Or(c.Message, c.About)) // the last line fails, too
		}
	}
	report, err := conformance.Run(ctx, ref, o.suite)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		_, err = fmt.Fprintf(a.out, "\n%d passed, %d failed, %d skipped\n",
			counts[conformance.Passed], counts[conformance.Failed], counts[conformance.Skipped])
	}
	if err != nil || report.Passed {
		return err
	}
	return fmt.Errorf("tuner %q failed %s", ref.Name, strings.Join(failed, ", "))
}

// reference finds a tuner by its name, or by the path of its program or of the
// directory that holds it.
func (a *app) reference(what string) (host.Ref, error) {
	if strings.ContainsRune(what, filepath.Separator) || strings.Contains(what, "/") || strings.HasPrefix(what, host.Prefix) || what == "." {
		return host.At(what)
	}
	paths, err := a.paths()
	if err != nil {
		return host.Ref{}, err
	}
	return host.Find(what, paths)
}

// parseOptions reads NAME=VALUE, where VALUE is a number, true, false or a text.
func parseOptions(given []string) (tuners.Params, error) {
	if given == nil {
		return nil, nil
	}
	p := tuners.Params{}
	for _, item := range given {
		name, text, ok := strings.Cut(item, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--option %s: must be NAME=VALUE", item)
		}
		var v tuners.Value
		if err := v.UnmarshalJSON([]byte(text)); err != nil || v.Kind() == tuners.NoneValue {
			v = tuners.Str(text)
		}
		p[name] = v
	}
	return p, nil
}
