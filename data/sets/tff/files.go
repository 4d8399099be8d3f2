package tff

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/data/formats/hdf5"
	"github.com/fedfast/fedfast/data/sys/oneline"
	"github.com/fedfast/fedfast/data/sys/regular"
)

// setFiles names the files of a set of TFF.
type setFiles struct {
	sqlite string // without .sqlite
	h5     string // without _train.h5 and _test.h5; "" if that form is not read
	// features are those of the older form that hold one value or image an
	// example.
	features []string
}

var (
	emnistFiles        = setFiles{"emnist_all", "fed_emnist", []string{"pixels", "label"}}
	digitFiles         = setFiles{"emnist_all", "fed_emnist_digitsonly", []string{"pixels", "label"}}
	shakespeareFiles   = setFiles{"shakespeare", "shakespeare", []string{"snippets"}}
	cifar100Files      = setFiles{"cifar100", "fed_cifar100", []string{"image", "label", "coarse_label"}}
	stackOverflowFiles = setFiles{sqlite: "stackoverflow"}
)

// path tells what data.path of the set is.
func (s setFiles) path() string {
	text := "TFF's " + s.sqlite + ".sqlite, or " + s.sqlite + ".sqlite.lzma, which is unpacked once into the user's cache folder (or the folder that holds it)"
	if s.h5 != "" {
		text += "; or the folder that holds TFF's older " + s.h5 + "_train.h5 and " + s.h5 + "_test.h5"
	}
	return text
}

// sqliteFile returns the file in the newer form: the path itself or one in the
// folder.
func (s setFiles) sqliteFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return path, nil
	}
	for _, suffix := range []string{".sqlite", ".sqlite.lzma"} {
		if file := filepath.Join(path, s.sqlite+suffix); regular.IsFile(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: no file %s.sqlite or %s.sqlite.lzma", path, s.sqlite, s.sqlite)
}

// read calls each with every example of a training and a test split, see
// Read. In the older form each split is a file, whatever its name.
func (s setFiles) read(ctx context.Context, path string, splits []string, each func(split, client string, of int64, e *Example) error) error {
	file, err := s.sqliteFile(path)
	if err == nil {
		return Read(ctx, file, splits, each)
	}
	var older [2]string
	for i, end := range []string{"_train.h5", "_test.h5"} {
		older[i] = filepath.Join(path, s.h5+end)
	}
	if !regular.IsFile(older[0]) && !regular.IsFile(older[1]) {
		if regular.IsFolder(path) {
			err = fmt.Errorf("%w, nor %s_train.h5 and %s_test.h5", err, s.h5, s.h5)
		}
		return err
	}
	for i, file := range older {
		err := s.readH5(ctx, file, func(client string, of int64, e *Example) error { return each(splits[i], client, of, e) })
		if err != nil {
			return err
		}
	}
	return nil
}

// readH5 calls each with every example of a file in the older form: a group
// examples of a group a client of a data set a feature.
func (s setFiles) readH5(ctx context.Context, path string, each func(client string, of int64, e *Example) error) (err error) {
	f, err := hdf5.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	examples, err := f.Root().Member("examples")
	if err != nil {
		return err
	}
	return examples.Each(func(client string, group hdf5.Object) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		columns := make([]column, len(s.features))
		for i, name := range s.features {
			var err error
			if columns[i], err = readColumn(path, group, name); err != nil {
				return err
			}
			if columns[i].n != columns[0].n {
				return fmt.Errorf("%s: %s: %d examples of feature %s, %d of %s", path, oneline.Name(group.Name()), columns[i].n, name, columns[0].n, s.features[0])
			}
		}
		e := NewExample()
		for i := range columns[0].n {
			for c := range columns {
				columns[c].set(e, i)
			}
			if err := each(client, int64(columns[0].n), e); err != nil {
				return fmt.Errorf("%s: client %.64q, example %d: %w", path, client, i+1, err)
			}
		}
		return nil
	})
}

// column holds a feature of a client's n examples.
type column struct {
	name   string
	n, row int // examples, values of one
	floats []float32
	ints   []int64
	texts  [][]byte
}

// readColumn reads the data set of a feature.
func readColumn(path string, client hdf5.Object, name string) (column, error) {
	member, err := client.Member(name)
	if err != nil {
		return column{}, err
	}
	d, err := member.Dataset()
	if err != nil {
		return column{}, err
	}
	c := column{name: name, n: 1, row: 1}
	for i, size := range d.Dims {
		if i == 0 {
			c.n = size
		} else {
			c.row *= size
		}
	}
	if name == "snippets" && c.row != 1 {
		return c, fmt.Errorf("%s: %s: dimensions %v, must be one text an example", path, oneline.Name(member.Name()), d.Dims)
	}
	switch name {
	case "pixels":
		c.floats, err = d.Floats()
	case "snippets":
		c.texts, err = d.Texts()
	default:
		c.ints, err = d.Ints()
	}
	return c, err
}

// set makes the feature of e that of example i.
func (c *column) set(e *Example, i int) {
	switch {
	case c.floats != nil:
		e.SetFloats(c.name, c.floats[i*c.row:(i+1)*c.row])
	case c.texts != nil:
		e.SetText(c.name, c.texts[i*c.row]) // texts are single values
	default:
		e.SetInts(c.name, c.ints[i*c.row:(i+1)*c.row])
	}
}
