package models

import (
	"strings"
	"testing"
)

// TestSpaceOfDARTS counts the operations of the supernet from the paper's description.
func TestSpaceOfDARTS(t *testing.T) {
	m, err := New("darts-cifar", Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := m.NewParams()
	m.Init(w, 1)
	count := map[string]int{}
	for _, p := range m.Export(w) {
		switch kind, _, _ := strings.Cut(p.Name, "."); {
		case strings.HasSuffix(p.Name, ".alpha"):
			count[kind] += len(p.Data)
		case len(p.Shape) == 4 && p.Shape[1] == 1 && p.Shape[2] == 3:
			count["depthwise 3x3"]++
		case len(p.Shape) == 4 && p.Shape[1] == 1 && p.Shape[2] == 5:
			count["depthwise 5x5"]++
		case strings.Contains(p.Name, "skip_connect"):
			count["skips that halve"]++
		}
	}
	const edges, cells, operations = 14, 3, 8
	for what, want := range map[string]int{
		"normal": edges * operations, "reduce": edges * operations,
		"depthwise 3x3": 3 * edges * cells, "depthwise 5x5": 3 * edges * cells,
		"skips that halve": 8 * 2, // from 2 nodes to 4 in 2 cells
	} {
		if count[what] != want {
			t.Errorf("%d of %s, want %d", count[what], what, want)
		}
	}
	forward, _ := m.FLOPs()
	const sums = 2 * 7 * edges * (32*32*8 + 16*16*16 + 8*8*32)
	if mega := float64(forward-sums) / 1e6; mega < 81 || mega > 82 {
		t.Errorf("%.2f MFLOP a sample; 82 was computed for the operations", mega)
	}
}
