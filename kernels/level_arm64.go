//go:build !purego

package kernels

// detect returns NEON: Go runs on no arm64 processor without it.
func detect() []Level { return []Level{NEON} }

// assemble points the groups at the assembly of a level. Those that are not here have plain Go alone.
func assemble(l Level) {
	if l != NEON {
		return
	}
	gemms = gemmTable{
		nn: tilesNEON.multiply, tn: tilesNEON.multiplyT, nt: tilesNEON.multiplyNT, step: tilesNEON.step, fold: foldGeneric,
		peak: peakNEON, peakFLOPs: 24 * 2 * 4, read: readNEON, transpose: transposeNEON, copyRows: copyRowsGeneric,
	}
	splitNEON.bind()
	bf16s.pair, bf16s.join, bf16s.round = pairNEON, joinNEON, roundNEON
	acts = actTable{exp: expNEON, sigmoid: sigmoidNEON, tanh: tanhNEON, reluBackward: reluBackwardNEON}
	vectors = vectorTable{axpy: axpyNEON, scale: scaleNEON, add: addNEON, sub: subNEON}
	reduces = reduceTable{dot: dotNEON, colSum: colSumNEON, away: awayNEON}
	optims.plain, optims.momentum, optims.velocity = sgdPlainNEON, sgdMomentumNEON, sgdVelocityNEON
	softmaxes.row = softmaxRowNEON
	lstms = lstmTable{forward: lstmForwardNEON, backward: lstmBackwardNEON}
	pools.forward, pools.backward = pool2x2NEON, pool2x2BackwardNEON
	dropouts.apply = dropoutApplyNEON
	// Its lists are made without arithmetic but sums of a bias.
	sparses.weights = [3]func(*sparseWeightsArgs){sparseWeightsNEON3x1, sparseWeightsNEON3x2, sparseWeightsNEON5x1}
	sparses.input = [3]func(*sparseInputArgs){sparseInputNEON3x1, sparseInputNEON3x2, sparseInputNEON5x1}
	winograds = winogradTable{
		input: winogradInputNEON, spread: winogradSpreadNEON, output: winogradOutputNEON,
		weights: winogradWeightsNEON, gradient: winogradGradientNEON,
	}
	norms.sums, norms.forward, norms.backward = normSumsNEON, normForwardNEON, normBackwardNEON
	norms.moments = func(sum, inner *float64, x *float32, channels, rows, pixels, next int) {
		normSumsNEON(sum, inner, x, x, channels, rows, pixels, next, next)
	}
}
