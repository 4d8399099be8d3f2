package fl

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/tfftest"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// TestLabelsAtEveryStep trains and measures on texts whose examples have a label
// at every character and none at the padding.
func TestLabelsAtEveryStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shakespeare.sqlite")
	var rows []tfftest.Row
	for client := range 4 {
		for i := range 10 {
			text := strings.Repeat("abcd", 5+client+i)
			for _, split := range []string{"train", "test"} {
				rows = append(rows, tfftest.Row{
					Split: split, Client: strconv.Itoa(client),
					Message: tfftest.Example(tfftest.Feature{Name: "snippets", Text: []byte(text)}),
				})
			}
		}
	}
	tfftest.Write(t, path, rows)
	fed, err := data.Open(t.Context(), data.Config{Name: "tff-shakespeare", Path: path, Split: "files"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.FromLayers([]models.LayerSpec{
		{Type: "embedding", Size: 4}, {Type: "lstm", Hidden: 16, Output: "every"}, {Type: "dense"},
	}, nn.Shape{Seq: fed.SeqLen, Vocab: fed.Vocab}, fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, Config{Method: average(), Model: m, Data: fed, Cohort: 4, Seed: 1})
	// Weights of 0 give every class the same: class 0, the padding, comes first,
	// so that every label is told wrong, and each costs the logarithm of 90.
	blank, err := e.Evaluate(t.Context(), m.NewParams(), EvalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if s := blank.GlobalTest; s.Error != 1 || math.Abs(s.Loss-math.Log(90)) > 1e-6 {
		t.Errorf("weights of 0 have error %v and loss %v, must be 1 and %v", s.Error, s.Loss, math.Log(90))
	}
	params := hyper.DefaultClient()
	params.LR, params.Batch, params.Epochs = 1, 4, 1
	trial := e.NewTrial(0)
	runRounds(t, trial, Plan{Server: hyper.DefaultServer(), Clients: []ClientParams{params}}, 15)
	trained, err := e.Evaluate(t.Context(), trial.Weights(), EvalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if s := trained.GlobalTest; !(s.Loss < 1) || !(s.Error < 0.3) {
		t.Errorf("after 15 rounds of four letters in turn: error %v, loss %v", s.Error, s.Loss)
	}
}
