//go:build !purego

package kernels

//go:generate go run -C _asm ./norm

func normAt(l Level) normTable {
	return at(l, normGeneric,
		normTable{
			sums: normSumsAVX2, moments: normMomentsAVX2, forward: normForwardAVX2, swish: normSwishAVX2, backward: normBackwardAVX2,
			reluSlopes: normReLUSlopesAVX2, swishSlopes: normSwishSlopesAVX2,
		},
		normTable{
			sums: normSumsAVX512, moments: normMomentsAVX512, forward: normForwardAVX512, swish: normSwishAVX512, backward: normBackwardAVX512,
			reluSlopes: normReLUSlopesAVX512, swishSlopes: normSwishSlopesAVX512,
			groups:    groupTable{factors: normFactorsAVX512, gradients: normGradientsAVX512},
			shareSums: normShareSumsAVX512, shareBackward: normShareBackwardAVX512, shareForward: normShareForwardAVX512,
		})
}
