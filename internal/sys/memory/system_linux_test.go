package memory

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The least limit of a group and of those above it counts, and pages of files that
// can go do not.
func TestGroups(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a/b/memory.max", "max\n")
	write("a/b/memory.current", "500\n")
	write("a/memory.max", "1000\n")
	write("a/memory.current", "700\n")
	write("a/memory.stat", "anon 1\ninactive_file 50\n")
	write("memory/c/memory.limit_in_bytes", "2000\n")
	write("memory/c/memory.usage_in_bytes", "500\n")
	for of, want := range map[string]int64{
		"0::/a/b\n":                       350,
		"4:cpu:/a\n3:memory:/c\n":         1500,
		"3:memory:/c\n0::/a/b\n":          350,
		"0::/elsewhere\n":                 math.MaxInt64,
		"nonsense\n1:name=systemd:/a/b\n": math.MaxInt64,
	} {
		if got := groups(root, of); got != want {
			t.Errorf("groups of %q leave %d, want %d", of, got, want)
		}
	}
	if free := system(); free < 1<<20 || free > 1<<50 {
		t.Errorf("the system has %d bytes", free)
	}
}
