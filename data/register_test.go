package data_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/data/sets"
)

// rows returns the examples of clients of n vectors of two numbers each.
func rows(clients []string, n int) []data.Examples {
	var all []data.Examples
	for c, id := range clients {
		values, labels := make([]float32, 2*n), make([]int32, n)
		for i := range labels {
			values[2*i], labels[i] = float32(c), int32(i%3)
		}
		view := data.VectorView(2, values, labels)
		all = append(all, data.Examples{Client: id, Train: view.Part(0, n-2), Test: view.Part(n-2, n)})
	}
	return all
}

var form = data.Federation{H: 1, W: 1, C: 2, Classes: 3}

func TestRegister(t *testing.T) {
	load := func(context.Context, data.Config) (*data.Federation, []data.Examples, error) {
		return &form, rows([]string{"b", "a"}, 20), nil
	}
	if err := data.Register(data.SetInfo{
		Name: "test-two", Doc: "two clients", Kind: data.Vector,
		Classes: 3,
	}, load); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(data.Sets(), func(s data.SetInfo) bool { return s.Name == "test-two" }) {
		t.Error("Sets does not list it")
	}
	open := func(c data.Config) *data.Federation {
		t.Helper()
		c.Name = "test-two"
		fed, err := data.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return fed
	}
	fed := open(data.Config{Split: "files"})
	if len(fed.Clients) != 2 || fed.Clients[0].Test.Len() != 2 || fed.Clients[0].Train.Len() != 16 ||
		fed.Fingerprint == "" || fed.Kind != data.Vector {
		t.Errorf("opened %+v", fed)
	}
	if again := open(data.Config{Split: "files"}); again.Fingerprint != fed.Fingerprint || len(form.Clients) != 0 {
		t.Error("opened twice it is another one")
	}
	if dealt := open(data.Config{Partition: "iid", Clients: 4}); len(dealt.Clients) != 4 {
		t.Errorf("dealt to %d clients", len(dealt.Clients))
	}
	for _, c := range []struct {
		cfg  data.Config
		want string
	}{
		{data.Config{Path: "x"}, `data.path = "x": test-two is in memory, not read; leave data.path out`},
		{data.Config{Samples: 4}, "data.samples = 4: test-two has its own clients"},
	} {
		c.cfg.Name = "test-two"
		if _, err := data.Open(t.Context(), c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.cfg, err, c.want)
		}
	}
}

// A set of a program's own may be all that a built-in one can be.
func TestRegisterKinds(t *testing.T) {
	seen := data.Config{}
	of := func(fed *data.Federation, examples ...data.Examples) data.Load {
		return func(_ context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
			seen = cfg
			return fed, examples, nil
		}
	}
	open := func(info data.SetInfo, load data.Load, cfg data.Config) *data.Federation {
		t.Helper()
		if err := data.Register(info, load); err != nil {
			t.Fatal(err)
		}
		cfg.Name = info.Name
		fed, err := data.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return fed
	}
	two := rows([]string{"a", "b"}, 40)
	fed := open(data.SetInfo{Name: "test-dealt", Kind: data.Vector, Dealt: true},
		of(&form, data.Examples{Train: two[0].Train, Test: two[0].Test, Pooled: true}),
		data.Config{Clients: 2, Split: "90/10/files"})
	if len(fed.Clients) != 2 || fed.Clients[1].ID != "1" || fed.Clients[0].Test.Len() != 1 ||
		fed.Files != (data.Totals{Train: 38, Test: 2}) || fed.Fingerprint == "" {
		t.Errorf("dealt: %+v", fed)
	}
	fed = open(data.SetInfo{Name: "test-drawn", Kind: data.Vector, Synthetic: true, AlphaBeta: true}, of(&form, two...),
		data.Config{Clients: 1, Samples: 3, Alpha: 0.5, Beta: 2})
	if !fed.Synthetic || fed.Fingerprint != "" || len(fed.Clients) != 2 || seen.Clients != 1 ||
		seen.Samples != 3 || seen.Beta != 2 {
		t.Errorf("drawn: %+v of %+v", fed, seen)
	}
	fed = open(data.SetInfo{
		Name: "test-tested", Kind: data.Vector, OwnTest: true, Labels: []string{"all", "some"},
		Encodings: []string{"plain"},
	}, of(&form, two...), data.Config{})
	if !fed.FilesTest || fed.Clients[0].Test.Len() != 2 || seen.Labels != "all" ||
		seen.Encoding != "plain" || seen.Split != "" {
		t.Errorf("tested: %+v of %+v", fed, seen)
	}
	view, side := data.ColourView(32, make([]byte, 3*3072), make([]int32, 3), data.AugmentCrop)
	fed = open(data.SetInfo{Name: "test-colours", Kind: data.Image, Augments: []string{data.AugmentCrop}},
		of(&data.Federation{H: side, W: side, C: 3, Classes: 1}, data.Examples{Client: "c", Train: view}),
		data.Config{Augment: data.AugmentCrop, MinSamples: 1})
	if fed.H != 24 || fed.Clients[0].Train.Len() != 2 {
		t.Errorf("colours: %+v", fed)
	}
}

func TestRegisterErrors(t *testing.T) {
	load := func(context.Context, data.Config) (*data.Federation, []data.Examples, error) { return nil, nil, nil }
	for _, c := range []struct {
		info data.SetInfo
		load data.Load
		want string
	}{
		{data.SetInfo{}, load, "no name"},
		{data.SetInfo{Name: "test-x"}, nil, "no load function"},
		{data.SetInfo{Name: "mnist"}, load, `"mnist": the name is already registered`},
		{data.SetInfo{Name: "test-x", Dealt: true, Synthetic: true}, load, "use one of the two"},
		{data.SetInfo{Name: "test-x", Vocab: 9}, load, "Vocab = 9, MaxVocab = 0; Vocab must be from 0 to MaxVocab"},
	} {
		if err := data.Register(c.info, c.load); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.info, err, c.want)
		}
	}
}

func TestRegisteredExamplesAreChecked(t *testing.T) {
	one, other := data.VectorView(2, make([]float32, 20), make([]int32, 10)),
		data.VectorView(2, make([]float32, 20), make([]int32, 10))
	steps := data.StepView(2, []byte{1, 2, 9})
	for name, c := range map[string]struct {
		kind     data.Kind
		fed      *data.Federation
		examples data.Examples
		want     string
	}{
		"of nobody": {
			data.Vector, &form,
			data.Examples{Train: one, Pooled: true},
			`its samples have no clients; set how to deal them, for example data.partition = "iid"`,
		},
		"nothing": {data.Vector, nil, data.Examples{}, "returned no federation"},
		"no form": {data.Vector, &data.Federation{Classes: 3}, data.Examples{}, "must say the form of a sample"},
		"two views": {
			data.Vector, &form,
			data.Examples{Client: "c", Train: one, Test: other},
			`client "c": Train and Test must be parts of one view`,
		},
		"other size": {
			data.Vector, &data.Federation{H: 1, W: 1, C: 5, Classes: 3},
			data.Examples{Client: "c", Train: one},
			"have 2 numbers and 0 tokens, the federation's 5 and 0",
		},
		"label": {data.Vector, &form, data.Examples{Client: "c", Train: data.VectorView(2, make([]float32, 4),
			[]int32{0, 3})}, "sample 1 has label 3, must be in [0, 3)"},
		"negative": {data.Vector, &form, data.Examples{Client: "c", Train: data.VectorView(2,
			make([]float32, 2), []int32{-1})}, "label -1"},
		"step labels": {
			data.Tokens, &data.Federation{SeqLen: 2, Vocab: 10, Classes: 10},
			data.Examples{Client: "c", Train: steps},
			"EveryStep of the federation is false",
		},
		"step classes": {
			data.Tokens, &data.Federation{SeqLen: 2, Vocab: 10, Classes: 9, EveryStep: true},
			data.Examples{Client: "c", Train: steps},
			"has label 9, must be in [0, 9)",
		},
		"token": {
			data.Tokens, &data.Federation{SeqLen: 2, Vocab: 2, Classes: 10, EveryStep: true},
			data.Examples{Client: "c", Train: steps},
			"has token 2, must be in [0, 2)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := "test-" + strings.ReplaceAll(name, " ", "-")
			err := data.Register(data.SetInfo{Name: set, Kind: c.kind},
				func(context.Context, data.Config) (*data.Federation, []data.Examples, error) {
					return c.fed, []data.Examples{c.examples}, nil
				})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := data.Open(t.Context(), data.Config{Name: set}); err == nil || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
