//go:build !purego

package kernels

func actAt(l Level) actTable {
	if l == NEON {
		return actTable{exp: expNEON, sigmoid: sigmoidNEON, tanh: tanhNEON, reluBackward: reluBackwardNEON}
	}
	return actGeneric
}

func vectorAt(l Level) vectorTable {
	if l == NEON {
		return vectorTable{axpy: axpyNEON, scale: scaleNEON, add: addNEON, sub: subNEON}
	}
	return vectorGeneric
}

func reduceAt(l Level) reduceTable {
	if l == NEON {
		return reduceTable{dot: dotNEON, colSum: colSumNEON, away: awayNEON}
	}
	return reduceGeneric
}

func optimAt(l Level) optimTable {
	if l == NEON {
		return optimTable{plain: sgdPlainNEON, momentum: sgdMomentumNEON, velocity: sgdVelocityNEON, nesterov: sgdNesterovGeneric, adam: adamGeneric}
	}
	return optimGeneric
}

func softmaxAt(l Level) softmaxTable {
	if l == NEON {
		return softmaxTable{row: softmaxRowNEON}
	}
	return softmaxGeneric
}

func lstmAt(l Level) lstmTable {
	if l == NEON {
		return lstmTable{forward: lstmForwardNEON, backward: lstmBackwardNEON}
	}
	return lstmGeneric
}

func poolAt(l Level) poolTable {
	if l == NEON {
		return poolTable{forward: pool2x2NEON, backward: pool2x2BackwardNEON, forwardAny: poolAnyGeneric, backwardAny: poolAnyBackwardGeneric, mean: poolMeanGeneric, meanBackward: poolMeanBackwardGeneric}
	}
	return poolGeneric
}

// lrnAt: nothing in it is fused, so the plain Go level gives the bits of all.
func lrnAt(Level) lrnTable { return lrnGeneric }

func dropoutAt(l Level) dropoutTable {
	if l == NEON {
		return dropoutTable{apply: dropoutApplyNEON}
	}
	return dropoutGeneric
}
