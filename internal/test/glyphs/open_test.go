package glyphs_test

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// openSmallGlyphs opens a small embedded federation.
func openSmallGlyphs(t testing.TB, change func(*data.Config)) *data.Federation {
	t.Helper()
	cfg := data.Config{Name: "glyphs", Clients: 12, Samples: 30, Seed: 7}
	if change != nil {
		change(&cfg)
	}
	fed, err := data.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return fed
}

func TestOpenGlyphs(t *testing.T) {
	fed := openSmallGlyphs(t, nil)
	if !fed.Synthetic || fed.Kind != data.Image || fed.H != 28 || fed.W != 28 || fed.C != 1 ||
		fed.Classes != 62 || len(fed.Clients) == 0 {
		t.Fatalf("opened %+v", *fed)
	}
	again := openSmallGlyphs(t, nil)
	x, y := make([]float32, 784), make([]float32, 784)
	lx, ly := make([]int32, 1), make([]int32, 1)
	for i, c := range fed.Clients {
		m := c.Train.Len() + c.Val.Len() + c.Test.Len()
		if c.Train.Len() != int(.8*float64(m)) || c.Train.Len()+c.Val.Len() != int(.9*float64(m)) {
			t.Errorf("client %s: %d samples were cut %d, %d, %d", c.ID, m, c.Train.Len(), c.Val.Len(), c.Test.Len())
		}
		for p := range c.Train.Len() {
			settest.Must(t, c.Train.Fill([]int32{int32(p)}, x, nil, lx, nil))
			settest.Must(t, again.Clients[i].Train.Fill([]int32{int32(p)}, y, nil, ly, nil))
			if !slices.Equal(x, y) || lx[0] != ly[0] {
				t.Fatalf("client %s, example %d differs between two openings with one seed", c.ID, p)
			}
			if lx[0] < 0 || lx[0] >= 62 || slices.Min(x) < 0 || slices.Max(x) > 1 {
				t.Fatalf("client %s, example %d: label %d, pixels in [%v, %v]", c.ID, p, lx[0], slices.Min(x), slices.Max(x))
			}
		}
	}
}
