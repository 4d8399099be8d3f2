//go:build !purego

package kernels

//go:generate go run -C _asm ./transformer

func columnsAt(l Level) columnTable {
	return at(l, columnsGeneric,
		columnTable{softmax: softmaxColumnsAVX2, backward: softmaxColumnsBackwardAVX2},
		columnTable{softmax: softmaxColumnsAVX512, backward: softmaxColumnsBackwardAVX512})
}
