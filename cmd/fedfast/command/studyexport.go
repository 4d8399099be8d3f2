package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/tablefile"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/internal/view"
)

// exportOptions are the flags of study export.
type exportOptions struct{ format, table, out string }

func newExport(a *app) *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:               "export DIR",
		ValidArgsFunction: completeStudy,
		Short:             "Export a study as CSV, JSON Lines or Parquet, or to Optuna or TensorBoard",
		Long: "Export the tables of a study as CSV, JSON Lines or Parquet: all of them to the directory --out, or one\n" +
			"to stdout or a file. The tables are also views of the SQLite database " + store.File + ":\n" +
			strings.Join(store.Tables(), ", ") + ".\n\n" +
			"--format optuna writes " + optunaFile + " to --out, the log of an Optuna JournalStorage.\n" +
			"--format tensorboard writes an event file per trial to the subdirectory " + tensorBoardFolder + " of --out.",
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			return o.validate()
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "csv", "output `FORMAT`: csv, jsonl, parquet, optuna or tensorboard")
	f.StringVar(&o.table, "table", "", "export only this `TABLE`, to stdout or to the file --out")
	f.StringVar(&o.out, "out", "", "write to `PATH`: a directory (default DIR/export), or a file with --table")
	return cmd
}

func (o *exportOptions) validate() error {
	formats := append(tablefile.Formats(), formatOptuna, formatTensorBoard)
	if !slices.Contains(formats, o.format) {
		return fmt.Errorf("--format %s: must be one of %s", o.format, strings.Join(formats, ", "))
	}
	if o.table != "" && (o.format == formatOptuna || o.format == formatTensorBoard) {
		return fmt.Errorf("--table %s: cannot be combined with --format %s, which exports trials", o.table, o.format)
	}
	if o.table != "" && !slices.Contains(store.Tables(), o.table) {
		return fmt.Errorf("--table %s: must be one of %s", o.table, strings.Join(store.Tables(), ", "))
	}
	if o.table != "" {
		return writable([]output{{"--out", o.out}})
	}
	if err := outfile.Dir(o.out); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

func (o *exportOptions) run(ctx context.Context, a *app, dir string) error {
	if workdir.HoldsSeeds(dir) {
		return usageError{fmt.Errorf("%s: contains studies of several seeds; export its subdirectories one by one", dir)}
	}
	if o.format == formatOptuna {
		return o.optuna(ctx, a, dir)
	}
	if o.format == formatTensorBoard {
		return o.tensorboard(ctx, a, dir)
	}
	v, err := store.Look(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // it was read only
	if o.table != "" && o.out == "" && a.json {
		return usageError{errors.New("--json: cannot be combined with --table, which writes to stdout; use --format jsonl for JSON")}
	}
	if o.table != "" && o.out == "" {
		return o.write(ctx, v, o.table, a.out)
	}
	if o.table != "" {
		return o.file(ctx, v, o.table, o.out)
	}
	out, err := o.folder(dir)
	if err != nil {
		return err
	}
	var files []string
	for _, name := range store.Tables() {
		path := filepath.Join(out, name+"."+o.format)
		if err := o.file(ctx, v, name, path); err != nil {
			return err
		}
		files = append(files, path)
	}
	return a.printFiles(files)
}

// folder makes the directory that files are written into.
func (o *exportOptions) folder(dir string) (string, error) {
	out := cmp.Or(o.out, filepath.Join(dir, "export"))
	return out, wholefile.Folder(out)
}

// printFiles tells which files were written.
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

// file writes a table as a whole file or none.
func (o *exportOptions) file(ctx context.Context, v *store.View, name, path string) error {
	return wholefile.Stream(path, 0o644, func(w io.Writer) error { return o.write(ctx, v, name, w) })
}

func (o *exportOptions) write(ctx context.Context, v *store.View, name string, w io.Writer) error {
	t, err := v.Table(ctx, name)
	if err != nil {
		return err
	}
	if name != "decisions" {
		expandParams(t)
	}
	return tablefile.Write(w, o.format, t)
}

// paramPrefix marks the columns that expandParams adds.
const paramPrefix = "params_"

// expandParams replaces the column params, an object, where there is one, by a
// column a hyperparameter: params_client.lr and so on.
func expandParams(t *store.Table) {
	at := slices.Index(t.Columns, "params")
	if at < 0 {
		return
	}
	all := map[string]bool{}
	objects := make([]map[string]any, len(t.Rows))
	for i, row := range t.Rows {
		text, _ := row[at].(string)
		if json.Unmarshal([]byte(text), &objects[i]) == nil {
			for key := range objects[i] {
				all[key] = true
			}
		}
	}
	keys := slices.Sorted(maps.Keys(all))
	t.Columns = slices.Delete(slices.Clone(t.Columns), at, at+1)
	for _, key := range keys {
		t.Columns = append(t.Columns, paramPrefix+key)
	}
	for i, row := range t.Rows {
		row = slices.Delete(row, at, at+1)
		for _, key := range keys {
			v := objects[i][key]
			if b, ok := v.(bool); ok {
				v = strconv.FormatBool(b)
			}
			row = append(row, v)
		}
		t.Rows[i] = row
	}
}

// records returns the rows of a table as objects.
func records(t *store.Table) []map[string]any {
	out := []map[string]any{}
	for _, row := range t.Rows {
		r := map[string]any{}
		for i, name := range t.Columns {
			r[name] = row[i]
		}
		out = append(out, r)
	}
	return out
}

// cell writes a value of a row for people.
func cell(t *store.Table, row []any, column string) string {
	v := row[slices.Index(t.Columns, column)]
	if x, ok := v.(float64); ok {
		return fmt.Sprintf("%.4g", x)
	}
	if v == nil {
		return "-"
	}
	return tablefile.Text(v)
}

// look opens a study whose trials are to be exported, and tells of it.
func look(ctx context.Context, dir string) (*view.Study, *view.Overview, error) {
	v, about, err := view.Open(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = usageError{err}
	}
	return v, about, err
}
