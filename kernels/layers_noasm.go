//go:build !amd64 || purego

package kernels

// Nothing in these loops is fused, so plain Go gives the bits of all levels.

func curveAt(Level) curveTable         { return curveTable{} }
func rowNormAt(Level) rowNormTable     { return rowNormTable{} }
func depthwiseAt(Level) depthwiseTable { return depthwiseGeneric }
