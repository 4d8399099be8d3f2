// Package tff reads the SQLite files in which TensorFlow Federated keeps its
// sets: table examples (split_name, client_id, serialized_example_proto: a
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
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data/formats/sqlitefile"
)

// key is what client_metadata counts by.
type key struct{ split, client string }

// Read calls each with every example of the splits, in the order of the file, in
// one pass. e is valid until each returns; of is the number of examples that
// client_metadata says the client has in all the splits. The clients of every
// split must have as many as it says. Errors name the file, and those of each
// the client and the example too.
func Read(ctx context.Context, path string, splits []string, each func(split, client string, of int64, e *Example) error) (err error) {
	f, err := sqlitefile.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Need(ctx, "examples", "split_name", "client_id", "serialized_example_proto"); err != nil {
		return err
	}
	if err := f.Need(ctx, "client_metadata", "client_id", "split_name", "num_examples"); err != nil {
		return err
	}
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
			return fmt.Errorf("%s: split %s, client %q: %d examples fewer than client_metadata says; is the file complete?", path, k.split, k.client, n)
		}
	}
	return nil
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
			if n < 0 {
				return fmt.Errorf("%s: split %s, client %q: num_examples is %d", f.Path, split, client, n)
			}
			counts[key{split, client}] += n
		}
		return nil
	}, "SELECT client_id, split_name, num_examples FROM client_metadata")
	if err != nil {
		return nil, err
	}
	for _, s := range splits {
		if !have[s] {
			return nil, fmt.Errorf("%s: has no split %s, only %s", f.Path, s, strings.Join(slices.Sorted(maps.Keys(have)), ", "))
		}
	}
	return counts, nil
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
	// The + keeps SQLite from an index on split_name, after which it would have to
	// sort all examples back into the order of the file.
	query := "SELECT split_name, client_id, serialized_example_proto FROM examples WHERE +split_name IN (?" + strings.Repeat(",?", len(splits)-1) + ") ORDER BY rowid"
	args := make([]any, len(splits))
	for i, s := range splits {
		args[i] = s
	}
	at := 0
	return f.Query(ctx, func(scan func(...any) error) error {
		if err := scan(&k.split, &k.client, &message); err != nil {
			return err
		}
		at++
		n, known := left[k]
		if !known || n == 0 {
			return fmt.Errorf("%s: split %s, client %q: more examples than client_metadata says", f.Path, k.split, k.client)
		}
		left[k] = n - 1
		err := e.Decode(message)
		if err == nil {
			err = each(k.split, k.client, of[k.client], &e)
		}
		if err != nil {
			return fmt.Errorf("%s: client %q, example %d of the splits %s: %w", f.Path, k.client, at, strings.Join(splits, " and "), err)
		}
		return nil
	}, query, args...)
}
