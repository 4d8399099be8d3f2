package command

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/plugins"
)

// packEnd is the end of the names of packs.
const packEnd = ".fedfast"

// packed is what study pack prints of a file.
type packed struct {
	File string `json:"file"`
	store.Seal
}

// newPack packs a study into one file.
func newPack(a *app) *cobra.Command {
	var out, sign string
	cmd := &cobra.Command{
		Use:               "pack DIR",
		ValidArgsFunction: completeStudy,
		Short:             "Pack the record of a finished study into one file",
		Args:              cobra.ExactArgs(1),
		RunE:              a.work(func(cmd *cobra.Command, args []string) error { return a.pack(cmd.Context(), args[0], out, sign) }),
	}
	cmd.Flags().StringVar(&out, "out", "", "write to `FILE`, with the seed in names of several (default DIR"+packEnd+")")
	cmd.Flags().StringVar(&sign, "sign", "", "sign with the private Ed25519 key in a PEM `FILE`")
	return cmd
}

// pack packs the studies in a directory.
func (a *app) pack(ctx context.Context, dir, out, sign string) error {
	var key ed25519.PrivateKey
	if sign != "" {
		text, err := wholefile.Read(sign)
		if err != nil {
			return usageError{fmt.Errorf("--sign: %w", err)}
		}
		if block, _ := pem.Decode(text); block != nil {
			any, _ := x509.ParsePKCS8PrivateKey(block.Bytes) // nil if it is not one
			key, _ = any.(ed25519.PrivateKey)
		}
		if key == nil {
			return usageError{fmt.Errorf("--sign %s: no private Ed25519 key in PEM; "+
				"openssl genpkey -algorithm ed25519 -out FILE makes one", oneline.Path(sign))}
		}
	}
	dirs, err := workdir.Dirs(dir)
	if err != nil {
		return err
	}
	if out == "" {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		out = filepath.Base(whole) + packEnd
	}
	var all []packed
	t := table.New(a.out)
	for _, one := range dirs {
		p := packed{File: out}
		if one != dir {
			end := filepath.Ext(out)
			p.File = out[:len(out)-len(end)] + "-" + filepath.Base(one) + end
		}
		if err := writable([]output{{"--out", p.File}}); err != nil {
			return usageError{err}
		}
		s, err := openWhole(ctx, one)
		if err != nil {
			return err
		}
		p.Seal, err = s.Pack(ctx, p.File, key)
		if err = errors.Join(err, s.Close()); err != nil {
			return err
		}
		all = append(all, p)
		t.Row("packed", oneline.Path(p.File))
		rowsOf(t, &p.Seal)
	}
	if a.json {
		return a.printJSON(struct {
			Packs []packed `json:"packs"`
		}{all})
	}
	return t.Flush()
}

// rowsOf adds the rows of a seal.
func rowsOf(t *table.Table, s *store.Seal) {
	t.Row("sha256", s.SHA256)
	if s.Key != nil {
		t.Row("signed by", base64.StdEncoding.EncodeToString(s.Key))
	}
}

// verifyOptions are the flags of verify.
type verifyOptions struct {
	trial  string
	all    bool
	part   study.Part
	rounds uint32
	sets   []string
	key    []byte
}

// newVerify trains a study again and compares.
func newVerify(a *app) *cobra.Command {
	o := &verifyOptions{}
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Train a packed study again and compare it to the bit",
		Args:  cobra.ExactArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			if o.part = (study.Part{Trial: study.Winner, Rounds: int(o.rounds)}); o.all {
				o.part.Trial = study.Every
			} else if o.trial != "winner" {
				n, err := strconv.ParseUint(o.trial, 10, 31)
				if err != nil {
					return usageError{fmt.Errorf("--trial %s: must be winner or a trial's number", oneline.Of(o.trial))}
				}
				o.part.Trial = int(n)
			}
			return o.verify(cmd.Context(), a, args[0])
		}),
	}
	cmd.Flags().StringVar(&o.trial, "trial", "winner", "train the trial of the `NUMBER`, or that of the returned model")
	cmd.Flags().BoolVar(&o.all, "all", false, "train all trials, measure all models, and ask the tuner again")
	cmd.Flags().Uint32Var(&o.rounds, "rounds", 0, "train only the first `N` rounds of a trial, and measure no model")
	cmd.Flags().StringArrayVar(&o.sets, "set", nil, "set `KEY=VALUE` of places of files, such as data.path (repeatable)")
	cmd.Flags().BytesBase64Var(&o.key, "key", nil, "refuse a file that is not signed by the public `KEY`")
	cmd.MarkFlagsMutuallyExclusive("trial", "all")
	cmd.MarkFlagsMutuallyExclusive("rounds", "all")
	return cmd
}

// verification is what verify prints.
type verification struct {
	// File has the digest of the pack; null of a directory.
	File *store.Seal `json:"file"`
	*study.Verified
	// What is the kind of the first row that differs, Trial and Round say which, Differs the values; empty
	// and 0 if none does.
	What    string      `json:"differing"`
	Trial   int         `json:"differing_trial"`
	Round   int         `json:"differing_round"`
	Differs []view.Pair `json:"differs"`
	missing bool        // data or tuners
}

func (o *verifyOptions) verify(ctx context.Context, a *app, path string) error {
	r := verification{Differs: []view.Pair{}}
	how, seal, err := a.again(ctx, path)
	if err != nil {
		return err
	}
	if r.File = seal; len(o.key) > 0 && (r.File == nil || !bytes.Equal(r.File.Key, o.key)) {
		return fmt.Errorf("%s: not signed by the key of --key", oneline.Path(path))
	}
	r.Verified, err = workdir.Verify(ctx, path, o.sets, how, o.part)
	if r.Verified == nil {
		r.Verified, r.missing = &study.Verified{}, true
	}
	if differ, ok := errors.AsType[*study.DifferError](err); ok {
		r.What, r.Trial, r.Round = differ.What, differ.Trial, differ.Round
		r.Differs, _ = view.Differing(differ.Recorded, differ.Now) // both are JSON
		err = fmt.Errorf("%s: %s differs", oneline.Path(path), r.where())
	} else if err != nil && !r.missing {
		return err
	}
	if a.json {
		return errors.Join(a.printJSON(r), err)
	}
	return errors.Join(a.printVerification(&r), err)
}

// again says how the program trains a finished study again, and which file it is: one from elsewhere starts no
// program.
func (a *app) again(ctx context.Context, path string) (o workdir.Options, seal *store.Seal, err error) {
	s, err := openWhole(ctx, path)
	if err != nil {
		return o, nil, err
	}
	o = workdir.Options{Launcher: a.launcher(false), Workers: a.workers, Log: a.newLog()}
	if seal = s.Seal(); seal != nil {
		o.Launcher = workdir.InProcess(plugins.Builtin())
	}
	return o, seal, s.Close()
}

// where says what differs.
func (r *verification) where() string {
	switch r.What {
	case store.KindRound:
		return fmt.Sprintf("round %d of trial %d", r.Round, r.Trial)
	case store.KindRung, store.KindFinalist, store.KindReport:
		return fmt.Sprintf("the score of trial %d after round %d (%s)", r.Trial, r.Round, r.What)
	}
	return "what is recorded as " + r.What
}

// printVerification prints a row for each thing that was compared.
func (a *app) printVerification(r *verification) error {
	t := table.New(a.out)
	t.Row("record", "consistent")
	if r.File != nil {
		rowsOf(t, r.File)
	}
	if r.missing {
		t.Row("rounds", "not verified, nor errors, decisions and model: nothing was trained again")
	}
	if r.What != "" {
		t.Row("different", fmt.Sprintf("%s; %s before it are equal to the bit", r.where(), oneline.Count(r.Rounds, "round")))
		for _, p := range r.Differs[:min(mostDiffering, len(r.Differs))] {
			t.Row("", fmt.Sprintf("%s: %s | %s", p.Name, dash(oneline.Of(p.A)), dash(oneline.Of(p.B))))
		}
		return t.Flush()
	}
	const to = "verified to the bit: "
	if r.Rounds > 0 {
		rest := ""
		if !r.Whole {
			rest = "; --all trains all trials and measures all models and baselines"
		}
		t.Row("rounds", fmt.Sprintf("%s%d of %s", to, r.Rounds, oneline.Count(r.All, "round")))
		t.Row("errors", fmt.Sprintf("%sthose of %d of %s%s", to, r.Measured, oneline.Count(r.Models, "model"), rest))
	}
	if r.Calls > 0 {
		t.Row("decisions", to+oneline.Count(r.Calls, "call")+" of the tuner")
	}
	if r.Model {
		t.Row("model", to+"SHA-256 "+r.SHA256)
	}
	return t.Flush()
}
