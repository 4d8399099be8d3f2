package fl

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/tfftest"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// TestLazyExamples trains on examples that are read when they are asked for: equal
// weights for any number of workers, and an error, no panic, for what cannot be
// read.
func TestLazyExamples(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stackoverflow.sqlite")
	var rows []tfftest.Row
	for client := range 6 {
		for i := range 12 {
			text := strings.Repeat("a b c ", 1+(client+i)%4)
			for _, split := range []string{"train", "test", "heldout"} {
				rows = append(rows, tfftest.Row{
					Split: split, Client: strconv.Itoa(client),
					Message: tfftest.Example(tfftest.Feature{Name: "tokens", Text: []byte(text)}),
				})
			}
		}
	}
	tfftest.Write(t, path, rows)
	words := filepath.Join(filepath.Dir(path), "stackoverflow.word_count")
	if err := os.WriteFile(words, []byte("a 3\nb 2\nc 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(workers int) (trial *Trial, done func()) {
		fed, err := data.Open(t.Context(), data.Config{Name: "stackoverflow", Path: path, Split: "files", Vocab: 5})
		if err != nil {
			t.Fatal(err)
		}
		m, err := models.FromLayers([]models.LayerSpec{
			{Type: "embedding", Size: 4}, {Type: "lstm", Hidden: 8, Output: "every"}, {Type: "dense"},
		}, nn.Shape{Seq: fed.SeqLen, Vocab: fed.Vocab}, fed.Classes)
		if err != nil {
			t.Fatal(err)
		}
		e := newEngine(t, Config{Method: average(), Model: m, Data: fed, Cohort: 4, Seed: 1, Workers: workers})
		return e.NewTrial(0), func() {
			if err := fed.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	next := func(tr *Trial) error {
		_, err := tr.Round(t.Context(), Plan{Server: hyper.DefaultServer(), Clients: []ClientParams{hyper.DefaultClient()}})
		return err
	}
	train := func(workers int) []float32 {
		tr, done := open(workers)
		defer done()
		if err := next(tr); err != nil {
			t.Fatal(err)
		}
		return tr.Weights()
	}
	one, three := train(1), train(3)
	for i := range one {
		if one[i] != three[i] {
			t.Fatalf("weight %d is %v with one worker, %v with three", i, one[i], three[i])
		}
	}
	// The file is closed while a trial trains: the round that needs what was not
	// read before fails and leaves the trial as it was, and a snapshot of it
	// resumes with the same bits.
	whole, done := open(2)
	defer done()
	lost, closeFile := open(2)
	for range 5 {
		if err := next(whole); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	for rounds := 0; err == nil; rounds++ {
		if rounds == 1 {
			closeFile()
		}
		if err = next(lost); err == nil && rounds == 5 {
			t.Fatal("five rounds on a closed file did not fail")
		}
	}
	var read *data.ReadError
	if !errors.As(err, &read) || strings.Contains(err.Error(), "panic") || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, must be a ReadError with the file", err)
	}
	other, done := open(2)
	defer done()
	resumed, err := other.engine.Restore(lost.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if lost.Rounds() == 0 {
		t.Error("the first round is lost")
	}
	for resumed.Rounds() < whole.Rounds() {
		if err := next(resumed); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(resumed.Weights(), whole.Weights()) {
		t.Error("a trial that resumes after a failed round has other weights")
	}
}
