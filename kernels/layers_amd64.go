//go:build !purego

package kernels

//go:generate go run -C _asm ./layers

func curveAt(l Level) curveTable {
	return at(l, curveTable{},
		curveTable{
			multiply: multiplyAVX2, geluArgument: geluArgumentAVX2, geluWhole: geluWholeAVX2, geluValue: geluValueAVX2,
			last: [NumCurves]func(y, slope, x *float32, n int){
				CurveSigmoid: sigmoidSlopeAVX2, CurveTanh: tanhSlopeAVX2, CurveSiLU: siluAVX2, CurveGELUTanh: geluTanhAVX2,
				CurveHardSwish: hardSwishAVX2, CurveHardSigmoid: hardSigmoidAVX2,
			},
		},
		curveTable{
			multiply: multiplyAVX512, geluArgument: geluArgumentAVX512, geluWhole: geluWholeAVX512, geluValue: geluValueAVX512,
			last: [NumCurves]func(y, slope, x *float32, n int){
				CurveSigmoid: sigmoidSlopeAVX512, CurveTanh: tanhSlopeAVX512, CurveSiLU: siluAVX512, CurveGELUTanh: geluTanhAVX512,
				CurveHardSwish: hardSwishAVX512, CurveHardSigmoid: hardSigmoidAVX512,
			},
		})
}

func rowNormAt(l Level) rowNormTable {
	return at(l, rowNormTable{},
		rowNormTable{norm: normRowsAVX2, gradient: normGradientAVX2},
		rowNormTable{norm: normRowsAVX512, gradient: normGradientAVX512})
}

func depthwiseAt(l Level) depthwiseTable {
	return at(l, depthwiseGeneric,
		depthwiseTable{
			row: channelRowAVX2, run3: channelRowThreeAVX2, run5: channelRowFiveAVX2,
			one: channelWeightsOneAVX2, three: channelWeightsThreeAVX2, five: channelWeightsFiveAVX2,
			tile: 4,
		},
		depthwiseTable{
			row: channelRowAVX512, run3: channelRowThreeAVX512, run5: channelRowFiveAVX512,
			one: channelWeightsOneAVX512, three: channelWeightsThreeAVX512, five: channelWeightsFiveAVX512,
			tile: 4, half: &halfChannels,
		})
}

var halfChannels = depthwiseTable{
	row: channelRowHalfAVX512, run3: channelRowThreeHalfAVX512, run5: channelRowFiveHalfAVX512,
	one: channelWeightsOneHalfAVX512, three: channelWeightsThreeHalfAVX512, five: channelWeightsFiveHalfAVX512,
	tile: 8,
}
