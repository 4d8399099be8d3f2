package data_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/deal"
	_ "github.com/fedfast/fedfast/internal/test/glyphs"
)

// pixelsOf returns the examples of a view as comparable strings.
func pixelsOf(f *data.Federation, v data.View) []string {
	out := make([]string, v.Len())
	x, label := make([]float32, f.H*f.W*f.C), make([]int32, 1)
	for i := range out {
		if err := v.Fill([]int32{int32(i)}, x, nil, label, nil); err != nil {
			panic(err)
		}
		var b strings.Builder
		for _, p := range x {
			b.WriteByte(byte(255 * p))
		}
		out[i] = b.String()
	}
	return out
}

func TestProxySamplesAreNobodys(t *testing.T) {
	whole, err := data.Open(t.Context(), data.Config{Name: "glyphs", Clients: 20, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	fed, err := data.Open(t.Context(), data.Config{Name: "glyphs", Clients: 20, Seed: 4, Proxy: 150})
	if err != nil {
		t.Fatal(err)
	}
	if fed.Proxy.Len() != 150 || whole.Proxy.Len() != 0 {
		t.Fatalf("%d and %d proxy samples, want 150 and 0", fed.Proxy.Len(), whole.Proxy.Len())
	}
	count := map[string]int{}
	samples := func(f *data.Federation) (n int) {
		for _, c := range f.Clients {
			n += c.Train.Len() + c.Val.Len() + c.Test.Len()
		}
		return n
	}
	if a, b := samples(whole), samples(fed); a-b != 150 {
		t.Errorf("the clients have %d samples of %d, want 150 less", b, a)
	}
	for _, c := range fed.Clients {
		for _, v := range []data.View{c.Train, c.Val, c.Test} {
			for _, p := range pixelsOf(fed, v) {
				count[p]++
			}
		}
	}
	for _, p := range pixelsOf(fed, fed.Proxy) {
		if count[p] > 0 {
			t.Fatal("a client has a proxy sample")
		}
	}
}

// equal returns n clients that hold the same.
func equal(n, samples int, hi float64) []data.SideClient {
	return slices.Repeat([]data.SideClient{{Samples: samples, HI: hi}}, n)
}

func TestSideFederations(t *testing.T) {
	fed, err := data.Open(t.Context(), data.Config{Name: "glyphs", Clients: 40, Seed: 4, Proxy: 800})
	if err != nil {
		t.Fatal(err)
	}
	side, err := fed.Side(data.Side{Clients: equal(5, 60, 0.8), Test: 200, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if len(side.Notes) != 0 || len(side.Clients) != 5 || len(side.Unseen) != 1 || side.Unseen[0].Test.Len() != 200 {
		t.Fatalf("%d clients, %v, notes %q", len(side.Clients), side.Unseen, side.Notes)
	}
	held := deal.HeldClasses(0.8, fed.Classes)
	seen := map[string]bool{}
	for _, p := range pixelsOf(side, side.Unseen[0].Test) {
		seen[p] = true
	}
	for _, c := range side.Clients {
		if c.Train.Len() != 60 {
			t.Errorf("client %s has %d samples, want 60", c.ID, c.Train.Len())
		}
		classes := 0
		counts, err := c.Train.ClassCounts(side.Classes)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range counts {
			if n > 0 {
				classes++
			}
		}
		if classes != held {
			t.Errorf("client %s holds %d classes, want %d", c.ID, classes, held)
		}
		for _, p := range pixelsOf(side, c.Train) {
			if seen[p] {
				t.Fatal("a sample has two owners")
			}
			seen[p] = true
		}
	}
	again, err := fed.Side(data.Side{Clients: equal(5, 60, 0.8), Test: 200, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	other, err := fed.Side(data.Side{Clients: equal(5, 60, 0.2), Test: 200, Seed: 8})
	if err != nil {
		t.Fatal(err)
	}
	first := func(f *data.Federation) []string { return pixelsOf(f, f.Clients[0].Train) }
	if !slices.Equal(first(side), first(again)) || slices.Equal(first(side), first(other)) {
		t.Error("the clients do not follow from the seed")
	}
	if !slices.Equal(pixelsOf(side, side.Unseen[0].Test), pixelsOf(other, other.Unseen[0].Test)) {
		t.Error("two proxy federations are tested on different samples")
	}
}

// TestMixedSideFederations deals clients that differ, from enough samples and from too few.
func TestMixedSideFederations(t *testing.T) {
	fed, err := data.Open(t.Context(), data.Config{Name: "glyphs", Clients: 40, Seed: 4, Proxy: 800})
	if err != nil {
		t.Fatal(err)
	}
	clients := []data.SideClient{{Samples: 70, HI: 0}, {Samples: 60, HI: 0.8}, {Samples: 20, HI: 1}}
	for _, c := range []struct {
		test  int
		notes string
	}{
		{200, "[]"},
		{
			700,
			"[100 proxy samples are too few for 3 clients of 20 to 70: they share some a client of 62 classes gets 52 samples instead of 70",
		},
	} {
		side, err := fed.Side(data.Side{Clients: clients, Test: c.test, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(side.Notes); !strings.HasPrefix(got, c.notes) || len(side.Notes) > 2 {
			t.Errorf("notes %s, want %s", got, c.notes)
		}
		for i, want := range clients {
			held := 0
			counts, err := side.Clients[i].Train.ClassCounts(side.Classes)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range counts {
				held += min(n, 1)
			}
			if n := side.Clients[i].Train.Len(); n > want.Samples || c.test == 200 &&
				(n < want.Samples || held != deal.HeldClasses(want.HI, fed.Classes)) {
				t.Errorf("test %d: client %d has %d samples of %d classes, want %+v", c.test, i, n, held, want)
			}
		}
	}
}

func TestSideFederationsShareWhatIsShort(t *testing.T) {
	fed, err := data.Open(t.Context(), data.Config{Name: "glyphs", Clients: 40, Seed: 4, Proxy: 800})
	if err != nil {
		t.Fatal(err)
	}
	side, err := fed.Side(data.Side{Clients: equal(5, 100, 0.5), Test: 500, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(side.Notes) != 1 || !strings.Contains(side.Notes[0], "they share some") || side.Clients[4].Train.Len() != 100 {
		t.Errorf("notes %q, %d samples", side.Notes, side.Clients[4].Train.Len())
	}
	side, err = fed.Side(data.Side{Clients: equal(2, 100, 1), Test: 200, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(side.Notes) != 2 || !strings.Contains(side.Notes[1], "a client of 1 classes gets") {
		t.Errorf("notes %q", side.Notes)
	}
	for _, c := range []struct {
		side data.Side
		want string
	}{
		{data.Side{Clients: equal(2, 10, 0), Test: 800}, "data.proxy_test = 800: must be from 1 to 799"},
		{data.Side{Test: 4}, "needs at least 1 client"},
		{
			data.Side{Clients: append(equal(2, 10, 0), data.SideClient{Samples: 10, HI: 1.5}), Test: 4},
			"10 samples with heterogeneity index 1.5",
		},
		{data.Side{Clients: equal(1, 0, 0), Test: 4}, "a client of 0 samples"},
	} {
		if _, err := fed.Side(c.side); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	none, err := data.Open(t.Context(), data.Config{Name: "glyphs", Clients: 5})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Side(data.Side{Clients: equal(2, 10, 0), Test: 4}); err == nil ||
		!strings.Contains(err.Error(), "needs data.proxy samples") {
		t.Errorf("without proxy samples: %v", err)
	}
	if _, err := data.Open(t.Context(), data.Config{Name: "glyphs", Clients: 5, Proxy: 1 << 20}); err == nil ||
		!strings.Contains(err.Error(), "data.proxy = 1048576: only") {
		t.Errorf("too many: %v", err)
	}
}
