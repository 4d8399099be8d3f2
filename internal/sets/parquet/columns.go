// Package parquet holds the sets of users' own data in Apache Parquet's format, as
// Hugging Face's sets are saved: pictures in PNG or JPEG, or texts, with a label each
// and perhaps a client.
package parquet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/formats/parquet"
	ownsets "github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// The names by which columns are found, the first that is there.
var (
	imageNames  = []string{"image", "img", "picture"}
	textNames   = []string{"text", "sentence", "content", "review"}
	labelNames  = []string{"label", "labels", "y", "target", "class", "fine_label", "sentiment"}
	clientNames = []string{"client", "client_id", "user", "user_id", "writer", "writer_id", "author", "speaker_id"}
)

// names returns the columns, those within others with dots.
func names(f *parquet.File) string {
	var names []string
	for _, c := range f.Columns {
		names = append(names, strings.Join(c.Path, "."))
	}
	return oneline.Names(names)
}

// column finds a column of one of some names that has one value a row, nil where there
// is no such column. A struct counts by its field bytes.
func column(f *parquet.File, names []string) (*parquet.Column, error) {
	for _, name := range names {
		var other *parquet.Column
		for i := range f.Columns {
			c := &f.Columns[i]
			switch {
			case c.Path[0] != name:
			case len(c.Path) > 1 && (len(c.Path) > 2 || c.Path[1] != "bytes"):
				other = c
			case c.Repeated:
				return nil, fmt.Errorf("%s: column %s contains lists; save one value per row", f.Path, name)
			default:
				return c, nil
			}
		}
		switch {
		case other == nil:
		case other.Repeated:
			return nil, fmt.Errorf("%s: column %s contains lists; save one value per row", f.Path, name)
		default:
			return nil, fmt.Errorf("%s: column %s has the field %s; save plain values, or pictures as {bytes, path}", f.Path, name, strings.Join(other.Path[1:], "."))
		}
	}
	return nil, nil
}

// must finds a column that has to be there.
func must(f *parquet.File, what string, list []string) (*parquet.Column, error) {
	c, err := column(f, list)
	if err == nil && c == nil {
		err = fmt.Errorf("%s has no column of %s, named %s, but %s", f.Path, what, strings.Join(list, ", "), names(f))
	}
	return c, err
}

// filesIn lists the files in a folder, and in those of its folders that are named for a
// part of the samples.
func filesIn(dir string) (files []string, err error) {
	quoted := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
	for _, pattern := range []string{"*.parquet", filepath.Join("*", "*.parquet")} {
		found, err := filepath.Glob(filepath.Join(quoted, pattern))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if _, named := ownsets.Part(filepath.Dir(f)); named || filepath.Dir(f) == filepath.Clean(dir) {
				files = append(files, f)
			}
		}
	}
	return files, nil
}

// find lists the files of training and of test samples at a path: one file, or those of
// a folder, or of its folder data, where files, or their folders, whose names have the
// word test are for testing, and those of validation where there are none.
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
		files, err := filesIn(dir)
		if err != nil {
			return nil, nil, nil, err
		}
		slices.Sort(files)
		for _, f := range files {
			part, named := ownsets.Part(f)
			if folder, within := ownsets.Part(filepath.Dir(f)); !named && within && filepath.Dir(f) != dir {
				part = folder
			}
			switch part {
			case ownsets.Test:
				test = append(test, f)
			case ownsets.Valid:
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
