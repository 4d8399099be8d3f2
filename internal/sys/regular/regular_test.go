package regular_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/fedfast/fedfast/internal/sys/regular"
)

func TestCause(t *testing.T) {
	if err := regular.Cause(&fs.PathError{Op: "read", Path: "x", Err: io.ErrClosedPipe}); !errors.Is(err,
		io.ErrClosedPipe) || err.Error() != io.ErrClosedPipe.Error() {
		t.Errorf("the cause of a read: %v", err)
	}
	if err := regular.Cause(io.EOF); !errors.Is(err, io.EOF) {
		t.Errorf("the cause of an end: %v", err)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := regular.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	if text, err := io.ReadAll(f); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := regular.Open(dir); err == nil || err.Error() != dir+": is a folder, must be a regular file" {
		t.Errorf("a folder: %v", err)
	}
	if _, err := regular.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
