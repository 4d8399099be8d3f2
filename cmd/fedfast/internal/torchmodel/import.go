package torchmodel

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

//go:embed import.py
var importScript []byte

// Source says which PyTorch module to import.
type Source struct {
	// Script is the Python file, Class what of it is the module: a class, a function, an
	// instance or a call, empty where there is one alone.
	Script, Class string
	// Input is the form of a sample: 3x32x32 for channels, rows and columns, 9x128 for
	// channels and steps of a series, 784 for a vector, 80tokens for a sequence.
	Input string
	// Weights is a file of torch.save with the module's state, empty for the weights
	// that the module draws with seed 0.
	Weights string
	// Python runs it, one that can import torch.
	Python string
}

var inputForm = regexp.MustCompile(`^[1-9]\d{0,6}((x[1-9]\d{0,6}){1,2}|tokens)?$`)

// Check returns an error for an invalid input shape.
func (s *Source) Check() error {
	if !inputForm.MatchString(s.Input) {
		return fmt.Errorf("--input %q: must be channels x rows x columns such as 3x32x32, channels x steps such as 9x128, a vector size such as 784, or a number of tokens such as 80tokens", s.Input)
	}
	return nil
}

// Imported is a module as layers.
type Imported struct {
	// Name is the name of the module's class.
	Name   string
	Layers []models.LayerSpec
	Model  *nn.Model
	// Weights are the module's, packed.
	Weights []float32
	// Notes say what differs between the two.
	Notes []string
	// Difference is the largest one between what both predict for an input, as a share
	// of the largest value.
	Difference float64
}

// written is what import.py leaves.
type written struct {
	Name    string             `json:"name"`
	Layers  []models.LayerSpec `json:"layers"`
	Classes int                `json:"classes"`
	Vocab   int                `json:"vocab"`
	Notes   []string           `json:"notes"`
	Tokens  bool               `json:"tokens"`
	Shape   []int              `json:"shape"`
	Values  []float32          `json:"values"`
	Outputs []float64          `json:"outputs"`
	// LogSoftmax says that the outputs are logarithms of probabilities.
	LogSoftmax bool `json:"log_softmax"`
	Tensors    []struct {
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
	} `json:"tensors"`
}

// ErrNoTorch is wrapped by the error of a Python that is not there or has no PyTorch.
var ErrNoTorch = errors.New("no PyTorch")

// Import turns a PyTorch module into layers and has both predict for the same input:
// what differs by more than 1e-4 is an error, as is a module for which there is no
// layer. All errors are of one line.
func Import(ctx context.Context, s Source) (*Imported, error) {
	dir, err := os.MkdirTemp("", "fedfast-import-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary one
	if err := s.run(ctx, dir); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "model.json"))
	if err != nil {
		return nil, err
	}
	var w written
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, fmt.Errorf("%s: parse Python's output: %w", s.Script, err)
	}
	i, err := w.read(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.Script, w.Name, err)
	}
	return i, nil
}

// registered is a type of layers for the tracer, see models.LayerType.
type registered struct {
	Type       string            `json:"type"`
	Module     string            `json:"module"`
	Function   string            `json:"function"`
	Attributes map[string]string `json:"attributes"`
	Options    bool              `json:"options"` // whether Attributes are options, and not keys
}

// writeRegistered tells the tracer which modules and functions, "" for none, are layers by
// themselves.
func writeRegistered(path string) error {
	text, err := json.Marshal(list.Of(models.LayerTypes(), func(t models.LayerType) registered {
		return registered{t.Name, t.Module, t.Function, t.Attributes, t.Options != nil}
	}))
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// run has Python trace the module.
func (s *Source) run(ctx context.Context, dir string) error {
	tracer := filepath.Join(dir, "import.py")
	if err := os.WriteFile(tracer, importScript, 0o600); err != nil {
		return err
	}
	if err := writeRegistered(filepath.Join(dir, "layers.json")); err != nil {
		return err
	}
	script, err := filepath.Abs(s.Script)
	if err != nil {
		return err
	}
	switch info, err := os.Stat(script); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file; must be the Python script that defines the module", s.Script)
	case err != nil:
		return err
	case !info.Mode().IsRegular() || filepath.Ext(script) != ".py":
		return fmt.Errorf("%s: must be a Python script, NAME.py", s.Script)
	}
	weights := s.Weights
	if weights != "" {
		if weights, err = filepath.Abs(weights); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, s.Python, tracer, script, s.Class, s.Input, weights, dir) //nolint:gosec // the user names the Python
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	err = cmd.Run()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	last := lines[len(lines)-1]
	switch why, known := strings.CutPrefix(last, "unknown: "); {
	case ctx.Err() != nil:
		return ctx.Err()
	case known:
		return errors.New(strings.ReplaceAll(why, script, s.Script))
	case strings.Contains(last, "No module named 'torch'"):
		return fmt.Errorf("%s: %w: install PyTorch, or choose another interpreter with --python", s.Python, ErrNoTorch)
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: %w: Python interpreter not found; choose one with --python", s.Python, ErrNoTorch)
	case last == "":
		return fmt.Errorf("%s: %w", s.Python, err)
	}
	return fmt.Errorf("%s: cannot be imported: %s", s.Script, last)
}

// read makes the network.
func (w *written) read(dir string) (*Imported, error) {
	in := nn.Shape{H: 1, W: 1, C: w.Shape[1]}
	switch {
	case w.Tokens:
		in = nn.Shape{Seq: w.Shape[1], Vocab: w.Vocab}
	case len(w.Shape) == 4:
		in = nn.Shape{H: w.Shape[2], W: w.Shape[3], C: w.Shape[1]}
	}
	m, err := models.FromLayers(w.Layers, in, w.Classes)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, "weights.f32"))
	if err != nil {
		return nil, err
	}
	i := &Imported{Name: w.Name, Layers: w.Layers, Model: m, Notes: w.Notes, Weights: m.NewParams()}
	var ts []nn.Tensor
	for _, t := range w.Tensors {
		n := 4
		for _, d := range t.Shape {
			n *= d
		}
		if n > len(raw) {
			return nil, errors.New("the weights file is truncated")
		}
		x := nn.Tensor{Name: t.Name, Shape: t.Shape, Data: make([]float32, n/4)}
		if _, err := binary.Decode(raw[:n], binary.LittleEndian, x.Data); err != nil {
			return nil, err
		}
		ts, raw = append(ts, x), raw[n:]
	}
	if err := m.ImportFolded(i.Weights, ts); err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	i.Difference = w.differs(m, i.Weights)
	if !(i.Difference <= 1e-4) {
		return nil, fmt.Errorf("outputs of the layers and the module differ by %.2g of the largest value; does the module "+
			"modify a tensor in place and read it again, or use an operation that behaves differently in training?",
			i.Difference)
	}
	return i, nil
}

// differs compares what the network predicts with the module's outputs.
func (w *written) differs(m *nn.Model, weights []float32) float64 {
	n, in := w.Shape[0], m.Input()
	b := &nn.Batch{N: n, Labels: make([]int32, n*m.LabelsPerExample()), Outputs: make([]float32, n*m.LabelsPerExample()*m.Classes())}
	if len(b.Outputs) != len(w.Outputs) {
		return math.Inf(1)
	}
	for i := range n {
		if w.Tokens {
			for t := range in.Seq {
				b.Tokens = append(b.Tokens, int32(w.Values[i*in.Seq+t]))
			}
			continue
		}
		for p := range in.H * in.W {
			for c := range in.C {
				b.X = append(b.X, w.Values[(i*in.C+c)*in.H*in.W+p])
			}
		}
	}
	m.NewWorkspace().Evaluate(weights, b)
	most, worst := 1.0, 0.0
	for at := 0; at < len(w.Outputs); at += w.Classes {
		row, sum := b.Outputs[at:at+w.Classes], 0.0
		for _, x := range row {
			sum += math.Exp(float64(x))
		}
		for j, x := range row {
			got, want := float64(x), w.Outputs[at+j]
			if w.LogSoftmax {
				got -= math.Log(sum)
			}
			most = max(most, math.Abs(want))
			if d := math.Abs(got - want); !(d <= worst) {
				worst = d
			}
		}
	}
	return worst / most
}
