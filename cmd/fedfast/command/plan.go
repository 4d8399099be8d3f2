package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/plan"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sets/table"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// ofTable is what is planned of a CSV file without a study file.
const ofTable = "name = %q\nmethod = \"fedavg\"\nmodel = \"logistic\"\nrounds = 60\ncohort = 10\n" +
	"[data]\nname = \"csv\"\npath = %q"

// usual is what is taken for known of a federation, and usualBudget the time for its plan.
var usual = plan.Network{MBPerSecond: 1.25}

const usualBudget = 20 * time.Minute

// planOptions are the flags of plan.
type planOptions struct {
	configOptions
	plan.Network
	dir, check string
	budget     time.Duration
	estimate   bool
}

func newPlan(a *app) *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:               "plan [FILE]",
		ValidArgsFunction: completeFile,
		Short:             "Answer, before a deployment, what a real federation would try out",
		Args:              cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			switch n := o.Network; {
			case !(n.RoundSeconds >= 0 && n.RoundSeconds <= 1e7 && n.MBPerSecond >= 1e-6 && n.MBPerSecond <= 1e6):
				return errors.New("--round-seconds must be from 0 to 1e7, --mb-per-second from 1e-6 to 1e6")
			case !(n.Dropout >= 0 && n.Dropout <= 0.9):
				return fmt.Errorf("--dropout %v: must be from 0 to 0.9", n.Dropout)
			case o.dir == "" && !o.estimate:
				return errors.New("--study: name the directory of the plan, new or to go on with")
			}
			return nil
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args) }),
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.Var((*directory)(&o.dir), "study", "`DIR` of the plan and its studies, new or to go on with")
	f.DurationVar(&o.budget, "budget", usualBudget, "time that all studies may take, by an estimate")
	f.Float64Var(&o.RoundSeconds, "round-seconds", 0, "seconds of a local epoch at the largest site; 0: unknown")
	f.Float64Var(&o.MBPerSecond, "mb-per-second", usual.MBPerSecond, "speed of a site's link, with --round-seconds")
	f.Float64Var(&o.Dropout, "dropout", 0, "share of a round's local trainings that fail, such as by a lost link")
	f.BoolVar(&o.estimate, "estimate", false, "print what would be trained, and train nothing")
	f.StringVar(&o.check, "check", "", "compare the `LOG` of the real federation with the plan")
	return cmd
}

// run goes on with a plan, or begins one, and shows its answers.
func (o *planOptions) run(ctx context.Context, a *app, args []string) error {
	page, again := filepath.Join(o.dir, reportFile), "`fedfast plan --study "+oneline.Path(o.dir)+"`"
	if _, unfinished := os.Stat(page); o.check != "" && unfinished != nil {
		const form = "--check: %s has no finished plan; make one first, or finish it with %s"
		return usageError{fmt.Errorf(form, o.dir, again)}
	}
	work := workdir.Options{Workers: a.workers, Log: a.newLog(), Launcher: a.launcher(false)}
	p, err := o.open(ctx, a, args, work, again)
	if err != nil {
		return err
	}
	say := func(text string) {
		if o.check == "" { // else all is trained
			fmt.Fprintln(a.err, oneline.Of("plan: "+text))
		}
	}
	for _, line := range p.Describe() {
		say(line)
	}
	if o.estimate {
		return nil
	}
	if err := wholefile.WriteJSON(filepath.Join(o.dir, plan.File), p); err != nil {
		return err
	}
	answers, err := p.Train(ctx, o.dir, work, say)
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted; go on with " + again)
	}
	if err == nil && o.check != "" {
		if err = answers.Check(o.check); err != nil {
			err = usageError{fmt.Errorf("--check: %w", err)}
		}
	}
	if err == nil {
		err = wholefile.Stream(page, 0o644, func(w io.Writer) error {
			return report.WritePlan(w, answers.Title, answers.Note, answers.Answers)
		})
	}
	if err != nil {
		return wrongStudy(err)
	}
	if a.json {
		return a.printJSON(answers)
	}
	b := newBlock(a.out, answers.Title, "in "+page)
	for _, one := range answers.Answers {
		for i, text := range one.Answer {
			b.Row([]string{one.ID, ""}[min(i, 1)], plain(text))
		}
	}
	return b.print()
}

// open reads the plan of the directory, or makes one.
func (o *planOptions) open(ctx context.Context, a *app, args []string, w workdir.Options, again string) (*plan.Plan, error) {
	old, err := plan.Read(o.dir)
	began := o.dir != "" && !errors.Is(err, fs.ErrNotExist)
	bare := len(args) == 0 && o.bare() && !a.seedGiven && o.Network == usual && o.budget == usualBudget
	if began && (err != nil || bare) {
		return old, err
	}
	if there, _ := os.ReadDir(o.dir); !began && len(there) > 0 { // plan.Read says what is wrong
		return nil, usageError{fmt.Errorf("--study: %s is not empty; choose another directory for the plan", o.dir)}
	}
	if len(args) > 0 && table.IsText(args[0]) {
		o.base.Text, args = fmt.Sprintf(ofTable, filepath.Base(args[0]), args[0]), nil
	}
	c, places, err := o.load(a, args, "")
	if err == nil && len(c.Space) == 0 {
		o.sets = append(o.sets, `space="auto"`)
		c, places, err = o.load(a, args, "")
	}
	if err == nil {
		err = cmp.Or(outfile.Dir(o.dir), c.Absolute())
	}
	switch {
	case err != nil:
	case !began:
		old, err = plan.New(ctx, c, o.Network, o.budget.Minutes(), w)
	case o.Network != old.Network || o.budget.Minutes() != old.Minutes:
		err = fmt.Errorf("%s: is for another budget or network; use another directory, or go on with %s", o.dir, again)
	default:
		err = old.Continue(o.dir, c)
		if differs, ok := errors.AsType[*config.DiffError](err); ok {
			differs.Instead = "go on with " + again
		}
	}
	if err != nil {
		return nil, usageError{places.Explain(err)}
	}
	return old, nil
}
