//go:build !purego

package kernels

//go:generate go run -C _asm ./pointwise

func actAt(l Level) actTable {
	switch l {
	case AVX512:
		return actTable{exp: expAVX512, sigmoid: sigmoidAVX512, tanh: tanhAVX512, reluBackward: reluBackwardAVX512}
	case AVX2:
		return actTable{exp: expAVX2, sigmoid: sigmoidAVX2, tanh: tanhAVX2, reluBackward: reluBackwardAVX2}
	default:
		return actGeneric
	}
}

func vectorAt(l Level) vectorTable {
	switch l {
	case AVX512:
		return vectorTable{axpy: axpyAVX512, scale: scaleAVX512, add: addAVX512, sub: subAVX512}
	case AVX2:
		return vectorTable{axpy: axpyAVX2, scale: scaleAVX2, add: addAVX2, sub: subAVX2}
	default:
		return vectorGeneric
	}
}

func reduceAt(l Level) reduceTable {
	switch l {
	case AVX512:
		return reduceTable{dot: dotAVX512, sum: sumAVX512, colSum: colSumAVX512, away: awayAVX512}
	case AVX2:
		return reduceTable{dot: dotAVX2, sum: sumAVX2, colSum: colSumAVX2, away: awayAVX2}
	default:
		return reduceGeneric
	}
}

func optimAt(l Level) optimTable {
	switch l {
	case AVX512:
		return optimTable{plain: sgdPlainAVX512, momentum: sgdMomentumAVX512, velocity: sgdVelocityAVX512, nesterov: sgdNesterovAVX512, adam: adamAVX512}
	case AVX2:
		return optimTable{plain: sgdPlainAVX2, momentum: sgdMomentumAVX2, velocity: sgdVelocityAVX2, nesterov: sgdNesterovAVX2, adam: adamAVX2}
	default:
		return optimGeneric
	}
}

func softmaxAt(l Level) softmaxTable {
	switch l {
	case AVX512:
		return softmaxTable{row: softmaxRowAVX512}
	case AVX2:
		return softmaxTable{row: softmaxRowAVX2}
	default:
		return softmaxGeneric
	}
}

func lstmAt(l Level) lstmTable {
	switch l {
	case AVX512:
		return lstmTable{forward: lstmForwardAVX512, backward: lstmBackwardAVX512}
	case AVX2:
		return lstmTable{forward: lstmForwardAVX2, backward: lstmBackwardAVX2}
	default:
		return lstmGeneric
	}
}

func poolAt(l Level) poolTable {
	switch l {
	case AVX512:
		return poolTable{forward: pool2x2AVX512, backward: pool2x2BackwardAVX512, forwardAny: poolAnyAVX512, backwardAny: poolAnyBackwardAVX512}
	case AVX2:
		return poolTable{forward: pool2x2AVX2, backward: pool2x2BackwardAVX2, forwardAny: poolAnyAVX2, backwardAny: poolAnyBackwardAVX2}
	default:
		return poolGeneric
	}
}

func lrnAt(l Level) lrnTable {
	switch l {
	case AVX512:
		return lrnTable{squares: lrnSquaresAVX512, normalize: lrnNormalizeAVX512, quotients: lrnQuotientsAVX512, gradient: lrnGradientAVX512}
	case AVX2:
		return lrnTable{squares: lrnSquaresAVX2, normalize: lrnNormalizeAVX2, quotients: lrnQuotientsAVX2, gradient: lrnGradientAVX2}
	default:
		return lrnGeneric
	}
}

func dropoutAt(l Level) dropoutTable {
	switch l {
	case AVX512:
		return dropoutTable{apply: dropoutApplyAVX512}
	case AVX2:
		return dropoutTable{apply: dropoutApplyAVX2}
	default:
		return dropoutGeneric
	}
}
