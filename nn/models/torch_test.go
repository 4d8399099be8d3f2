package models

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

type torchJob struct {
	Layers      []torchOp `json:"layers"`
	Shapes      [][]int   `json:"shapes"`
	Tokens      [][]int32 `json:"tokens"`
	X           []int     `json:"x"`
	Labels      []int32   `json:"labels"`
	LR          float64   `json:"lr"`
	Momentum    float64   `json:"momentum"`
	Nesterov    bool      `json:"nesterov"`
	ClipNorm    float64   `json:"clip_norm"`
	Optimizer   string    `json:"optimizer"`
	Betas       []float64 `json:"betas"`
	Eps         float64   `json:"eps"`
	WeightDecay float64   `json:"weight_decay"`
	BiasDecay   float64   `json:"bias_decay"`
	Steps       int       `json:"steps"`
	Loss        torchLoss `json:"loss"`
}

// TestStepsMatchTorch trains each model for 3 steps here and in float64 PyTorch
// from the same weights on the same batch: per tensor, the change over the steps
// may differ by 1e-3 of its norm.
func TestStepsMatchTorch(t *testing.T) {
	python := findTorch(t)
	for _, c := range torchCases {
		if kernelstest.Small() && c.model != "fedex-cifar-cnn" {
			continue // and the composed networks below, which hold every kind of layer
		}
		t.Run(c.model, func(t *testing.T) {
			t.Parallel()
			m, err := New(c.model, Options{Input: c.input})
			if err != nil {
				t.Fatal(err)
			}
			compareSteps(t, python, m, c.ops, torchBatch(m, c.batch), momentum(c.lr))
		})
	}
}

// momentum is what the steps that are compared go by unless they are about another
// optimizer.
func momentum(lr float32) nn.Optimizer {
	return nn.Optimizer{SGD: nn.SGD{LR: lr, Momentum: 0.9, WeightDecay: 1e-3}}
}

// TestOptimizersMatchTorch is TestStepsMatchTorch for the other optimizers, on
// networks with and without large dense layers, convolutions and an LSTM.
func TestOptimizersMatchTorch(t *testing.T) {
	python := findTorch(t)
	for _, c := range torchCases {
		if c.model != "reddi-emnist-cnn" && c.model != "fedex-cifar-cnn" && c.model != "tff-char-lstm" ||
			kernelstest.Small() && c.model != "fedex-cifar-cnn" {
			continue
		}
		for name, opt := range map[string]nn.Optimizer{
			"nesterov":               {SGD: nn.SGD{LR: c.lr, Momentum: 0.9, WeightDecay: 1e-3, Nesterov: true}},
			"clipped":                {SGD: nn.SGD{LR: c.lr, Momentum: 0.9, ClipNorm: 0.1}},
			"clipped, all the rest":  {SGD: nn.SGD{LR: c.lr, Momentum: 0.9, WeightDecay: 1e-3, Nesterov: true, ClipNorm: 0.1}},
			"clipped with no effect": {SGD: nn.SGD{LR: c.lr, Momentum: 0.9, ClipNorm: 1e6}},
			"adam":                   {SGD: nn.SGD{LR: 1e-3}, Adam: nn.Adam{On: true, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}},
			"adam, all the rest": {
				SGD:  nn.SGD{LR: 1e-3, WeightDecay: 1e-2, ClipNorm: 0.1},
				Adam: nn.Adam{On: true, Beta1: 0.8, Beta2: 0.95, Eps: 1e-8},
			},
			"adamw": {SGD: nn.SGD{LR: 1e-3, WeightDecay: 0.1}, Adam: nn.Adam{
				On: true, Decoupled: true,
				Beta1: 0.9, Beta2: 0.999, Eps: 1e-8,
			}},
			"biases apart": {SGD: nn.SGD{LR: c.lr, Momentum: 0.9, WeightDecay: 1e-3}, BiasDecay: 0.2},
			"biases apart, adamw": {SGD: nn.SGD{LR: 1e-3, WeightDecay: 0.1}, Adam: nn.Adam{
				On: true, Decoupled: true,
				Beta1: 0.9, Beta2: 0.999, Eps: 1e-8,
			}, BiasDecay: 2},
		} {
			if c.model != "fedex-cifar-cnn" && name != "clipped, all the rest" && name != "adam, all the rest" &&
				name != "biases apart, adamw" {
				continue // what the optimizers do apart does not depend on the network
			}
			t.Run(c.model+"/"+name, func(t *testing.T) {
				m, err := New(c.model, Options{Input: c.input})
				if err != nil {
					t.Fatal(err)
				}
				if opt.BiasDecay > 0 {
					opt.Biases = m.Biases()
				}
				compareSteps(t, python, m, c.ops, torchBatch(m, c.batch), opt)
			})
		}
	}
}

// TestHessianMatchesTorch compares products with the Hessian, for networks of most
// kinds of layers, with differences of the gradients that PyTorch gives in float64: they may
// differ by 1e-3 of each tensor's norm, and by 1e-4 of the norm of all, for what is left of a sum of
// differences that cancel.
func TestHessianMatchesTorch(t *testing.T) {
	python := findTorch(t)
	for _, c := range torchCases {
		if kernelstest.Small() || c.model != "fedex-cifar-cnn" && c.model != "fedex-char-lstm" {
			continue // the others are more of the same, and take minutes
		}
		t.Run(c.model, func(t *testing.T) {
			t.Parallel()
			m, err := New(c.model, Options{Input: c.input})
			if err != nil {
				t.Fatal(err)
			}
			compareHessians(t, python, m, c.ops, torchBatch(m, c.batch))
		})
	}
	t.Run("every step", func(t *testing.T) {
		m, b := nextWord(t)
		compareHessians(t, python, m, nextWordOps, b)
	})
	t.Run("normalisations", func(t *testing.T) {
		m, err := FromLayers(decode(t, tinyNormal), nn.Shape{H: 11, W: 12, C: 3}, 5)
		if err != nil {
			t.Fatal(err)
		}
		compareHessians(t, python, m, normalOps, torchBatch(m, 5))
	})
}

func compareHessians(t *testing.T, python string, m *nn.Model, ops []torchOp, b *nn.Batch) {
	t.Helper()
	w, v, product := m.NewParams(), m.NewParams(), m.NewParams()
	m.Init(w, 1)
	m.Init(v, 2)
	_, want := runTorch(t, python, newTorchJob(m, ops, b), canonical(m.Export(w)), channelFirst(b.X, m.Input()),
		canonical(m.Export(v))...)
	m.NewWorkspace().Hessian(product, w, v, b, nn.TrainOpts{})
	at, whole := 0, 0.0
	for _, x := range want {
		whole += x * x
	}
	for _, p := range m.Export(product) {
		var diff, norm float64
		for j, x := range p.Data {
			d := float64(x) - want[at+j]
			diff += d * d
			norm += want[at+j] * want[at+j]
		}
		at += len(p.Data)
		diff, norm = math.Sqrt(diff), math.Sqrt(norm)
		if most := max(1e-3*norm, 1e-4*math.Sqrt(whole)); !(diff <= most) {
			t.Errorf("%s: the product, of norm %.3g, differs by %.3g; at most %.3g is allowed", p.Name, norm, diff, most)
		}
		t.Logf("%-24s differs by %.2e of %.3g", p.Name, diff/norm, norm)
	}
	if at != len(want) {
		t.Errorf("PyTorch returned %d values for %d", len(want), at)
	}
}

// TestNextWordStepsMatchTorch does the same for a composed network that has an
// output at every step, some of them masked.
func TestNextWordStepsMatchTorch(t *testing.T) {
	python := findTorch(t)
	m, b := nextWord(t)
	compareSteps(t, python, m, nextWordOps, b, momentum(0.1))
}

var nextWordOps = []torchOp{
	{Op: "embedding", PaddingIdx: zeroIndex()},
	{Op: "lstm", Layers: 1, Biases: 1},
	opEvery,
	opLinear, opLinear,
}

// nextWord returns that network and a batch.
func nextWord(t *testing.T) (*nn.Model, *nn.Batch) {
	t.Helper()
	m, err := FromLayers(decode(t, tinyNWP), nn.Shape{Seq: 5, Vocab: 14}, 14)
	if err != nil {
		t.Fatal(err)
	}
	b := torchBatch(m, 7)
	for i := range b.Labels {
		if i%4 == 3 {
			b.Labels[i] = -1
		}
	}
	return m, b
}

// TestLayerStepsMatchTorch does the same for a composed image network, with a local
// response normalisation that is stronger than the named model's.
func TestLayerStepsMatchTorch(t *testing.T) {
	python := findTorch(t)
	m, err := FromLayers(decode(t, tinyNormal), nn.Shape{H: 11, W: 12, C: 3}, 5)
	if err != nil {
		t.Fatal(err)
	}
	compareSteps(t, python, m, normalOps, torchBatch(m, 5), momentum(0.1))
}

// TestBatchNormStepsMatchTorch does the same for batch normalizations of images and of
// vectors; their running statistics are compared, too.
func TestBatchNormStepsMatchTorch(t *testing.T) {
	python := findTorch(t)
	norm, relu := LayerSpec{Type: "batchnorm"}, LayerSpec{Type: "relu"}
	conv := LayerSpec{Type: "conv", Filters: 18, Kernel: 3, Pad: 1, NoBias: true}
	m, err := FromLayers([]LayerSpec{
		conv, norm, relu,
		{Type: "residual", Body: []LayerSpec{conv, norm, relu, conv, norm}},
		relu,
		{Type: "avgpool"},
		{Type: "dense", Units: 12, NoBias: true},
		norm, relu,
		{Type: "dense"},
	}, nn.Shape{H: 11, W: 12, C: 3}, 5)
	if err != nil {
		t.Fatal(err)
	}
	batchNorm := torchOp{Op: "batchnorm"}
	ops := []torchOp{
		opPlain(1, 1), batchNorm, opRelu,
		{Op: "residual", Body: []torchOp{opPlain(1, 1), batchNorm, opRelu, opPlain(1, 1), batchNorm}},
		opRelu,
		{Op: "mean"},
		{Op: "linear", NoBias: true},
		batchNorm, opRelu, opLinear,
	}
	compareSteps(t, python, m, ops, torchBatch(m, 7), momentum(0.02))
}

// TestSmoothStepsMatchTorch does the same for a composed network of smooth
// activations, normalisations of rows and depthwise convolutions.
func TestSmoothStepsMatchTorch(t *testing.T) {
	python := findTorch(t)
	m, err := FromLayers(decode(t, tinySmooth), nn.Shape{H: 9, W: 9, C: 2}, 5)
	if err != nil {
		t.Fatal(err)
	}
	compareSteps(t, python, m, smoothOps, torchBatch(m, 5), momentum(0.1))
}

var smoothOps = []torchOp{
	opSame(1),
	{Op: "layernorm"},
	{Op: "gelu"},
	{Op: "depthwise", Padding: 2, Dilation: 2},
	{Op: "silu"},
	{Op: "residual", Body: []torchOp{{Op: "rmsnorm"}, opConv, {Op: "gelutanh"}, {Op: "squeeze"}}},
	{Op: "depthwise", Padding: 2, Stride: 2, NoBias: true},
	{Op: "hardsigmoid"},
	{Op: "mean"},
	opLinear,
	{Op: "tanh"},
	opLinear,
	{Op: "sigmoid"},
	{Op: "layernorm"},
	opLinear,
	{Op: "hardswish"},
	opLinear,
}

var normalOps = []torchOp{
	opSame(1), opRelu,
	{Op: "lrn", Radius: 2, K: 1, Alpha: 3, Beta: 0.75},
	{Op: "pool", Size: 3, Stride: 2},
	opSame(1),
	{Op: "groupnorm", Groups: 3},
	opRelu,
	{Op: "lrn", Radius: 1, K: 2, Alpha: 0.5, Beta: 0.5},
	{Op: "pool", Size: 2, Stride: 2},
	{Op: "mean"},
	opLinear,
}

// torchBatch draws a batch: dim images of noise, or random tokens (0, the padding
// of some models, among them). On images of values up to 1, momentum 0.9 at lr
// 0.1 makes some of the networks diverge, and a comparison says little.
func torchBatch(m *nn.Model, n int) *nn.Batch {
	s, in := kernels.NewStream(9, 0), m.Input()
	b := &nn.Batch{N: n}
	for range n {
		if in.Seq > 0 {
			for range in.Seq {
				b.Tokens = append(b.Tokens, int32(s.IntN(in.Vocab)))
			}
		} else {
			for range in.Size() {
				b.X = append(b.X, 0.1*s.Float32())
			}
		}
		for range m.LabelsPerExample() {
			b.Labels = append(b.Labels, int32(s.IntN(m.Classes())))
		}
	}
	return b
}

// newTorchJob returns a job on a batch for a network of the model's parameters.
func newTorchJob(m *nn.Model, ops []torchOp, b *nn.Batch) torchJob {
	job := torchJob{Layers: ops, Labels: b.Labels, Loss: newTorchLoss(m, b)}
	for _, p := range m.Export(m.NewParams()) {
		job.Shapes = append(job.Shapes, p.Shape)
	}
	in := m.Input()
	if in.Seq > 0 {
		for i := range b.N {
			job.Tokens = append(job.Tokens, b.Tokens[i*in.Seq:(i+1)*in.Seq])
		}
	} else {
		job.X = []int{b.N, in.C, in.H, in.W}
	}
	return job
}

// canonical returns the values of all tensors, one after the other.
func canonical(ts []nn.Tensor) []float32 {
	var x []float32
	for _, t := range ts {
		x = append(x, t.Data...)
	}
	return x
}

func compareSteps(t *testing.T, python string, m *nn.Model, ops []torchOp, b *nn.Batch, opt nn.Optimizer) {
	t.Helper()
	job := newTorchJob(m, ops, b)
	job.LR, job.Momentum, job.WeightDecay, job.Steps = float64(opt.LR), float64(opt.Momentum), float64(opt.WeightDecay), 3
	if job.BiasDecay = job.WeightDecay; opt.Biases != nil {
		job.BiasDecay = float64(opt.BiasDecay)
	}
	job.Nesterov, job.ClipNorm, job.Optimizer = opt.Nesterov, float64(opt.ClipNorm), "sgd"
	if a := opt.Adam; a.On {
		job.Optimizer, job.Betas, job.Eps = "adam", []float64{a.Beta1, a.Beta2}, a.Eps
		if a.Decoupled {
			job.Optimizer = "adamw"
		}
	}
	w := m.NewParams()
	m.Init(w, 1)
	before := m.Export(w)
	losses, after := runTorch(t, python, job, canonical(before), channelFirst(b.X, m.Input()))

	ws := m.NewWorkspace()
	opt.Velocity, opt.Second = m.NewParams(), m.NewParams()
	for k := range job.Steps {
		r := ws.Step(w, b, nn.TrainOpts{}, &opt)
		if loss := r.Mean(); math.Abs(loss-losses[k]) > 1e-4*(1+losses[k]) {
			t.Errorf("step %d: loss %.7g; PyTorch has %.7g", k, loss, losses[k])
		}
	}
	if last := losses[job.Steps-1]; last > 1.2*losses[0] {
		t.Errorf("the loss went from %v to %v: training diverges on this batch", losses[0], last)
	}
	at := 0
	for i, p := range m.Export(w) {
		var diff, norm float64
		for j, v := range p.Data {
			start := float64(before[i].Data[j])
			want := after[at+j] - start
			d := float64(v) - start - want
			diff += d * d
			norm += want * want
		}
		at += len(p.Data)
		rel := math.Sqrt(diff / norm)
		if !(rel <= 1e-3) {
			t.Errorf("%s: the change over %d steps differs by %.3g of its norm %.3g; at most 1e-3 is allowed", p.Name, job.Steps,
				rel, math.Sqrt(norm))
		}
		t.Logf("%-24s differs by %.2e of its change", p.Name, rel)
	}
	if at != len(after) {
		t.Errorf("PyTorch returned %d values for %d", len(after), at)
	}
}

// channelFirst turns raw images into PyTorch's order.
func channelFirst(x []float32, in nn.Shape) []float32 {
	out := make([]float32, 0, len(x))
	for ; len(x) > 0; x = x[in.Size():] {
		for c := range in.C {
			for p := range in.H * in.W {
				out = append(out, x[p*in.C+c])
			}
		}
	}
	return out
}

// runTorch returns the loss before each step and the parameters after the last, or
// the product of the loss' Hessian with a direction, if there is one.
func runTorch(t *testing.T, python string, job torchJob, params, input []float32, direction ...float32) (losses,
	after []float64,
) {
	t.Helper()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"job.json": text, "params.f32": floats(params), "input.f32": floats(input), "direction.f32": floats(direction),
	} {
		if err := os.WriteFile(path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{path("job.json"), path("params.f32"), path("input.f32"), path("out.f64")}
	if direction != nil {
		files = append(files, path("direction.f32"))
	}
	if losses, err = torches.do(python, files); err != nil {
		t.Fatal(err)
	}
	if len(losses) != job.Steps {
		t.Fatalf("PyTorch told %d losses for %d steps", len(losses), job.Steps)
	}
	out, err := os.ReadFile(path("out.f64"))
	if err != nil {
		t.Fatal(err)
	}
	after = make([]float64, len(out)/8)
	if err := binary.Read(bytes.NewReader(out), binary.LittleEndian, after); err != nil {
		t.Fatal(err)
	}
	return losses, after
}

func floats(x []float32) []byte {
	out := make([]byte, 0, 4*len(x))
	for _, v := range x {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}
