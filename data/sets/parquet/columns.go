// Package parquet holds the sets of users' own examples in Apache Parquet's format, as
// Hugging Face's sets are saved: pictures in PNG or JPEG, or texts, with a label each
// and perhaps a client.
package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/fedfast/fedfast/data/internal/regular"
	"github.com/fedfast/fedfast/data/sys/oneline"
)

// The names by which columns are found, the first that is there.
var (
	imageNames  = []string{"image", "img", "picture"}
	textNames   = []string{"text", "sentence", "content", "review"}
	labelNames  = []string{"label", "labels", "y", "target", "class", "fine_label", "sentiment"}
	clientNames = []string{"client", "client_id", "user", "user_id", "writer", "writer_id", "author", "speaker_id"}
)

// file is an open file.
type file struct {
	path string
	os   *os.File
	*parquet.File
}

// open opens a file. Its errors, and those of reading, name the path.
func open(path string) (*file, error) {
	in, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, os: in}
	err = f.guard(func() error {
		info, err := in.Stat()
		if err == nil {
			f.File, err = parquet.OpenFile(in, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		}
		if err != nil {
			return fmt.Errorf("%s: this is no file in Parquet's format: %w", path, cause(err))
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return f, nil
}

// guard turns what the library panics with on a damaged file into an error.
func (f *file) guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: the file is damaged: %s", f.path, oneline.Name(fmt.Sprint(p)))
		}
	}()
	return do()
}

// cause says what an end of a file within what it must hold is.
func cause(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends early")
	}
	return regular.Cause(err)
}

// names returns the columns, those within others with dots.
func (f *file) names() string {
	var names []string
	for _, c := range f.Schema().Columns() {
		names = append(names, strings.Join(c, "."))
	}
	return oneline.Names(names)
}

// column finds a column of one of some names that has one value a row; ok is false
// where there is none. A struct counts by its field bytes.
func (f *file) column(names []string) (leaf parquet.LeafColumn, ok bool, err error) {
	for _, name := range names {
		way := []string{name}
		if leaf, ok = f.Schema().Lookup(way...); !ok {
			way = append(way, "bytes")
			leaf, ok = f.Schema().Lookup(way...)
		}
		leaf.Path = way
		if ok && leaf.MaxRepetitionLevel > 0 {
			return leaf, true, fmt.Errorf("%s: column %s holds lists; save one value a row", f.path, name)
		}
		if ok {
			return leaf, true, nil
		}
		for _, c := range f.Schema().Columns() {
			if c[0] == name {
				return leaf, true, fmt.Errorf("%s: column %s has the field %s; save plain values, or pictures as {bytes, path}", f.path, name, strings.Join(c[1:], "."))
			}
		}
	}
	return leaf, false, nil
}

// must finds a column that has to be there.
func (f *file) must(what string, names []string) (parquet.LeafColumn, error) {
	leaf, ok, err := f.column(names)
	if err == nil && !ok {
		err = fmt.Errorf("%s has no column of %s, named %s, but %s", f.path, what, strings.Join(names, ", "), f.names())
	}
	return leaf, err
}

// each calls with the values of a column, row by row from 1 on. A value is valid until
// the call returns.
func (f *file) each(ctx context.Context, leaf parquet.LeafColumn, call func(row int, v parquet.Value) error) error {
	row := 0
	return f.guard(func() error {
		for _, group := range f.RowGroups() {
			pages := group.ColumnChunks()[leaf.ColumnIndex].Pages()
			err := eachOf(ctx, pages, func(v parquet.Value) error {
				row++
				if v.IsNull() {
					return fmt.Errorf("row %d of column %s has no value", row, strings.Join(leaf.Path, "."))
				}
				return call(row, v)
			})
			if err = errors.Join(err, pages.Close()); err != nil {
				return fmt.Errorf("%s: %w", f.path, err)
			}
		}
		return nil
	})
}

// eachOf calls with the values of pages.
func eachOf(ctx context.Context, pages parquet.Pages, call func(v parquet.Value) error) error {
	buffer := make([]parquet.Value, 64)
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("the file is damaged, or cannot be read: %w", cause(err))
		}
		values := page.Values()
		for {
			n, err := values.ReadValues(buffer)
			for _, v := range buffer[:n] {
				if err := call(v); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) || n == 0 && err == nil {
				break
			}
			if err != nil {
				return fmt.Errorf("the file is damaged: %w", cause(err))
			}
		}
		parquet.Release(page)
	}
}

// find lists the files of training and of test samples at a path: one file, or those of
// a folder, or of its folder data, where names that begin with test are for testing, and
// those that begin with valid where none do.
func find(path string) (train, test, other []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil, nil, nil
	}
	var valid []string
	for _, dir := range []string{path, filepath.Join(path, "data")} {
		files, err := filepath.Glob(filepath.Join(strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir), "*.parquet"))
		if err != nil {
			return nil, nil, nil, err
		}
		slices.Sort(files)
		for _, f := range files {
			switch name := filepath.Base(f); {
			case strings.HasPrefix(name, "test"):
				test = append(test, f)
			case strings.HasPrefix(name, "valid"):
				valid = append(valid, f)
			default:
				train = append(train, f)
			}
		}
		if len(train) > 0 {
			break
		}
	}
	if len(train) == 0 {
		return nil, nil, nil, fmt.Errorf("%s: no .parquet file of training samples in it, nor in data/", path)
	}
	if len(test) == 0 {
		return train, valid, nil, nil
	}
	return train, test, valid, nil
}
