// Package kernels holds the numerical loops of fedfast: products of packed
// matrices, activations, recurrent cells, pooling, optimizer steps, reductions and
// counter-based random numbers, all on float32 slices and all on the calling
// goroutine.
//
// Every kernel exists once per [Level]: AVX-512 and AVX2 assembly on amd64, NEON
// assembly on arm64, and plain Go everywhere. The level is chosen once when the
// program starts. The environment variable FEDFAST_CPU (generic, avx2, avx512, amx,
// neon) lowers it; a name that is unknown, or that this processor cannot run, is
// ignored here (the command line tool reports it). The build tag purego leaves the
// assembly out.
//
// # The packed layout
//
// A weight matrix W of K rows (inputs) and N columns (outputs) is stored in panels
// of [Width] columns, the same for every level:
//
//	packed[(j/16)*K*16 + k*16 + j%16] = W[k][j]
//
// Columns N up to Pad(N) are zero. Activations are row-major with rows of Pad(N)
// floats, so kernels handle whole panels only.
//
// # Same bits on every level
//
// All levels return identical bits: an element of a matrix product is one chain of
// fused multiply-adds in the order of the summation index, sums run over 16 virtual
// lanes that are reduced in one fixed tree, and activations are one polynomial with
// one order of operations. A step of the chains of products of bf16 is [Dot2]. The
// plain Go level computes both in float64, rounded once.
//
// Slice lengths and shapes are checked on entry; a wrong one is a programmer's
// mistake and panics.
package kernels
