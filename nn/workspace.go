package nn

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// Batch is a batch of examples in memory of the caller.
type Batch struct {
	N      int
	X      []float32 // N images or vectors, raw: row, column, channel, unpadded
	Tokens []int32   // N x Seq
	// Labels holds N classes, or N x Seq sample by sample for a model with an
	// output at every step. A negative label is masked: no loss, not counted.
	Labels []int32
	// Targets holds, for a loss that reads them, N times as many numbers as the
	// model has outputs: what a regression is to predict, or 1 for each label of an
	// example and 0 for the others. Labels are not looked at then.
	Targets []float32
	// Right, when not nil, gets from Evaluate, label by label, whether it had the
	// largest logit; a masked label had not.
	Right []bool
	// Best, when not nil, gets from Evaluate, label by label, what the model
	// predicts.
	Best []Prediction
	// Outputs, when not nil, gets from Evaluate what the network gives, label by
	// label: as many numbers as it has outputs for each.
	Outputs []float32
	// Features, when not nil, gets from Evaluate what the last layer takes, Model.Features
	// numbers for each sample.
	Features []float32
	// Share, in (0, 1], has Evaluate normalize by the statistics of the batch, as in training,
	// and move the running ones in its weights by this share towards them. 0 leaves these be.
	Share float64
	// Frozen, when not nil, has Evaluate keep what it makes of the weights; see there.
	Frozen *Frozen
}

// Frozen stands for weights that do not change. All calls of Evaluate with one of them, and
// with the same slice of weights, promise that these are the same, so that a workspace
// rounds them to bf16 once, until it trains or measures others. What Grad returns is of no
// use after such a call. One serves for any number of workspaces at once.
type Frozen struct{ _ byte }

// Prediction is the class of the largest logit, the lowest one of several, and its
// probability by the softmax.
type Prediction struct {
	Class       int32
	Probability float32
}

// TrainOpts are the settings of one training step.
type TrainOpts struct {
	Key  uint64 // of the dropout draws of a client's local training
	Step uint32 // number of the step within the local training
	// Dropout replaces the rate of every dropout layer; a negative one keeps the
	// model's own rates. (The zero value trains without dropout.)
	Dropout float32
	// Absent lists classes whose logits are held at 0, whatever the network says,
	// and have no gradient, as HeteroFL masks the classes that a client lacks (Diao
	// et al. 2021, and their code). No label may be one of them.
	Absent []int32
	// LogitBias, when not nil, is added to the logits, one number for each class, before
	// their loss: the loss's own prior of the classes, which evaluations do not have. The
	// logits of Absent classes stay 0. A loss that reads targets does not look at it.
	LogitBias []float32
	// Aside, when not nil, adds to the loss of each sample and to the gradient of its logits.
	// It is for models with one label per sample.
	Aside Aside
	// Features, when not nil, does the same with what the last layer takes in place of the
	// logits, for models that have Features: its gradient goes back through the layers before.
	Features Aside

	// Drawn has each Mix give one of its inputs, drawn by its shares, instead of
	// the sum of them all; those of one name draw the same. Nothing else is computed.
	// The draw is keyed by Key and Step. With z the number drawn and g_z the product of
	// what was drawn with the output's gradient, the gradient of alpha is
	//
	//	g_z (1[k = z] - softmax(alpha)_k)
	//
	// which weighs the score function of the draw by what the drawn input is worth, as
	// in DSNAS (Hu et al. 2020, arXiv:2002.09128); over draws its mean is the mean of all
	// inputs mixed where the g are the same. What was not drawn has a gradient of 0.
	Drawn bool
	// Mixing, for Gradient, computes the gradient of the weights of mixed operations
	// alone, those of Model.Mixing; what Grad has elsewhere is of no use.
	Mixing bool

	// Still, for Gradient, leaves the running statistics of batch normalization as they
	// are; else they move in w with each pass that trains, and w must not be shared.
	Still bool

	// Only, when not empty, is the span of the parameters that are trained; the
	// others are frozen, and what Grad has there is of no use.
	Only Span

	// What follows is for Step alone.

	// Hold are places, ascending, that are frozen besides the model's own.
	Hold []Span
	// Held, when not nil, gets the gradient at the places of Hold, one after the other.
	Held []float32
	// Shift, when not nil, is added to the gradient: a vector of the model's size.
	Shift []float32
	// Probe, when not nil, gathers products of the step's gradient.
	Probe *Displacement
}

// Aside adds a term to the mean loss of a batch.
type Aside interface {
	// Add returns the term of sample i of the batch, with the given label and logits as the
	// loss has them, or features, and adds scale times its gradient to grad. Samples with
	// masked labels are left out.
	Add(i int, label int32, logits, grad []float32, scale float32) float64
}

// Result is what a pass over a batch measured.
type Result struct {
	// Loss is the sum over the unmasked labels, or over the examples of a loss that
	// reads targets: in nats, or in squares of the targets' unit.
	Loss float64
	// Correct counts the labels that had the largest logit, Count the unmasked
	// labels, or the examples.
	Correct, Count int
	// Weight is the sum of the weights of the labels' classes, by which Loss is
	// divided instead of Count; 0 for a loss without.
	Weight float64
	// Recall is the recall of the loss Sigmoid.
	Recall recall
	// Fit is the fit of a regression.
	Fit Fit
}

// Workspace holds the activations and gradients of one worker for one model. It
// belongs to one goroutine at a time. Batches larger than its chunk are worked
// on in chunks, with the same bits as a result.
type Workspace struct {
	m       *Model
	arena   *tensor.Arena
	grad    []float32
	states  []State
	loss    criterion
	chunk   int
	near    int // samples of a chunk in evaluation, if fewer
	run     Run
	step    update
	late    deferral // the steps of now, if layers defer them
	scratch scratch
	tap     *tap       // of the last layer, nil unless a pass looks at what it takes
	lowest  int        // the first layer that needs its backward pass
	moved   []float32  // weights of Hessian, made when it is called first
	exact   *Workspace // of Hessian, in float32: the workspace itself unless it is of bf16
	profile *profile   // of Measure
	frozen  *Frozen    // the weights that the last pass left rounded, nil if none are
	kept    *float32   // their first one
}

// NewWorkspace returns a workspace for the model.
func (m *Model) NewWorkspace() *Workspace { return m.newWorkspace(m.chunk()) }

// chunkFloats bounds the activations that a chunk keeps for its backward pass: 16
// MiB, so that they can stay in a last-level cache. Where samples go through a network
// one by one, nearFloats does: 4 MiB, so that more of them stay nearer.
const (
	chunkFloats = 4 << 20
	nearFloats  = 1 << 20
)

// chunk returns the samples of a chunk. It depends on nothing but the model: the
// rows of sequences are time-major, so there it shows in the bits of sums.
func (m *Model) chunk() int {
	most := 64
	for _, nd := range m.nodes {
		if c := nd.Traits().Chunk; c > 0 {
			most = min(most, c)
		}
	}
	floats := 1 + m.nodes.floats(m.groups)
	n := min(max(chunkFloats/floats, m.fewest(), m.groups.most()), most)
	if head, ok := m.head(); ok {
		// A pass over the weights of the head should be cheap beside the images.
		n = min(n, max((nearFloats+4*head)/floats, 1, m.groups.most()))
		if g := m.groups.most(); n > g {
			n -= n % g // no small group at the end
		}
		if m.precision != FP32 {
			n += n % 2 // so that the head's pairs of neighbouring rows are the pairs of the whole batch
		}
	}
	return n
}

// leastRows is how many rows of sequences a chunk of a network with attention has at
// least, about: as many as products need, since each sample's activations are large.
const leastRows = 640

// fewest returns the samples that a chunk has at least.
func (m *Model) fewest() int {
	if !anyOf(m.layers, onFew) {
		return 8
	}
	return max(min(leastRows/m.steps(), 8), 1)
}

// nearRows is how many rows of sequences a chunk of evaluation has, about.
const nearRows = 128

// near returns the most samples of a chunk in evaluation. With attention each sample has
// rows enough for whole products, a few stay in a second-level cache, and nothing that
// is computed depends on the chunks.
func (m *Model) near() int {
	if !anyOf(m.layers, onFew) {
		return m.chunk()
	}
	return max(nearRows/m.steps(), 1)
}

// steps returns the most steps of a sequence within the network.
func (m *Model) steps() int {
	steps := 1
	for _, nd := range m.nodes {
		steps = max(steps, nd.Out().Seq)
	}
	return steps
}

// head returns the parameters of the layers that take whole chunks, if these are
// layers on vectors after images and nothing that they compute depends on chunks of
// even numbers of samples.
func (m *Model) head() (size int, ok bool) {
	for i, nd := range m.nodes {
		if m.groups[i] > 0 {
			continue
		}
		if _, dense := nd.Bound.(*boundDense); !dense && nd.size() > 0 || nd.in.Seq > 0 || nd.Out().Seq > 0 {
			return 0, false
		}
		size += nd.size()
	}
	return size, true
}

func (m *Model) newWorkspace(chunk int) *Workspace { return m.lay(&tensor.Arena{}, chunk) }

// lay makes a workspace in the memory of an arena.
func (m *Model) lay(arena *tensor.Arena, chunk int) *Workspace {
	ws := &Workspace{m: m, near: min(m.chunk(), m.near())}
	ws.lay(arena, chunk)
	return ws
}

// fit makes room for a batch of n samples where layers take all of one at once.
func (ws *Workspace) fit(n int) {
	if n > ws.chunk && ws.m.whole() {
		ws.lay(&tensor.Arena{}, n)
	}
}

// whole reports whether a layer trains on all samples of a batch at once.
func (m *Model) whole() bool {
	return slices.ContainsFunc(m.nodes, func(nd node) bool { return nd.Traits().Whole })
}

// lay takes the memory of chunks from an arena.
func (ws *Workspace) lay(arena *tensor.Arena, chunk int) {
	m := ws.m
	ws.arena, ws.chunk, ws.scratch, ws.frozen = arena, chunk, scratch{}, nil
	ws.states = m.nodes.states(place{
		arena: arena, samples: chunk, buffers: m.nodes.size(), groups: m.groups, scratch: &ws.scratch,
		index: func(i int) int { return i },
	})
	ws.scratch.floats = arena.Alloc(ws.scratch.size)
	ws.scratch.allocate(arena)
	last := m.nodes[len(m.nodes)-1].Out()
	ws.loss.m, ws.loss.grad = m, newAct(arena, last, chunk, Border{}, 0)
	if steps := m.LabelsPerExample(); steps > 1 {
		ws.loss.labels = make([]int32, chunk*steps)
	}
}

// Grad returns the gradient that Gradient computed last, packed.
func (ws *Workspace) Grad() []float32 { return ws.grad }

// Gradient computes the gradient of the mean loss over the batch's unmasked
// labels into Grad, overwriting it.
func (ws *Workspace) Gradient(w []float32, b *Batch, o TrainOpts) Result {
	ws.m.check(w)
	only := o.Only
	if o.Mixing {
		only = Span{ws.m.firstMixing(), ws.m.Size()}
	}
	sum := ws.train(w, b, o, only, nil)
	ws.m.Hold(ws.grad, nil)
	return sum
}

// Step does what Gradient and then Optimizer.Step do, bit for bit, in fewer passes
// over the memory of large dense layers unless it clips the gradient. It leaves
// nothing of use in Grad.
func (ws *Workspace) Step(w []float32, b *Batch, o TrainOpts, opt *Optimizer) Result {
	ws.m.check(w)
	ws.step = opt.update(o)
	ws.step.frozen = ws.m.holding(o.Hold)
	u := &ws.step
	if u.ClipNorm > 0 || u.biases != nil {
		u = nil // all of the gradient must be known before the first weight changes, or layers would decay their biases
	}
	sum := ws.train(w, b, o, o.Only, u)
	if o.Held != nil {
		at := 0
		for _, h := range o.Hold {
			at += copy(o.Held[at:], ws.grad[h.Lo:h.Hi])
		}
	}
	late := len(ws.late.layers) > 0
	if late && sum.Count == 0 {
		ws.late.masked(&ws.step, ws.grad)
		return sum
	}
	if sum.Count == 0 || u == nil {
		for _, f := range ws.step.frozen {
			clear(ws.grad[f.Lo:f.Hi])
		}
		n := ws.m.Buffers().Lo
		ws.step.whole(w[:n], ws.grad[:n])
		if sum.Count == 0 {
			clear(ws.grad) // of what Shift left there
		}
		return sum
	}
	for _, nd := range ws.m.nodes {
		if size := nd.size(); size > 0 && !nd.Traits().updates {
			ws.step.apply(w, ws.grad[nd.offset:nd.offset+size], nd.offset)
		}
	}
	if late {
		ws.late.step(&ws.step, b.N)
	}
	return sum
}

// train runs a batch forwards and backwards, backwards as far as the span needs it;
// u, if not nil, updates the weights of the layers that do so themselves.
func (ws *Workspace) train(w []float32, b *Batch, o TrainOpts, only Span, u *update) Result {
	if ws.grad == nil {
		ws.grad = ws.m.NewParams()
	}
	count := ws.count(b)
	if count == 0 {
		clear(ws.grad)
		return Result{}
	}
	ws.start(Run{W: w, G: ws.grad, drawn: o.Drawn, mixing: o.Mixing && u == nil}, o)
	ws.fit(b.N)
	if o.Features != nil {
		ws.tap = ws.tapping(o.Features)
	}
	ws.lowest = ws.m.lowest(only)
	ws.run.lowest = ws.lowest
	return ws.chunks(b, ws.scale(b, count), u)
}

// scale returns the factor by which the gradient of the sum gives the gradient of the
// mean loss.
func (ws *Workspace) scale(b *Batch, count int) float32 {
	weights := ws.m.loss.Weights
	if weights == nil || ws.m.lossType.Targets != nil {
		return 1 / float32(count)
	}
	var sum float64
	for _, l := range b.Labels[:b.N*ws.m.LabelsPerExample()] {
		if l >= 0 {
			sum += weights[l]
		}
	}
	if sum == 0 {
		return math.SmallestNonzeroFloat32 // nothing is multiplied by it
	}
	return float32(1 / sum)
}

// start begins a pass that trains.
func (ws *Workspace) start(r Run, o TrainOpts) {
	ws.frozen = nil
	r.Train, r.still, r.Dropout, r.Key = true, o.Still, o.Dropout, kernels.Key(o.Key, uint64(o.Step))
	ws.run, ws.lowest, ws.tap = r, 0, nil
	ws.loss.absent, ws.loss.bias, ws.loss.aside = o.Absent, o.LogitBias, o.Aside
}

// count returns the unmasked labels of a batch, or its examples.
func (ws *Workspace) count(b *Batch) int {
	if ws.m.lossType.Targets != nil {
		return b.N
	}
	return list.Count(b.Labels[:b.N*ws.m.LabelsPerExample()], func(l int32) bool { return l >= 0 })
}

// Evaluate measures the weights on the batch, without dropout.
func (ws *Workspace) Evaluate(w []float32, b *Batch) Result {
	ws.m.check(w)
	ws.run = Run{W: w, share: b.Share}
	ws.loss.absent, ws.loss.bias, ws.loss.aside, ws.tap = nil, nil, nil, nil
	if b.Share > 0 {
		ws.fit(b.N)
	}
	if b.Features != nil {
		ws.tap = ws.tapping(nil)
	}
	if b.N > 0 && len(w) > 0 {
		if b.Frozen != nil {
			if ws.grad == nil {
				ws.grad = ws.m.NewParams()
			}
			ws.run.G = ws.grad
			ws.run.kept = ws.frozen == b.Frozen && ws.kept == &w[0]
		}
		ws.frozen, ws.kept = b.Frozen, &w[0]
	}
	return ws.chunks(b, 0, nil)
}

// chunks runs the batch chunk by chunk, backwards too when training; u is for the
// last chunk.
func (ws *Workspace) chunks(b *Batch, scale float32, u *update) Result {
	var sum Result
	in := ws.m.input
	r, states := &ws.run, ws.states
	r.profile = ws.profile
	if ws.tap != nil {
		states = append(slices.Clone(states[:len(states)-1]), ws.tap)
	}
	chunk := ws.chunk
	if !r.Train && r.share == 0 {
		chunk = min(chunk, ws.near)
	}
	for at := 0; at < b.N; at += chunk {
		r.Base, r.N = at, min(chunk, b.N-at)
		x := Act{}
		if in.Seq > 0 {
			r.Tokens = b.Tokens[at*in.Seq : (at+r.N)*in.Seq]
		} else {
			x = Act{Data: b.X[at*in.Size() : (at+r.N)*in.Size()], Sample: in.Size(), Row: in.W * in.C, Pixel: in.C}
		}
		logits := ws.m.groups.forward(states, r, x, 0, r.N)
		if b.Features != nil && !r.Train {
			ws.tap.copyOut(b.Features, r)
		}
		sum.Add(ws.loss.measure(r, b, logits, scale))
		if r.Train && ws.tap != nil {
			ws.tap.labels, ws.tap.scale = b.Labels[at:at+r.N], scale
		}
		if at+r.N == b.N {
			r.update, r.last = u, true
		}
		if r.Train {
			ws.m.groups.backward(states, ws.lowest, r, ws.loss.grad, 0, r.N)
		}
	}
	if r.Train && ws.tap != nil {
		sum.Loss += ws.tap.loss
	}
	return sum
}
