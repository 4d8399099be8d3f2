//go:build !purego

package kernels

import "github.com/klauspost/cpuid/v2"

// hasBF16 says whether the processor has VDPBF16PS and the conversions to bf16.
var hasBF16 = cpuid.CPU.Supports(cpuid.AVX512BF16)

var tilesBF16 = tiles{
	flops:  maxFLOPs,
	wide:   2,
	narrow: true,
	gather: []func(dst, src *float32, rows, ld, ahead int){gatherAVX2x1, gatherAVX2x2},
	nn:     []func(*nnArgs){nnBF16x1, nnBF16x2, nnBF16x3, nnBF16x4, nnBF16x5, nnBF16x6, nnBF16x7, nnBF16x8, 9: nnBF16x10, 13: nnBF16x14},
	edge:   []func(*nnArgs){3: nnEdgeBF16x4, 7: nnEdgeBF16x8, 9: nnEdgeBF16x10, 13: nnEdgeBF16x14},
	tn:     []func(*tnArgs){tnBF16x1, 2: tnBF16x3, 3: tnBF16x4, 4: tnBF16x5, 5: tnBF16x6, 7: tnBF16x8, 9: tnBF16x10, 13: tnBF16x14},
	ts:     []func(*tsArgs){tsBF16x1, 5: tsBF16x6, 7: tsBF16x8, 13: tsBF16x14},
	nt:     []func(*ntArgs){ntBF16x1, ntBF16x2, ntBF16x3, ntBF16x4, ntBF16x5, ntBF16x6, 7: ntBF16x8, 9: ntBF16x10, 11: ntBF16x12},
}.planned()

// bindBF16 puts the products by VDPBF16PS into bf16s, or those of split pairs.
func bindBF16(native bool) {
	splitAVX512.bindAMD64()
	if hasBF16 {
		splitAVX512.pairs, splitAVX512.floats = &tilesBF16, &floatsBF16
		bf16s.pair, bf16s.join, bf16s.round = pairBF16, joinBF16, roundBF16
	}
	if native {
		bf16s.nn, bf16s.nnFloats, bf16s.tn = tilesBF16.multiply, floatsBF16.multiply, tilesBF16.multiplyT
		bf16s.nt, bf16s.step, bf16s.peak, bf16s.peakFLOPs = tilesBF16.multiplyNT, tilesBF16.step, peakBF16, 24*4*16
	}
}

// floatsBF16 multiplies pairs by floats.
var floatsBF16 = tiles{
	flops: maxFLOPs,
	nn:    []func(*nnArgs){nnRoundBF16x1, nnRoundBF16x2, nnRoundBF16x3, nnRoundBF16x4, nnRoundBF16x5, nnRoundBF16x6, nnRoundBF16x7, nnRoundBF16x8, 9: nnRoundBF16x10, 13: nnRoundBF16x14},
	keep:  []func(*nnArgs){7: nnKeepBF16x8, 9: nnKeepBF16x10, 13: nnKeepBF16x14},
	pairs: tilesBF16.nn,
}.planned()
