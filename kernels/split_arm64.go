//go:build !purego

package kernels

// splitNEON multiplies split pairs. Tiles that are computed a second time do so in several times the operations, which
// its calls, of an eighth of tilesNEON's, leave time for.
var splitNEON = splitTiles{
	split:  pairsSplitNEON,
	blocks: []func(*blockArgs){blocksSplitNEONx1, blocksSplitNEONx2},
	tiles: tiles{
		flops: maxFLOPs / 40,
		nn:    []func(*nnArgs){nnSplitNEONx1, nnSplitNEONx2, nnSplitNEONx3, nnSplitNEONx4},
		tn:    []func(*tnArgs){tnSplitNEONx1, tnSplitNEONx2, tnSplitNEONx3, tnSplitNEONx4},
		nt:    []func(*ntArgs){ntSplitNEONx1, ntSplitNEONx2, ntSplitNEONx3, ntSplitNEONx4},
	},
}

// The functions nnSplitNEONx1 to nnSplitNEONx4 compute that many rows of an NN product of split pairs; see nnArgs.
//
//go:noescape
func nnSplitNEONx1(args *nnArgs)

//go:noescape
func nnSplitNEONx2(args *nnArgs)

//go:noescape
func nnSplitNEONx3(args *nnArgs)

//go:noescape
func nnSplitNEONx4(args *nnArgs)

// The functions tnSplitNEONx1 to tnSplitNEONx4 compute that many rows of a TN product of split pairs; see tnArgs.
//
//go:noescape
func tnSplitNEONx1(args *tnArgs)

//go:noescape
func tnSplitNEONx2(args *tnArgs)

//go:noescape
func tnSplitNEONx3(args *tnArgs)

//go:noescape
func tnSplitNEONx4(args *tnArgs)

// The functions ntSplitNEONx1 to ntSplitNEONx4 compute the lanes of that many rows of an NT product of split pairs; see
// ntArgs.
//
//go:noescape
func ntSplitNEONx1(args *ntArgs)

//go:noescape
func ntSplitNEONx2(args *ntArgs)

//go:noescape
func ntSplitNEONx3(args *ntArgs)

//go:noescape
func ntSplitNEONx4(args *ntArgs)

// The functions blocksSplitNEONx1 and blocksSplitNEONx2 compute that many rows of a product in blocks; see blockArgs.
//
//go:noescape
func blocksSplitNEONx1(args *blockArgs)

//go:noescape
func blocksSplitNEONx2(args *blockArgs)

// pairsSplitNEON writes the halves of groups of 16 pairs, as floats, to two planes.
//
//go:noescape
func pairsSplitNEON(dst, src *float32, groups int)

// pairNEON, joinNEON and roundNEON round to bf16; see bf16Table.
//
//go:noescape
func pairNEON(dst, src *float32, other, step, dstStep, rows, groups int)

//go:noescape
func joinNEON(dst, src *float32, other, step, dstStep, rows, groups int)

//go:noescape
func roundNEON(dst, src *float32, groups int)
