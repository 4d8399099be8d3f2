package sqlitefile_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/fedfast/fedfast/internal/sets/tff"
	"github.com/fedfast/fedfast/internal/test/memtest"
	"github.com/fedfast/fedfast/internal/test/tfftest"
)

// FuzzReaders: what is made of a file of TFF by changing some bytes
// gives examples, or one line that names the file.
func FuzzReaders(f *testing.F) {
	dir := f.TempDir()
	tfftest.Write(f, filepath.Join(dir, "tff"), []tfftest.Row{
		{Split: "train", Client: "a", Message: tfftest.Example(tfftest.Feature{Name: "snippets", Text: []byte("to be")})},
		{Split: "test", Client: "b", Message: tfftest.Example(tfftest.Feature{Name: "label", Ints: []int64{3}})},
	})
	file, err := os.ReadFile(filepath.Join(dir, "tff"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), uint32(0), []byte{})
	f.Add(uint32(0), uint32(100), []byte{0xff})
	f.Add(uint32(100), uint32(100), []byte{0, 0, 0, 0})
	f.Add(uint32(0), uint32(4096), bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, cut, at uint32, change []byte) {
		content := bytes.Clone(file)
		content = content[:len(content)-int(cut)%len(content)]
		copy(content[int(at)%len(content):], change)
		path := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		line := func(err error) {
			if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path)) {
				t.Errorf("error %q", err)
			}
		}
		memtest.Bounded(t, len(content), func() {
			line(tff.Read(t.Context(), path, []string{"train", "test"},
				func(string, string, int64, *tff.Example) error { return nil }))
		})
		clients, err := tff.OpenClients(t.Context(), path, []string{"train", "test"})
		line(err)
		if err != nil {
			return
		}
		for i := range min(len(clients.List), 10) {
			line(clients.Read(t.Context(), i, "train", func(*tff.Example) error { return nil }))
		}
		line(clients.Close())
	})
}

// FuzzPacked: packed content that is not a SQLite file, or is not packed, gives one
// line.
func FuzzPacked(f *testing.F) {
	var packed bytes.Buffer
	w, err := xz.NewWriter(&packed)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := io.WriteString(w, "SQLite format 3\x00 and not much more"); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(packed.Bytes())
	f.Add(packed.Bytes()[:packed.Len()/2])
	f.Add([]byte{0x5d, 0, 0, 0x80, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0})
	f.Add([]byte("SQLite format 3\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		tfftest.Cache(t)
		path := filepath.Join(t.TempDir(), "x.sqlite.lzma")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		memtest.Bounded(t, len(content), func() {
			err = tff.Read(t.Context(), path, []string{"train"}, func(string, string, int64, *tff.Example) error { return nil })
		})
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v", err)
		}
	})
}
