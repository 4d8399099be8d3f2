// Package tff holds the sets of TensorFlow Federated: EMNIST, Shakespeare,
// CIFAR-100 and Stack Overflow. It reads the SQLite files in which TFF keeps them:
// table examples (split_name, client_id, serialized_example_proto: a
// tf.train.Example) and table client_metadata (client_id, split_name,
// num_examples), plain or packed by LZMA.
//
// The real files could not be had where this was written: the reader follows
// TFF's source code and is tested on files that the tests make.
package tff

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/formats/sqlitefile"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// Read calls each with every example of the splits, in the order of the file, in
// one pass. e is valid until each returns; of is the number of examples that
// client_metadata says the client has in all the splits. The clients of every
// split must have as many as it says. Errors name the file, and those of each
// the client and the example too.
func Read(ctx context.Context, path string, splits []string, each func(split, client string, of int64, e *Example) error) (err error) {
	f, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c := &Clients{file: f, splits: splits}
	known, err := c.count(ctx)
	if err != nil {
		return err
	}
	if err := c.examples(ctx, known, each); err != nil {
		return err
	}
	for _, client := range c.List {
		for i, n := range client.Examples {
			if n != 0 {
				return fmt.Errorf("%s: split %s, client %.64q: %d examples fewer than client_metadata says; is the file complete?",
					path, splits[i], client.ID, n)
			}
		}
	}
	return nil
}

// open opens a file that has both tables.
func open(ctx context.Context, path string) (*sqlitefile.File, error) {
	f, err := sqlitefile.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	err = f.Need(ctx, "examples", "split_name", "client_id", "serialized_example_proto")
	if err == nil {
		err = f.Need(ctx, "client_metadata", "client_id", "split_name", "num_examples")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// examples reads all examples, counts each off its client's in List, and calls each.
func (c *Clients) examples(ctx context.Context, known map[string]int, each func(split, client string, of int64, e *Example) error) error {
	of := list.Of(c.List, func(client Count) int64 {
		return int64(list.Sum(client.Examples, func(n int32) int { return int(n) }))
	})
	var e Example
	var split, client string
	var message sql.RawBytes
	// All rows are looked at here, see sqlitefile.File.Query.
	query := "SELECT split_name, client_id, CASE WHEN split_name IN (?" + strings.Repeat(",?", len(c.splits)-1) + ") THEN serialized_example_proto END FROM examples ORDER BY rowid"
	args := list.Of(c.splits, func(s string) any { return s })
	at := 0
	return c.file.Query(ctx, func(scan func(...any) error) error {
		if err := scan(&split, &client, &message); err != nil {
			return err
		}
		i := slices.Index(c.splits, split)
		if i < 0 {
			return nil
		}
		at++
		place, is := known[client]
		if !is || c.List[place].Examples[i] == 0 {
			return fmt.Errorf("%s: split %s, client %.64q: more examples than client_metadata says", c.file.Path, split, client)
		}
		c.List[place].Examples[i]--
		err := memory.Check(int64(len(message)))
		if err == nil {
			err = e.Decode(message)
		}
		if err == nil {
			err = each(split, client, of[place], &e)
		}
		if err != nil {
			return fmt.Errorf("%s: client %.64q, example %d of the splits %s: %w", c.file.Path, client, at, strings.Join(c.splits, " and "), err)
		}
		return nil
	}, query, args...)
}

// setFile is the name of the file of a set of TFF, without .sqlite.
type setFile string

const (
	emnistFile        setFile = "emnist_all"
	shakespeareFile   setFile = "shakespeare"
	cifar100File      setFile = "cifar100"
	stackOverflowFile setFile = "stackoverflow"
)

// path tells what data.path of the set is.
func (s setFile) path() string {
	return fmt.Sprintf("TFF's %[1]s.sqlite, or %[1]s.sqlite.lzma, which is unpacked once into the user's cache folder (or the folder that holds it)", s)
}

// in returns the file at a path: the path itself or one in the folder.
func (s setFile) in(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		if strings.HasSuffix(path, ".h5") {
			return "", s.older(path)
		}
		return path, nil
	}
	for _, suffix := range []string{".sqlite", ".sqlite.lzma"} {
		if file := filepath.Join(path, string(s)+suffix); regular.IsFile(file) {
			return file, nil
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_train.h5") {
			return "", s.older(filepath.Join(path, e.Name()))
		}
	}
	return "", fmt.Errorf("%[1]s: no file %[2]s.sqlite or %[2]s.sqlite.lzma", path, s)
}

// older is the error for a file in the form that TFF's sets had before.
func (s setFile) older(path string) error {
	return fmt.Errorf("%s: TFF's older HDF5 files are not read; %s.sqlite.lzma has the same samples, see `fedfast data fetch --help`", path, s)
}

// read calls each with every example of a training and a test split, see Read.
func (s setFile) read(ctx context.Context, path string, splits []string, each func(split, client string, of int64, e *Example) error) error {
	file, err := s.in(path)
	if err != nil {
		return err
	}
	return Read(ctx, file, splits, each)
}
