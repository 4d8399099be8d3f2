// Package nn holds neural networks that train on one client's data: layers,
// models, losses, and the local optimizers SGD, Adam and AdamW.
//
// Start here: [NewModel] makes a [Model] of layers, [Model.NewWorkspace] the memory of a worker, and
// [Workspace.Step] trains it. README.md has the rest:
// https://github.com/fedfast/fedfast/blob/main/nn/README.md.
//
// A [Model] is immutable and shared. All its parameters live in one flat packed
// vector, so that everything element-wise (SGD, proximal term, aggregation) is a
// single pass; [Model.Export] gives them in PyTorch's layout. A [Workspace]
// holds the activations and gradients of one worker. Nothing here starts a
// goroutine, and a training step allocates nothing.
//
// [Workspace.Step] is a whole step of local SGD and the fastest way to train;
// [Workspace.Gradient] and [Optimizer.Step] are its two halves, for methods that
// need the gradient between them.
//
// # Writing a layer
//
// A layer is three things, each made from the one before:
//
//   - a [Layer], the plain description that users write (Dense{Units: 10});
//   - a [Bound], that description fixed to the activations it gets in one model:
//     parameters, output flow and [Traits]; immutable and shared by workspaces;
//   - a [State], its buffers in one workspace, made by Bound.NewState from an
//     [Env], with Forward and Backward.
//
// Activations travel as [Act] views. A State allocates its output with
// Env.Output and its input's gradient with Env.Gradient once, in NewState, and
// never in a step; padding channels and borders of those buffers are zero from
// the start and must stay zero. Parameters are found in the flat vectors at
// Env.Offset, in the order of Bound.Params, each taking its packed Size.
//
// Forward and Backward work on the samples [lo, hi) of the present chunk. The
// layers at the front of a network whose traits say PerSample are called for a
// group of samples at a time, so that their images stay in the cache: for one, or
// for as many as the Group of their traits, or of a layer's before them, wishes
// for. All others get the whole chunk, lo = 0 and hi = Run.N. Backward adds to the
// gradient, or starts it when Run.Starts(lo) says so, in the order of the samples;
// then the cut of a batch into chunks does not show in the bits of the result. A
// gradient passed to Backward may be overwritten. A layer that must see all samples of a
// batch first, as batch normalization does, gathers what it needs from each group.
//
// A layer may hold others: [Residual] binds two chains of them. Layers that all treat
// each sample of an image alone, or gather, get a group of samples after the other; others, on
// sequences and vectors, all samples of a chunk. [Attention] holds two dense layers.
//
// What else it can do, such as be cut to fewer channels or be written in PyTorch, it says
// in [Abilities]. Package models gives layers their names in files, see models.Register.
//
// # Writing a loss
//
// A loss is a [LossType]: its name and the functions that compute it and its gradient for
// one row of outputs. [RegisterLoss] makes it known by its name.
//
// What a layer computes in Go rather than in package kernels keeps to the kernels'
// rule of the same bits on every machine: a fixed order of operations, float32(x*y)
// and float64(x*y) around products that are added to, and of package math only
// Sqrt.
package nn
