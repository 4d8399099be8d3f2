package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/plugins"
)

// newPack packs a study into one file.
func newPack(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:               "pack DIR",
		ValidArgsFunction: completeStudy,
		Short:             "Pack the record of a finished study into one file",
		Long: "Pack the record of a finished study into one file of some kB: configuration, fingerprints of the data,\n" +
			"version, decisions of the tuner, what each round measured, digests, results and errors. There are no\n" +
			"weights and no samples in it; the paths of files in the configuration are. Anybody who has the data can\n" +
			"train it again with fedfast verify.",
		Example: "  fedfast study pack first --out first.fedfast",
		Args:    cobra.ExactArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			if err := writable([]output{{"--out", out}}); err != nil {
				return usageError{err}
			}
			s, o, err := view.Open(cmd.Context(), args[0])
			if err != nil {
				return wrongPath(err)
			}
			defer func() { _ = s.Close() }() // it was read only
			if err := s.Whole(cmd.Context(), o); err != nil {
				return err
			}
			seal, err := s.Pack(cmd.Context(), out)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(seal)
			}
			t := table.New(a.out)
			t.Row("packed", oneline.Path(out))
			t.Row("sha256", seal.SHA256)
			return t.Flush()
		}),
	}
	cmd.Flags().StringVar(&out, "out", "", "write to `FILE`")
	_ = cmd.MarkFlagRequired("out") // it is there
	return cmd
}

// verifyOptions are the flags of verify.
type verifyOptions struct {
	trial  string
	all    bool
	number int // of the trial
	rounds uint32
	sets   []string
}

// newVerify trains a study again and compares.
func newVerify(a *app) *cobra.Command {
	o := &verifyOptions{}
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Train a packed study again and compare it to the bit",
		Long: "Train trials of a packed study, or of one in a directory, again on the data at hand, with the recorded\n" +
			"decisions of its tuners, and compare each round and the weights with the record, to the bit. The exit\n" +
			"status is 0 if all that was trained is equal, and 1 if not or if the data is not at hand: then the\n" +
			"record alone is checked. Nothing is written.",
		Example: "  fedfast verify first.fedfast\n  fedfast verify first.fedfast --all --set data.path=/data/femnist",
		Args:    cobra.ExactArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			if o.number = study.Winner; o.all {
				o.number = study.Every
			} else if o.trial != "winner" {
				n, err := strconv.ParseUint(o.trial, 10, 31)
				if err != nil {
					return usageError{fmt.Errorf("--trial %s: must be winner or a trial's number", oneline.Of(o.trial))}
				}
				o.number = int(n)
			}
			return o.verify(cmd.Context(), a, args[0])
		}),
	}
	cmd.Flags().StringVar(&o.trial, "trial", "winner", "train the trial of the `NUMBER`, or that of the returned model")
	cmd.Flags().BoolVar(&o.all, "all", false, "train all trials")
	cmd.Flags().Uint32Var(&o.rounds, "rounds", 0, "train only the first `N` rounds of a trial")
	cmd.Flags().StringArrayVar(&o.sets, "set", nil, "set `KEY=VALUE` of places of files, such as data.path (repeatable)")
	cmd.MarkFlagsMutuallyExclusive("trial", "all")
	return cmd
}

// verification is what verify prints.
type verification struct {
	// File has the digest of the pack; null of a directory.
	File *store.Seal `json:"file"`
	*study.Verified
	// Trial and Round are the first that differ, Differs the values; 0 and empty if none does.
	Trial   int         `json:"differing_trial"`
	Round   int         `json:"differing_round"`
	Differs []view.Pair `json:"differs"`
}

func (o *verifyOptions) verify(ctx context.Context, a *app, path string) error {
	r := verification{Verified: &study.Verified{}, Differs: []view.Pair{}}
	mem, seal, err := store.Unpack(ctx, path)
	if err != nil {
		return wrongPath(err)
	}
	if err := mem.Close(); err != nil {
		return err
	}
	r.File = seal
	s, over, err := view.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it was read only
	if err := s.Whole(ctx, over); err != nil {
		return err
	}
	options := workdir.Options{Launcher: a.launcher(false), Workers: a.workers, Log: a.newLog()}
	if seal != nil { // a file from elsewhere starts no program
		options.Launcher = workdir.InProcess(plugins.Builtin())
	}
	opened := false
	err = workdir.Again(ctx, path, o.sets, options, func(setup study.Setup) (err error) {
		opened = true
		r.Verified, err = study.Verify(ctx, setup, o.number, int(o.rounds))
		return err
	})
	if differ, ok := errors.AsType[*study.DifferError](err); ok {
		r.Trial, r.Round = differ.Trial, differ.Round
		r.Differs, _ = view.Differing(differ.Recorded, differ.Now) // both are JSON
		err = fmt.Errorf("%s: round %d of trial %d differs", oneline.Path(path), r.Round, r.Trial)
	} else if err != nil && opened {
		return err
	}
	if a.json {
		return errors.Join(a.printJSON(r), err)
	}
	return errors.Join(a.printVerification(&r), err)
}

// printVerification prints a row for each thing that was compared.
func (a *app) printVerification(r *verification) error {
	t := table.New(a.out)
	t.Row("record", "consistent")
	if r.File != nil {
		t.Row("sha256", r.File.SHA256)
	}
	switch {
	case r.Round > 0:
		t.Row("rounds", fmt.Sprintf("the first difference is in round %d of trial %d, after %s equal to the bit",
			r.Round, r.Trial, oneline.Count(r.Rounds, "round")))
		for _, p := range r.Differs[:min(mostDiffering, len(r.Differs))] {
			t.Row("", fmt.Sprintf("%s: %s | %s", p.Name, given(p.A), given(p.B)))
		}
	case r.Rounds > 0:
		rest := ""
		if r.Model && r.Rounds < r.All {
			rest = "; --all trains all trials"
		}
		t.Row("rounds", fmt.Sprintf("verified to the bit: %d of %s%s", r.Rounds, oneline.Count(r.All, "round"), rest))
		t.Row("errors", "as recorded, not measured again")
	}
	if r.Model {
		t.Row("model", "verified to the bit: SHA-256 "+r.SHA256)
	}
	return t.Flush()
}
