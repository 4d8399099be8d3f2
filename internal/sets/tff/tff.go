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
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/formats/sqlitefile"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// key is what client_metadata counts by.
type key struct{ split, client string }

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
	left, err := metadata(ctx, f, splits)
	if err != nil {
		return err
	}
	if err := examples(ctx, f, splits, left, each); err != nil {
		return err
	}
	for _, k := range slices.SortedFunc(maps.Keys(left), func(a, b key) int {
		return strings.Compare(a.split+"\x00"+a.client, b.split+"\x00"+b.client)
	}) {
		if n := left[k]; n != 0 {
			return fmt.Errorf("%s: split %s, client %.64q: %d examples fewer than client_metadata says; is the file complete?", path, k.split, k.client, n)
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

// metadata returns the number of examples by split and client. Every split must
// be there.
func metadata(ctx context.Context, f *sqlitefile.File, splits []string) (map[key]int64, error) {
	counts, have := map[key]int64{}, map[string]bool{}
	var client, split string
	var n int64
	err := f.Query(ctx, func(scan func(...any) error) error {
		if err := scan(&client, &split, &n); err != nil {
			return err
		}
		have[split] = true
		if slices.Contains(splits, split) {
			k := key{split, client}
			if err := counted(f, split, client, n); err != nil {
				return err
			}
			if _, twice := counts[k]; twice {
				return fmt.Errorf("%s: split %s, client %.64q: client_metadata counts it twice", f.Path, split, client)
			}
			counts[k] = n
		}
		return nil
	}, "SELECT client_id, split_name, num_examples FROM client_metadata")
	if err != nil {
		return nil, err
	}
	for _, s := range splits {
		if !have[s] {
			return nil, fmt.Errorf("%s: has no split %s, only %s", f.Path, s, cmp.Or(oneline.Names(slices.Sorted(maps.Keys(have))), "an empty client_metadata"))
		}
	}
	return counts, nil
}

// counted returns an error if num_examples cannot be a client's.
func counted(f *sqlitefile.File, split, client string, n int64) error {
	if n < 0 || n > f.Room() {
		return fmt.Errorf("%s: split %s, client %.64q: num_examples is %d, must be 0 to %d, as many rows as the file has room for", f.Path, split, client, n, f.Room())
	}
	return nil
}

// examples reads the examples and counts left down.
func examples(ctx context.Context, f *sqlitefile.File, splits []string, left map[key]int64, each func(split, client string, of int64, e *Example) error) error {
	of := map[string]int64{}
	for k, n := range left {
		of[k.client] += n
	}
	var e Example
	var k key
	var message sql.RawBytes
	// All rows are looked at here, see sqlitefile.File.Query.
	query := "SELECT split_name, client_id, CASE WHEN split_name IN (?" + strings.Repeat(",?", len(splits)-1) + ") THEN serialized_example_proto END FROM examples ORDER BY rowid"
	args := list.Of(splits, func(s string) any { return s })
	at := 0
	return f.Query(ctx, func(scan func(...any) error) error {
		if err := scan(&k.split, &k.client, &message); err != nil {
			return err
		}
		if !slices.Contains(splits, k.split) {
			return nil
		}
		at++
		n, known := left[k]
		if !known || n == 0 {
			return fmt.Errorf("%s: split %s, client %.64q: more examples than client_metadata says", f.Path, k.split, k.client)
		}
		left[k] = n - 1
		err := memory.Check(int64(len(message)))
		if err == nil {
			err = e.Decode(message)
		}
		if err == nil {
			err = each(k.split, k.client, of[k.client], &e)
		}
		if err != nil {
			return fmt.Errorf("%s: client %.64q, example %d of the splits %s: %w", f.Path, k.client, at, strings.Join(splits, " and "), err)
		}
		return nil
	}, query, args...)
}
