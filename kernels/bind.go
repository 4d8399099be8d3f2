package kernels

// bind points every group of kernels at its implementation for level l.
//
// A group is one family of files around one table of function values. For a group
// x:
//
//	x.go           type xTable struct { ... func values ... }; var xs xTable; the exported wrappers, which call xs.name(...)
//	x_generic.go   var xGeneric = xTable{...}, the plain Go reference
//	level_amd64.go bindAVX2 and bindAVX512 put what is of the level into xs
//	level_arm64.go assemble does so for NEON
//
// To plug a group in, add one line below, and what has assembly to those files.
func bind(l Level) {
	current = l
	gemms = gemmGeneric
	bf16s = bf16Generic
	acts = actGeneric
	vectors = vectorGeneric
	reduces = reduceGeneric
	optims = optimGeneric
	softmaxes = softmaxGeneric
	columns = columnsGeneric
	lstms = lstmGeneric
	pools = poolGeneric
	dropouts = dropoutGeneric
	lrns = lrnGeneric
	sparses = sparseGeneric
	winograds = winogradGeneric
	norms = normGeneric
	curves = curveTable{}
	rowNorms = rowNormTable{}
	depthwises = depthwiseGeneric
	assemble(l)
}
