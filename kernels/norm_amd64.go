//go:build !purego

package kernels

//go:generate go run -C _asm ./norm

func normAt(l Level) normTable {
	switch l {
	case AVX512:
		return normTable{sums: normSumsAVX512, forward: normForwardAVX512, backward: normBackwardAVX512}
	case AVX2:
		return normTable{sums: normSumsAVX2, forward: normForwardAVX2, backward: normBackwardAVX2}
	default:
		return normGeneric
	}
}
