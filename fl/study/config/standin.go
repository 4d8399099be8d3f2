package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// A preset's model is made for the preset's data. If a study uses the preset with other
// data of another shape and does not set a model, a small model replaces it.

// standIn returns the small model for a federation.
func standIn(fed *data.Federation) []models.LayerSpec {
	dense := []models.LayerSpec{{Type: "dense", Units: 64}, {Type: "relu"}, {Type: "dense"}}
	switch fed.Kind {
	case data.Tokens:
		layers := []models.LayerSpec{{Type: "embedding", Size: 16}, {Type: "lstm", Hidden: 64, Output: "every"}}
		if !fed.EveryStep { // texts of unequal lengths, padded by 0
			layers = append(layers, models.LayerSpec{Type: "steps", Take: "mean", MaskPadding: true})
		}
		return append(layers, models.LayerSpec{Type: "dense"})
	case data.Image:
		var layers []models.LayerSpec
		for filters, side := 16, min(fed.H, fed.W); filters <= 32 && side >= 4; filters, side = 2*filters, side/2 {
			layers = append(layers, models.LayerSpec{Type: "conv", Filters: filters, Kernel: 3, Padding: "same"}, models.LayerSpec{Type: "relu"}, models.LayerSpec{Type: "maxpool", Size: 2})
		}
		return append(append(layers, models.LayerSpec{Type: "flatten"}), dense...)
	case data.Vector:
	}
	return dense
}

// fitModel builds the configured model, or a small one that replaces a preset's and is
// then set in the configuration.
func (c *Config) fitModel(fed *data.Federation) (*nn.Model, error) {
	m, err := c.model(fed)
	if err == nil {
		fed.Notes = append(fed.Notes, c.behindPadding(fed)...)
	}
	if err == nil || c.Model.preset == "" {
		return m, err
	}
	other := *c
	other.Model = Model{Layers: standIn(fed)}
	m, standErr := other.model(fed)
	if standErr != nil {
		return nil, errors.Join(err, standErr)
	}
	note(fed, "the model of preset %s does not accept %s; using instead: %s; "+
		"set model or [[model.layers]] to choose another", c.Model.preset, form(fed), m.Doc())
	*c = other
	return m, nil
}

// fitCohort lowers a preset's cohort to the clients that there are.
func (c *Config) fitCohort(fed *data.Federation) {
	if n := len(fed.Clients); c.cohortOf != "" && c.Cohort > n && n > 0 {
		note(fed, "cohort = %d of preset %s: there are %d clients, all of which take part in each round",
			c.Cohort, c.cohortOf, n)
		c.Cohort = n
	}
}

// note adds a note to those of a federation, which may be prepared for several configurations, unless it has it.
func note(fed *data.Federation, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(fed.Notes, text) {
		fed.Notes = append(fed.Notes, text)
	}
}

// behindPadding returns a note where the layers take a step of texts after which there
// is padding, or its mean, and many texts are so: a short one is then hardly learned from.
func (c *Config) behindPadding(fed *data.Federation) []string {
	at := slices.IndexFunc(c.Model.Layers, func(l models.LayerSpec) bool {
		return (l.Type == "lstm" || l.Type == "gru") && l.Output != "every" || l.Type == "steps" && l.Take != "first" && !l.MaskPadding
	})
	if fed.Kind != data.Tokens || fed.EveryStep || at < 0 {
		return nil
	}
	seen, padded := 0, 0
	row, label := make([]int32, fed.SeqLen), make([]int32, 1)
	for _, client := range fed.Clients {
		for i := 0; i < client.Train.Len() && seen < 1000; i++ {
			if err := client.Train.Fill([]int32{int32(i)}, nil, row, label, nil); err != nil {
				return nil // whoever reads it all says so
			}
			if seen++; row[0] != 0 && row[len(row)-1] == 0 {
				padded++
			}
		}
	}
	if padded <= seen/10 {
		return nil
	}
	way := `follow output = "every" by a layer of type steps with mask_padding = true, which takes the last step of the text, or with take = "mean" its mean`
	if c.Model.Layers[at].Type == "steps" {
		way = "give it mask_padding = true"
	}
	return []string{fmt.Sprintf("%d of %d samples end with id 0, which pads, and layer %d (%s) takes these steps for text; %s", padded, seen, at+1, c.Model.Layers[at].Type, way)}
}

// form describes the examples of a federation.
func form(fed *data.Federation) string {
	switch fed.Kind {
	case data.Image:
		return "images of " + Input(fed).String()
	case data.Tokens:
		return fmt.Sprintf("%d tokens", fed.SeqLen)
	case data.Vector:
	}
	return fmt.Sprintf("vectors of %d numbers", fed.C)
}

// standsFor reports whether a recorded model may be the replacement of the preset's model
// of a configuration.
func (recorded *Model) standsFor(m *Model) bool {
	if m.preset == "" || recorded.Name != "" {
		return false
	}
	return slices.ContainsFunc([]data.Federation{
		{Kind: data.Vector},
		{Kind: data.Tokens},
		{Kind: data.Tokens, EveryStep: true},
		{Kind: data.Image, H: 1, W: 1},
		{Kind: data.Image, H: 4, W: 4},
		{Kind: data.Image, H: 8, W: 8},
	}, func(fed data.Federation) bool {
		return reflect.DeepEqual(recorded.Layers, standIn(&fed))
	})
}
