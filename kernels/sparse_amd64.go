//go:build !purego

package kernels

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
