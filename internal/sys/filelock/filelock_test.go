package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fedfast/fedfast/internal/sys/filelock"
)

// A locked file is not free for another descriptor until the first is closed.
func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := open(), open()
	free, err := filelock.Try(first)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("this system has no locks")
	}
	if err != nil || !free {
		t.Fatalf("a new file: free %v, %v", free, err)
	}
	if free, err := filelock.Try(second); err != nil || free {
		t.Errorf("a locked file: free %v, %v", free, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if free, err := filelock.Try(second); err != nil || !free {
		t.Errorf("a closed file: free %v, %v", free, err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}
