//go:build !purego

package kernels

//go:generate go run -C _asm ./transformer

func columnsAt(l Level) columnTable {
	switch l {
	case AVX512:
		return columnTable{softmax: softmaxColumnsAVX512, backward: softmaxColumnsBackwardAVX512}
	case AVX2:
		return columnTable{softmax: softmaxColumnsAVX2, backward: softmaxColumnsBackwardAVX2}
	default:
		return columnsGeneric
	}
}
