// Package export writes what studies have measured into files that other programs read:
// tables as CSV, JSON Lines or Parquet, trials as TensorBoard's events, apps for Flower and NVFlare, and what a model
// predicts. A study may be running meanwhile.
package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/export/internal/tablefile"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/export/internal/tensorboard"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// TensorBoard is the format of an export of trials, not of tables: a file of events for each trial.
const TensorBoard = "tensorboard"

// TensorBoardFolder is the folder of that export.
const TensorBoardFolder = "tensorboard"

// TableFormats returns the formats of tables, which end the names of their files.
func TableFormats() []string { return tablefile.Formats() }

// Formats returns the formats of Study: those of tables, then TensorBoard; and those of App.
func Formats() []string { return append(tablefile.Formats(), TensorBoard, Flower, NVFlare) }

// Study exports the studies in directories to files in the directory out, which it makes,
// and returns their paths: each of store.Tables in a file of its own, or below
// TensorBoardFolder a folder for each trial, of the first study alone. A directory without a
// study is an fs.ErrNotExist.
func Study(ctx context.Context, dirs []string, out, format string) ([]string, error) {
	switch {
	case !slices.Contains(Formats(), format):
		return nil, unknown(format, Formats())
	case format == TensorBoard:
		return exportEvents(ctx, dirs[0], out)
	}
	var files []string
	for _, name := range store.Tables() {
		path := filepath.Join(out, name+"."+format)
		if err := wholefile.Folder(out); err != nil {
			return nil, err
		}
		if err := wholefile.Stream(path, 0o644, func(w io.Writer) error { return Table(ctx, w, dirs, name, format, 0, 0) }); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// Table writes one of store.Tables of the studies in directories in the format csv, jsonl or
// parquet: at most limit rows after the first ones, all of these if limit is 0.
// Hyperparameters are columns params_client.lr and so on. The first columns of several studies,
// and of the seeds of one, are study, the directory of these or of the study, and seed. Its errors are the errors of Study.
func Table(ctx context.Context, w io.Writer, dirs []string, name, format string, after, limit int) error {
	if !slices.Contains(tablefile.Formats(), format) {
		return unknown(format, tablefile.Formats())
	}
	all := &store.Table{}
	several := len(dirs) > 1 || workdir.HoldsSeeds(filepath.Dir(dirs[0]))
	for _, dir := range dirs {
		t, err := labelled(ctx, dir, name, several, after, limit)
		if err != nil {
			return err
		}
		all.Columns, all.Rows = t.Columns, append(all.Rows, t.Rows...)
	}
	if several {
		all.Rows = all.Rows[min(after, len(all.Rows)):]
	}
	if limit > 0 {
		all.Rows = all.Rows[:min(limit, len(all.Rows))]
	}
	expand(all, name)
	return tablefile.Write(w, format, all)
}

// labelled reads a table of a study: as one of several up to the last row that may be asked
// for, with the columns study and seed.
func labelled(ctx context.Context, dir, name string, several bool, after, limit int) (*store.Table, error) {
	v, err := store.Look(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	if !several {
		return v.Part(ctx, name, after, limit)
	}
	if limit > 0 {
		limit += after
	}
	stored, err := result.Read(ctx, v)
	if err != nil {
		return nil, err
	}
	c, err := config.Load(config.Source{Text: stored.Config})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	t, err := v.Part(ctx, name, 0, limit)
	if err != nil {
		return nil, err
	}
	if outer := filepath.Dir(dir); workdir.HoldsSeeds(outer) {
		dir = outer
	}
	t.Columns = slices.Insert(t.Columns, 0, "study", "seed")
	for i := range t.Rows {
		t.Rows[i] = slices.Insert(t.Rows[i], 0, any(dir), any(int64(c.Seed)))
	}
	return t, nil
}

func unknown(format string, known []string) error {
	return fmt.Errorf("format %q: must be one of %s", format, strings.Join(known, ", "))
}

// Rows returns one of store.Tables as Table writes it, each row by the names of the columns.
func Rows(ctx context.Context, v *view.Study, name string) ([]map[string]any, error) {
	t, err := v.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	expand(t, name)
	rows := []map[string]any{}
	for _, row := range t.Rows {
		r := map[string]any{}
		for i, column := range t.Columns {
			r[column] = row[i]
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// expand gives a table a column for each hyperparameter.
func expand(t *store.Table, name string) {
	if name != "decisions" {
		tablefile.Expand(t)
	}
}

// exportEvents writes the curves of a study's trials as TensorBoard's runs.
func exportEvents(ctx context.Context, dir, out string) ([]string, error) {
	v, about, err := view.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	var files []string
	for i := range about.Suggested() {
		t := &about.Trials[i]
		rounds, err := v.Curve(ctx, t, 0, about.Config.Discount())
		if err != nil {
			return nil, err
		}
		folder := filepath.Join(out, TensorBoardFolder, tensorboard.Folder(t))
		if err := wholefile.Folder(folder); err != nil {
			return nil, err
		}
		path := filepath.Join(folder, tensorboard.File(t))
		if err := wholefile.Stream(path, 0o644, func(w io.Writer) error {
			b := bufio.NewWriter(w)
			return errors.Join(tensorboard.Write(b, t, rounds), b.Flush())
		}); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}
