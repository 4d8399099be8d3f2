package fl

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/tfftest"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// openSentences opens three users of Stack Overflow, whose known words are a and b.
func openSentences(t *testing.T) *data.Federation {
	t.Helper()
	dir := t.TempDir()
	var rows []tfftest.Row
	for _, r := range []struct{ split, client, text string }{
		{"train", "1", "a b"},
		{"test", "1", "a a b x"},
		{"test", "1", "x"},
		{"train", "2", "b x a"},
		{"test", "2", "x x"},
		{"train", "3", "b a b"},
		{"test", "3", "b b"},
		{"heldout", "4", "a"},
	} {
		rows = append(rows, tfftest.Row{
			Split: r.split, Client: r.client,
			Message: tfftest.Example(tfftest.Feature{Name: "tokens", Text: []byte(r.text)}),
		})
	}
	tfftest.Write(t, filepath.Join(dir, "stackoverflow.sqlite"), rows)
	if err := os.WriteFile(filepath.Join(dir, "stackoverflow.word_count"), []byte("a 3\nb 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fed, err := data.Open(t.Context(), data.Config{
		Name: "stackoverflow", Path: dir, Split: "100/0/files",
		MinSamples: 1, Unseen: true, Vocab: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fed.Close(); err != nil {
			t.Error(err)
		}
	})
	return fed
}

// wordModel is a small network for the next word.
func wordModel(t *testing.T, fed *data.Federation) *nn.Model {
	t.Helper()
	m, err := models.FromLayers([]models.LayerSpec{
		{Type: "embedding", Size: 4}, {Type: "lstm", Hidden: 8, Output: "every"}, {Type: "dense"},
	}, nn.Shape{Seq: fed.SeqLen, Vocab: fed.Vocab}, fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMaskedErrors measures a model that always says "a" and counts the labels by
// hand: x is a word that the vocabulary lacks, each sentence has an end.
func TestMaskedErrors(t *testing.T) {
	fed := openSentences(t)
	m := wordModel(t, fed)
	tensors := m.Export(m.NewParams())
	bias := tensors[len(tensors)-1]
	if len(bias.Data) != fed.Classes {
		t.Fatalf("the last tensor is %s of %d", bias.Name, len(bias.Data))
	}
	bias.Data[1] = 1
	weights := m.NewParams()
	if err := m.Import(weights, tensors); err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, Config{Method: average(), Model: m, Data: fed, Cohort: 1, Seed: 1})
	got, err := e.Evaluate(t.Context(), weights, EvalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		got   Summary
		whole float64
		want  []MaskedError
	}{
		// User 1 has 2 of 7 labels right, 2 of 5 without x, 2 of 3 without x and
		// ends; user 2 has x, x and an end; user 3 has b, b and an end.
		{"test", got.GlobalTest, (5./7*2 + 1 + 1) / 4, []MaskedError{
			{"no_oov", (3./5*2 + 1 + 1) / 4, 9}, {"no_oov_or_eos", (1./3*2 + 1) / 3, 5},
		}},
		{"unseen", got.Unseen, 1. / 2, []MaskedError{{"no_oov", 1. / 2, 2}, {"no_oov_or_eos", 0, 1}}},
	} {
		if math.Abs(c.got.Error-c.whole) > 1e-12 || len(c.got.Masked) != len(c.want) {
			t.Fatalf("%s: error %v with masks %+v, want %v with %+v", c.name, c.got.Error, c.got.Masked, c.whole, c.want)
		}
		for i, want := range c.want {
			if m := c.got.Masked[i]; m.Mask != want.Mask || math.Abs(m.Error-want.Error) > 1e-12 || m.Labels != want.Labels {
				t.Errorf("%s: %+v, want %+v", c.name, m, want)
			}
		}
	}
	if v := got.GlobalVal; v.Clients != 0 || v.Masked != nil {
		t.Errorf("there are no validation examples: %+v", v)
	}
}

// TestMaskedViews trains a model and measures it, and those that the clients make
// of it, on views without the labels of each mask.
func TestMaskedViews(t *testing.T) {
	fed := openSentences(t)
	m := wordModel(t, fed)
	for _, method := range []Method{average(), keeping()} {
		c, s := method.Defaults()
		c.LR, c.Epochs = 0.5, 8
		clients := []ClientParams{c}
		e := newEngine(t, Config{Model: m, Data: fed, Method: method, Cohort: 3, Seed: 1})
		tr := e.NewTrial(0)
		runRounds(t, tr, Plan{Server: s, Clients: clients}, 3)
		got, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{Clients: clients, Server: &s, State: tr.State()})
		if err != nil {
			t.Fatal(err)
		}
		for i, mask := range fed.Masks {
			hidden := *fed
			hidden.Clients, hidden.Masks = nil, nil
			for _, c := range fed.Clients {
				c.Test = c.Test.Masked(mask)
				counts, err := c.Test.ClassCounts(fed.Classes)
				if err != nil {
					t.Fatal(err)
				}
				if slices.Max(counts) == 0 {
					c.Test = data.View{} // user 2 has nothing else
				}
				hidden.Clients = append(hidden.Clients, c)
			}
			alone, err := newEngine(t, Config{Model: m, Data: &hidden, Method: method, Cohort: 3, Seed: 1}).
				Evaluate(t.Context(), tr.Weights(), EvalConfig{Clients: clients, Server: &s, State: tr.State()})
			if err != nil {
				t.Fatal(err)
			}
			for _, pair := range [][2]Summary{
				{got.GlobalTest, alone.GlobalTest},
				{got.PersonalizedTest, alone.PersonalizedTest},
			} {
				masked, want := pair[0].Masked[i], pair[1]
				if math.Abs(masked.Error-want.Error) > 1e-12 || want.Masked != nil {
					t.Errorf("%s, %s: error %v, on the masked views %v", method.Name, mask.Name, masked.Error, want.Error)
				}
			}
		}
		if got.GlobalTest.Loss == got.PersonalizedTest.Loss {
			t.Errorf("%s: the clients' models score as the global one", method.Name)
		}
	}
	text, err := json.Marshal(Summary{})
	if err != nil || strings.Contains(string(text), "Masked") {
		t.Errorf("a set without masks: %s, %v", text, err)
	}
}
