package data

import (
	"strings"
	"testing"
)

// What the files hold stands as read, whatever is left out and cut of it.
func TestRealFiles(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		want       Totals
	}{
		{"leaf-femnist", "femnist", Totals{105, 79, 14_708, 4088}},
		{"leaf-shakespeare", "shakespeare/moby/raw_data.txt.gz", Totals{1140, 0, 4_224_556, 0}},
		{"qmnist", "mnist", Totals{539, 297, 60_000, 10_000}},
		{"cifar10", "cifar10", Totals{0, 0, 20_000, 4000}},
	} {
		fed := mustOpen(t, Config{Name: tt.name, Path: realData(t, strings.Split(tt.path, "/")...), MaxSamples: 20})
		if fed.Files != tt.want {
			t.Errorf("%s: %+v, must be %+v", tt.name, fed.Files, tt.want)
		}
	}
}

// Every entry of the literature's numbers is of a set, and says something.
func TestPublished(t *testing.T) {
	left := len(published)
	for _, s := range Sets() {
		if len(s.Published) > 0 {
			left--
		}
		for _, p := range s.Published {
			if p.Source == "" || p.Train == 0 || (p.Clients == 0) != s.Dealt {
				t.Errorf("%s: %+v", s.Name, p)
			}
		}
	}
	if left != 0 {
		t.Errorf("%d sets of the list are not there", left)
	}
	if fed := mustOpen(t, Config{Name: "glyphs", Clients: 12}); fed.Files.Clients != 12 || fed.Files.Train != mustSummarize(t, fed).All.Total {
		t.Errorf("glyphs: %+v", fed.Files)
	}
}
