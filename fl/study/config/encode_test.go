package config

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/fedfast/fedfast/nn/models"
)

// reload encodes a configuration and loads what was written.
func reload(c *Config, dir string) (*Config, string, error) {
	text, err := Encode(c)
	if err != nil {
		return nil, "", err
	}
	path := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, "", err
	}
	back, err := Load(Source{File: path})
	return back, string(text), err
}

func TestPresetsSurviveEncoding(t *testing.T) {
	for _, p := range Presets() {
		c, err := Load(Source{Preset: p.Name})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(); err != nil || p.Doc == "" || c.Name != p.Name {
			t.Errorf("preset %s (%s, name %s): %v", p.Name, p.Doc, c.Name, err)
		}
		c.cohortOf = "" // a file's cohort is asked for
		back, text, err := reload(c, t.TempDir())
		if err != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("preset %s: %v\ngot  %+v\nwant %+v\n%s", p.Name, err, back, c, text)
		}
	}
}

// TestEncodingSurvives draws configurations: what Encode writes, Load reads back.
func TestEncodingSurvives(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		back, text, err := reload(c, dir)
		if err != nil || !reflect.DeepEqual(back, c) {
			t.Fatalf("%v\ngot  %+v\nwant %+v\n%s", err, back, c, text)
		}
	})
}

func TestEncodeRefusesWhatTOMLCannotHold(t *testing.T) {
	c := Default()
	c.Tuner.Options = map[string]any{"a": []int{1}}
	if _, err := Encode(&c); err == nil {
		t.Error("a list as an option was written")
	}
	c = Default()
	c.Space = map[string]any{"client.lr": 3}
	if _, err := Encode(&c); err == nil {
		t.Error("a number as a dimension was written")
	}
}

func drawConfig(t *rapid.T) *Config {
	name := rapid.StringMatching(`[a-z]{1,8}`)
	c := Default()
	fill(t, reflect.ValueOf(&c).Elem())
	c.Data.Seed = 0               // the key is seed
	c.Name = name.Draw(t, "name") // the empty one is replaced by the file's
	c.Model = Model{Name: rapid.String().Draw(t, "model")}
	if rapid.Bool().Draw(t, "layers") {
		c.Model = Model{Layers: drawLayers(t, 1, 2)}
	}
	c.Space = nil
	for _, dim := range rapid.SliceOfDistinct(rapid.StringMatching(`(client|server|x y)\.[a-z "\\]{1,6}`),
		rapid.ID).Draw(t, "dimensions") {
		if c.Space == nil {
			c.Space = map[string]any{}
		}
		lo := rapid.Float64Range(-10, 0).Draw(t, "lo")
		c.Space[dim] = rapid.SampledFrom([]any{
			map[string]any{"uniform": []any{lo, lo + 1}},
			map[string]any{"log10": []any{lo, 0.5}},
			map[string]any{"int": []any{-2.0, 7.0}},
			map[string]any{"int": []any{-2.0, 7.0}, "step": 3.0},
			map[string]any{"uniform": []any{0.1, 0.4}, "step": 0.1},
			map[string]any{"choice": []any{lo, "word", true}},
		}).Draw(t, "dimension")
	}
	c.Tuner.Options, c.ClientTuner.Options = drawOptions(t), drawOptions(t)
	if c.ClientTuner.Name == "" || c.ClientTuner.Name == none {
		c.ClientTuner = ClientTuner{}
	}
	return &c
}

// drawLayers draws at least a given number of layers, with branches nested to a depth.
func drawLayers(t *rapid.T, least, depth int) []models.LayerSpec {
	var layers []models.LayerSpec
	for range rapid.IntRange(least, 3).Draw(t, "count") {
		var l models.LayerSpec
		fill(t, reflect.ValueOf(&l).Elem())
		l.Type = rapid.SampledFrom(models.LayerTypes()).Draw(t, "type").Name
		if rapid.Bool().Draw(t, "choices") {
			l.Units, l.Kernel = 0, 0
			l.Choices = map[string]models.LayerChoice{
				"units":  {Choices: []int{1, int(rapid.Int32().Draw(t, "option"))}},
				"kernel": {As: rapid.StringN(1, 9, -1).Draw(t, "as")},
			}
		}
		if depth > 0 && rapid.Bool().Draw(t, "residual") {
			l.Body, l.Shortcut = drawLayers(t, 0, depth-1), drawLayers(t, 0, depth-1)
		}
		layers = append(layers, l)
	}
	return layers
}

// fill draws every field of a struct but the tables.
func fill(t *rapid.T, v reflect.Value) {
	for field, f := range v.Fields() {
		if field.IsExported() && field.Tag.Get("toml") != "-" {
			fillOne(t, f)
		}
	}
}

// fillOne draws one value.
func fillOne(t *rapid.T, f reflect.Value) {
	switch f.Kind() {
	case reflect.Struct:
		fill(t, f)
	case reflect.String:
		f.SetString(rapid.String().Draw(t, "text"))
	case reflect.Bool:
		f.SetBool(rapid.Bool().Draw(t, "switch"))
	case reflect.Int:
		f.SetInt(int64(rapid.Int32().Draw(t, "whole")))
	case reflect.Uint64:
		f.SetUint(rapid.Uint64().Draw(t, "seed"))
	case reflect.Float64:
		f.SetFloat(rapid.Float64().Draw(t, "number"))
	case reflect.Pointer:
		x := reflect.New(f.Type().Elem())
		fillOne(t, x.Elem())
		f.Set(rapid.SampledFrom([]reflect.Value{reflect.Zero(f.Type()), x}).Draw(t, "pointer"))
	case reflect.Slice:
		if kind := f.Type().Elem().Kind(); kind != reflect.Struct { // not the layers of a model
			f.Set(reflect.Zero(f.Type()))
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				entry := reflect.New(f.Type().Elem()).Elem()
				fillOne(t, entry)
				f.Set(reflect.Append(f, entry))
			}
		}
	default: // the tables
	}
}

func drawOptions(t *rapid.T) map[string]any {
	value := rapid.OneOf(rapid.Float64().AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny())
	options := rapid.MapOf(rapid.StringMatching(`[a-z"\\ .]{1,6}`), value).Draw(t, "options")
	if len(options) == 0 {
		return nil
	}
	return options
}

// TestSettingsAreWhatDiffers: only keys that were changed are named.
func TestSettingsAreWhatDiffers(t *testing.T) {
	c := Default()
	if s, err := Settings(&c); err != nil || len(s) > 0 {
		t.Fatalf("the defaults have the settings %v, %v", s, err)
	}
	c.Cohort, c.Data.Name, c.Space = 7, "glyphs", map[string]any{"client.lr": map[string]any{"log10": []any{-4.0, 0.0}}}
	s, err := Settings(&c)
	want := map[string]string{"cohort": "7", "data.name": "glyphs", "space.client.lr.log10": "[-4 0]"}
	if err != nil || !maps.Equal(s, want) {
		t.Errorf("got %v, %v; want %v", s, err, want)
	}
}
