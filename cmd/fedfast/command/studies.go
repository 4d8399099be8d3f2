package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

func newStudy(a *app) *cobra.Command {
	var tags []string
	list := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List studies",
		Args:  cobra.MaximumNArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			root := workdir.Home
			if len(args) > 0 {
				root = args[0]
			}
			return a.listStudies(cmd.Context(), root, tags)
		}),
	}
	list.Flags().StringSliceVar(&tags, "tag", nil,
		"list only studies with the tag `NAME`, see fedfast study note (repeatable)")
	var all bool
	show := &cobra.Command{
		Use:               "show DIR",
		ValidArgsFunction: completeStudy,
		Short:             "Show the results of a study, including a running one",
		Args:              cobra.ExactArgs(1),
		RunE:              a.work(func(cmd *cobra.Command, args []string) error { return a.showStudy(cmd.Context(), args[0], all) }),
	}
	show.Flags().BoolVar(&all, "all", false, "show all trials, not only the top ten")
	a.verboseFlag(show)
	return group("study", "List, show, compare, pack, resume and export studies",
		list, show, newNote(a), newCompare(a), newDiff(a), newReplay(a), newPack(a), newResume(a), newExport(a))
}

// newResume resumes a study or a run by what its directory holds.
func newResume(a *app) *cobra.Command {
	o := &tuneOptions{}
	cmd := &cobra.Command{
		Use:               "resume DIR",
		ValidArgsFunction: completeStudy,
		Short:             "Resume an interrupted study or run",
		Args:              cobra.ExactArgs(1),
		PreRunE:           func(*cobra.Command, []string) error { return o.validate() },
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			o.dir = args[0]
			if workdir.HoldsSeeds(o.dir) {
				if err := o.alone(true); err != nil {
					return err
				}
				return o.resumeSeeds(cmd.Context(), a)
			}
			mode, err := modeOf(cmd.Context(), o.dir)
			if err != nil {
				return err
			}
			if a.seedGiven {
				return usageError{errors.New("--seed: a resumed study keeps its seed")}
			}
			if mode == config.ModeRun && o.ui.listen != "" {
				return usageError{fmt.Errorf("--ui: %s was created by `fedfast run`; use `fedfast ui %s` to show it", o.dir, oneline.Path(o.dir))}
			}
			if mode == config.ModeRun {
				r := &runOptions{studyOptions: studyOptions{dir: o.dir, configOptions: o.configOptions}, cluster: o.cluster}
				s, err := r.open(cmd.Context(), a, nil, config.ModeRun)
				if err != nil {
					return err
				}
				return r.run(cmd.Context(), a, s)
			}
			s, err := o.open(cmd.Context(), a, nil, config.ModeTune)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, s)
		}),
	}
	o.addTuneFlags(cmd)
	a.verboseFlag(cmd)
	cmd.Flags().StringArrayVar(&o.moves, "set", nil, "set `KEY=VALUE`; only places of files, such as data.path and "+
		"init, data.state_memory, digests, budget.wall_seconds and, upwards, the rounds may change (repeatable)")
	return cmd
}

// resumeSeeds resumes the studies of several seeds.
func (o *tuneOptions) resumeSeeds(ctx context.Context, a *app) error {
	if a.seedGiven {
		return usageError{errors.New("--seed: resumed studies keep their seeds")}
	}
	record, err := workdir.ReadSeeds(o.dir)
	if err != nil {
		return err
	}
	if record.Command == config.ModeRun {
		return (&runOptions{studyOptions: o.studyOptions}).runSeeds(ctx, a, nil)
	}
	return o.tuneSeeds(ctx, a, nil)
}

// modeOf returns the command that began a study. Where its record is damaged, the
// environment that was written beside it says so.
func modeOf(ctx context.Context, dir string) (string, error) {
	v, err := store.Look(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) && !workdir.Holds(dir) {
		return "", usageError{err}
	}
	if err == nil {
		defer func() { _ = v.Close() }() // it was read only
		if s, err := result.Read(ctx, v); err == nil && s.Mode != "" {
			return s.Mode, nil
		}
	}
	mode, _ := workdir.Beginning(dir)
	if mode == "" && err != nil {
		return "", err
	}
	if mode == "" {
		return "", fmt.Errorf("%s: cannot be resumed: neither %s nor %s and %s are readable; start again in another directory", dir, store.File, workdir.ConfigFile, workdir.EnvFile)
	}
	return mode, nil
}
