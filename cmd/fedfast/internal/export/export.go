// Package export writes what studies have measured into files that other programs read:
// tables as CSV, JSON Lines or Parquet, trials as the log of an Optuna study or as
// TensorBoard's events, and what a model predicts. A study may be running meanwhile.
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

	"github.com/fedfast/fedfast/cmd/fedfast/internal/export/internal/optuna"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/export/internal/tablefile"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/export/internal/tensorboard"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// What a study is exported to whose trials are asked for, not its tables.
const (
	Optuna      = "optuna"      // a log of Optuna's JournalStorage
	TensorBoard = "tensorboard" // a file of events for each trial
)

// The names of files and folders of exports.
const (
	OptunaFile        = "optuna.log"
	TensorBoardFolder = "tensorboard"
)

// Formats returns the formats of Study: those of tables, which end the names of their
// files, then Optuna and TensorBoard.
func Formats() []string { return append(tablefile.Formats(), Optuna, TensorBoard) }

// Study exports the study in a directory to files in the directory out, which it makes,
// and returns their paths: each of store.Tables in a file of its own, or OptunaFile, or
// below TensorBoardFolder a folder for each trial. A directory without a study is an
// fs.ErrNotExist; one with the studies of several seeds, or of a run where trials are asked
// for, a *workdir.OtherError.
func Study(ctx context.Context, dir, out, format string) ([]string, error) {
	switch {
	case !slices.Contains(Formats(), format):
		return nil, unknown(format, Formats())
	case workdir.HoldsSeeds(dir):
		return nil, ofSeeds(dir)
	case format == Optuna:
		return exportOptuna(ctx, dir, out)
	case format == TensorBoard:
		return exportEvents(ctx, dir, out)
	}
	v, err := store.Look(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	var files []string
	for _, name := range store.Tables() {
		path := filepath.Join(out, name+"."+format)
		if err := wholefile.Folder(out); err != nil {
			return nil, err
		}
		if err := wholefile.Stream(path, 0o644, func(w io.Writer) error { return write(ctx, v, w, name, format, 0, 0) }); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// Table writes one of store.Tables of the study in a directory in the format csv, jsonl or
// parquet: at most limit rows after the first ones, all of these if limit is 0.
// Hyperparameters are columns params_client.lr and so on. Its errors are the errors of Study.
func Table(ctx context.Context, w io.Writer, dir, name, format string, after, limit int) error {
	switch {
	case !slices.Contains(tablefile.Formats(), format):
		return unknown(format, tablefile.Formats())
	case workdir.HoldsSeeds(dir):
		return ofSeeds(dir)
	}
	v, err := store.Look(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // it was read only
	return write(ctx, v, w, name, format, after, limit)
}

func unknown(format string, known []string) error {
	return fmt.Errorf("format %q: must be one of %s", format, strings.Join(known, ", "))
}

func ofSeeds(dir string) error {
	return &workdir.OtherError{Err: fmt.Errorf("%s: contains studies of several seeds; export its subdirectories one by one", dir)}
}

// Rows returns one of store.Tables as Table writes it, each row by the names of the columns.
func Rows(ctx context.Context, v *store.View, name string) ([]map[string]any, error) {
	t, err := expanded(ctx, v, name, 0, 0)
	if err != nil {
		return nil, err
	}
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

// write writes a table of a study.
func write(ctx context.Context, v *store.View, w io.Writer, name, format string, after, limit int) error {
	t, err := expanded(ctx, v, name, after, limit)
	if err != nil {
		return err
	}
	return tablefile.Write(w, format, t)
}

// expanded returns a table of a study with a column for each hyperparameter.
func expanded(ctx context.Context, v *store.View, name string, after, limit int) (*store.Table, error) {
	t, err := v.Part(ctx, name, after, limit)
	if err == nil && name != "decisions" {
		tablefile.Expand(t)
	}
	return t, err
}

// exportOptuna writes a study's trials as a log of Optuna's.
func exportOptuna(ctx context.Context, dir, out string) ([]string, error) {
	v, about, err := view.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	if err := optuna.Check(about); err != nil {
		return nil, &workdir.OtherError{Err: err}
	}
	adds, err := added(ctx, about.Config)
	if err != nil {
		return nil, err
	}
	if err := wholefile.Folder(out); err != nil {
		return nil, err
	}
	path := filepath.Join(out, OptunaFile)
	return []string{path}, wholefile.Stream(path, 0o644, func(w io.Writer) error { return optuna.Write(w, about, adds) })
}

// added are the dimensions that a built-in client tuner adds to the space.
func added(ctx context.Context, c *config.Config) ([]tuners.Dim, error) {
	builtin := plugins.Builtin()
	for _, name := range []string{c.ClientTuner.Name, c.Tuner.Name} {
		if t := builtin[name]; t != nil {
			about, err := t.Describe(ctx)
			if err != nil || len(about.Adds) > 0 {
				return about.Adds, err
			}
		}
	}
	return nil, nil
}

// exportEvents writes the curves of a study's trials as TensorBoard's runs.
func exportEvents(ctx context.Context, dir, out string) ([]string, error) {
	v, about, err := view.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	var files []string
	for i := range about.Trials {
		t := &about.Trials[i]
		rounds, err := v.Curve(ctx, t, 0, about.Config.Score.Discount)
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
