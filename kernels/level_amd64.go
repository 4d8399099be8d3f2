//go:build !purego

package kernels

import "github.com/klauspost/cpuid/v2"

//go:generate go run -C _asm ./gemm
//go:generate go run -C _asm ./gemm bf16
//go:generate go run -C _asm ./gemm blocks
//go:generate go run -C _asm ./gemm split
//go:generate go run -C _asm ./pointwise
//go:generate go run -C _asm ./layers
//go:generate go run -C _asm ./norm
//go:generate go run -C _asm ./transformer
//go:generate go run -C _asm ./winograd
//go:generate go run -C _asm ./sparse

// detect returns the assembly levels that this processor and operating system can run, lowest first.
func detect() []Level {
	var levels []Level
	if cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.POPCNT) {
		levels = append(levels, AVX2)
		// Every processor with these four has BMI2, whose shifts make the masks.
		if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.BMI2) {
			levels = append(levels, AVX512)
			if hasBF16 && hasAMX() {
				levels = append(levels, AMX)
			}
		}
	}
	return levels
}

// assemble points the groups at the assembly of a level.
func assemble(l Level) {
	switch l {
	case AVX2:
		bindAVX2()
	case AVX512:
		bindAVX512()
	case AMX:
		bindAVX512()
		t := blockTiles{whole: blocksAMX}
		bf16s.nnBlocks, bf16s.tnBlocks = t.nn, t.tn
	case Generic, NEON: // plain Go
	}
}

func bindAVX2() {
	gemms = gemmTable{
		nn: tilesAVX2.multiply, tn: tilesAVX2.multiplyT, nt: tilesAVX2.multiplyNT, step: tilesAVX2.step,
		fold: foldAVX2, peak: peakAVX2, peakFLOPs: 24 * 2 * 8, read: readAVX2,
		transpose: transposeAVX2, copyRows: copyRowsAVX2,
	}
	splitAVX2.bindAMD64()
	acts = actTable{expAVX2, sigmoidAVX2, tanhAVX2, reluBackwardAVX2, reluAddAVX2}
	vectors = vectorTable{axpy: axpyAVX2, scale: scaleAVX2, add: addAVX2, sub: subAVX2, blend: blendAVX2}
	reduces = reduceTable{dot: dotAVX2, colSum: colSumAVX2, away: awayAVX2, dots: dotsAVX2}
	optims = optimTable{sgdPlainAVX2, sgdMomentumAVX2, sgdVelocityAVX2, sgdNesterovAVX2, adamAVX2}
	softmaxes = softmaxTable{row: softmaxRowAVX2}
	columns = columnTable{softmax: softmaxColumnsAVX2, backward: softmaxColumnsBackwardAVX2}
	lstms = lstmTable{forward: lstmForwardAVX2, backward: lstmBackwardAVX2}
	pools = poolTable{
		severalRows: true, forward: pool2x2AVX2, backward: pool2x2BackwardAVX2, forwardAny: poolAnyAVX2,
		backwardAny: poolAnyBackwardAVX2, mean: poolMeanAVX2, meanBackward: poolMeanBackwardAVX2,
		threeBackward: poolThreeBackwardAVX2, meanThreeBackward: poolMeanThreeBackwardAVX2,
	}
	lrns = lrnTable{lrnSquaresAVX2, lrnNormalizeAVX2, lrnQuotientsAVX2, lrnGradientAVX2}
	dropouts = dropoutTable{apply: dropoutApplyAVX2}
	sparses = sparseTable{
		maxima: maximaAVX2, nonZero: nonZeroAVX2, append: appendAVX2,
		weights: [3]func(*sparseWeightsArgs){sparseWeights1x3x1AVX2, sparseWeights1x3x2AVX2, sparseWeights1x5x1AVX2},
		input:   [3]func(*sparseInputArgs){sparseInput3x1AVX2, sparseInput3x2AVX2, sparseInput5x1AVX2},
	}
	winograds = winogradTable{
		input: winogradInputAVX2, spread: winogradSpreadAVX2, output: winogradOutputAVX2,
		weights: winogradWeightsAVX2, gradient: winogradGradientAVX2,
	}
	norms = normTable{
		sums: normSumsAVX2, moments: normMomentsAVX2, forward: normForwardAVX2, swish: normSwishAVX2,
		backward: normBackwardAVX2, reluSlopes: normReLUSlopesAVX2, swishSlopes: normSwishSlopesAVX2,
	}
	curves = curveTable{
		multiply: multiplyAVX2, geluArgument: geluArgumentAVX2, geluWhole: geluWholeAVX2, geluValue: geluValueAVX2,
		last: [NumCurves]func(y, slope, x *float32, n int){
			CurveSigmoid: sigmoidSlopeAVX2, CurveTanh: tanhSlopeAVX2, CurveSiLU: siluAVX2, CurveGELUTanh: geluTanhAVX2,
			CurveHardSwish: hardSwishAVX2, CurveHardSigmoid: hardSigmoidAVX2,
		},
	}
	rowNorms = rowNormTable{norm: normRowsAVX2, gradient: normGradientAVX2}
	depthwises = depthwiseTable{
		row: channelRowAVX2, run3: channelRowThreeAVX2, run5: channelRowFiveAVX2,
		one: channelWeightsOneAVX2, three: channelWeightsThreeAVX2, five: channelWeightsFiveAVX2, tile: 4,
	}
}

func bindAVX512() {
	gemms = gemmTable{
		nn: tilesAVX512.multiply, tn: tilesAVX512.multiplyT, nt: tilesAVX512.multiplyNT, step: tilesAVX512.step,
		fold: foldAVX2, peak: peakAVX512, peakFLOPs: 24 * 2 * 16, read: readAVX2,
		transpose: transposeAVX2, copyRows: copyRowsAVX2,
	}
	bindBF16(hasBF16 && cpuid.CPU.VendorID != cpuid.Intel) // whose VDPBF16PS takes four times as long as a multiply-add
	acts = actTable{expAVX512, sigmoidAVX512, tanhAVX512, reluBackwardAVX512, reluAddAVX512}
	vectors = vectorTable{axpy: axpyAVX512, scale: scaleAVX512, add: addAVX512, sub: subAVX512, blend: blendAVX512}
	reduces = reduceTable{dot: dotAVX512, colSum: colSumAVX512, away: awayAVX512, dots: dotsAVX512}
	optims = optimTable{sgdPlainAVX512, sgdMomentumAVX512, sgdVelocityAVX512, sgdNesterovAVX512, adamAVX512}
	softmaxes = softmaxTable{row: softmaxRowAVX512}
	columns = columnTable{softmax: softmaxColumnsAVX512, backward: softmaxColumnsBackwardAVX512}
	lstms = lstmTable{forward: lstmForwardAVX512, backward: lstmBackwardAVX512}
	pools = poolTable{
		severalRows: true, forward: pool2x2AVX512, backward: pool2x2BackwardAVX512, forwardAny: poolAnyAVX512,
		backwardAny: poolAnyBackwardAVX512, mean: poolMeanAVX512, meanBackward: poolMeanBackwardAVX512,
		threeBackward: poolThreeBackwardAVX512, meanThreeBackward: poolMeanThreeBackwardAVX512,
	}
	lrns = lrnTable{lrnSquaresAVX512, lrnNormalizeAVX512, lrnQuotientsAVX512, lrnGradientAVX512}
	dropouts = dropoutTable{apply: dropoutApplyAVX512}
	sparses = sparseTable{
		maxima: maximaAVX512, nonZero: nonZeroAVX512, append: appendAVX2,
		weights: [3]func(*sparseWeightsArgs){sparseWeights1x3x1AVX2, sparseWeights1x3x2AVX2, sparseWeights1x5x1AVX2},
		whole:   [3]func(*sparseWeightsArgs){sparseWeights3x3x1AVX512, sparseWeights3x3x2AVX512, sparseWeights5x5x1AVX512},
		input:   [3]func(*sparseInputArgs){sparseInput3x1AVX512, sparseInput3x2AVX512, sparseInput5x1AVX512},
	}
	winograds = winogradTable{
		input: winogradInputAVX512, spread: winogradSpreadAVX512, output: winogradOutputAVX512,
		weights: winogradWeightsAVX512, gradient: winogradGradientAVX512,
	}
	norms = normTable{
		sums: normSumsAVX512, moments: normMomentsAVX512, forward: normForwardAVX512, swish: normSwishAVX512,
		backward: normBackwardAVX512, reluSlopes: normReLUSlopesAVX512, swishSlopes: normSwishSlopesAVX512,
		groups:    groupTable{factors: normFactorsAVX512, gradients: normGradientsAVX512},
		shareSums: normShareSumsAVX512, shareBackward: normShareBackwardAVX512, shareForward: normShareForwardAVX512,
	}
	curves = curveTable{
		multiply: multiplyAVX512, geluArgument: geluArgumentAVX512, geluWhole: geluWholeAVX512, geluValue: geluValueAVX512,
		last: [NumCurves]func(y, slope, x *float32, n int){
			CurveSigmoid: sigmoidSlopeAVX512, CurveTanh: tanhSlopeAVX512, CurveSiLU: siluAVX512, CurveGELUTanh: geluTanhAVX512,
			CurveHardSwish: hardSwishAVX512, CurveHardSigmoid: hardSigmoidAVX512,
		},
	}
	rowNorms = rowNormTable{norm: normRowsAVX512, gradient: normGradientAVX512}
	depthwises = depthwiseTable{
		row: channelRowAVX512, run3: channelRowThreeAVX512, run5: channelRowFiveAVX512,
		one: channelWeightsOneAVX512, three: channelWeightsThreeAVX512, five: channelWeightsFiveAVX512,
		tile: 4, half: &halfChannels,
	}
}

var halfChannels = depthwiseTable{
	row: channelRowHalfAVX512, run3: channelRowThreeHalfAVX512, run5: channelRowFiveHalfAVX512,
	one: channelWeightsOneHalfAVX512, three: channelWeightsThreeHalfAVX512, five: channelWeightsFiveHalfAVX512, tile: 8,
}
