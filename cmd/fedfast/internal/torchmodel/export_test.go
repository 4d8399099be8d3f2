package torchmodel

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/nn/safetensors"
)

// python is the first Python that can import torch, or empty.
var python = sync.OnceValue(func() string {
	for _, p := range []string{os.Getenv("FEDFAST_PYTHON"), "python3", "/usr/bin/python3"} {
		if p != "" &&
			exec.Command(p, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))").Run() == nil {
			return p
		}
	}
	return ""
})

// needTorch returns a Python with PyTorch, or skips the test.
func needTorch(t *testing.T) string {
	t.Helper()
	if python() == "" {
		t.Skip("no python3 here can import torch; install Debian's python3-torch")
	}
	return python()
}

// everyLayer are networks in which all layers and their options occur that no named
// model has.
var everyLayer = map[string]struct {
	input   nn.Shape
	classes int
	text    string
}{
	"images": {nn.Shape{H: 11, W: 12, C: 3}, 5, `
		[[layers]]
		{ type = "conv", filters = 6, kernel = 4, padding = "same", stride = 2 }
		{ type = "relu" }
		{ type = "lrn", radius = 2, bias = 1.5, alpha = 0.3, beta = 0.75 }
		{ type = "maxpool", size = 3, stride = 2, padding = "same" }
		{ type = "depthwise", kernel = 3, padding = "same", dilation = 2, no_bias = true }
		{ type = "groupnorm", groups = 3 }
		{ type = "batchnorm", eps = 0.001, momentum = 0.2 }
		{ type = "conv", filters = 6, kernel = 3, groups = 2, pad = 1 }
		{ type = "conv", filters = 6, kernel = 2, dilation = 2, padding = "same" }
		{ type = "silu" }
		{ type = "layernorm" }
		{ type = "residual", body = [{ type = "rmsnorm" }, { type = "conv", filters = 8, kernel = 1 }, { type = "gelu" }, { type = "squeeze", units = 4 }], shortcut = [{ type = "conv", filters = 8, kernel = 1, no_bias = true }] }
		{ type = "avgpool", size = 2, stride = 1 }
		{ type = "hardsigmoid" }
		{ type = "flatten" }
		{ type = "dropout", rate = 0.5 }
		{ type = "dense", units = 9, no_bias = true }
		{ type = "residual", body = [{ type = "layernorm" }, { type = "dense", units = 9 }, { type = "tanh" }] }
		{ type = "rmsnorm" }
		{ type = "gelu", approximate = "tanh" }
		{ type = "sigmoid" }
		{ type = "hardswish" }
		{ type = "dense" }`},
	"vectors": {nn.Shape{H: 1, W: 1, C: 7}, 3, `
		[[layers]]
		{ type = "dense", units = 8 }
		{ type = "batchnorm", cumulative = true }
		{ type = "relu" }
		{ type = "batchnorm", no_affine = true }
		{ type = "dense", no_bias = true }`},
	"graph": {nn.Shape{H: 8, W: 8, C: 2}, 4, `
		[[layers]]
		{ name = "stem", type = "conv", filters = 4, kernel = 3, pad = 1 }
		{ name = "left", type = "conv", filters = 3, kernel = 3, pad = 1 }
		{ name = "right", input = "stem", type = "conv", filters = 5, kernel = 1 }
		{ name = "act", type = "relu" }
		{ name = "both", type = "concat", inputs = ["left", "act"] }
		{ name = "more", type = "conv", filters = 8, kernel = 1 }
		{ name = "sum", type = "add", inputs = ["more", "both"] }
		{ type = "avgpool" }
		{ type = "dense" }`},
	"mixed": {nn.Shape{H: 8, W: 8, C: 2}, 4, `
		[[layers]]
		{ name = "stem", type = "conv", filters = 4, kernel = 3, pad = 1 }
		{ name = "max", type = "maxpool", size = 3, stride = 1, pad = 1 }
		{ name = "mean", input = "stem", type = "avgpool", size = 3, stride = 1, pad = 1 }
		{ name = "norm", input = "stem", type = "groupnorm", groups = 2, no_affine = true }
		{ name = "wide", input = "max", type = "conv", filters = 4, kernel = 1 }
		{ name = "a", type = "mix", inputs = ["stem", "mean", "norm"], weights = "edge.one", zero = true }
		{ name = "b", type = "mix", inputs = ["wide", "stem", "a"], weights = "edge.one", zero = true }
		{ name = "c", type = "mix", inputs = ["b", "norm"], weights = "two" }
		{ type = "avgpool" }
		{ type = "dense" }`},
	"sequences": {nn.Shape{Seq: 6, Vocab: 11}, 3, `
		[[layers]]
		{ type = "embedding", size = 8, zero_padding = true }
		{ type = "positions" }
		{ type = "batchnorm" }
		{ type = "attention", heads = 2, mask_padding = true }
		{ type = "lstm", hidden = 5, layers = 2, output = "every", rate = 0.3 }
		{ type = "dense", units = 6 }
		{ type = "gru", hidden = 7, output = "every" }
		{ type = "lstm", hidden = 4, init = "haiku", biases = 1 }
		{ type = "dense" }`},
	"windows": {nn.Shape{H: 11, W: 12, C: 3}, 4, `
		[[layers]]
		{ type = "conv", filters = 6, kernel = 3, width = 5, pad = 1 }
		{ type = "maxpool", size = 3, stride = 2, ceil = true }
		{ type = "conv", filters = 6, kernel = 1, width = 3, groups = 2, pad = 1 }
		{ type = "avgpool", size = 2, width = 3, stride = 1, pad = 1, count_pad = true }
		{ type = "maxpool", rows = 4, columns = 3 }
		{ type = "avgpool", rows = 2, columns = 7 }
		{ type = "conv", filters = 4, kernel = 1 }
		{ type = "avgpool" }`},
	"real steps": {nn.Shape{Seq: 6, Vocab: 3}, 4, `
		[[layers]]
		{ name = "words", type = "embedding", size = 8 }
		{ name = "first", type = "steps", take = "first", mask_padding = true }
		{ name = "mean", input = "words", type = "steps", take = "mean", mask_padding = true }
		{ name = "last", input = "words", type = "steps", mask_padding = true }
		{ type = "concat", inputs = ["first", "mean", "last"] }
		{ type = "dense" }`},
	"class token": {nn.Shape{Seq: 6, Vocab: 3}, 4, `
		[[layers]]
		{ type = "embedding", size = 8 }
		{ type = "sequence", class_token = true }
		{ type = "positions" }
		{ name = "heads", type = "attention", heads = 2, mask_padding = true }
		{ name = "back", type = "reverse" }
		{ name = "here", type = "gru", hidden = 8, output = "every" }
		{ name = "there", type = "reverse" }
		{ name = "sum", type = "add", inputs = ["heads", "there"] }
		{ name = "again", type = "attention", heads = 2, causal = true, mask_padding = true }
		{ name = "first", type = "steps", take = "first", mask_padding = true }
		{ name = "mean", input = "again", type = "steps", take = "mean", mask_padding = true }
		{ name = "last", input = "again", type = "steps", mask_padding = true }
		{ type = "concat", inputs = ["first", "mean", "last"] }
		{ type = "dense" }`},
	"steps": {nn.Shape{Seq: 9, Vocab: 11}, 3, `
		[[layers]]
		{ type = "embedding", size = 8 }
		{ type = "image" }
		{ type = "conv", filters = 6, kernel = 1, width = 3 }
		{ type = "tanh" }
		{ type = "sequence" }
		{ type = "gru", hidden = 5 }
		{ type = "dense" }`},
	"gates": {nn.Shape{H: 8, W: 8, C: 2}, 4, `
		[[layers]]
		{ name = "stem", type = "conv", filters = 4, kernel = 3 }
		{ name = "act", type = "relu6" }
		{ name = "drop", type = "dropout", rate = 0.5, channels = true }
		{ name = "mean", type = "avgpool" }
		{ name = "share", type = "dense", units = 4 }
		{ name = "leak", type = "leakyrelu", slope = 0.2 }
		{ name = "by", type = "multiply", inputs = ["drop", "leak"] }
		{ name = "more", type = "scale", factor = 2.5 }
		{ name = "twice", type = "multiply", inputs = ["more", "act"] }
		{ type = "dense" }`},
	"both": {nn.Shape{Seq: 6, Vocab: 11}, 3, `
		[[layers]]
		{ name = "e", type = "embedding", size = 8 }
		{ name = "token", type = "sequence", class_token = true }
		{ name = "back", type = "reverse" }
		{ name = "there", input = "token", type = "gru", hidden = 5, output = "every" }
		{ name = "here", input = "back", type = "lstm", hidden = 5, output = "every" }
		{ name = "all", type = "multiply", inputs = ["there", "here"] }
		{ type = "steps", take = "mean" }
		{ type = "dense" }`},
	"means": {nn.Shape{Seq: 6, Vocab: 11}, 11, `
		[[layers]]
		{ type = "embedding", size = 8 }
		{ type = "attention", heads = 2, causal = true }
		{ type = "steps", take = "mean" }
		{ type = "tied" }`},
}

// decode parses layers, one per line.
func decode(t *testing.T, text string) []models.LayerSpec {
	t.Helper()
	var f struct{ Layers []models.LayerSpec }
	lines := strings.Split(strings.TrimSpace(text), "\n")[1:]
	meta, err := toml.Decode("layers = [\n"+strings.Join(lines, ",\n")+"\n]", &f)
	if err != nil || len(meta.Undecoded()) > 0 {
		t.Fatal(err, meta.Undecoded())
	}
	return f.Layers
}

// drawBatch draws some examples that a model reads. No sequence is padding alone.
func drawBatch(m *nn.Model, n int) *nn.Batch {
	s, in := kernels.NewStream(9, 0), m.Input()
	b := &nn.Batch{
		N: n, Labels: make([]int32, n*m.LabelsPerExample()),
		Outputs: make([]float32, n*m.LabelsPerExample()*m.Classes()),
	}
	for range n * in.Size() {
		b.X = append(b.X, s.Float32()-0.5)
	}
	for i := range n * in.Seq {
		token := int32(s.IntN(in.Vocab))
		if i%in.Seq == 0 {
			token = max(token, 1)
		}
		b.Tokens = append(b.Tokens, token)
	}
	return b
}

// inputOf writes a batch as PyTorch reads it.
func inputOf(m *nn.Model, b *nn.Batch) []byte {
	in := m.Input()
	given := map[string]any{"tokens": in.Seq > 0, "values": b.Tokens, "shape": []int{b.N, in.Seq}}
	if in.Seq == 0 {
		var x []float32
		for i := range b.N {
			for c := range in.C {
				for p := range in.H * in.W {
					x = append(x, b.X[i*in.Size()+p*in.C+c])
				}
			}
		}
		given["values"], given["shape"] = x, []int{b.N, in.C, in.H, in.W}
		if in.H*in.W == 1 {
			given["shape"] = []int{b.N, in.C}
		}
	}
	text, err := json.Marshal(given)
	if err != nil {
		panic(err)
	}
	return text
}

// outputs evaluates a network.
func outputs(m *nn.Model, w []float32, b *nn.Batch) []float32 {
	m.NewWorkspace().Evaluate(w, b)
	return slices.Clone(b.Outputs)
}

func readFloats(t *testing.T, path string) []float32 {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(raw)/4)
	if _, err := binary.Decode(raw, binary.LittleEndian, x); err != nil {
		t.Fatal(err)
	}
	return x
}

// near compares what two networks give, to 1e-5 of the largest value, or of 1.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	most, worst := 1.0, 0.0
	for i, x := range want {
		most = max(most, math.Abs(float64(x)))
		if d := math.Abs(float64(got[i]) - float64(x)); !(d <= worst) {
			worst = d
		}
	}
	if !(worst <= 1e-5*most) {
		t.Errorf("%s: the outputs differ by %.3g of %.3g; at most 1e-5 is allowed", what, worst, most)
	}
}

// TestExportPredictsTheSame writes every named model, and networks of all layers, as
// PyTorch modules: these predict the same, and weights that they save come back.
func TestExportPredictsTheSame(t *testing.T) {
	nets := map[string]*nn.Model{}
	for _, name := range models.Names() {
		o := models.Options{}
		if strings.HasPrefix(name, "resnet18") {
			if testing.Short() {
				continue
			}
			o.Input = nn.Shape{H: 10, W: 10, C: 3}
		}
		m, err := models.New(name, o)
		if err != nil {
			t.Fatal(err)
		}
		nets[name] = m
	}
	for name, c := range everyLayer {
		m, err := models.FromLayers(decode(t, c.text), c.input, c.classes)
		if err != nil {
			t.Fatal(name, err)
		}
		nets[name] = m
	}
	py, root := needTorch(t), t.TempDir()
	var folders []string
	for name, m := range nets {
		dir := filepath.Join(root, name)
		folders = append(folders, dir)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		w := m.NewParams()
		m.Init(w, 3)
		exported(t, dir, m, w, drawBatch(m, 3))
	}
	if out, err := exec.Command(py, append([]string{filepath.Join("testdata", "predict.py")},
		folders...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, m := range nets {
		t.Run(name, func(t *testing.T) {
			dir, b := filepath.Join(root, name), drawBatch(m, 3)
			w := m.NewParams()
			m.Init(w, 3)
			near(t, "exported", readFloats(t, filepath.Join(dir, "outputs.f32")), outputs(m, w, b))
			moved, err := safetensors.Read(filepath.Join(dir, "moved.safetensors"), m)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "saved by PyTorch", outputs(m, moved, b), readFloats(t, filepath.Join(dir, "moved.f32")))
		})
	}
}
