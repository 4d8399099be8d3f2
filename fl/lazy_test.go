package fl

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/data/formats/tff/tfftest"
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
				rows = append(rows, tfftest.Row{Split: split, Client: strconv.Itoa(client), Message: tfftest.Example(tfftest.Feature{Name: "tokens", Text: []byte(text)})})
			}
		}
	}
	tfftest.Write(t, path, rows)
	words := filepath.Join(filepath.Dir(path), "stackoverflow.word_count")
	if err := os.WriteFile(words, []byte("a 3\nb 2\nc 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	train := func(workers int) ([]float32, error) {
		fed, err := data.Open(t.Context(), data.Config{Name: "stackoverflow", Path: path, Split: "files", Vocab: 5})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := fed.Close(); err != nil {
				t.Error(err)
			}
		}()
		m, err := models.FromLayers([]models.LayerSpec{
			{Type: "embedding", Size: 4}, {Type: "lstm", Hidden: 8, Output: "every"}, {Type: "dense"},
		}, nn.Shape{Seq: fed.SeqLen, Vocab: fed.Vocab}, fed.Classes)
		if err != nil {
			t.Fatal(err)
		}
		e := newEngine(t, Config{Model: m, Data: fed, Cohort: 4, Seed: 1, Workers: workers})
		trial := e.NewTrial(0)
		_, err = trial.Round(t.Context(), Plan{Server: DefaultServerParams(), Clients: []ClientParams{DefaultClientParams()}})
		return trial.Weights(), err
	}
	one, err := train(1)
	if err != nil {
		t.Fatal(err)
	}
	three, err := train(3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range one {
		if one[i] != three[i] {
			t.Fatalf("weight %d is %v with one worker, %v with three", i, one[i], three[i])
		}
	}
	tfftest.Exec(t, path, "UPDATE examples SET serialized_example_proto = x'ff' WHERE split_name = 'train'")
	_, err = train(2)
	var lost *data.ReadError
	if !errors.As(err, &lost) || strings.Contains(err.Error(), "panic") || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, must be a ReadError with the file", err)
	}
}
