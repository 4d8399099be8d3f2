// Package parquet holds the sets of users' own data in Apache Parquet's format, as
// Hugging Face's sets are saved: pictures in PNG or JPEG, or texts, with a label each
// and perhaps a client.
package parquet

import (
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/internal/formats/parquet"
	"github.com/fedfast/fedfast/internal/list"
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
	names := list.Of(f.Columns, func(c parquet.Column) string { return strings.Join(c.Path, ".") })
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
