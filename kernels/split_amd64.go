//go:build !purego

package kernels

// Split pairs are multiplied in the modes of VDPBF16PS.
var (
	splitAVX2 = splitTiles{split: pairsSplitAVX2, blocks: []func(*blockArgs){
		blocksSplitAVX2x1, blocksSplitAVX2x2, blocksSplitAVX2x3, blocksSplitAVX2x4, blocksSplitAVX2x5, blocksSplitAVX2x6,
	}, tiles: tiles{
		flops:     maxFLOPs / 2,
		ahead:     true,
		stepPacks: true,
		wide:      1,
		gather:    tilesAVX2.gather,
		nn: []func(*nnArgs){
			nnSplitAVX2x1, nnSplitAVX2x2, nnSplitAVX2x3, nnSplitAVX2x4, nnSplitAVX2x5, nnSplitAVX2x6,
		},
		ts: []func(*tsArgs){tsSplitAVX2x1, 3: tsSplitAVX2x4, 5: tsSplitAVX2x6},
		nt: []func(*ntArgs){ntSplitAVX2x1, ntSplitAVX2x2, ntSplitAVX2x3},
		tn: []func(*tnArgs){
			tnSplitAVX2x1, tnSplitAVX2x2, tnSplitAVX2x3, tnSplitAVX2x4, tnSplitAVX2x5, tnSplitAVX2x6,
		},
	}.planned()}
	splitAVX512 = splitTiles{split: pairsSplitAVX512, blocks: []func(*blockArgs){
		blocksSplitAVX512x1, blocksSplitAVX512x2, blocksSplitAVX512x3,
		blocksSplitAVX512x4, blocksSplitAVX512x5, blocksSplitAVX512x6,
	}, tiles: tiles{
		flops:  maxFLOPs / 2,
		wide:   2,
		narrow: true,
		gather: tilesAVX512.gather,
		nn: []func(*nnArgs){
			nnSplitAVX512x1, nnSplitAVX512x2, nnSplitAVX512x3, nnSplitAVX512x4, nnSplitAVX512x5, nnSplitAVX512x6,
			nnSplitAVX512x7, nnSplitAVX512x8, 9: nnSplitAVX512x10, 13: nnSplitAVX512x14,
		},
		edge: []func(*nnArgs){
			3: nnEdgeSplitAVX512x4, 7: nnEdgeSplitAVX512x8, 9: nnEdgeSplitAVX512x10, 13: nnEdgeSplitAVX512x14,
		},
		tn: []func(*tnArgs){
			tnSplitAVX512x1, 2: tnSplitAVX512x3, 3: tnSplitAVX512x4, 4: tnSplitAVX512x5, 5: tnSplitAVX512x6,
			7: tnSplitAVX512x8, 9: tnSplitAVX512x10, 13: tnSplitAVX512x14,
		},
		ts: []func(*tsArgs){tsSplitAVX512x1, 5: tsSplitAVX512x6, 7: tsSplitAVX512x8, 13: tsSplitAVX512x14},
		nt: []func(*ntArgs){
			ntSplitAVX512x1, ntSplitAVX512x2, ntSplitAVX512x3, ntSplitAVX512x4, ntSplitAVX512x5, ntSplitAVX512x6,
			7: ntSplitAVX512x8, 9: ntSplitAVX512x10, 11: ntSplitAVX512x12,
		},
	}.planned()}
)

// bindAMD64 puts the products and the packing of AVX2 into bf16s.
func (t *splitTiles) bindAMD64() {
	t.bind()
	bf16s.pair, bf16s.join, bf16s.round = pairAVX2, joinAVX2, roundAVX2
}
