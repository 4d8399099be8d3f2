//go:build !purego

package kernels

//go:generate go run -C _asm ./pointwise

func actAt(l Level) actTable {
	return at(l, actGeneric,
		actTable{exp: expAVX2, sigmoid: sigmoidAVX2, tanh: tanhAVX2, reluBackward: reluBackwardAVX2, reluAdd: reluAddAVX2},
		actTable{exp: expAVX512, sigmoid: sigmoidAVX512, tanh: tanhAVX512, reluBackward: reluBackwardAVX512, reluAdd: reluAddAVX512})
}

func vectorAt(l Level) vectorTable {
	return at(l, vectorGeneric,
		vectorTable{axpy: axpyAVX2, scale: scaleAVX2, add: addAVX2, sub: subAVX2, blend: blendAVX2},
		vectorTable{axpy: axpyAVX512, scale: scaleAVX512, add: addAVX512, sub: subAVX512, blend: blendAVX512})
}

func reduceAt(l Level) reduceTable {
	return at(l, reduceGeneric,
		reduceTable{dot: dotAVX2, colSum: colSumAVX2, away: awayAVX2, dots: dotsAVX2},
		reduceTable{dot: dotAVX512, colSum: colSumAVX512, away: awayAVX512, dots: dotsAVX512})
}

func optimAt(l Level) optimTable {
	return at(l, optimGeneric,
		optimTable{plain: sgdPlainAVX2, momentum: sgdMomentumAVX2, velocity: sgdVelocityAVX2, nesterov: sgdNesterovAVX2, adam: adamAVX2},
		optimTable{plain: sgdPlainAVX512, momentum: sgdMomentumAVX512, velocity: sgdVelocityAVX512, nesterov: sgdNesterovAVX512, adam: adamAVX512})
}

func softmaxAt(l Level) softmaxTable {
	return at(l, softmaxGeneric,
		softmaxTable{row: softmaxRowAVX2},
		softmaxTable{row: softmaxRowAVX512})
}

func lstmAt(l Level) lstmTable {
	return at(l, lstmGeneric,
		lstmTable{forward: lstmForwardAVX2, backward: lstmBackwardAVX2},
		lstmTable{forward: lstmForwardAVX512, backward: lstmBackwardAVX512})
}

func poolAt(l Level) poolTable {
	return at(l, poolGeneric,
		poolTable{
			forward: pool2x2AVX2, backward: pool2x2BackwardAVX2, forwardAny: poolAnyAVX2, backwardAny: poolAnyBackwardAVX2, mean: poolMeanAVX2, meanBackward: poolMeanBackwardAVX2,
			severalRows: true, threeBackward: poolThreeBackwardAVX2, meanThreeBackward: poolMeanThreeBackwardAVX2,
		},
		poolTable{
			forward: pool2x2AVX512, backward: pool2x2BackwardAVX512, forwardAny: poolAnyAVX512, backwardAny: poolAnyBackwardAVX512, mean: poolMeanAVX512, meanBackward: poolMeanBackwardAVX512,
			severalRows: true, threeBackward: poolThreeBackwardAVX512, meanThreeBackward: poolMeanThreeBackwardAVX512,
		})
}

func lrnAt(l Level) lrnTable {
	return at(l, lrnGeneric,
		lrnTable{squares: lrnSquaresAVX2, normalize: lrnNormalizeAVX2, quotients: lrnQuotientsAVX2, gradient: lrnGradientAVX2},
		lrnTable{squares: lrnSquaresAVX512, normalize: lrnNormalizeAVX512, quotients: lrnQuotientsAVX512, gradient: lrnGradientAVX512})
}

func dropoutAt(l Level) dropoutTable {
	return at(l, dropoutGeneric,
		dropoutTable{apply: dropoutApplyAVX2},
		dropoutTable{apply: dropoutApplyAVX512})
}
