package bench

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// network is a model as the suites measure it.
type network struct {
	*nn.Model
	name    string
	layers  []models.LayerSpec // of a composed network
	batches []int
	plain   bool // also trained without momentum
}

// The batch sizes of the models: those that papers train them with, and larger
// ones. Models of which a step takes longest have one.
var (
	allBatches  = []int{8, 10, 16, 20, 50, 64}
	slowBatches = []int{16}
	slowModels  = []string{"so-nwp-lstm", "resnet18", "resnet18-gn"}
	plainModels = []string{"leaf-femnist-cnn"}
	quickModels = []string{"reddi-emnist-cnn", "leaf-char-lstm"}
)

// perceptron is the composed network of the suite nn.
//
//go:embed networks/mlp-784-200-200-10.toml
var perceptron string

// networks lists the models of cfg, or those of the suites.
func networks(ctx context.Context, cfg Config) ([]network, error) {
	names := cfg.Models
	switch {
	case len(names) > 0:
	case cfg.Quick:
		names = quickModels
	default:
		names = models.Names()
	}
	var nets []network
	for _, name := range names {
		open := named
		if strings.HasSuffix(name, ".toml") {
			open = fromFile
		} else if !slices.Contains(models.Names(), name) {
			return nil, fmt.Errorf("unknown model %q%s; available: %s, or a study file NAME.toml",
				name, key.DidYouMean(name, key.Names(models.Names()...)), strings.Join(models.Names(), ", "))
		}
		net, err := open(ctx, name, cfg.Input, cfg.Classes)
		if err != nil {
			return nil, err
		}
		nets = append(nets, net)
	}
	if len(cfg.Models) == 0 {
		mlp, err := composed("mlp-784-200-200-10", perceptron, nn.Shape{H: 1, W: 1, C: 784}, 10)
		if err != nil {
			return nil, err
		}
		nets = append(nets, mlp)
		if !cfg.Quick {
			wide, err := named(ctx, "mcmahan-cifar-cnn", nn.Shape{H: 32, W: 32, C: 3}, 0)
			if err != nil {
				return nil, err
			}
			wide.batches = []int{50}
			nets = append(nets, wide)
		}
	}
	for i := range nets {
		switch {
		case cfg.Batch > 0:
			nets[i].batches = []int{cfg.Batch}
		case cfg.Quick:
			nets[i].batches = []int{10}
		}
	}
	return nets, nil
}

// named is one of the models that have a name.
func named(_ context.Context, name string, input nn.Shape, classes int) (network, error) {
	m, err := models.New(name, models.Options{Input: input, Classes: classes})
	if err != nil {
		return network{}, err
	}
	net := network{Model: m, name: name, batches: allBatches, plain: slices.Contains(plainModels, name)}
	if slices.Contains(slowModels, name) {
		net.batches = slowBatches
	}
	return net, nil
}

// fromFile is the network of a study file. Its input is the one given, or that of
// the study's data.
func fromFile(ctx context.Context, path string, input nn.Shape, classes int) (network, error) {
	c, err := config.Load(config.Source{File: path})
	if err != nil {
		return network{}, err
	}
	if input == (nn.Shape{}) {
		fed, err := config.OpenData(ctx, c)
		if err != nil {
			return network{}, fmt.Errorf("%s: input shape is neither given nor known from the study's data: %w", path, err)
		}
		input = nn.Shape{H: fed.H, W: fed.W, C: fed.C, Seq: fed.SeqLen, Vocab: fed.Vocab}
		classes = cmp.Or(classes, fed.Classes)
	}
	if c.Model.Name != "" {
		return named(ctx, c.Model.Name, input, classes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return network{}, err
	}
	return composed(strings.TrimSuffix(filepath.Base(path), ".toml"), string(text), input, classes)
}

// composed is the network that the text of a study file composes. Classes may be 0:
// they are then the units of its last layer, or 10 where that leaves them open.
func composed(name, text string, input nn.Shape, classes int) (network, error) {
	var file struct {
		Model struct {
			Layers []models.LayerSpec `toml:"layers"`
		} `toml:"model"`
	}
	if _, err := toml.Decode(text, &file); err != nil {
		return network{}, err
	}
	if n := len(file.Model.Layers); classes == 0 && n > 0 {
		classes = cmp.Or(file.Model.Layers[n-1].Units, 10)
	}
	m, err := models.FromLayers(file.Model.Layers, input, classes)
	if err != nil {
		return network{}, err
	}
	return network{Model: m, name: name, layers: file.Model.Layers, batches: allBatches}, nil
}

// ParseInput reads the shape of a sample: "28x28x1" (rows, columns, channels) is an
// image, "784" a vector, and "80of90" a sequence of 80 tokens of a vocabulary of
// 90. Reports write shapes so.
func ParseInput(text string) (nn.Shape, error) {
	wrong := fmt.Errorf("input %q: must be an image such as 28x28x1, a vector such as 784, or tokens such as 80of90 (80 tokens of a vocabulary of 90)", text)
	numbers := func(sep string) ([]int, bool) {
		var out []int
		for part := range strings.SplitSeq(text, sep) {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 {
				return nil, false
			}
			out = append(out, n)
		}
		return out, true
	}
	if n, ok := numbers("of"); ok && len(n) == 2 {
		return nn.Shape{Seq: n[0], Vocab: n[1]}, nil
	}
	n, ok := numbers("x")
	switch {
	case ok && len(n) == 3:
		return nn.Shape{H: n[0], W: n[1], C: n[2]}, nil
	case ok && len(n) == 1:
		return nn.Shape{H: 1, W: 1, C: n[0]}, nil
	}
	return nn.Shape{}, wrong
}

// inputText writes a shape as ParseInput reads it.
func inputText(s nn.Shape) string {
	switch {
	case s.Seq > 0:
		return fmt.Sprintf("%dof%d", s.Seq, s.Vocab)
	case s.H == 1 && s.W == 1:
		return strconv.Itoa(s.C)
	}
	return fmt.Sprintf("%dx%dx%d", s.H, s.W, s.C)
}
