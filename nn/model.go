package nn

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// Model is a network: its layers, bound to one another, and the place of their
// parameters in the flat vectors. It is immutable and safe for concurrent use.
type Model struct {
	name, doc string
	input     Shape
	classes   int
	layers    []Layer
	nodes     chain
	groups    groups
	precision Precision // of the layers' products
	start     []float32 // weights that Init fills in, nil to draw them
	loss      Loss
	lossType  *LossType
	biases    []Span // see Biases
	trainable []bool // which parameters are, in their order; nil are all
	frozen    []Span // see Frozen
	space     *space // of sub-networks, nil for none
}

// NewModel chains layers into a classifier of classes classes. The last layer
// must give classes channels, once per sample or once a step. A ReLU that follows a
// dense or convolutional layer is computed within it.
func NewModel(name string, input Shape, classes int, layers ...Layer) (*Model, error) {
	m := &Model{name: name, input: input, classes: classes, layers: slices.Clone(layers), lossType: &crossEntropy}
	flow, err := input.flow()
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	if input.Seq == 0 && anyOf(layers, readsTokens) {
		return nil, fmt.Errorf("model %s: a layer with mask_padding needs tokens as the network's input", name)
	}
	if classes < 1 {
		return nil, fmt.Errorf("model %s: %d classes; must be at least 1", name, classes)
	}
	if m.nodes, flow, err = bindChain(layers, flow, binding{}); err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	if flow.H*flow.W != 1 || flow.C != classes || flow.Raw {
		return nil, fmt.Errorf("model %s: the last layer gives %v values; %d classes need 1 x 1 x %d from a dense layer",
			name, Shape{H: flow.H, W: flow.W, C: flow.C}, classes, classes)
	}
	m.groups = m.nodes.groups()
	if err := m.checkNames(); err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	m.each(func(_ int, _ string, p Param, offset int) {
		if len(p.Shape) == 1 && !p.Buffer {
			m.biases = append(m.biases, Span{offset, offset + p.Size})
		}
	})
	return m, nil
}

// checkNames finds parameters that share a name.
func (m *Model) checkNames() error {
	var twice string
	seen := map[string]bool{}
	m.each(func(_ int, name string, p Param, _ int) {
		name = p.inFiles(name).Name
		if seen[name] {
			twice = name
		}
		seen[name] = true
	})
	if twice != "" {
		return fmt.Errorf("two parameters are called %q; layers that are named must have other names", twice)
	}
	return nil
}

func (s Shape) flow() (Flow, error) {
	if s.Seq > 0 {
		if s.Vocab < 1 || s.H != 0 || s.W != 0 || s.C != 0 {
			return Flow{}, fmt.Errorf("input shape with H %d, W %d, C %d, Seq %d, Vocab %d: a sequence of tokens has Seq and Vocab only", s.H, s.W, s.C, s.Seq, s.Vocab)
		}
		return Flow{H: 1, W: 1, Seq: s.Seq, Vocab: s.Vocab}, nil
	}
	if s.H < 1 || s.W < 1 || s.C < 1 || s.Vocab != 0 {
		return Flow{}, fmt.Errorf("input shape with H %d, W %d, C %d, Seq %d, Vocab %d: an image or vector has H, W and C of at least 1 and no Vocab", s.H, s.W, s.C, s.Seq, s.Vocab)
	}
	return Flow{H: s.H, W: s.W, C: s.C, Raw: true}, nil
}

// WithDoc returns the model with a documentation text.
func (m *Model) WithDoc(doc string) *Model {
	c := *m
	c.doc = doc
	return &c
}

// WithStart returns the model with packed weights that Init fills in instead of
// drawing some; they are not copied.
func (m *Model) WithStart(w []float32) *Model {
	m.check(w)
	c := *m
	c.start = w
	return &c
}

// Start returns the weights of WithStart, nil without.
func (m *Model) Start() []float32 { return m.start }

// Name returns the model's name.
func (m *Model) Name() string { return m.name }

// Doc says where the model comes from and how it is initialised.
func (m *Model) Doc() string { return m.doc }

// Input returns the shape of one sample.
func (m *Model) Input() Shape { return m.input }

// Classes returns the number of classes.
func (m *Model) Classes() int { return m.classes }

// LabelsPerExample returns 1, or the steps of a sequence model with an output at
// every step.
func (m *Model) LabelsPerExample() int { return max(1, m.nodes[len(m.nodes)-1].Out().Seq) }

// NumParams returns the number of parameters without padding.
func (m *Model) NumParams() int { return list.Sum(m.nodes, func(nd node) int { return nd.values() }) }

// Size returns the length of a packed parameter vector, a multiple of 16: the parameters,
// and after them the buffers.
func (m *Model) Size() int { return m.nodes.size() + m.nodes.buffers() }

// Buffers returns where the buffers lie in a packed vector, such as the running
// statistics of batch normalization: no parameters, but sent and kept with them. It is
// empty, at the vector's end, for a model without.
func (m *Model) Buffers() Span { return Span{m.nodes.size(), m.Size()} }

// Normalizations returns where the scales and shifts of batch normalizations lie, in
// ascending order; NumNormalizations how many trainable ones there are.
func (m *Model) Normalizations() (spans []Span) {
	m.each(func(_ int, _ string, p Param, offset int) {
		if p.norm && !p.Buffer {
			spans = append(spans, Span{offset, offset + p.Size})
		}
	})
	return spans
}

// NumNormalizations returns how many values they hold that are not frozen.
func (m *Model) NumNormalizations() (n int) {
	m.each(func(i int, _ string, p Param, _ int) {
		if p.norm && !p.Buffer && (m.trainable == nil || m.trainable[i]) {
			n += p.Len()
		}
	})
	return n
}

// LeastBatch returns how many samples a batch must have to train on: 2 where batch
// normalization has one value of each for a channel, else 1.
func (m *Model) LeastBatch() int {
	least := 1
	for _, nd := range m.nodes {
		least = max(least, nd.Traits().Least)
	}
	return least
}

// NumBuffers returns how many values they hold, without padding.
func (m *Model) NumBuffers() (n int) {
	m.each(func(_ int, _ string, p Param, _ int) {
		if p.Buffer {
			n += p.Len()
		}
	})
	return n
}

// Largest returns the name and the number of values of the largest parameter.
func (m *Model) Largest() (name string, n int) {
	m.each(func(_ int, of string, p Param, _ int) {
		if p.Len() > n {
			name, n = of, p.Len()
		}
	})
	return name, n
}

// NewParams returns a zeroed packed parameter vector, aligned to 64 bytes.
func (m *Model) NewParams() []float32 { return tensor.Aligned(m.Size()) }

// FLOPs returns the multiplications and additions for one sample: of the forward
// pass, and of a training step's forward and backward passes.
func (m *Model) FLOPs() (forward, train int64) {
	learned, lowest := false, m.lowest(Span{})
	for i, nd := range m.nodes {
		f := nd.FLOPs()
		forward += f
		train += f
		if i < lowest {
			continue
		}
		if nd.size() > 0 {
			train += f
		}
		if learned {
			train += f
		}
		learned = learned || nd.size() > 0
	}
	return forward, train
}

// Tensor is one parameter in its canonical layout: PyTorch's, so dense weights
// are [out, in] and convolutions [out, in, height, width]; the inputs of a dense
// layer after an image are in channel, row, column order.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// each calls f with every parameter and buffer, its full name and its offset, in the order
// of the layers.
func (m *Model) each(f func(i int, name string, p Param, offset int)) {
	i := 0
	for _, nd := range m.nodes {
		at, buffer := nd.offset, m.nodes.size()+nd.buffer
		for _, p := range nd.params {
			if p.Buffer {
				f(i, nd.prefix+p.Name, p, buffer)
				buffer += p.Size
			} else {
				f(i, nd.prefix+p.Name, p, at)
				at += p.Size
			}
			i++
		}
	}
}

// EachSpan calls f with every tensor of Export, in that order, by its name and where it lies in a
// packed vector.
func (m *Model) EachSpan(f func(name string, at Span)) {
	m.each(func(_ int, name string, p Param, offset int) { f(p.inFiles(name).Name, Span{offset, offset + p.Size}) })
}

// Biases returns where the parameters of one dimension lie, biases and the scales and
// shifts of normalisations, in ascending order; read-only.
func (m *Model) Biases() []Span { return m.biases }

// Init fills w with initial weights. Each tensor has its own stream under key
// and is drawn in canonical order, so that the values do not depend on packing. A
// model with a start, see WithStart, has that under every key.
func (m *Model) Init(w []float32, key uint64) {
	m.check(w)
	if m.start != nil {
		copy(w, m.start)
		return
	}
	clear(w)
	m.each(func(i int, _ string, p Param, offset int) {
		t := make([]float32, p.Len())
		p.Init(t, kernels.NewStream(key, uint64(i)))
		p.Pack(w[offset:offset+p.Size], t)
	})
}

// Export copies the parameters out of w, in the order of the layers.
func (m *Model) Export(w []float32) []Tensor {
	m.check(w)
	var ts []Tensor
	m.each(func(_ int, name string, p Param, offset int) {
		t := p.inFiles(name)
		t.Data = make([]float32, p.Len())
		p.Unpack(t.Data, w[offset:offset+p.Size])
		ts = append(ts, t)
	})
	return ts
}

// ExportFolded is Export with the constants that layers add to their parameters,
// such as an LSTM's ForgetBias, folded in: a framework whose layers have no such
// constants computes the same with these tensors.
func (m *Model) ExportFolded(w []float32) []Tensor {
	ts := m.Export(w)
	m.fold(ts, 1)
	return ts
}

// FoldedByName yields the tensors of ExportFolded in the order of their names, one at a
// time: Data is valid until the next one. Without w it is nil.
func (m *Model) FoldedByName(w []float32) iter.Seq[Tensor] { return m.byName(w, true) }

func (m *Model) byName(w []float32, folded bool) iter.Seq[Tensor] {
	type placed struct {
		Tensor
		p      Param
		offset int
	}
	var all []placed
	m.each(func(_ int, name string, p Param, offset int) { all = append(all, placed{p.inFiles(name), p, offset}) })
	slices.SortFunc(all, func(a, b placed) int { return strings.Compare(a.Name, b.Name) })
	return func(yield func(Tensor) bool) {
		var memory []float32
		for _, t := range all {
			var data []float32
			if w != nil {
				memory = slices.Grow(memory[:0], t.p.Len())
				data = memory[:t.p.Len()]
				t.p.Unpack(data, w[t.offset:t.offset+t.p.Size])
				if folded && t.p.Constant != nil {
					t.p.Constant(data, 1)
				}
			}
			if !yield(Tensor{Name: t.Name, Shape: t.Shape, Data: data}) {
				return
			}
		}
	}
}

// ImportFolded fills w from tensors as ExportFolded gives them, in any order, and
// otherwise as Import does. What comes back is what went out but for rounding.
func (m *Model) ImportFolded(w []float32, ts []Tensor) error {
	if err := m.Import(w, ts); err != nil {
		return err
	}
	own := m.Export(w)
	m.fold(own, -1)
	return m.Import(w, own)
}

// Folds reports whether a layer adds a constant, which ExportFolded folds in.
func (m *Model) Folds() bool {
	folds := false
	m.each(func(_ int, _ string, p Param, _ int) { folds = folds || p.Constant != nil })
	return folds
}

// fold adds sign times the constants of layers to tensors in the order of Export.
func (m *Model) fold(ts []Tensor, sign float32) {
	m.each(func(i int, _ string, p Param, _ int) {
		if p.Constant != nil {
			p.Constant(ts[i].Data, sign)
		}
	})
}

// Import fills w from tensors as Export gives them, in any order. What PyTorch counts
// beside running statistics, num_batches_tracked, may be among them, and the table of the
// embedding a second time, or by another name alone, where the output is tied to it. On an error w is
// unchanged; all problems are reported.
func (m *Model) Import(w []float32, ts []Tensor) error {
	m.check(w)
	given := make(map[string]Tensor, len(ts))
	var errs []error
	for _, t := range ts {
		if _, twice := given[t.Name]; twice {
			errs = append(errs, fmt.Errorf("model %s: tensor %s is given twice", m.name, t.Name))
		}
		given[t.Name] = t
	}
	tied := slices.ContainsFunc(m.layers, func(l Layer) bool { return l.Kind() == Tied{}.Kind() })
	names, unknown := map[string]bool{}, make(map[string]bool, len(given))
	m.EachSpan(func(name string, _ Span) { names[name] = true })
	for name := range given {
		unknown[name] = true
	}
	m.each(func(_ int, name string, p Param, _ int) {
		own := p.inFiles(name)
		name = own.Name
		t, ok := given[name]
		other := func(t Tensor) bool {
			return !names[t.Name] && slices.Equal(t.Shape, own.Shape) && !strings.HasSuffix(t.Name, "."+name)
		}
		if at := slices.IndexFunc(ts, other); !ok && tied && len(own.Shape) == 2 && at >= 0 {
			t, ok = ts[at], true // the table has the name of the output that is tied to it
			delete(unknown, t.Name)
			given[name] = t
		}
		if !ok {
			problem := ""
			if at := slices.IndexFunc(ts, func(t Tensor) bool { return unknown[t.Name] && strings.HasSuffix(t.Name, "."+name) }); at >= 0 {
				problem = fmt.Sprintf("; there is %s: save {k.removeprefix(%q): v for k, v in state.items()}", ts[at].Name, strings.TrimSuffix(ts[at].Name, name))
			}
			errs = append(errs, fmt.Errorf("model %s: tensor %s is missing%s", m.name, name, problem))
			return
		}
		delete(unknown, name)
		if prefix, ok := strings.CutSuffix(name, "running_mean"); ok && p.Buffer {
			delete(unknown, prefix+"num_batches_tracked")
		}
		if !slices.Equal(t.Shape, own.Shape) || len(t.Data) != p.Len() {
			errs = append(errs, fmt.Errorf("model %s: tensor %s has shape %v and %d values; it must have %v", m.name, name, t.Shape, len(t.Data), own.Shape))
		}
	})
	for _, t := range ts {
		if !unknown[t.Name] {
			continue
		}
		problem := "the network has no such layer; leave it out: del state[%[2]q]"
		if len(t.Shape) == 2 && tied {
			table := slices.IndexFunc(ts, func(o Tensor) bool { return !unknown[o.Name] && slices.Equal(o.Shape, t.Shape) })
			if table >= 0 && slices.Equal(ts[table].Data, t.Data) {
				continue // the table of the embedding under its other name
			}
			problem = "the output is tied to the embedding, whose table this is not; leave it out: del state[%[2]q]"
		}
		errs = append(errs, fmt.Errorf("model %s: tensor %s is unknown; "+problem, m.name, t.Name))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	clear(w)
	m.each(func(_ int, name string, p Param, offset int) {
		p.Pack(w[offset:offset+p.Size], given[p.inFiles(name).Name].Data)
	})
	return nil
}

func (m *Model) check(w []float32) {
	if len(w) != m.Size() {
		panic("nn: parameter vector has not the model's size")
	}
}
