package tff

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/tfftest"
)

// labelled returns rows with a label each.
func labelled(split, client string, labels ...int64) []tfftest.Row {
	var rows []tfftest.Row
	for _, l := range labels {
		rows = append(rows, tfftest.Row{
			Split: split, Client: client,
			Message: tfftest.Example(tfftest.Feature{Name: "label", Ints: []int64{l}}),
		})
	}
	return rows
}

// readAll returns the examples of splits as "split/client:label of examples".
func readAll(t *testing.T, path string, splits ...string) ([]string, error) {
	t.Helper()
	var got []string
	err := Read(t.Context(), path, splits, func(split, client string, of int64, e *Example) error {
		l, err := e.Label("label", 10)
		got = append(got, fmt.Sprintf("%s/%s:%d of %d", split, client, l, of))
		return err
	})
	return got, err
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a set #1 %41.sqlite") // what a URI must escape
	tfftest.Write(t, path, slices.Concat(
		labelled("train", "b", 1, 2), labelled("test", "a", 3), labelled("train", "a", 4),
		labelled("other", "a", 99), labelled("train", "b", 5)))
	want := []string{"train/b:1 of 3", "train/b:2 of 3", "test/a:3 of 2", "train/a:4 of 2", "train/b:5 of 3"}
	packed := tfftest.Pack(t, path)
	for range 2 { // the second time from the copy
		for _, p := range []string{path, packed} {
			got, err := readAll(t, p, "train", "test")
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %v", p, got, err)
			}
		}
	}
	if got, err := readAll(t, path, "test"); err != nil || !slices.Equal(got, []string{"test/a:3 of 1"}) {
		t.Errorf("one split: %v, %v", got, err)
	}
}

func TestReadErrors(t *testing.T) {
	write := func(rows []tfftest.Row, statements ...string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			tfftest.Write(t, path, rows)
			tfftest.Exec(t, path, statements...)
		}
	}
	good := slices.Concat(labelled("train", "a", 1, 2), labelled("test", "a", 3))
	for _, tt := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"table", write(good, "DROP TABLE client_metadata"), "has no table client_metadata"},
		{"empty", func(t *testing.T, path string) {
			tfftest.Exec(t, path,
				"CREATE TABLE federated_data (x)")
		}, "has no table examples"},
		{
			"column", write(good, "ALTER TABLE examples RENAME COLUMN client_id TO client"),
			"table examples has no column client_id, only split_name, client, serialized_example_proto",
		},
		{"split", write(labelled("all_train", "a", 1)), "has no split train, only all_train"},
		{
			"fewer", write(good, "DELETE FROM examples WHERE split_name = 'test'"),
			`split test, client "a": 1 examples fewer than client_metadata says; is the file complete?`,
		},
		{
			"more", write(good, "UPDATE client_metadata SET num_examples = 1"),
			`split train, client "a": more examples than client_metadata says`,
		},
		{"negative", write(good, "UPDATE client_metadata SET num_examples = -1"), `client "a": num_examples is -1`},
		{
			"largest number", write(good, "UPDATE client_metadata SET num_examples = 9223372036854775807"),
			`client "a": num_examples is 9223372036854775807, must be 0 to `,
		},
		{
			"counted twice", write(good, "INSERT INTO client_metadata VALUES ('a', 'train', 2)"),
			`split train, client "a": client_metadata counts it twice`,
		},
		{
			"endless view", write(good, "DROP TABLE examples", `CREATE VIEW examples AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n)
			SELECT 'other' AS split_name, 'a' AS client_id, x'' AS serialized_example_proto FROM n`),
			"examples is a view, must be a table",
		},
		{"view of clients", write(good, "ALTER TABLE client_metadata RENAME TO c",
			"CREATE VIEW client_metadata AS SELECT * FROM c"), "client_metadata is a view, must be a table"},
		{
			"virtual table", write(good, "DROP TABLE client_metadata",
				"CREATE VIRTUAL TABLE client_metadata USING fts5(client_id, split_name, num_examples)"),
			"client_metadata is a virtual table, must be a table",
		},
		{"wild column", write(good, "ALTER TABLE examples RENAME COLUMN client_id TO \"\x1b[31m"+strings.Repeat("w",
			500)+"\""), `has no column client_id, only split_name, "\x1b[31mwww`},
		{
			"feature twice", write([]tfftest.Row{{
				Split: "train", Client: "a",
				Message: tfftest.Example(tfftest.Feature{Name: "label", Ints: []int64{1}},
					tfftest.Feature{Name: "label", Ints: []int64{2}}),
			}, good[2]}),
			`example 1 of the splits train and test: has feature label twice`,
		},
		{"last bytes cut off", func(t *testing.T, path string) {
			tfftest.Write(t, path, slices.Repeat(good, 200))
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()-100); err != nil {
				t.Fatal(err)
			}
		}, "is the file complete?"},
		{"last page cut off", func(t *testing.T, path string) {
			tfftest.Write(t, path, good)
			tfftest.Exec(t, path, "CREATE TABLE more (n)")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()-4096); err != nil {
				t.Fatal(err)
			}
		}, "is the file complete?"},
		{"empty file", func(t *testing.T, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "the file is empty"},
		{
			"label", write(slices.Concat(good, labelled("train", "b", 11))),
			`client "b", example 4 of the splits train and test: label 11 must be in 0 to 9`,
		},
		{
			"no example", write(good, "UPDATE examples SET serialized_example_proto = x'0aff'"),
			`client "a", example 1 of the splits train and test: is no tf.train.Example`,
		},
		{"no SQLite", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("<html>Not found</html>"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not an SQLite file, nor one packed by LZMA (.lzma, .xz)"},
		{"cut off", func(t *testing.T, path string) {
			tfftest.Write(t, path, slices.Repeat(good, 200))
			if err := os.Truncate(path, 8192); err != nil {
				t.Fatal(err)
			}
		}, "is the file complete?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.sqlite")
			tt.make(t, path)
			_, err := readAll(t, path, "train", "test")
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), tt.want) ||
				strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 500 {
				t.Errorf("error %v, must be one line with %s", err, tt.want)
			}
			atOnce := []string{
				"largest number", "counted twice", "endless view", "view of clients", "virtual table",
				"last bytes cut off", "last page cut off", "empty file",
			}
			if !slices.Contains(atOnce, tt.name) {
				return
			}
			if _, err := OpenClients(t.Context(), path, []string{"train", "test"}); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("OpenClients: error %v, must have %s", err, tt.want)
			}
		})
	}
	if _, err := readAll(t, filepath.Join(t.TempDir(), "none.sqlite"), "train"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
