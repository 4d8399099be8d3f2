// Package tfftest writes files in the form of TensorFlow Federated for tests.
package tfftest

import (
	"database/sql"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/ulikunitz/xz/lzma"
	"google.golang.org/protobuf/encoding/protowire"
	_ "modernc.org/sqlite" // the driver
)

// Row is one example of a file.
type Row struct {
	Split, Client string
	Message       []byte
}

// Write makes a file with the rows, and counts them in client_metadata. Tables and
// indices are the indices of TFF's files.
func Write(t testing.TB, path string, rows []Row) {
	t.Helper()
	Exec(t, path,
		"CREATE TABLE examples (split_name TEXT NOT NULL, client_id TEXT NOT NULL, serialized_example_proto BLOB NOT NULL)",
		"CREATE INDEX idx_examples_client_id ON examples (client_id)",
		"CREATE INDEX idx_examples_client_id_split ON examples (split_name, client_id)",
		"CREATE TABLE client_metadata (client_id TEXT NOT NULL, split_name TEXT NOT NULL, num_examples INTEGER NOT NULL)",
	)
	db := open(t, path)
	for _, r := range rows {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO examples VALUES (?, ?, ?)", r.Split, r.Client,
			r.Message); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.ExecContext(t.Context(),
		"INSERT INTO client_metadata SELECT client_id, split_name, COUNT(*) FROM examples GROUP BY split_name, client_id"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// Exec runs SQL statements on a file, which it makes if need be.
func Exec(t testing.TB, path string, statements ...string) {
	t.Helper()
	db := open(t, path)
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Pack writes an LZMA copy of a file, as path with .lzma added, and returns its
// path. It makes the user's cache directory an empty one for the test.
func Pack(t testing.TB, path string) string {
	t.Helper()
	Cache(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(path + ".lzma")
	if err != nil {
		t.Fatal(err)
	}
	w, err := lzma.NewWriter(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}

// Cache makes the user's cache directory an empty one for the test and returns
// a folder that holds it.
func Cache(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("HOME", dir) // macOS
	t.Setenv("LocalAppData", dir)
	return dir
}

// Feature is a named list of values. One of the lists is set.
type Feature struct {
	Name     string
	Floats   []float32
	Ints     []int64
	Text     []byte
	Unpacked bool // one field a value, the older way to write a list
}

// Example returns the serialized tf.train.Example of features.
func Example(features ...Feature) []byte {
	var all []byte
	for _, f := range features {
		var entry []byte
		entry = protowire.AppendTag(entry, 1, protowire.BytesType)
		entry = protowire.AppendString(entry, f.Name)
		entry = protowire.AppendTag(entry, 2, protowire.BytesType)
		entry = protowire.AppendBytes(entry, f.message())
		all = protowire.AppendTag(all, 1, protowire.BytesType)
		all = protowire.AppendBytes(all, entry)
	}
	var message []byte
	message = protowire.AppendTag(message, 1, protowire.BytesType)
	return protowire.AppendBytes(message, all)
}

// message returns the serialized tf.train.Feature.
func (f Feature) message() []byte {
	number := protowire.Number(1)
	var list []byte
	switch {
	case f.Text != nil:
		list = protowire.AppendTag(list, 1, protowire.BytesType)
		list = protowire.AppendBytes(list, f.Text)
	case f.Floats != nil:
		number = 2
		var run []byte
		for _, v := range f.Floats {
			if f.Unpacked {
				list = protowire.AppendTag(list, 1, protowire.Fixed32Type)
				list = protowire.AppendFixed32(list, math.Float32bits(v))
			}
			run = protowire.AppendFixed32(run, math.Float32bits(v))
		}
		list = f.packed(list, run)
	default:
		number = 3
		var run []byte
		for _, v := range f.Ints {
			if f.Unpacked {
				list = protowire.AppendTag(list, 1, protowire.VarintType)
				list = protowire.AppendVarint(list, uint64(v))
			}
			run = protowire.AppendVarint(run, uint64(v))
		}
		list = f.packed(list, run)
	}
	var message []byte
	message = protowire.AppendTag(message, number, protowire.BytesType)
	return protowire.AppendBytes(message, list)
}

// packed appends a packed run unless the values are there one by one.
func (f Feature) packed(list, run []byte) []byte {
	if f.Unpacked {
		return list
	}
	list = protowire.AppendTag(list, 1, protowire.BytesType)
	return protowire.AppendBytes(list, run)
}
