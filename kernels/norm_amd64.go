//go:build !purego

package kernels

//go:generate go run -C _asm ./norm

func normAt(l Level) normTable {
	switch l {
	case AVX512:
		return normTable{sums: normSumsAVX512, squares: normSquaresAVX512, forward: normForwardAVX512, backward: normBackwardAVX512}
	case AVX2:
		return normTable{sums: normSumsAVX2, squares: normSquaresAVX2, forward: normForwardAVX2, backward: normBackwardAVX2}
	default:
		return normGeneric
	}
}
