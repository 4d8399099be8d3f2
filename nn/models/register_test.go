package models_test

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// leaky is a layer with options of its own, which computes what a ReLU does.
type leaky struct {
	nn.ReLU

	Slope float64 `toml:"slope" in:"[0, 1)" doc:"of what is negative"`
	Times int     `toml:"times" in:"[1, 9]" doc:"how often"`
	Mode  string  `toml:"mode" of:"a b" doc:"how"`
	On    bool    `toml:"on" doc:"whether"`
}

func (leaky) Kind() string { return "leaky" }

// TestRegister has a layer by its name and with its options, and refuses invalid types
// and options that there are not.
func TestRegister(t *testing.T) {
	var made leaky
	leakyType := models.LayerType{
		Name: "leaky", Doc: "a ReLU", Options: leaky{Slope: 0.25, Mode: "a"},
		Make: func(_ models.LayerSpec, o any) nn.Layer { made = o.(leaky); return made },
	}
	if err := models.Register(leakyType); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change func(l *models.LayerType)
		want   string
	}{
		{func(*models.LayerType) {}, `layer type "leaky": the name is taken; choose another one`},
		{func(l *models.LayerType) { l.Name = "Leaky" }, `layer type "Leaky": a name must be lower-case`},
		{func(l *models.LayerType) { l.Name, l.Doc = "other", "" }, `layer type "other": Doc must be a line`},
		{func(l *models.LayerType) { l.Name, l.Make = "other", nil }, `layer type "other": Make is nil`},
		{
			func(l *models.LayerType) { l.Name, l.Keys = "other", []string{"steepness"} },
			`layer type "other": unknown key "steepness" of layers; put it into Options`,
		},
		{
			func(l *models.LayerType) { l.Name, l.Options = "other", 3 },
			`layer type "other": options are a int; they must be a struct`,
		},
		{func(l *models.LayerType) {
			l.Name, l.Options = "other", struct {
				X []int `toml:"x"`
			}{}
		}, `layer type "other": option x is a []int; it must be a bool, an int, a float64 or a string`},
	} {
		l := leakyType
		tt.change(&l)
		if err := models.Register(l); err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	build := func(options map[string]any) error {
		_, err := models.FromLayers([]models.LayerSpec{
			{Type: "dense", Units: 4}, {Type: "leaky", Options: options}, {Type: "dense"},
		}, nn.Shape{H: 1, W: 1, C: 3}, 2)
		return err
	}
	if err := build(map[string]any{"slope": int64(0), "times": int64(3), "on": true}); err != nil {
		t.Fatal(err)
	}
	if made.Slope != 0 || made.Times != 3 || made.Mode != "a" || !made.On {
		t.Errorf("got %+v", made)
	}
	for want, options := range map[string]map[string]any{
		`model.layers[2] (leaky): unknown option "slop"; available: mode, on, slope, times`: {"slop": 1.0},
		`model.layers[2] (leaky): option slope = x: must be a finite number`:                {"slope": "x"},
		`model.layers[2] (leaky): option times = 1.5: must be an integer of 32 bits`:        {"times": 1.5},
		`model.layers[2] (leaky): option mode = true: must be a string`:                     {"mode": true},
		`model.layers[2] (leaky): option on = 1: must be true or false`:                     {"on": int64(1)},
	} {
		if err := build(options); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	const want = `model.layers[1] (dense): key "options" does not belong to this type; it takes units, no_bias, init`
	if _, err := models.FromLayers([]models.LayerSpec{{Type: "dense", Options: map[string]any{"x": 1}}},
		nn.Shape{H: 1, W: 1, C: 3}, 2); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
