//go:build unix

package sets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fedfast/fedfast/data"
)

// TestNothingThere: each set refuses a path that holds nothing of it in one line
// that names the path, whatever is there instead, and waits for nothing.
func TestNothingThere(t *testing.T) {
	names := []string{
		"all.json", "train/all.json", "raw_data.txt", "Posts.xml", "train.bin", "test.bin",
		"data_batch_1.bin", "test_batch.bin",
		"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte",
		"qmnist-train-labels-idx2-int", "qmnist-test-labels-idx2-int",
		"emnist_all.sqlite", "shakespeare.sqlite", "cifar100.sqlite", "stackoverflow.sqlite",
		"shakespeare_train.sqlite", "shakespeare_test.sqlite",
		"federated_emnist_train.sqlite", "federated_emnist_digitsonly_train.sqlite", "federated_cifar100_train.sqlite",
		"stackoverflow_train.sqlite",
	}
	// filled returns a folder with all the names, made by a function.
	filled := func(make func(path string) error) func(t *testing.T) string {
		return func(t *testing.T) string {
			dir := t.TempDir()
			for _, name := range names {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := make(path); err != nil {
					t.Fatal(err)
				}
			}
			return dir
		}
	}
	pipe := func(path string) error { return unix.Mkfifo(path, 0o600) }
	holding := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	alone := func(make func(path string) error) func(t *testing.T) string {
		return func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "file")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, tt := range []struct {
		name string
		make func(t *testing.T) string
	}{
		{"nothing", func(t *testing.T) string { return filepath.Join(t.TempDir(), "none") }},
		{"empty folder", func(t *testing.T) string { return t.TempDir() }},
		{"empty file", alone(holding(""))},
		{"one byte", alone(holding("x"))},
		{"pipe", alone(pipe)},
		{"device", func(*testing.T) string { return "/dev/zero" }},
		{"folder of pipes", filled(pipe)},
		{"folder of folders", filled(func(path string) error { return os.Mkdir(path, 0o755) })},
		{"folder of empty files", filled(holding(""))},
		{"folder of bytes", filled(holding("x"))},
		{"folder of gzip heads", filled(holding("\x1f\x8b\x08"))},
		{"folder of SQLite heads", filled(holding("SQLite format 3\x00"))},
	} {
		for _, s := range data.Sets() {
			if s.Path == "" {
				continue
			}
			t.Run(tt.name+"/"+s.Name, func(t *testing.T) {
				path := tt.make(t)
				_, err := data.Open(t.Context(), data.Config{Name: s.Name, Path: path})
				if err == nil {
					t.Fatal("it is opened")
				}
				line := err.Error()
				t.Log(line)
				if !strings.Contains(line, path) || strings.ContainsAny(line, "\n") || len(line) > 500 ||
					strings.Contains(line, "EOF") || strings.Count(line, path+":") > 1 {
					t.Errorf("error %q, must be one line of what is wrong with %s", line, path)
				}
			})
		}
	}
}
