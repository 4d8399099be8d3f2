// Package tensor drives the kernels over whole layers: dense and convolutional
// forward and backward passes over packed weights, and the aligned memory that
// they work in.
//
// Weights are packed in panels of 16 columns (see package kernels), activations
// are rows padded to a multiple of 16 channels whose padding holds zeros, and
// images are NHWC. Nothing here starts a goroutine or allocates once an
// [Arena] has grown to its working size.
package tensor
