package synthetic_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/sets/synthetic"
	"github.com/fedfast/fedfast/internal/test/settest"
)

func TestOpenSynthetic(t *testing.T) {
	fed := settest.Open(t, data.Config{Name: "synthetic", Alpha: 1, Beta: 1, Clients: 12, Samples: 100, Seed: 3})
	if fed.Kind != data.Vector || fed.H != 1 || fed.W != 1 || fed.C != 60 || fed.Classes != 10 || !fed.Synthetic ||
		len(fed.Clients) != 12 || fed.Clients[11].ID != "11" {
		t.Fatalf("opened %+v", *fed)
	}
	s := settest.Summarize(t, fed)
	if s.Train.Total+s.Val.Total+s.Test.Total != 1200 || s.Train.Min < 8 {
		t.Errorf("summary %+v", s)
	}
	x, labels := make([]float32, 60), make([]int32, 1)
	var sum float32
	for _, c := range fed.Clients {
		settest.Must(t, c.Train.Fill([]int32{0}, x, nil, labels, &data.Augment{Key: 1}))
		for _, v := range x {
			sum += v * v
		}
	}
	if sum == 0 {
		t.Error("all points are 0")
	}
	alike := settest.Summarize(t, settest.Open(t, data.Config{Name: "synthetic", Seed: 3}))
	if alike.Clients != 30 {
		t.Errorf("%d clients, must be 30", alike.Clients)
	}
}

// TestClientsAreDrawnWhenAskedFor: a federation of a hundred thousand clients opens in
// little memory, its clients' examples are those that New draws, and with some set
// apart nothing else changes.
func TestClientsAreDrawnWhenAskedFor(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fed := settest.Open(t, data.Config{Name: "synthetic", Alpha: 1, Clients: 100_000, Seed: 4})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; len(fed.Clients) != 100_000 || took > 500<<20 {
		t.Errorf("%d clients, %d MB allocated", len(fed.Clients), took>>20)
	}
	d, err := synthetic.New(synthetic.Config{Alpha: 1, Clients: 100_000, Seed: 4})
	settest.Must(t, err)
	for _, k := range []int{0, 17, 99_999, 17} {
		c := d.Client(k)
		n := fed.Clients[k].Train.Len()
		x, _, labels := settest.Filled(t, fed, fed.Clients[k].Train)
		if fed.Clients[k].Val.Len()+fed.Clients[k].Test.Len()+n != d.Sizes[k] ||
			!slices.Equal(x, c.X[:n*synthetic.Features]) || !slices.Equal(labels, c.Labels[:n]) {
			t.Errorf("client %d is not as it was drawn", k)
		}
	}
	total := 0
	for _, n := range settest.ClassCounts(t, fed.Clients[17].Train, synthetic.Classes) {
		total += n
	}
	if total != fed.Clients[17].Train.Len() {
		t.Errorf("%d labels are counted", total)
	}
	apart := settest.Open(t, data.Config{Name: "synthetic", Seed: 4, Proxy: 50})
	if apart.Proxy.Len() != 50 || apart.Lazy {
		t.Errorf("%d samples are set apart", apart.Proxy.Len())
	}
	if _, err := apart.Side(data.Side{Clients: []data.SideClient{
		{Samples: 5, HI: 0.5},
		{Samples: 5, HI: 0.5},
	}, Test: 10}); err != nil {
		t.Error(err)
	}
}
