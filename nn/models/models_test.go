package models

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// TestModelsAreWritten holds that models.json has no unknown keys, and layers that a study file
// may have.
func TestModelsAreWritten(t *testing.T) {
	var all []struct {
		Name, Doc string
		Input     nn.Shape
		Classes   int
		Layers    []LayerSpec
	}
	d := json.NewDecoder(bytes.NewReader(written))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if err := checkLayers(w.Name, w.Layers, true); err != nil {
			t.Error(err)
		}
		i := slices.IndexFunc(named(), func(m model) bool { return m.name == w.Name })
		if i < 0 || (len(w.Layers) > 0) != (w.Doc != "") || named()[i].doc == "" {
			t.Errorf("%s has %d layers, its doc is %q", w.Name, len(w.Layers), w.Doc)
		}
	}
}

func TestParameterCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want int
	}{
		{"leaf-femnist-cnn", Options{}, 6_603_710},
		{"leaf-femnist-cnn", Options{Classes: 10}, 6_603_710 - 52*2049},
		{"reddi-emnist-cnn", Options{}, 1_206_590},
		{"fedex-femnist-cnn", Options{}, 9_520_574},
		{"fedex-cifar-cnn", Options{}, 122_570},
		{"fedex-cifar-cnn", Options{Classes: 100}, 122_570 + 90*65},
		{"leaf-char-lstm", Options{}, 817_872},
		{"fedex-char-lstm", Options{}, 825_485},
		{"fedex-char-lstm", Options{Input: nn.Shape{Seq: 20, Vocab: 101}}, 825_485},
		{"tff-char-lstm", Options{}, 820_522},
		{"so-nwp-lstm", Options{}, 4_050_748},
		{"fedtune-2conv2dense", Options{}, 1_663_370},
		{"fedtune-2conv2dense", Options{Classes: 62}, 1_690_046},
		{"fedtune-4conv2dense", Options{}, 2_196_042},
		{"pfllib-cnn", Options{}, 582_026},
		{"pfllib-cnn", Options{Input: nn.Shape{H: 32, W: 32, C: 3}}, 878_538},
		{"mcmahan-cifar-cnn", Options{}, 1_068_298},
		{"resnet18-gn", Options{}, 11_173_962},
		{"resnet18", Options{}, 11_173_962},
		{"resnet18-gn", Options{Classes: 100}, 11_220_132},
		{"resnet18-gn", Options{Input: nn.Shape{H: 17, W: 20, C: 3}}, 11_173_962},
		{"char-gpt", Options{}, 813_824},
		{"char-gpt", Options{Classes: 101, Input: nn.Shape{Seq: 80, Vocab: 101}}, 813_824 + 21*128},
		{"vit-tiny", Options{}, 1_205_898},
		{"vit-tiny", Options{Classes: 100}, 1_205_898 + 90*129},
		{"so-tag-lr", Options{}, 5_000_500},
		{"mobilenet-small", Options{}, 1_528_106},
		{"mbv3-cifar", Options{}, 676_442},
		{"mbv3-cifar-mid", Options{}, 170_194},
		{"mbv3-paper32", Options{}, 5_179_042},
		{"darts-cifar", Options{}, 209_666},
		{"mobilenet-small", Options{Classes: 100}, 1_528_106 + 90*1025},
		{"logistic", Options{}, 62 * 785},
		{"logistic", Options{Classes: 10, Input: nn.Shape{H: 1, W: 1, C: 60}}, 610},
	} {
		m, err := New(c.name, c.o)
		if err != nil {
			t.Errorf("%s %+v: %v", c.name, c.o, err)
			continue
		}
		if got := m.NumParams(); got != c.want {
			t.Errorf("%s %+v has %d parameters, want %d", c.name, c.o, got, c.want)
		}
		if m.Name() != c.name || m.Doc() == "" || m.Size() < c.want {
			t.Errorf("%s: name %q, doc %q, size %d", c.name, m.Name(), m.Doc(), m.Size())
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"leaf", Options{}, `unknown model "leaf"; available: logistic, leaf-femnist-cnn, `},
		{"leaf-char-lstm", Options{Input: nn.Shape{H: 28, W: 28, C: 1}}, "model leaf-char-lstm is for text, not for images"},
		{"logistic", Options{Input: nn.Shape{Seq: 80, Vocab: 80}}, "model logistic is for images, not for text"},
		{"fedex-femnist-cnn", Options{Classes: -1}, "model fedex-femnist-cnn: -1 classes"},
		{"fedex-femnist-cnn", Options{Input: nn.Shape{H: 2, W: 2, C: 1}}, "model fedex-femnist-cnn: layer 1 (conv)"},
	} {
		_, err := New(c.name, c.o)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %+v: error %v, want %q", c.name, c.o, err, c.want)
		}
	}
}

// TestInit checks the spread of each weight's initial values against its
// framework's formula, and which tensors start at zero.
func TestInit(t *testing.T) {
	// Standard deviation of the tensors, in order; a uniform one in +-b has
	// b/sqrt(3).
	for name, want := range map[string][]float64{
		"logistic":          {0.02062, 0.02062},
		"leaf-femnist-cnn":  {0.0492, 0, 0.02887, 0, 0.01964, 0, 0.03079, 0},
		"mcmahan-cifar-cnn": {0.03455, 0, 0.025, 0, 0.02728, 0, 0.05893, 0, 0.09950, 0},
		"fedex-femnist-cnn": {0.1925, 0.1925, 0.03402, 0.03402, 0.006014, 0.006014, 0.01804, 0.01804},
		"leaf-char-lstm":    {0.1508, 0.03941, 0.03941, 0, 0.03608, 0.03608, 0, 0.07715, 0},
		"tff-char-lstm":     {0.02887, 0.04352, 0.03125, 0.5, 0.03953, 0.03125, 0.5, 0.07602, 0},
		"so-nwp-lstm":       {0.02887, 0.02688, 0.01932, 0.5, 0.0511, 0, 0.01407, 0},
		"fedex-char-lstm": {
			0.995, 0.03608, 0.03608, 0.03608, 0.03608, 0.03608, 0.03608, 0.03608, 0.03608, 0.03608,
			0.03608,
		},
	} {
		m, err := New(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := m.NewParams()
		m.Init(w, 11)
		ts := m.Export(w)
		if len(ts) != len(want) {
			t.Fatalf("%s has %d tensors, want %d", name, len(ts), len(want))
		}
		for i, p := range ts {
			n := float64(len(p.Data))
			got := kernels.Norm(p.Data) / sqrt(n)
			if want[i] == 0 {
				if got != 0 {
					t.Errorf("%s %s starts at %v, want 0", name, p.Name, got)
				}
				continue
			}
			if tol := 3 / sqrt(n); got < want[i]*(1-tol) || got > want[i]*(1+tol) {
				t.Errorf("%s %s starts with deviation %.5g, want %.5g", name, p.Name, got, want[i])
			}
		}
	}
}

// TestFreshLoss checks that every model starts near the loss of a guess and that
// a few steps on one batch lower it.
func TestFreshLoss(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			m, err := New(name, Options{})
			if err != nil {
				t.Fatal(err)
			}
			w := m.NewParams()
			m.Init(w, 1)
			ws := m.NewWorkspace()
			b := torchBatch(m, 2)
			first := ws.Evaluate(w, b)
			for range 3 {
				ws.Step(w, b, nn.TrainOpts{}, &nn.Optimizer{SGD: nn.SGD{LR: 0.001}})
			}
			if last := ws.Evaluate(w, b); !(last.Loss < first.Loss) || first.Count != b.N*m.LabelsPerExample() {
				t.Errorf("loss %v of %d, after three steps %v", first.Loss, first.Count, last.Loss)
			}
		})
	}
}

// TestLevels checks that a few steps give the same weights on all assembly levels.
// Layers that are not in assembly are the same code everywhere, so small inputs do.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		name  string
		input nn.Shape
	}{
		{"mcmahan-cifar-cnn", nn.Shape{H: 13, W: 12, C: 3}},
		{"resnet18-gn", nn.Shape{H: 9, W: 8, C: 3}},
		{"tff-char-lstm", nn.Shape{Seq: 4, Vocab: 90}},
		{"so-nwp-lstm", nn.Shape{Seq: 3, Vocab: 50}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := New(c.name, Options{Input: c.input, Classes: 10})
			if err != nil {
				t.Fatal(err)
			}
			b := torchBatch(m, 3)
			var first []float32
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				if kernels.Current() == kernels.Generic {
					return // held to PyTorch and float64 references only
				}
				w, v, ws := m.NewParams(), m.NewParams(), m.NewWorkspace()
				m.Init(w, 2)
				opt := &nn.Optimizer{SGD: nn.SGD{LR: 0.01, Momentum: 0.9}, Velocity: v}
				for range 2 {
					ws.Step(w, b, nn.TrainOpts{}, opt)
				}
				if first == nil {
					first = w
				}
				for i, x := range w {
					if math.Float32bits(x) != math.Float32bits(first[i]) {
						t.Fatalf("weight %d is %v, want %v", i, x, first[i])
					}
				}
			})
		})
	}
}

// TestInitOption draws a model whose layers have another framework's
// initialisation: normals of deviation 1/sqrt(fan-in) that end at two deviations,
// and biases of zero.
func TestInitOption(t *testing.T) {
	for name, o := range map[string]Options{"reddi-emnist-cnn": {Init: "haiku"}, "resnet18-gn": {Init: "haiku"}} {
		m, err := New(name, o)
		if err != nil {
			t.Fatal(err)
		}
		w := m.NewParams()
		m.Init(w, 1)
		for _, p := range m.Export(w) {
			if len(p.Shape) < 2 {
				continue // biases and scales
			}
			fan := len(p.Data) / p.Shape[0]
			var most, squares float64
			for _, x := range p.Data {
				most, squares = max(most, math.Abs(float64(x))), squares+float64(x)*float64(x)
			}
			unit := math.Sqrt(float64(fan))
			// The deviation of a standard normal that is cut off at 2 is 0.8796.
			if d := math.Sqrt(squares/float64(len(p.Data))) * unit; most*unit > 2.000001 || math.Abs(d-0.8796) > 0.06 {
				t.Errorf("%s, %s: largest value %v / sqrt(fan-in), deviation %v", name, p.Name, most*unit, d)
			}
		}
	}
	if _, err := New("logistic", Options{Init: "zeros"}); err == nil || !strings.Contains(err.Error(),
		"must be one of torch, glorot, keras, haiku") {
		t.Errorf("got %v", err)
	}
}
