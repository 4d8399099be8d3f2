//go:build !purego

package kernels

//go:generate go run -C _asm ./sparse

func sparseAt(l Level) sparseTable {
	return at(l, sparseGeneric,
		sparseTable{maxima: maximaAVX2, nonZero: nonZeroAVX2, append: appendAVX2, weights: weightsAVX2, input: inputAVX2},
		sparseTable{maxima: maximaAVX512, nonZero: nonZeroAVX512, append: appendAVX2, weights: weightsAVX512, input: inputAVX512, whole: true})
}

func weightsAVX512(rows, cols, groups int, a *sparseWeightsArgs) {
	switch {
	case rows != cols:
		weightsAVX2(rows, cols, groups, a)
	case cols == 5:
		sparseWeights5x5x1AVX512(a)
	case groups == 2:
		sparseWeights3x3x2AVX512(a)
	default:
		sparseWeights3x3x1AVX512(a)
	}
}

func weightsAVX2(_, cols, groups int, a *sparseWeightsArgs) {
	switch {
	case cols == 5:
		sparseWeights1x5x1AVX2(a)
	case groups == 2:
		sparseWeights1x3x2AVX2(a)
	default:
		sparseWeights1x3x1AVX2(a)
	}
}

func inputAVX512(cols, groups int, a *sparseInputArgs) {
	switch {
	case cols == 5:
		sparseInput5x1AVX512(a)
	case groups == 2:
		sparseInput3x2AVX512(a)
	default:
		sparseInput3x1AVX512(a)
	}
}

func inputAVX2(cols, groups int, a *sparseInputArgs) {
	switch {
	case cols == 5:
		sparseInput5x1AVX2(a)
	case groups == 2:
		sparseInput3x2AVX2(a)
	default:
		sparseInput3x1AVX2(a)
	}
}
