//go:build !purego

package kernels

// The functions sparseWeightsNEON... add to one row of that many pixels of kernels
// and groups of channels; see sparseWeightsArgs.
//
//go:noescape
func sparseWeightsNEON3x2(args *sparseWeightsArgs)

//go:noescape
func sparseWeightsNEON3x1(args *sparseWeightsArgs)

//go:noescape
func sparseWeightsNEON5x1(args *sparseWeightsArgs)

// The functions sparseInputNEON... add rows of that many pixels of kernels to
// groups of channels; see sparseInputArgs.
//
//go:noescape
func sparseInputNEON3x2(args *sparseInputArgs)

//go:noescape
func sparseInputNEON3x1(args *sparseInputArgs)

//go:noescape
func sparseInputNEON5x1(args *sparseInputArgs)
