package outfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		check func(string) error
		path  string
		want  string
	}{
		{File, "", ""},
		{File, file, ""},
		{File, filepath.Join(dir, "new"), ""},
		{File, os.DevNull, ""},
		{File, dir, "is a directory"},
		{File, filepath.Join(dir, "nosuch", "new"), " not found"},
		{File, filepath.Join(file, "new"), "new"},
		{Dir, "", ""},
		{Dir, dir, ""},
		{Dir, filepath.Join(dir, "a", "b", "c"), ""},
		{Dir, file, "is not a directory"},
		{Dir, filepath.Join(file, "new"), "file"},
	} {
		err := tt.check(tt.path)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.path, err, tt.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "content" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}
