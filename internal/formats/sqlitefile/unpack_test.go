package sqlitefile_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/fedfast/fedfast/internal/formats/sqlitefile"
	"github.com/fedfast/fedfast/internal/test/tfftest"
)

// numbers makes a file with a table of the numbers 1 to 2000.
func numbers(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "numbers.sqlite")
	tfftest.Exec(t, path, "CREATE TABLE n (n INTEGER)",
		"INSERT INTO n WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 2000) SELECT i FROM c")
	return path
}

// total adds the numbers of a file up.
func total(t *testing.T, path string) (sum int, err error) {
	t.Helper()
	f, err := sqlitefile.Open(t.Context(), path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = f.Query(t.Context(), func(scan func(...any) error) error {
		var n int
		err := scan(&n)
		sum += n
		return err
	}, "SELECT n FROM n")
	return sum, err
}

// copies lists what the cache holds.
func copies(t *testing.T) []string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := filepath.Glob(filepath.Join(cache, "fedfast", "unpacked", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(entries, func(path string) bool { return filepath.Base(path) == "lock" })
}

func TestUnpack(t *testing.T) {
	path := numbers(t)
	packed := tfftest.Pack(t, path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packedXZ bytes.Buffer
	w, err := xz.NewWriter(&packedXZ)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	other := path + ".xz"
	if err := os.WriteFile(other, packedXZ.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, packed, other, packed} {
		if sum, err := total(t, p); err != nil || sum != 2001000 {
			t.Errorf("%s: sum %d, %v", p, sum, err)
		}
	}
	have := copies(t)
	if len(have) != 2 {
		t.Fatalf("the cache holds %v, must be one copy of each packed file", have)
	}
	for _, c := range have { // cut short, say by a full disk
		if err := os.Truncate(c, 4096); err != nil {
			t.Fatal(err)
		}
	}
	if sum, err := total(t, packed); err != nil || sum != 2001000 {
		t.Errorf("with a damaged copy: sum %d, %v", sum, err)
	}
}

func TestUnpackErrors(t *testing.T) {
	path := numbers(t)
	packed := tfftest.Pack(t, path)
	content, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	packedText, err := os.ReadFile(tfftest.Pack(t, text))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"cut off", content[:len(content)/2], "the LZMA data end early; is the file complete?"},
		{"cut off in the head", content[:8], "the LZMA data end early; is the file complete?"},
		{"empty", nil, "the file is empty"},
		{"damaged", bytes.Repeat([]byte{0xff}, 200), "the LZMA data are damaged: "},
		{"another content", packedText, "what is packed in it is not an SQLite file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), "x.sqlite.lzma")
			if err := os.WriteFile(p, tt.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := total(t, p)
			if err == nil || !strings.HasPrefix(err.Error(), p+": "+tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, must be one line: %s", err, tt.want)
			}
			if left := copies(t); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := sqlitefile.Open(stopped, packed); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped context: %v", err)
	}
}
