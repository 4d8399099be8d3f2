package wholefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/internal/test/memtest"
)

// TestRead: a file that says that it is large, and what is no file, are refused.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := wholefile.Read(path); err != nil || string(text) != "{}" {
		t.Errorf("%q, error %v", text, err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	memtest.Bounded(t, 2, func() {
		if _, err := wholefile.Read(path); err == nil || !strings.HasSuffix(err.Error(),
			path+": it has 1.1 TB, must have at most 268 MB") {
			t.Errorf("error %v", err)
		}
	})
	if _, err := wholefile.Read(dir); err == nil || !strings.HasSuffix(err.Error(),
		dir+": is a folder, must be a regular file") {
		t.Errorf("a folder: error %v", err)
	}
	if _, err := wholefile.Read(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}
