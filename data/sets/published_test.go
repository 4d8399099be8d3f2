package sets_test

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/realdata"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// What the files hold stands as read, whatever is left out and cut of it.
func TestRealFiles(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		want       data.Totals
	}{
		{"leaf-femnist", "femnist", data.Totals{Clients: 105, TestOnly: 79, Train: 14_708, Test: 4088}},
		{
			"leaf-shakespeare", "shakespeare/moby/raw_data.txt.gz",
			data.Totals{Clients: 1140, TestOnly: 0, Train: 4_224_556, Test: 0},
		},
		{"qmnist", "mnist", data.Totals{Clients: 539, TestOnly: 297, Train: 60_000, Test: 10_000}},
		{"cifar10", "cifar10", data.Totals{Clients: 0, TestOnly: 0, Train: 20_000, Test: 4000}},
	} {
		fed := settest.Open(t, data.Config{
			Name: tt.name,
			Path: realdata.Dir(t, strings.Split(tt.path, "/")...), MaxSamples: 20,
		})
		if fed.Files != tt.want {
			t.Errorf("%s: %+v, must be %+v", tt.name, fed.Files, tt.want)
		}
	}
}

// The literature's numbers say something, and are of every set that it counts.
func TestPublished(t *testing.T) {
	for _, s := range data.Sets() {
		uncounted := s.Synthetic || s.OwnTest || strings.HasPrefix(s.Name, "stackexchange")
		if (len(s.Published) == 0) != uncounted {
			t.Errorf("%s: %d published numbers", s.Name, len(s.Published))
		}
		for _, p := range s.Published {
			if p.Source == "" || p.Train == 0 || (p.Clients == 0) != s.Dealt {
				t.Errorf("%s: %+v", s.Name, p)
			}
		}
	}
	if fed := settest.Open(t, data.Config{Name: "glyphs", Clients: 12}); fed.Files.Clients != 12 ||
		fed.Files.Train != settest.Summarize(t, fed).All.Total {
		t.Errorf("glyphs: %+v", fed.Files)
	}
}
