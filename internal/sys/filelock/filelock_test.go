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

	third, fourth := open(), open()
	for range 2 { // those that look do not stand in each other's way
		if free, err := filelock.Share(third); err != nil || !free {
			t.Errorf("a file that others look at: free %v, %v", free, err)
		}
		third, fourth = fourth, third
	}
	fifth := open()
	if free, err := filelock.Try(fifth); err != nil || free {
		t.Errorf("a file that others look at, for one alone: free %v, %v", free, err)
	}
	for _, f := range []*os.File{third, fourth} {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if free, err := filelock.Try(fifth); err != nil || !free {
		t.Errorf("a file that nobody looks at any more: free %v, %v", free, err)
	}
	last := open()
	if free, err := filelock.Share(last); err != nil || free {
		t.Errorf("a locked file, to look: free %v, %v", free, err)
	}
	for _, f := range []*os.File{fifth, last} {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
