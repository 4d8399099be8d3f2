package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// mostDiffering is how many differing values are printed of a row.
const mostDiffering = 8

func newDiff(a *app) *cobra.Command {
	var retrain bool
	cmd := &cobra.Command{
		Use:               "diff A B",
		ValidArgsFunction: completeStudy,
		Short:             "Find the first decision and round in which two studies differ",
		Long: "Compare the records of two studies, also packed ones: their configurations and data, what their tuners\n" +
			"decided, and what each round measured, to the last bit, with the digests of the weights. Studies with\n" +
			"--set digests=all also show which clients' changes differ first, and in which tensors. The exit status\n" +
			"is 0 if all is equal, and 1 if not. Unfinished studies are compared as far as they go.",
		Example: "  fedfast study diff monday tuesday",
		Args:    cobra.ExactArgs(2),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			if !workdir.HoldsSeeds(args[0]) || !workdir.HoldsSeeds(args[1]) {
				return a.diff(cmd.Context(), retrain, args...)
			}
			return a.diffSeeds(cmd.Context(), retrain, args)
		}),
	}
	cmd.Flags().BoolVar(&retrain, "retrain", false, "train again up to the first round that differs: who is right?")
	return cmd
}

// diffSeeds compares the studies of several seeds, each with that of the same place.
func (a *app) diffSeeds(ctx context.Context, retrain bool, args []string) error {
	x, errX := studyDirs(args[0])
	y, errY := studyDirs(args[1])
	if err := errors.Join(errX, errY); err != nil {
		return err
	}
	if len(x) != len(y) || a.json {
		return severalSeeds(args[0]+" and "+args[1], "they must be as many, and not with --json")
	}
	var all []error
	for i := range x {
		fmt.Fprintf(a.out, "%s and %s\n", oneline.Path(x[i]), oneline.Path(y[i]))
		all = append(all, a.diff(ctx, retrain, x[i], y[i]))
	}
	return cmp.Or(all...)
}

// retrain trains the study at a path again up to where it differs from another one, and reports whether
// it comes to its record.
func (a *app) retrain(ctx context.Context, path string, seal *store.Seal, at *view.Split) (bool, error) {
	err := workdir.Again(ctx, path, nil, a.again(seal), func(setup study.Setup) error {
		_, err := study.Verify(ctx, setup, at.Trial, at.Round)
		return err
	})
	_, differs := errors.AsType[*study.DifferError](err)
	if differs {
		err = nil
	}
	return !differs, err
}

func (a *app) diff(ctx context.Context, retrain bool, dirs ...string) error {
	var studies []*view.Study
	var all []*view.Overview
	for _, dir := range dirs {
		s, o, err := openStudy(ctx, dir)
		if err != nil {
			return err
		}
		defer func() { _ = s.Close() }() // it was read only
		studies, all = append(studies, s), append(all, o)
	}
	d, err := studies[0].Compare(ctx, studies[1], all[0], all[1])
	if err != nil {
		return err
	}
	for i := 0; retrain && d.Round != nil && i < len(dirs); i++ {
		same, err := a.retrain(ctx, dirs[i], studies[i].Seal(), d.Round)
		if err != nil {
			return err
		}
		d.Retrained = append(d.Retrained, same)
	}
	if a.json {
		err = a.printJSON(d)
	} else {
		err = a.printDiff(d, dirs)
	}
	if err == nil && !d.Equal() {
		err = fmt.Errorf("%s and %s differ", dirs[0], dirs[1])
	}
	return err
}

// printDiff prints a row for each part of a comparison, and below it the values that differ.
func (a *app) printDiff(d *view.Diff, dirs []string) error {
	t := table.New(a.out)
	row := func(label, equal, differ string, pairs []view.Pair) {
		if len(pairs) == 0 && differ == "" {
			t.Row(label, equal)
			return
		}
		if differ == "" {
			differ = "different"
		}
		t.Row(label, differ)
		for i, p := range pairs {
			if i == mostDiffering {
				t.Row("", fmt.Sprintf("and %d more", len(pairs)-i))
				break
			}
			t.Row("", fmt.Sprintf("%s: %s | %s", p.Name, given(p.A), given(p.B)))
		}
	}
	row("configuration", "equal", "", d.Configuration)
	row("data", "equal", "", d.Data)
	row("made by", "the same version and CPU level", "", d.Made)
	calls, rounds := oneline.Count(d.Decisions, "call")+" of the tuner equal", oneline.Count(d.Rounds, "round")+" equal to the bit"
	if s := d.Decision; s != nil {
		row("decisions", "", fmt.Sprintf("%s; the first difference is in call %d (%s)", calls, s.Number, s.What), s.Values)
	} else {
		row("decisions", calls, "", nil)
	}
	if s := d.Round; s != nil {
		row("rounds", "", fmt.Sprintf("%s; the first difference is in round %d of trial %d (%s)", rounds, s.Round, s.Trial, s.What), s.Values)
		for _, c := range s.Changes[:min(mostDiffering, len(s.Changes))] {
			n := min(len(c.Tensors), 2)
			text := strings.Join(c.Tensors[:n], ", ")
			if more := len(c.Tensors) - n; more > 0 {
				text += fmt.Sprintf(" and %d more", more)
			}
			t.Row("", fmt.Sprintf("client %d: different changes of %s", c.Client, oneline.Of(text)))
		}
		switch {
		case s.Other > 0 && s.Same > 0:
			t.Row("", fmt.Sprintf("weights: equal after round %d, different after round %d", s.Same, s.Other))
		case s.Other > 0:
			t.Row("", fmt.Sprintf("weights: different after round %d", s.Other))
		}
	} else {
		row("rounds", rounds, "", nil)
	}
	for i, same := range d.Retrained {
		says := map[bool]string{true: "agrees", false: "does not agree"}[same]
		t.Row("retraining", fmt.Sprintf("%s with %s", says, oneline.Path(dirs[i])))
	}
	row("result", "equal", "", d.Result)
	return t.Flush()
}

// given writes a value, which one of two studies may lack.
func given(text string) string {
	if text == "" {
		return "-"
	}
	return oneline.Of(text)
}
