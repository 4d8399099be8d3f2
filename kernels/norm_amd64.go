//go:build !purego

package kernels

//go:generate go run -C _asm ./norm

func normAt(l Level) normTable {
	return at(l, normGeneric,
		normTable{sums: normSumsAVX2, squares: normSquaresAVX2, forward: normForwardAVX2, backward: normBackwardAVX2},
		normTable{sums: normSumsAVX512, squares: normSquaresAVX512, forward: normForwardAVX512, backward: normBackwardAVX512})
}
