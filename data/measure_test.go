package data_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// pixels returns the floats of all examples of views.
func pixels(t *testing.T, fed *data.Federation, views ...data.View) []float32 {
	t.Helper()
	var all []float32
	for _, v := range views {
		x, _, _ := settest.Filled(t, fed, v)
		all = append(all, x...)
	}
	return all
}

// moments returns the mean and the deviation of values.
func moments(values []float32) (mean, std float64) {
	for _, x := range values {
		mean += float64(x) / float64(len(values))
	}
	for _, x := range values {
		std += (float64(x) - mean) * (float64(x) - mean) / float64(len(values))
	}
	return mean, math.Sqrt(std)
}

// TestNormalizeGlobal: all samples are normalized by the training samples of clients that
// train, with the floats that data.image_mean and data.image_std give.
func TestNormalizeGlobal(t *testing.T) {
	cfg := data.Config{Name: "fashion-small", Clients: 12, Samples: 40, Seed: 3, UnseenClients: 2, Proxy: 60}
	raw := settest.Open(t, cfg)
	var train []data.View
	for _, c := range raw.Clients {
		train = append(train, c.Train)
	}
	mean, std := moments(pixels(t, raw, train...))
	for _, way := range []string{"global", "auto"} {
		cfg.Normalize = way
		fed := settest.Open(t, cfg)
		n := fed.Normalized
		if n == nil || len(n.Mean) != 1 || len(n.Std) != 1 ||
			math.Abs(float64(n.Mean[0])-mean) > 1e-6 || math.Abs(float64(n.Std[0])-std) > 1e-6 {
			t.Fatalf("%s: normalized by %+v, must be %v, %v", way, n, mean, std)
		}
		note := fmt.Sprintf("normalized by mean %.4g and deviation %.4g of the clients' training samples "+
			"(data.normalize); for them each client sends sums of 24 bytes, once", mean, std)
		if !slices.Contains(fed.Notes, note) {
			t.Errorf("%s: notes %q, want %q", way, fed.Notes, note)
		}
		known := cfg
		known.Normalize, known.ImageMean, known.ImageStd = "", []float64{float64(n.Mean[0])}, []float64{float64(n.Std[0])}
		same := settest.Open(t, known)
		if same.Normalized == nil || !slices.Equal(same.Normalized.Mean, n.Mean) ||
			same.Fingerprint == "" || fed.Fingerprint != raw.Fingerprint {
			t.Errorf("%s: fingerprints %q, %q; normalized %v", way, fed.Fingerprint, raw.Fingerprint, same.Normalized)
		}
		for i, c := range slices.Concat(fed.Clients, fed.Unseen) {
			other := slices.Concat(same.Clients, same.Unseen)[i]
			if !slices.Equal(pixels(t, fed, c.Train, c.Val, c.Test), pixels(t, same, other.Train, other.Val, other.Test)) {
				t.Errorf("%s: client %s differs from one with the same constants", way, c.ID)
			}
		}
		if !slices.Equal(pixels(t, fed, fed.Proxy), pixels(t, same, same.Proxy)) {
			t.Errorf("%s: the proxy samples differ from those with the same constants", way)
		}
	}
}

// TestNormalizeClient: each client's samples by its own training samples, also an unseen
// client's.
func TestNormalizeClient(t *testing.T) {
	cfg := data.Config{Name: "fashion-small", Clients: 8, Samples: 40, Seed: 3, UnseenClients: 2}
	raw := settest.Open(t, cfg)
	cfg.Normalize = "client"
	fed := settest.Open(t, cfg)
	if fed.Normalized != nil {
		t.Errorf("one normalization for all: %v", fed.Normalized)
	}
	for i, c := range slices.Concat(fed.Clients, fed.Unseen) {
		if mean, std := moments(pixels(t, fed, c.Train)); math.Abs(mean) > 1e-5 || math.Abs(std-1) > 1e-5 {
			t.Errorf("client %s trains on mean %v, deviation %v", c.ID, mean, std)
		}
		own := slices.Concat(raw.Clients, raw.Unseen)[i]
		mean, std := moments(pixels(t, raw, own.Train))
		before, after := pixels(t, raw, own.Test), pixels(t, fed, c.Test)
		for j, x := range before {
			if math.Abs((float64(x)-mean)/std-float64(after[j])) > 1e-4 {
				t.Fatalf("client %s: test value %d is %v, was %v; mean %v, deviation %v", c.ID, j, after[j], x, mean, std)
			}
		}
	}
}

// TestNormalizeVectors: floats, of which one never varies, dealt anew, and with numbers to
// predict.
func TestNormalizeVectors(t *testing.T) {
	const n = 30
	values, targets := make([]float32, 3*n), make([]float32, n)
	for i := range n {
		values[3*i], values[3*i+1], values[3*i+2] = float32(i), 7, float32(1000+i%2)
		targets[i] = float32(i)
	}
	load := func(context.Context, data.Config) (*data.Federation, []data.Examples, error) {
		v := data.NumbersView(data.VectorView(3, slices.Clone(values), make([]int32, n)), 1, targets)
		fed := &data.Federation{H: 1, W: 1, C: 3, Classes: 1, Target: data.Numbers}
		return fed, []data.Examples{{Client: "a", Train: v.Part(0, 10)}, {Client: "b", Train: v.Part(10, n)}}, nil
	}
	settest.Must(t, data.Register(data.SetInfo{Name: "three numbers", Kind: data.Vector}, load))
	for _, way := range []string{"", "iid"} {
		cfg := data.Config{Name: "three numbers", Split: "1/0/0", Partition: way, Clients: 2, Normalize: "global"}
		fed := settest.Open(t, cfg)
		var columns [3][]float32
		for _, c := range fed.Clients {
			x := pixels(t, fed, c.Train)
			got := make([]float32, c.Train.Len())
			settest.Must(t, c.Train.FillTargets([]int32{0}, got[:1]))
			if want := x[0]*fed.Normalized.Std[0] + fed.Normalized.Mean[0]; math.Abs(float64(want-got[0])) > 1e-4 {
				t.Errorf("partition %q: the first sample has target %v, must be %v", way, got[0], want)
			}
			for i, v := range x {
				columns[i%3] = append(columns[i%3], v)
			}
		}
		for ch, want := range [][2]float64{{0, 1}, {0, 0}, {0, 1}} {
			if mean, std := moments(columns[ch]); math.Abs(mean-want[0]) > 1e-4 || math.Abs(std-want[1]) > 1e-4 {
				t.Errorf("partition %q: number %d has mean %v, deviation %v", way, ch, mean, std)
			}
		}
	}
	fed := settest.Open(t, data.Config{Name: "three numbers", Split: "1/0/0", Normalize: "auto"})
	if fed.Normalized != nil {
		t.Errorf("auto normalizes vectors: %v", fed.Normalized)
	}
}

func TestNormalizeErrors(t *testing.T) {
	for _, tt := range []struct {
		cfg  data.Config
		want string
	}{
		{
			data.Config{Name: "fashion-small", Normalize: "yes"},
			`data.normalize = "yes": must be one of none, auto, global, client`,
		},
		{
			data.Config{Name: "fashion-small", Normalize: "auto", ImageMean: []float64{0.5}, ImageStd: []float64{0.5}},
			`data.normalize = "auto": data.image_mean and data.image_std normalize the images; leave them out, ` +
				`or set data.normalize = "none"`,
		},
		{
			data.Config{Name: "leaf-shakespeare", Path: ".", Normalize: "global"},
			`data.normalize = "global": leaf-shakespeare has neither images nor vectors; leave it out`,
		},
		{
			data.Config{Name: "cifar10", Path: ".", Augment: "crop24", Normalize: "client"},
			`data.normalize = "client": data.augment = "crop24" normalizes the images itself; leave it out`,
		},
		{
			data.Config{Name: "fashion-small", Proxy: 10, Normalize: "client"},
			`data.normalize = "client": the samples of data.proxy are of no client; use "global"`,
		},
	} {
		if _, err := data.Open(t.Context(), tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, must be %s", err, tt.want)
		}
	}
}
