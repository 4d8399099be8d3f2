//go:build !purego

package kernels

import "testing"

// TestArgsStayInside calls tile functions over all rows. The pointers that they leave in
// their arguments, which the collector reads, must not lead after an array: there may
// be an object that is free.
func TestArgsStayInside(t *testing.T) {
	const m, blocks = 3, 2
	for _, l := range Supported() {
		tables := map[Level]*tiles{AVX2: &tilesAVX2, AVX512: &tilesAVX512}
		if tables[l] == nil {
			continue
		}
		for i := range tables[l].tn {
			if tables[l].tn[i] == nil {
				continue
			}
			rows := i + 1
			a, g, c := make([]float32, m*rows*blocks), make([]float32, m*Width), make([]float32, rows*blocks*Width)
			tn := tnArgs{
				a: &a[0], g: &g[0], c: &c[0], lda: 4 * rows * blocks, ldg: 4 * Width, m: m, segs: 1, panel: 4 * len(c),
				panels: 1, blocks: blocks,
			}
			tables[l].tn[i](&tn)
			if tn.a != &a[rows] || tn.c != &c[rows*Width] {
				t.Errorf("%v: tn of %d rows does not leave its last tile", l, rows)
			}
			if tables[l].ts[i] == nil {
				continue
			}
			ts := tsArgs{
				a: &a[0], g: &g[0], w: &c[0], lda: 4 * rows * blocks, ldg: 4 * Width, m: m, panel: 4 * len(c),
				panels: 1, blocks: blocks,
			}
			tables[l].ts[i](&ts)
			if ts.a != &a[rows] || ts.w != &c[rows*Width] {
				t.Errorf("%v: ts of %d rows does not leave its last tile", l, rows)
			}
		}
	}
}
