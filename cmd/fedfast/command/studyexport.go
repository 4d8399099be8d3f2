package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/export"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// exportOptions are the flags of study export.
type exportOptions struct {
	format, table, out string
	after, limit       int
}

func newExport(a *app) *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:               "export STUDY...",
		ValidArgsFunction: completeStudy,
		Short:             "Export studies as CSV, JSON Lines or Parquet, or one to TensorBoard, Flower or NVFlare",
		Long: "Export the tables of a study as CSV, JSON Lines or Parquet: all of them to the directory --out, or one\n" +
			"to stdout or a file. Several studies, or a directory of --seeds, are one table, whose first columns are\n" +
			"study and seed. The tables are also views of the SQLite database " + store.File + ":\n" +
			strings.Join(store.Tables(), ", ") + ".\n\n" +
			"--format tensorboard writes an event file per trial to the subdirectory " + export.TensorBoardFolder +
			" of --out.\n\n" +
			"--format flower writes an app for Flower that trains the network of a finished study in PyTorch with its\n" +
			"hyperparameters, of `fedfast tune` the tuned ones; --format nvflare a job for NVFlare.",
		Args: cobra.MinimumNArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if named := strings.TrimPrefix(filepath.Ext(o.out), "."); o.table != "" && !cmd.Flags().Changed("format") && slices.Contains(export.Formats(), named) {
				o.format = named
			}
			return o.validate()
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "csv", "output `FORMAT`: csv, jsonl, parquet, tensorboard, flower or nvflare "+
		"(with --table, default: that of the file's name)")
	f.StringVar(&o.table, "table", "", "export only this `TABLE`, to stdout or to the file --out")
	f.IntVar(&o.after, "after", 0, "with --table, skip this number of rows")
	f.IntVar(&o.limit, "limit", 0, "with --table, export at most this number of rows (0: all)")
	f.StringVar(&o.out, "out", "", "write to `PATH`: a directory (default: export, flower or nvflare in the study's "+
		"directory, or export in the current one for several), or a file with --table")
	return cmd
}

func (o *exportOptions) validate() error {
	switch {
	case !slices.Contains(export.Formats(), o.format):
		return fmt.Errorf("--format %s: must be one of %s", o.format, strings.Join(export.Formats(), ", "))
	case o.table != "" && !slices.Contains(export.TableFormats(), o.format):
		return fmt.Errorf("--table %s: cannot be combined with --format %s, which exports no tables", o.table, o.format)
	case o.table != "" && !slices.Contains(store.Tables(), o.table):
		return fmt.Errorf("--table %s: must be one of %s", o.table, strings.Join(store.Tables(), ", "))
	case o.after < 0:
		return fmt.Errorf("--after %d: must be at least 0", o.after)
	case o.limit < 0:
		return fmt.Errorf("--limit %d: must be at least 0", o.limit)
	case o.table == "" && (o.after > 0 || o.limit > 0):
		return errors.New("--after and --limit need --table")
	case o.table != "":
		return writable([]output{{"--out", o.out}})
	}
	if err := outfile.Dir(o.out); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

func (o *exportOptions) run(ctx context.Context, a *app, args []string) error {
	var dirs []string
	err := eachStudy(args, func(dir string) error {
		if !store.Exists(dir) {
			return store.NoStudyError(dir)
		}
		dirs = append(dirs, dir)
		return nil
	})
	if err != nil {
		return err
	}
	table := func(w io.Writer) error { return export.Table(ctx, w, dirs, o.table, o.format, o.after, o.limit) }
	switch {
	case len(dirs) > 1 && !slices.Contains(export.TableFormats(), o.format):
		return usageError{fmt.Errorf("--format %s: exports one study; give one of %s", o.format, strings.Join(dirs, ", "))}
	case o.format == export.Flower || o.format == export.NVFlare:
		return o.app(ctx, a, dirs[0])
	case o.table == "":
		out := "export"
		if len(args) == 1 {
			out = filepath.Join(args[0], out)
		}
		files, err := export.Study(ctx, dirs, cmp.Or(o.out, out), o.format)
		if err != nil {
			return wrongStudy(err)
		}
		return a.printFiles(files)
	case o.out != "":
		return wholefile.Stream(o.out, 0o644, table)
	case a.json:
		return usageError{errors.New("--json: cannot be combined with --table, which writes to stdout; use --format jsonl for JSON")}
	}
	return table(a.out)
}

// app exports a finished study as an app.
func (o *exportOptions) app(ctx context.Context, a *app, dir string) error {
	flag := "--format " + o.format
	study, err := finishedStudy(ctx, flag, dir)
	if err != nil {
		return err
	}
	c, err := winner(flag, dir, study)
	if err != nil {
		return err
	}
	model, out := filepath.Join(dir, workdir.ModelFile), cmp.Or(o.out, filepath.Join(dir, o.format))
	files, err := export.App(ctx, c, study.Mode, model, out, o.format)
	if err != nil {
		return err
	}
	return a.printFiles(files)
}

// printFiles prints the files that were written.
func (a *app) printFiles(files []string) error {
	if a.json {
		return a.printJSON(struct {
			Files []string `json:"files"`
		}{files})
	}
	for _, path := range files {
		fmt.Fprintln(a.out, path)
	}
	return nil
}
