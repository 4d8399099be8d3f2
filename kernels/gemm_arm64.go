//go:build !purego

package kernels

var tilesNEON = tiles{
	flops: maxFLOPs / 5,
	nn:    []func(*nnArgs){nnNEONx1, nnNEONx2, nnNEONx3, nnNEONx4, nnNEONx5, nnNEONx6},
	tn:    []func(*tnArgs){tnNEONx1, tnNEONx2, tnNEONx3, tnNEONx4, tnNEONx5, tnNEONx6},
	nt:    []func(*ntArgs){ntNEONx1, ntNEONx2, ntNEONx3, ntNEONx4, ntNEONx5, ntNEONx6},
}

// The functions nnNEONx1 to nnNEONx6 compute that many rows of an NN product; see
// nnArgs.
//
//go:noescape
func nnNEONx1(args *nnArgs)

//go:noescape
func nnNEONx2(args *nnArgs)

//go:noescape
func nnNEONx3(args *nnArgs)

//go:noescape
func nnNEONx4(args *nnArgs)

//go:noescape
func nnNEONx5(args *nnArgs)

//go:noescape
func nnNEONx6(args *nnArgs)

// The functions tnNEONx1 to tnNEONx6 compute that many rows of a TN product; see
// tnArgs.
//
//go:noescape
func tnNEONx1(args *tnArgs)

//go:noescape
func tnNEONx2(args *tnArgs)

//go:noescape
func tnNEONx3(args *tnArgs)

//go:noescape
func tnNEONx4(args *tnArgs)

//go:noescape
func tnNEONx5(args *tnArgs)

//go:noescape
func tnNEONx6(args *tnArgs)

// The functions ntNEONx1 to ntNEONx6 compute the lanes of that many rows of an NT
// product; see ntArgs.
//
//go:noescape
func ntNEONx1(args *ntArgs)

//go:noescape
func ntNEONx2(args *ntArgs)

//go:noescape
func ntNEONx3(args *ntArgs)

//go:noescape
func ntNEONx4(args *ntArgs)

//go:noescape
func ntNEONx5(args *ntArgs)

//go:noescape
func ntNEONx6(args *ntArgs)

// transposeNEON transposes blocks of 16 x 16 floats; see gemmTable.
//
//go:noescape
func transposeNEON(dst, src *float32, blocks, dstStep int)

// peakNEON runs n times 24 independent fused multiply-adds on registers.
//
//go:noescape
func peakNEON(n int)

// readNEON reads 2*lines lines of 64 bytes; lines is a positive multiple of 4.
//
//go:noescape
func readNEON(x *float32, lines int)
