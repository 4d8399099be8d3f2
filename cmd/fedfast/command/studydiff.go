package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// mostDiffering is how many differing values are printed of a row.
const mostDiffering = 8

// diffOptions are the flags of study diff.
type diffOptions struct {
	retrain bool
	plot    plotOptions
}

func newDiff(a *app) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:               "diff A B",
		ValidArgsFunction: completeStudy,
		Short:             "Find the first decision and round in which two studies differ",
		Args:              cobra.ExactArgs(2),
		PreRunE:           func(*cobra.Command, []string) error { return o.plot.validate() },
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			if !workdir.HoldsSeeds(args[0]) || !workdir.HoldsSeeds(args[1]) {
				return o.diff(cmd.Context(), a, args...)
			}
			return o.diffSeeds(cmd.Context(), a, args)
		}),
	}
	cmd.Flags().BoolVar(&o.retrain, "retrain", false, "train again up to the first round that differs: who is right?")
	o.plot.addFlags(cmd, "plot how far apart the trial's rounds are, with --retrain also the weights,")
	return cmd
}

// diffSeeds compares the studies of several seeds, each with that of the same place.
func (o *diffOptions) diffSeeds(ctx context.Context, a *app, args []string) error {
	x, errX := workdir.Dirs(args[0])
	y, errY := workdir.Dirs(args[1])
	if err := errors.Join(errX, errY); err != nil {
		return err
	}
	if len(x) != len(y) || a.json || len(o.plot.files) > 0 {
		return severalSeeds(args[0]+" and "+args[1], "they must be as many, and not with --json or --plot")
	}
	var all []error
	for i := range x {
		fmt.Fprintf(a.out, "%s and %s\n", oneline.Path(x[i]), oneline.Path(y[i]))
		all = append(all, o.diff(ctx, a, x[i], y[i]))
	}
	return cmp.Or(all...)
}

// retrain trains a trial of both studies again up to a round, hand in hand, and notes in d how far their weights
// are apart and whether each comes to its record.
func (a *app) retrain(ctx context.Context, d *view.Diff, dirs []string, part study.Part) error {
	d.Retrained = []bool{true, true}
	var errs [2]error
	again := func(i int) iter.Seq2[int, []float32] {
		return func(yield func(int, []float32) bool) {
			o, _, err := a.again(ctx, dirs[i])
			if err == nil {
				part.Watch.Each = yield
				_, err = workdir.Verify(ctx, dirs[i], nil, o, part)
			}
			if _, differs := errors.AsType[*study.DifferError](err); differs {
				d.Retrained[i], err = false, nil
			}
			errs[i] = err
		}
	}
	next, stop := iter.Pull2(again(0))
	defer stop()
	for round, y := range again(1) {
		at, x, _ := next()
		i := slices.IndexFunc(d.Distances, func(d view.Distance) bool { return d.Round == round })
		if at != round || i < 0 || len(x) != len(y) {
			continue
		}
		var norm, apart float64
		for k := range x {
			gap := float64(x[k]) - float64(y[k])
			norm, apart = norm+float64(x[k])*float64(x[k]), apart+gap*gap
		}
		d.Distances[i].Apart["weights"] = math.Sqrt(apart / norm)
	}
	for ok := errs[1] == nil; ok; {
		_, _, ok = next()
	}
	return cmp.Or(errs[1], errs[0])
}

// distances draws how far two studies are apart.
func distances(d *view.Diff, title string) *figure.Figure {
	f := &figure.Figure{Name: "distance", Title: title, Note: "What the rounds recorded, absolute; weights by training again."}
	for _, of := range [][2]string{
		{"train_loss", "difference of training loss"},
		{"score", "difference of score"},
		{"test_error", "difference of test error"},
		{"weights", "distance of weights, share of A's norm"},
	} {
		line := figure.Line{Name: "A to B"}
		for _, at := range d.Distances {
			if y, ok := at.Apart[of[0]]; ok {
				line.Points = append(line.Points, figure.Point{X: float64(at.Round), Y: y})
			}
		}
		if line.Points != nil {
			x, y := figure.Axis{Label: "round", Whole: true}, figure.Axis{Label: of[1], Zero: true}
			f.Panels = append(f.Panels, figure.Panel{X: x, Y: y, Lines: []figure.Line{line}})
		}
	}
	return f
}

func (o *diffOptions) diff(ctx context.Context, a *app, dirs ...string) error {
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
	if o.retrain && d.Round != nil {
		part := study.Part{Trial: d.Round.Trial, Rounds: math.MaxInt32}
		if len(o.plot.files) == 0 {
			part.Rounds = max(1, d.Round.Round)
		}
		if err := a.retrain(ctx, d, dirs, part); err != nil {
			return err
		}
	}
	if len(d.Distances) > 0 {
		title := fmt.Sprintf("How far %s and %s are apart, trial %d", dirs[0], dirs[1], d.Round.Trial)
		if err := o.plot.write(func() (*figure.Figure, error) { return distances(d, title), nil }); err != nil {
			return err
		}
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
		differ = cmp.Or(differ, "different")
		t.Row(label, differ)
		for i, p := range pairs {
			if i == mostDiffering {
				t.Row("", fmt.Sprintf("and %d more", len(pairs)-i))
				break
			}
			t.Row("", fmt.Sprintf("%s: %s | %s", p.Name, dash(oneline.Of(p.A)), dash(oneline.Of(p.B))))
		}
	}
	seeds := ""
	if len(d.Configuration) == 1 && d.Configuration[0].Name == "seed" {
		seeds = "the same study with another seed"
	}
	row("configuration", "equal", seeds, d.Configuration)
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
	if n := len(d.Distances) - 1; n >= 0 && d.Distances[n].Apart["weights"] > 0 {
		share := result.Number(100 * d.Distances[n].Apart["weights"])
		t.Row("distance", fmt.Sprintf("%s %% of the norm of A's weights after round %d", share, d.Distances[n].Round))
	}
	row("result", "equal", "", d.Result)
	return t.Flush()
}
