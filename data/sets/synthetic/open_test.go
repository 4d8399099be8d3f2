package synthetic_test

import (
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/data/sets/internal/settest"
)

func TestOpenSynthetic(t *testing.T) {
	fed := settest.Open(t, data.Config{Name: "synthetic", Alpha: 1, Beta: 1, Clients: 12, Samples: 100, Seed: 3})
	if fed.Kind != data.Vector || fed.H != 1 || fed.W != 1 || fed.C != 60 || fed.Classes != 10 || !fed.Synthetic || len(fed.Clients) != 12 || fed.Clients[11].ID != "11" {
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
