package gzfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/sys/memory"
)

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(t *testing.T, content string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReadAll(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("To be, or not to be. ", 10_000)
	for name, content := range map[string]string{"plain": long, "packed": packed(t, long), "tiny": "x"} {
		got, err := ReadAll(write(t, dir, name, content))
		if name == "plain" || name == "packed" {
			content = long
		}
		if err != nil || string(got) != content {
			t.Errorf("%s: read %d bytes of %d, %v", name, len(got), len(content), err)
		}
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	whole := packed(t, "some text of some length")
	for name, tt := range map[string]struct{ content, want string }{
		"empty":   {"", "the file is empty"},
		"cut.gz":  {whole[:20], "the gzip data end early; is the file complete?"},
		"head.gz": {whole[:6], "the gzip data end early; is the file complete?"},
		"damaged.gz": {
			whole[:len(whole)-6] + "\x00" + whole[len(whole)-5:],
			"the gzip data are damaged: gzip: invalid checksum",
		},
	} {
		path := write(t, dir, name, tt.content)
		if _, err := ReadAll(path); err == nil || err.Error() != path+": "+tt.want {
			t.Errorf("%s: error %v, must be %s", name, err, tt.want)
		}
	}
	if _, err := ReadAll(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := ReadAll(dir); err == nil || strings.Count(err.Error(), dir) != 1 {
		t.Errorf("a folder: %v", err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "b.bin.gz", "")
	if got, err := Find(dir, "a.bin", "b.bin"); got != path || err != nil {
		t.Errorf("found %q, %v", got, err)
	}
	if _, err := Find(dir, "a.bin", "c.bin"); err == nil || err.Error() != dir+": no file a.bin or c.bin, plain or .gz" {
		t.Errorf("nothing to find: %v", err)
	}
}

// zeros reads as zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A gzip file that unpacks to a thousand times its size is given up in time.
func TestBomb(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bomb.gz")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(out)
	if _, err := io.Copy(z, io.LimitReader(zeros{}, 400<<20)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, f)
	if err == nil || !strings.HasPrefix(err.Error(),
		path+": unpacks to more than 189 MB, the most for a gzip file of ") || n > memory.Most(1<<20) {
		t.Errorf("%d bytes, error %v", n, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
