package tff_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
	"github.com/fedfast/fedfast/internal/test/tfftest"
)

// tagged is a row of a file of Stack Overflow with all that it says.
func tagged(split, client, text, title, tags string) tfftest.Row {
	return tfftest.Row{Split: split, Client: client, Message: tfftest.Example(
		tfftest.Feature{Name: "tokens", Text: []byte(text)},
		tfftest.Feature{Name: "title", Text: []byte(title)},
		tfftest.Feature{Name: "tags", Text: []byte(tags)})}
}

// The numbers come from TFF's preprocessing: the mean, over all words of the text
// and its title, of one-hot vectors of 0 for words that are not listed.
func TestStackOverflowTags(t *testing.T) {
	dir := stackOverflow(t, "the 9\nto 7\nuse 5\nnever 1\n",
		tagged("train", "12", "use the thing use", "the end", "go|c++|rare"), tagged("train", "12", "x", "", "rare"),
		tagged("test", "12", "to", "to", "c++|c++"),
		tagged("heldout", "77", "never", "", "go"))
	counts := filepath.Join(dir, "stackoverflow.tag_count")
	if err := os.WriteFile(counts, []byte(`{"c++": 90, "go": 70}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := data.Config{Name: "stackoverflow-tags", Path: dir, Split: "100/0/files", MinSamples: 1, Unseen: true, Vocab: 3}
	fed := settest.Open(t, cfg)
	if fed.C != 3 || fed.Classes != 2 || fed.Target != data.ManyLabels || !fed.Lazy || fed.Kind != data.Vector {
		t.Errorf("the form is %+v", fed)
	}
	for _, tt := range []struct {
		view       data.View
		x, targets []float32
	}{
		{fed.Clients[0].Train, []float32{2. / 6, 0, 2. / 6, 0, 0, 0}, []float32{1, 1, 0, 0}},
		{fed.Clients[0].Test, []float32{0, 1, 0}, []float32{1, 0}},
		{fed.Unseen[0].Test, []float32{0, 0, 0}, []float32{0, 1}},
	} {
		n := tt.view.Len()
		x, targets, labels := make([]float32, 3*n), make([]float32, 2*n), make([]int32, n)
		pos := []int32{0, 1}[:n]
		settest.Must(t, tt.view.Fill(pos, x, nil, labels, nil))
		settest.Must(t, tt.view.FillTargets(pos, targets))
		if !slices.Equal(x, tt.x) || !slices.Equal(targets, tt.targets) {
			t.Errorf("%v with the tags %v, must be %v with %v", x, targets, tt.x, tt.targets)
		}
	}
	if counts := settest.ClassCounts(t, fed.Clients[0].Train, 2); !slices.Equal(counts, []int{1, 1}) {
		t.Errorf("tags %v", counts)
	}
	if err := os.Remove(counts); err != nil {
		t.Fatal(err)
	}
	if fed := settest.Open(t, cfg); fed.Classes != 3 || !strings.Contains(fmt.Sprint(fed.Notes),
		"the tags are the 3 that the first training samples have most") {
		t.Errorf("without a list: %d tags, %q", fed.Classes, fed.Notes)
	}
	for content, want := range map[string]string{
		"javascript 5\n":   "stackoverflow.tag_count: must be an object in JSON",
		`{"go": "many"}`:   `stackoverflow.tag_count: tag "go": must have the number of its users`,
		`{"go": 1, "go":2`: `word "go" is there twice`,
		`{}`:               "there are no words",
	} {
		if err := os.WriteFile(counts, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := data.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, must hold %q", content, err, want)
		}
	}
}

// A sample without its tags is named when it is read.
func TestStackOverflowWithoutTags(t *testing.T) {
	dir := stackOverflow(t, "the 9\n", tagged("train", "12", "the", "the", "go"), sentence("train", "13", "the"),
		tagged("test", "12", "the", "the", "go"), tagged("heldout", "1", "the", "the", "go"))
	if err := os.WriteFile(filepath.Join(dir, "stackoverflow.tag_count"), []byte(`{"go": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	fed := settest.Open(t, data.Config{Name: "stackoverflow-tags", Path: dir, Split: "100/0/files", MinSamples: 1})
	err := fed.Clients[1].Train.FillTargets([]int32{0}, make([]float32, 1))
	if err == nil || !strings.Contains(err.Error(), "has no feature t") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
