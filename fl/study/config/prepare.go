package config

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/nn/safetensors"
)

// Prepare opens the federation and builds the model of a configuration. If a small model
// replaces that of a preset, it is set in the configuration.
func Prepare(ctx context.Context, c *Config) (*data.Federation, *nn.Model, error) {
	fed, err := OpenData(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	m, err := PrepareModel(c, fed)
	if err != nil {
		return nil, nil, err
	}
	return fed, m, nil
}

// PrepareModel is like Prepare with an open federation.
func PrepareModel(c *Config, fed *data.Federation) (*nn.Model, error) {
	if c.Private() && fed.Sent > 0 {
		way := `set it to "none", and data.image_mean and data.image_std if you know them`
		if fed.Columns != nil {
			way = `fix them by data.columns = { NAME = "number MEAN DEVIATION", OTHER = "category a|b|c" }, or set it to "none" and data.impute to a number`
		}
		return nil, &key.Error{Key: "data.normalize", Problem: fmt.Sprintf(" = %q: the statistics of the clients' samples have "+
			"no noise; with dp, %s", c.Data.Normalize, way)}
	}
	m, err := c.fitModel(fed)
	if err != nil {
		return nil, err
	}
	c.fitCohort(fed)
	if m, err = c.withLoss(m, fed); err != nil {
		return nil, err
	}
	if err := (&fl.Config{Model: m}).CheckMemory(); err != nil {
		return nil, err
	}
	if m, err = c.WithPrecision(m); err != nil {
		return nil, err
	}
	if m, err = m.WithTrainable(c.Client.Trainable, c.HeadLayers); err != nil {
		return nil, &key.Error{Key: "client.trainable", Problem: ": " + err.Error()}
	}
	if FromFile(c.Init) {
		w, err := safetensors.Read(c.Init, m)
		if err != nil {
			return nil, fmt.Errorf("init: %w", err)
		}
		m = m.WithStart(w)
	}
	return m, nil
}

// Input returns the shape of a federation's examples as a model's input.
func Input(fed *data.Federation) nn.Shape {
	if fed.Kind == data.Tokens {
		return nn.Shape{Seq: fed.SeqLen, Vocab: fed.Vocab}
	}
	return nn.Shape{H: fed.H, W: fed.W, C: fed.C}
}

// model builds the configured model for the federation's examples.
func (c *Config) model(fed *data.Federation) (*nn.Model, error) {
	input, outputs := Input(fed), fed.Classes
	if c.Loss.Name == string(nn.Logistic) {
		if outputs != 2 || fed.Target != data.OneClass {
			return nil, &key.Error{Key: "loss.name", Problem: fmt.Sprintf(
				" = %q: for two classes, and %s has %d outputs; leave it out", c.Loss.Name, fed.Name, outputs)}
		}
		outputs = 1
	}
	if c.Model.Name == "" {
		if len(c.Model.Layers) == 0 {
			return nil, fmt.Errorf("model is not set; use one of %s or [[model.layers]]", strings.Join(models.Names(), ", "))
		}
		return models.FromLayers(models.WithInit(c.Model.Layers, c.drawnBy()), input, outputs)
	}
	return models.New(c.Model.Name, models.Options{Classes: outputs, Input: input, Init: c.drawnBy()})
}

// WithPrecision returns the model with products in the configured precision, or an error
// if that is unknown.
func (c *Config) WithPrecision(m *nn.Model) (*nn.Model, error) {
	var p nn.Precision
	if err := p.Set(c.Precision); err != nil {
		return nil, &key.Error{Key: "precision", Problem: fmt.Sprintf(" = %q: %v", c.Precision, err)}
	}
	return m.WithPrecision(p), nil
}

// OpenData opens the federation of a configuration, without its model.
func OpenData(ctx context.Context, c *Config) (*data.Federation, error) {
	if err := c.checkSet(); err != nil {
		return nil, err
	}
	return data.Open(ctx, c.data())
}

// checkSet returns an error for an unknown dataset.
func (c *Config) checkSet() error {
	if known := dataNames(); c.Data.Name != "" && !slices.Contains(known, c.Data.Name) {
		return key.Unknown("data.name", clip(c.Data.Name), known)
	}
	return nil
}

// dataNames returns the names of the datasets.
func dataNames() []string { return list.Of(data.Sets(), func(s data.SetInfo) string { return s.Name }) }
