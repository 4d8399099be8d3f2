package study

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/test/npztest"
)

// ownExamples writes a file of 60 examples of a form, of three clients and classes.
func ownExamples(t *testing.T, labelled bool, form ...int) string {
	t.Helper()
	const n = 60
	size := n
	for _, d := range form {
		size *= d
	}
	x, y, client := make([]uint8, size), make([]int64, n), make([]int64, n)
	for i := range n {
		y[i], client[i] = int64(i%3), int64(i/20)
	}
	for i := range x {
		x[i] = uint8(i % 7)
	}
	arrays := []npztest.Array{{Name: "x", Shape: append([]int{n}, form...), Values: x}, {
		Name: "client", Shape: []int{n},
		Values: client,
	}}
	if labelled {
		arrays = append(arrays, npztest.Array{Name: "y", Shape: []int{n}, Values: y})
	}
	path := filepath.Join(t.TempDir(), "own.npz")
	npztest.Write(t, path, true, arrays...)
	return path
}

// TestOwnExamplesGetAModelThatFits trains the preset quickstart on own data of
// every form; a model that was named is not replaced.
func TestOwnExamplesGetAModelThatFits(t *testing.T) {
	for name, tt := range map[string]struct {
		set      string
		labelled bool
		form     []int
		stands   bool
	}{
		"as glyphs":      {"npz-images", true, []int{28, 28}, false},
		"8 x 8":          {"npz-images", true, []int{8, 8}, true},
		"7 x 5, colours": {"npz-images", true, []int{7, 5, 3}, true},
		"2 x 9":          {"npz-images", true, []int{2, 9}, true},
		"vectors":        {"npz-vectors", true, []int{5}, true},
		"tokens":         {"npz-tokens", true, []int{6}, true},
		"next tokens":    {"npz-tokens", false, []int{6}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := ownExamples(t, tt.labelled, tt.form...)
			load := func(more ...string) *config.Config {
				c, err := config.Load(config.Source{
					Preset: "fashion-fedex",
					Sets:   append([]string{"data.name=" + tt.set, "data.path=" + path, "rounds=1", "cohort=2"}, more...),
				})
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			dir := filepath.Join(t.TempDir(), "study")
			st, err := store.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = st.Close() }()
			c := load()
			fed, model, err := config.Prepare(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if noted := strings.Contains(strings.Join(fed.Notes, "\n"),
				"the model of preset fashion-fedex does not accept "); noted != tt.stands {
				t.Errorf("notes %q", fed.Notes)
			}
			if _, err := Run(t.Context(), Setup{Config: *c, Data: fed, Model: model, Workers: 1, Store: st}); err != nil {
				t.Fatal(err)
			}
			stored, err := result.Read(t.Context(), st)
			if err != nil {
				t.Fatal(err)
			}
			if err := stored.Match(dir, load(), config.ModeRun); err != nil {
				t.Errorf("the same settings again: %v", err)
			}
			if err := stored.Match(dir, load("model=logistic"), config.ModeRun); err == nil {
				t.Error("another model matches the study")
			}
			again, err := config.Load(config.Source{Text: stored.Config})
			if err != nil {
				t.Fatal(err)
			}
			if _, same, err := config.Prepare(t.Context(), again); err != nil || same.NumParams() != model.NumParams() {
				t.Errorf("the recorded configuration: %v", err)
			}
			if !tt.stands {
				return
			}
			if _, _, err := config.Prepare(t.Context(), load("model=fedex-cifar-cnn")); err == nil && tt.set != "npz-images" {
				t.Error("a model that was named is replaced")
			}
		})
	}
}

// TestPaddingIsTold: layers that read short texts at the padding's end are noted, and the
// network that stands in learns from such texts.
func TestPaddingIsTold(t *testing.T) {
	const n, steps = 60, 20
	x, y, client := make([]uint8, n*steps), make([]int64, n), make([]int64, n)
	for i := range n {
		y[i], client[i] = int64(i%2), int64(i/20)
		for k := range 3 {
			x[i*steps+k] = uint8(3 + (i*7+k*5)%9)
		}
		x[i*steps+i%3] = uint8(1 + i%2) // tells the class
	}
	path := filepath.Join(t.TempDir(), "own.npz")
	npztest.Write(t, path, true, npztest.Array{Name: "x", Shape: []int{n, steps}, Values: x},
		npztest.Array{Name: "y", Shape: []int{n}, Values: y}, npztest.Array{Name: "client", Shape: []int{n}, Values: client})
	const rest = "rounds = 30\ncohort = 3\nclient.lr = 0.01\nclient.optimizer = \"adam\"\nclient.epochs = 3\ndata.name = \"npz-tokens\"\nmodel.layers = [{type = \"embedding\", size = 8}, "
	for layers, told := range map[string]string{
		`{type = "lstm", hidden = 8}`: `layer 2 (lstm) takes these steps for text; follow output = "every" by a layer of type steps`,
		`{type = "gru", hidden = 8, output = "every"}, {type = "steps", take = "mean"}`:                       "layer 3 (steps) takes these steps for text; give it mask_padding = true",
		`{type = "gru", hidden = 8, output = "every"}, {type = "steps", take = "first"}`:                      "",
		`{type = "lstm", hidden = 8, output = "every"}, {type = "steps", mask_padding = true}`:                "",
		`{type = "lstm", hidden = 8, output = "every"}, {type = "steps", take = "mean", mask_padding = true}`: "",
	} {
		c, err := config.Load(config.Source{Text: rest + layers + `, {type = "dense"}]`, Sets: []string{"data.path=" + path}})
		if err != nil {
			t.Fatal(err)
		}
		fed, _, err := config.Prepare(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		const begin = "end with id 0, which pads, and "
		if got := strings.Join(fed.Notes, "\n"); !strings.Contains(got, told) || (told == "") == strings.Contains(got,
			begin) {
			t.Errorf("%s: %q", layers, fed.Notes)
		}
	}
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: []string{
		"data.name=npz-tokens",
		"data.path=" + path, "rounds=30", "cohort=3", "client.lr=0.01", "client.optimizer=adam", "client.epochs=3",
	}})
	if err != nil {
		t.Fatal(err)
	}
	fed, model, err := config.Prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "study"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	r, err := Run(t.Context(), Setup{Config: *c, Data: fed, Model: model, Workers: 1, Store: st})
	if err != nil {
		t.Fatal(err)
	}
	if e := r.Evaluation.GlobalTest.Error; !(e < 0.2) {
		t.Errorf("test error %v", e)
	}
}
