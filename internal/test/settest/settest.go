// Package settest opens datasets for tests, and looks at what came. Importing
// it registers the built-in sets.
package settest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/data/sets"
)

// Must ends the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Open opens a federation.
func Open(t testing.TB, cfg data.Config) *data.Federation {
	t.Helper()
	fed, err := data.Open(t.Context(), cfg)
	Must(t, err)
	return fed
}

// Folder writes files under a new folder and returns it.
func Folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		Must(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

// ClassCounts counts the labels of a view.
func ClassCounts(t testing.TB, v data.View, classes int) []int {
	t.Helper()
	counts, err := v.ClassCounts(classes)
	Must(t, err)
	return counts
}

// Summarize counts what a federation holds.
func Summarize(t testing.TB, fed *data.Federation) data.Summary {
	t.Helper()
	s, err := data.Summarize(fed)
	Must(t, err)
	return s
}

// Totals sums the examples of the clients by part.
func Totals(clients []data.Client) (train, val, test int) {
	for _, c := range clients {
		train += c.Train.Len()
		val += c.Val.Len()
		test += c.Test.Len()
	}
	return train, val, test
}

// Held returns how many examples, and how many classes, each client has.
func Held(t testing.TB, fed *data.Federation) (sizes, classes []int) {
	t.Helper()
	for _, c := range fed.Clients {
		size, held := 0, make([]bool, fed.Classes)
		for _, v := range []data.View{c.Train, c.Val, c.Test} {
			size += v.Len()
			for class, n := range ClassCounts(t, v, fed.Classes) {
				held[class] = held[class] || n > 0
			}
		}
		sizes = append(sizes, size)
		classes = append(classes, len(slices.DeleteFunc(held, func(h bool) bool { return !h })))
	}
	return sizes, classes
}

// Filled returns the examples of a view, one after the other, with their labels.
func Filled(t testing.TB, fed *data.Federation, v data.View) (x []float32, tokens, labels []int32) {
	t.Helper()
	n, each := v.Len(), 1
	if fed.EveryStep {
		each = fed.SeqLen
	}
	x, tokens, labels = make([]float32, n*fed.H*fed.W*fed.C), make([]int32, n*fed.SeqLen), make([]int32, n*each)
	pos := make([]int32, n)
	for i := range pos {
		pos[i] = int32(i)
	}
	Must(t, v.Fill(pos, x, tokens, labels, nil))
	return x, tokens, labels
}

// Check reads every example and checks that it is within the facts of the
// federation.
func Check(t testing.TB, fed *data.Federation) {
	t.Helper()
	x := make([]float32, fed.H*fed.W*fed.C)
	tokens, label := make([]int32, fed.SeqLen), make([]int32, max(1, fed.SeqLen))
	read := func(id string, v data.View) {
		for p := range v.Len() {
			Must(t, v.Fill([]int32{int32(p)}, x, tokens, label, nil))
			if label[0] < 0 || int(label[0]) >= fed.Classes {
				t.Fatalf("client %s, sample %d: label %d of %d classes", id, p, label[0], fed.Classes)
			}
			for _, token := range tokens {
				if token < 0 || int(token) >= fed.Vocab {
					t.Fatalf("client %s, sample %d: token %d of %d", id, p, token, fed.Vocab)
				}
			}
		}
	}
	for _, c := range slices.Concat(fed.Clients, fed.Unseen) {
		read(c.ID, c.Train)
		read(c.ID, c.Val)
		read(c.ID, c.Test)
	}
}
