//go:build !purego

package kernels

var (
	tilesAVX2 = tiles{
		flops:     maxFLOPs,
		ahead:     true,
		stepPacks: true,
		wide:      1,
		gather:    []func(dst, src *float32, rows, ld, ahead int){gatherAVX2x1},
		nn:        []func(*nnArgs){nnAVX2x1, nnAVX2x2, nnAVX2x3, nnAVX2x4, nnAVX2x5, nnAVX2x6},
		ts:        []func(*tsArgs){tsAVX2x1, 3: tsAVX2x4, 5: tsAVX2x6},
		copyB:     gatherAVX2x8,
		nt:        []func(*ntArgs){ntAVX2x1, ntAVX2x2, ntAVX2x3},
		tn:        []func(*tnArgs){tnAVX2x1, tnAVX2x2, tnAVX2x3, tnAVX2x4, tnAVX2x5, tnAVX2x6},
	}.planned()
	tilesAVX512 = tiles{
		flops:  maxFLOPs,
		wide:   2,
		narrow: true,
		gather: []func(dst, src *float32, rows, ld, ahead int){gatherAVX2x1, gatherAVX2x2},
		nn:     []func(*nnArgs){nnAVX512x1, nnAVX512x2, nnAVX512x3, nnAVX512x4, nnAVX512x5, nnAVX512x6, nnAVX512x7, nnAVX512x8, 9: nnAVX512x10, 13: nnAVX512x14},
		edge:   []func(*nnArgs){3: nnEdgeAVX512x4, 7: nnEdgeAVX512x8, 9: nnEdgeAVX512x10, 13: nnEdgeAVX512x14},
		tn:     []func(*tnArgs){tnAVX512x1, 2: tnAVX512x3, 3: tnAVX512x4, 4: tnAVX512x5, 5: tnAVX512x6, 7: tnAVX512x8, 9: tnAVX512x10, 13: tnAVX512x14},
		ts:     []func(*tsArgs){tsAVX512x1, 5: tsAVX512x6, 7: tsAVX512x8, 13: tsAVX512x14},
		nt:     []func(*ntArgs){ntAVX512x1, ntAVX512x2, ntAVX512x3, ntAVX512x4, ntAVX512x5, ntAVX512x6, 7: ntAVX512x8, 9: ntAVX512x10},
	}.planned()
)
