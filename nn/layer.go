package nn

import (
	"cmp"
	"slices"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// Layer is the description of one layer of a network, see the package comment.
type Layer interface {
	// Bind fixes the layer for its input. The error describes what would be right. A
	// layer that computes nothing returns a nil Bound.
	Bind(in Flow) (Bound, error)
	// Kind is the layer's name in messages and in its parameters' names, such
	// as "conv": the second conv layer's weight is "conv2.weight".
	Kind() string
	// Abilities describes what else the layer can do than be trained.
	Abilities() Abilities
}

// Bound is a layer fixed to its place in one model; it is immutable.
type Bound interface {
	Out() Flow
	// Params describes the parameters in the order in which they lie.
	Params() []Param
	Traits() Traits
	// FLOPs counts the multiplications and additions of the forward pass of one
	// sample.
	FLOPs() int64
	NewState(e *Env) State
}

// passive is what bound layers have in common that give rows like those they get, without
// parameters, traits and, beside products, operations to count; most have some of these.
type passive struct{ in Flow }

func (p passive) Out() Flow     { return p.in }
func (passive) Params() []Param { return nil }
func (passive) Traits() Traits  { return Traits{} }
func (passive) FLOPs() int64    { return 0 }

// Traits are what a model needs to know to arrange the layers' memory.
type Traits struct {
	// PerSample layers treat each sample of an image alone and can be called
	// with any range of samples.
	PerSample bool
	// ReadsInput and ReadsOutput say that Backward reads what Forward got or
	// made. Else the memory may be overwritten before.
	ReadsInput, ReadsOutput bool
	// updates says that Backward applies Run.update to the layer's parameters.
	updates bool
	// passesOn says that Forward may return what it got.
	passesOn bool
	// remakes says that the state is a remaker: its output need not be kept for the
	// backward pass of the next layer.
	remakes bool
	// InBorder is wished around the input, GradBorder around the gradient of
	// the output. A wish: the layer must cope with an Act that lacks it.
	InBorder, GradBorder Border
	// Group is how many samples a PerSample layer of an image wishes for in a call,
	// a power of 2; 0 means that it does not matter.
	Group int
	// Extra counts the floats that the layer keeps of each sample for Backward
	// besides its output.
	Extra int
	// Chunk, when above 0, bounds the samples of a chunk for a layer that keeps
	// much of each sample.
	Chunk int
	// Whole says that the layer trains on all samples of a batch at once: a batch is
	// then one chunk. It is not PerSample unless it gathers, see gatherer. Least is how
	// many samples there must be, 0 for 1.
	Whole   bool
	gathers bool
	Least   int
}

// Param describes one parameter tensor of a layer.
type Param struct {
	Name  string // within its layer: "weight"
	Shape []int  // canonical, as PyTorch has it
	Size  int    // packed floats, a multiple of 16
	// Pixels is how many neighbours along the second dimension of Shape belong to one
	// channel, 0 for one: a dense layer after an image reads as many of each.
	Pixels int
	// Init draws the initial canonical values.
	Init func(canonical []float32, s *kernels.Stream)
	// Pack turns canonical values into packed ones; packed is zeroed before.
	// Unpack is the inverse.
	Pack   func(packed, canonical []float32)
	Unpack func(canonical, packed []float32)
	// Constant, unless nil, adds sign times what the layer adds to the parameter
	// wherever it is used, and does not train, to canonical values.
	Constant func(canonical []float32, sign float32)

	// Buffer says that the values are no parameter but what training passes measure, such
	// as running statistics: they have no gradient, and no optimizer moves them.
	Buffer bool

	file  Tensor // its name and shape in files, where Named gives others
	mixes bool   // it is the alpha of a Mix
	norm  bool   // it is of a BatchNorm
}

// Len returns the number of canonical values.
func (p Param) Len() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// inFiles returns the name and shape of the parameter of a full name in files of weights.
// A sub-network's, which has fewer values, has its own shape.
func (p Param) inFiles(name string) Tensor {
	t := Tensor{Name: cmp.Or(p.file.Name, name), Shape: slices.Clone(p.Shape)}
	if p.file.Shape != nil && (Param{Shape: p.file.Shape}).Len() == p.Len() {
		t.Shape = slices.Clone(p.file.Shape)
	}
	return t
}

// Env is what a layer's state may build on in one workspace.
type Env struct {
	Arena   *tensor.Arena
	Samples int  // most samples of a chunk
	Offset  int  // of the layer's first parameter in the flat vectors
	Buffers int  // of its first buffer, after all parameters
	Index   int  // of the layer in its model, for drawing keys
	NeedDX  bool // whether Backward must return the input's gradient

	before State // of the layer before in the chain, or nil
	first  State // of the chain's first layer, or nil

	in, out    Flow
	outBorder  Border // wished by the next layer around this output
	gradBorder Border // wished by the layer before around its gradient
	shareOut   int    // the memory of that many samples serves for all; 0 shares none
	shareGrad  int
	passes     int // shareOut in evaluation, where nothing is kept for a backward pass
	scratch    *scratch
	relu       *reluOnce     // see place
	turn       *int          // which pools of the chain come next: bit 0 of outputs, bit 1 of gradients, bit 2 of those of a whole chunk; nil for a layer in another one
	gives      bool          // the gradient is of a whole chunk, since layers gather
	branch     int           // of a block, which the chain is
	last       bool          // of a chain that is not the model's, whose output is read with that of another
	output     *sharedMemory // see place
	outputs    int
}

// scratch is memory that the layers of a workspace use one after the other, within
// a call; and where the weights of mixtures are that several share, by name.
type scratch struct {
	floats []float32
	size   int
	mixed  map[string]int
	works  []working // of the layers, in the order in which their states were made
	path   string    // of the names of the layers that are being made
	level  int       // how many chains the layers that are being made are within
	pools  map[sharedKey]*sharedMemory
	order  []*sharedMemory
}

// Scratch makes sure that there are at least n floats of scratch memory when the
// layers run, and returns where they will be.
func (e *Env) Scratch(n int) *scratch {
	e.scratch.size = max(e.scratch.size, n)
	return e.scratch
}

// Output allocates the layer's output.
func (e *Env) Output() Act { return newAct(e.Arena, e.out, e.Samples, e.outBorder, e.shareOut) }

// folds are the Fold of a layer's output.
type folds struct{ training, evaluation int }

// folds returns those of what Output gave.
func (e *Env) folds(y Act) folds { return folds{y.Fold, -e.passes} }

// of returns the Fold in a run.
func (f folds) of(r *Run) int {
	if r.whole() {
		return f.training
	}
	return f.evaluation
}

// Gradient allocates the gradient of the layer's input, with the border that the
// layer before wished for; it has no data without NeedDX.
func (e *Env) Gradient() Act {
	if !e.NeedDX {
		return Act{}
	}
	return newAct(e.Arena, e.in, e.Samples, e.gradBorder, e.shareGrad)
}

// Samples a multiple of 4 KiB apart fall into the same sets of a cache and push one
// another out when a dense layer reads them side by side, so they are moved apart
// by a line.
const (
	pageFloats = 4096 / 4
	lineFloats = 64 / 4
)

// newAct makes room for the rows of samples samples, or for share samples, a power
// of 2, when that is above 0.
func newAct(a *tensor.Arena, f Flow, samples int, b Border, share int) Act {
	act, size := shapeAct(f, samples, b, share)
	act.Data = a.Alloc(size)
	return act
}

// shapeAct returns it without memory, and how many floats it needs.
func shapeAct(f Flow, samples int, b Border, share int) (Act, int) {
	ld := f.Ld()
	act := Act{Pixel: ld, Row: (b.Left + f.W + b.Right) * ld, Origin: b.Left * ld, Border: b}
	n := f.Rows(samples)
	if share > 0 {
		n, act.Fold = min(n, share), -share
	}
	act.Sample = f.H * act.Row
	if f.Image() && act.Sample%pageFloats == 0 {
		act.Sample += lineFloats
	}
	return act, max(n*act.Sample, f.H*act.Row)
}

// Run is one pass over one chunk of a batch.
type Run struct {
	W []float32 // all parameters
	G []float32 // their gradient; of frozen weights in evaluation, memory for what is made of them, else nil
	N int       // samples in the chunk
	// Base is the index in the batch of the chunk's first sample.
	Base   int
	Tokens []int32 // N x Seq, sample by sample, when the input is tokens
	// Train is false in evaluation: no dropout, and Backward will not follow.
	Train bool
	// Dropout, when >= 0, replaces the rate of every dropout layer.
	Dropout float32
	Key     uint64 // of the step's dropout draws

	// mixing leaves the gradients of all parameters out that are no weights of mixed
	// operations; lowest is the first layer of the model that has a backward pass.
	mixing bool
	lowest int
	still  bool    // running statistics stay as they are
	share  float64 // by which they move in evaluation, see Batch.Share
	// drawn has each Mix give one of its inputs, see TrainOpts.Drawn.
	drawn bool
	kept  bool // what was made of the weights is there from an earlier pass

	profile *profile // nil unless the time of each layer is measured

	update *update // set in the last chunk of a Step
	last   bool    // whether this is the last chunk of the batch
}

// whole reports whether layers may look at all samples of a batch.
func (r *Run) whole() bool { return r.Train || r.share > 0 }

// loads reports whether layers are to make what they need of the weights: with the first
// samples of a batch, for weights change from batch to batch only, unless that is kept.
func (r *Run) loads(lo int) bool { return r.Starts(lo) && !r.kept }

// real reports whether token t of sample i is no padding; what comes before the tokens is not padding.
func (r *Run) real(i, t int) bool { return t < 0 || r.Tokens[i*(len(r.Tokens)/r.N)+t] != 0 }

// Starts reports whether the gradient starts with sample lo of the chunk, so that
// it is to be overwritten and not added to.
func (r *Run) Starts(lo int) bool { return r.Base+lo == 0 }

// Ends reports whether the gradient ends with the sample before hi of the chunk.
func (r *Run) Ends(hi int) bool { return r.last && hi == r.N }

// Rate returns the dropout rate to apply for a layer whose own rate is given.
func (r *Run) Rate(own float32) float32 {
	switch {
	case !r.Train:
		return 0
	case r.Dropout >= 0:
		return r.Dropout
	}
	return own
}

// State is a layer in one workspace: its buffers, and what Forward leaves for
// Backward.
type State interface {
	// Forward computes the output of the samples [lo, hi) of the chunk from x.
	// The Act returned is the same view of the whole chunk in every call of the
	// chunk. x is empty for the layer that reads Run.Tokens.
	Forward(r *Run, x Act, lo, hi int) Act
	// Backward gets the gradient dy of that output, adds the parameters'
	// gradient to Run.G, and returns the gradient of the input, or an empty Act
	// unless Env.NeedDX.
	Backward(r *Run, dy Act, lo, hi int) Act
}
