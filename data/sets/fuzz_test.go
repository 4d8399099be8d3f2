package sets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/memtest"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// FuzzOpen: whatever is in the file of a set, it gives a federation or one line, in
// memory and time that follow from the file's size.
func FuzzOpen(f *testing.F) {
	files := []struct{ set, name string }{
		{"leaf-femnist", "all.json"},
		{"leaf-shakespeare", "raw_data.txt"},
		{"leaf-shakespeare", "all.json"},
		{"leaf-sent140", "all.json"},
		{"leaf-celeba", "all.json"},
		{"stackexchange", "Posts.xml"},
		{"stackexchange-tags", "Posts.xml"},
		{"npz-images", "own.npz"},
		{"npz-tokens", "own.npz"},
		{"tff-femnist", "emnist_all.sqlite"},
		{"tff-shakespeare", "shakespeare.sqlite"},
		{"stackoverflow", "stackoverflow.sqlite"},
	}
	f.Add(uint8(0), []byte(settest.FEMNIST("w", 3, "0.5")))
	f.Add(uint8(1),
		[]byte("1601\n\nAS YOU LIKE IT\n\nby William Shakespeare\n\n\nDRAMATIS PERSONAE.\n\nACT I. SCENE I.\n  ORL. "+
			strings.Repeat("As I do. ", 20)+"\n"))
	f.Add(uint8(3), []byte(`{"users": ["a"], "user_data": {"a": {"x": [["1", "2", "3", "4", "Well, well"]], "y": [1]}}}`))
	f.Add(uint8(5), []byte(`<posts><row Id="1" PostTypeId="1" OwnerUserId="8" Title="A b" Tags="&lt;c&gt;" Body="`+
		strings.Repeat("a. ", 1000)+`"/></posts>`))
	f.Add(uint8(6), []byte(`<posts><row Id="1" PostTypeId="1" OwnerUserId="8" Title="A b" Tags="&lt;c&gt;" Body="`+
		strings.Repeat("a. ", 1000)+`"/></posts>`))
	f.Fuzz(func(t *testing.T, which uint8, content []byte) {
		of := files[int(which)%len(files)]
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, of.name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		if of.name == "own.npz" {
			path = filepath.Join(path, of.name)
		}
		memtest.Bounded(t, len(content), func() {
			_, err := data.Open(t.Context(), data.Config{Name: of.set, Path: path, MinSamples: 1})
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
		})
	})
}
