//go:build !purego

package kernels

func weightsNEON(_, cols, groups int, a *sparseWeightsArgs) {
	switch {
	case cols == 5:
		sparseWeightsNEON5x1(a)
	case groups == 2:
		sparseWeightsNEON3x2(a)
	default:
		sparseWeightsNEON3x1(a)
	}
}

func inputNEON(cols, groups int, a *sparseInputArgs) {
	switch {
	case cols == 5:
		sparseInputNEON5x1(a)
	case groups == 2:
		sparseInputNEON3x2(a)
	default:
		sparseInputNEON3x1(a)
	}
}

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
