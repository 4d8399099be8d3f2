//go:build !purego

package kernels

//go:generate go run -C _asm ./sparse -out ../sparse_amd64.s -stubs ../sparse_stubs_amd64.go -pkg kernels

func sparseAt(l Level) sparseTable {
	switch l {
	case AVX512:
		return sparseTable{maxima: maximaAVX512, append: appendAVX2, weights: weightsAVX512, input: inputAVX512, whole: true}
	case AVX2:
		return sparseTable{maxima: maximaAVX2, append: appendAVX2, weights: weightsAVX2, input: inputAVX2}
	default:
		return sparseGeneric
	}
}

func weightsAVX512(rows, cols, groups int, a *sparseWeightsArgs) {
	switch {
	case rows != cols:
		weightsAVX2(rows, cols, groups, a)
	case cols == 5:
		sparseWeightsAVX512x5x5x1(a)
	case groups == 2:
		sparseWeightsAVX512x3x3x2(a)
	default:
		sparseWeightsAVX512x3x3x1(a)
	}
}

func weightsAVX2(_, cols, groups int, a *sparseWeightsArgs) {
	switch {
	case cols == 5:
		sparseWeightsAVX2x1x5x1(a)
	case groups == 2:
		sparseWeightsAVX2x1x3x2(a)
	default:
		sparseWeightsAVX2x1x3x1(a)
	}
}

func inputAVX512(cols, groups int, a *sparseInputArgs) {
	switch {
	case cols == 5:
		sparseInputAVX512x5x1(a)
	case groups == 2:
		sparseInputAVX512x3x2(a)
	default:
		sparseInputAVX512x3x1(a)
	}
}

func inputAVX2(cols, groups int, a *sparseInputArgs) {
	switch {
	case cols == 5:
		sparseInputAVX2x5x1(a)
	case groups == 2:
		sparseInputAVX2x3x2(a)
	default:
		sparseInputAVX2x3x1(a)
	}
}
