package kernels

// bind points every group of kernels at its implementation for level l.
//
// A group is one family of files around one table of function values. For a group
// x:
//
//	x.go           type xTable struct { ... func values ... }; var xs xTable; the exported wrappers, which call xs.name(...)
//	x_generic.go   var xGeneric = xTable{...}, the plain Go reference
//	x_amd64.go     (build tag !purego) func xAt(l Level) xTable: AVX2, AVX512, otherwise xGeneric
//	x_arm64.go     (build tag !purego) func xAt(l Level) xTable: NEON, otherwise xGeneric
//	x_noasm.go     (build tag (!amd64 && !arm64) || purego) func xAt(Level) xTable { return xGeneric }
//
// The groups that are not matrix products share pointwise_amd64.go and
// pointwise_noasm.go; those whose loops nothing is fused in share layers_amd64.go and
// layers_noasm.go. Softmaxes of columns have transformer_amd64.go and
// transformer_noasm.go.
//
// A group without assembly for an architecture lists that architecture in the build
// tag of x_noasm.go. To plug a group in, add one line below.
func bind(l Level) {
	current = l
	gemms = gemmAt(l)
	bf16s = bf16At(l)
	acts = actAt(l)
	vectors = vectorAt(l)
	reduces = reduceAt(l)
	optims = optimAt(l)
	softmaxes = softmaxAt(l)
	columns = columnsAt(l)
	lstms = lstmAt(l)
	pools = poolAt(l)
	dropouts = dropoutAt(l)
	lrns = lrnAt(l)
	sparses = sparseAt(l)
	winograds = winogradAt(l)
	norms = normAt(l)
	curves = curveAt(l)
	rowNorms = rowNormAt(l)
	depthwises = depthwiseAt(l)
}
