package data

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/fedfast/fedfast/internal/deal"
	"github.com/fedfast/fedfast/internal/draw"
)

// labelled returns a source of n vectors whose classes are drawn with the weights,
// sorted by class if so wished.
func labelled(n int, weights []float64, sorted bool, key uint64) *vectors {
	s := &vectors{n: 1, values: make([]float32, n), labels: make([]int32, n)}
	draws := draw.New(key)
	var sum float64
	for _, w := range weights {
		sum += w
	}
	for i := range s.labels {
		u := draws.Float64() * sum
		c := 0
		for u -= weights[c]; u >= 0 && c+1 < len(weights); u -= weights[c] {
			c++
		}
		s.labels[i] = int32(c)
	}
	if sorted {
		slices.Sort(s.labels)
	}
	return s
}

// TestDealtPartsAreAlike deals sets of many forms in every way, cuts them by every
// kind of split, and compares the class shares of each client's training,
// validation and test examples. Parts that were cut from one list must not differ by
// more than those of random cuts of the same client: the mean over the clients is
// bounded by that of such cuts and six of its standard deviations. Test samples of the
// files that are dealt at random may besides differ as those of all files do. Dealt by
// class, they are bounded client by client, see checkTests.
func TestDealtPartsAreAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 12).Draw(t, "classes")
		weights := make([]float64, classes)
		for i := range weights {
			weights[i] = rapid.SampledFrom([]float64{1, 1, 1, 2, 5}).Draw(t, "weight")
		}
		n, test := rapid.IntRange(1500, 4000).Draw(t, "training samples"), rapid.IntRange(0, 1000).Draw(t, "test samples")
		cfg := Config{
			Name: "drawn", Seed: rapid.Uint64().Draw(t, "seed"), Clients: rapid.IntRange(10, 40).Draw(t, "clients"),
			Split: rapid.SampledFrom([]string{
				"", "80/10/10", "1/1/1", "60/0/40", "90/10/files", "files",
				"50/50/files",
			}).Draw(t, "split"),
			Partition: rapid.SampledFrom([]string{
				deal.WayIID, deal.WayDirichlet, deal.WayDirichlet, deal.WayShards,
				deal.WayClasses,
			}).Draw(t, "partition"),
			Proxy:      rapid.SampledFrom([]int{0, 0, 200}).Draw(t, "proxy"),
			IID:        rapid.SampledFrom([]*bool{nil, new(false), new(true)}).Draw(t, "iid"),
			MaxSamples: rapid.SampledFrom([]int{0, 0, 0, 60}).Draw(t, "max_samples"),
		}
		switch cfg.Partition {
		case deal.WayDirichlet:
			cfg.Alpha = rapid.SampledFrom([]float64{0.05, 0.3, 1, 10, 1000}).Draw(t, "alpha")
		case deal.WayShards:
			cfg.Shards = rapid.IntRange(1, 6).Draw(t, "shards")
		case deal.WayClasses:
			if rapid.Bool().Draw(t, "by index") {
				cfg.HI = []float64{0.2, 0.8}
			} else {
				cfg.ClientClasses = rapid.IntRange(1, classes).Draw(t, "classes of a client")
			}
		}
		switch rapid.SampledFrom([]string{"all", "samples", "log-normal", "power law", "list"}).Draw(t, "sizes") {
		case "samples":
			cfg.Samples = rapid.IntRange(20, 60).Draw(t, "samples")
		case "log-normal":
			cfg.SizeSigma = rapid.Float64Range(0.1, 1.5).Draw(t, "sigma")
		case "power law":
			cfg.SizeExponent = rapid.Float64Range(0.1, 1.2).Draw(t, "exponent")
		case "list":
			cfg.Sizes = []int{15, 30, 60}
		}
		src := labelled(n+test, weights, false, cfg.Seed)
		slices.Sort(src.labels[:n]) // a file may be stored class by class
		fed := &Federation{Name: "drawn", Classes: classes}
		if err := openDrawn(cfg, fed, src, n, rapid.Bool().Draw(t, "has clients")); err != nil {
			t.Skip(err) // such as too few samples of a class
		}
		files, besides := fed.FilesTest && test > 0, 0.0
		if files && cfg.Partition == deal.WayIID {
			besides = totalVariation(mustShares(t, span(src, 0, n), classes), mustShares(t, span(src, n, test), classes))
		}
		d := mustDistances(t, fed)
		for name, d := range map[string]Distance{
			"training and validation": d.TrainVal, "training and test": d.TrainTest,
			"validation and test": d.ValTest,
		} {
			if d.Clients == 0 {
				continue
			}
			slack := 0.01 + 1/float64(d.Clients) // one client may hold out just its rare class, which no deviation tells
			if name != "training and validation" {
				if slack += besides; files && cfg.Partition != deal.WayIID {
					continue
				}
			}
			mean, deviation := randomDistance(t, fed, name, cfg.Seed)
			if d.Mean > mean+6*deviation+slack {
				t.Errorf("%s samples of a client are %.3f apart in the mean of %d clients, must be near the %.3f +- %.3f of random cuts", name, d.Mean, d.Clients, mean, deviation)
			}
		}
		if files && cfg.Partition != deal.WayIID && cfg.MaxSamples == 0 {
			checkTests(t, fed, src.labels[n:], n-cfg.Proxy)
		}
	})
}

// checkTests returns an error unless each client tests on what its own classes and
// those of the files' test samples say, rounded up or down: of its share of the test
// samples, which is the distance of its own samples among those that were dealt, so much of
// each class as it holds of it, or, where all clients together want more of the class
// than there is, the part of that for which it lasts.
func checkTests(t *rapid.T, fed *Federation, tests []int32, dealt int) {
	wanted, supply, wants := make([]float64, fed.Classes), make([]float64, fed.Classes),
		make([][]float64, len(fed.Clients))
	for _, l := range tests {
		supply[l]++
	}
	for i, c := range fed.Clients {
		own := c.Train.join(c.Val)
		share := own.Len() * len(tests) / dealt
		wants[i] = mustShares(t, own, fed.Classes)
		for class := range wants[i] {
			wants[i][class] *= float64(share)
			wanted[class] += wants[i][class]
		}
	}
	for i, c := range fed.Clients {
		got, err := c.Test.ClassCounts(fed.Classes)
		must(t, err)
		for class, want := range wants[i] {
			if wanted[class] > supply[class] {
				want *= supply[class] / wanted[class]
			}
			if math.Abs(float64(got[class])-want) > 1-1e-7 {
				t.Errorf("client %s tests on %d samples of class %d, must be %.3f up or down", c.ID, got[class], class, want)
			}
		}
	}
}

func mustShares(t ender, v View, classes int) []float64 {
	t.Helper()
	shares, err := classShares(v, classes)
	must(t, err)
	return shares
}

// openDrawn makes a federation of a source as Open does: of a set without clients,
// or of one whose clients, runs of its samples, are put together and dealt anew.
func openDrawn(cfg Config, fed *Federation, src *vectors, train int, clients bool) error {
	c, err := cfg.resolved(&SetInfo{Name: cfg.Name, Dealt: !clients})
	if err != nil {
		return err
	}
	var writers []Examples
	if clients {
		test := len(src.labels) - train
		for i := range 7 {
			a, b, x, y := i*train/7, (i+1)*train/7, train+i*test/7, train+(i+1)*test/7
			writers = append(writers, Examples{Client: numbered(i, 1), Train: span(src, a, b-a), Test: span(src, x, y-x)})
		}
		writers, err = c.redeal(fed, writers)
	} else {
		writers, err = c.deal(fed, span(src, 0, len(src.labels)), train)
	}
	if err != nil {
		return err
	}
	return c.split(fed, writers)
}

// randomDistance cuts the examples of every client at random again and again, and
// returns the mean of the clients' mean distance and its standard deviation.
func randomDistance(t ender, fed *Federation, name string, key uint64) (mean, deviation float64) {
	const times = 30
	var square float64
	for again := range times {
		cut := &Federation{Classes: fed.Classes}
		for i, c := range fed.Clients {
			all := c.Train.join(c.Val).join(c.Test)
			places := all.places()
			draw.New(key, uint64(again), uint64(i)).Shuffle(places)
			v := chosen(all.src, places)
			a, b := c.Train.Len(), c.Train.Len()+c.Val.Len()
			cut.Clients = append(cut.Clients, Client{Train: v.cut(0, a), Val: v.cut(a, b), Test: v.cut(b, v.Len())})
		}
		d := mustDistances(t, cut)
		x := map[string]float64{
			"training and validation": d.TrainVal.Mean, "training and test": d.TrainTest.Mean,
			"validation and test": d.ValTest.Mean,
		}[name]
		mean += x / times
		square += x * x / times
	}
	return mean, math.Sqrt(max(0, square-mean*mean))
}

func mustDistances(t ender, fed *Federation) Distances {
	t.Helper()
	d, err := ClassDistances(fed)
	must(t, err)
	return d
}

// TestClassDistances measures parts whose distances are known.
func TestClassDistances(t *testing.T) {
	src := &vectors{n: 1, values: make([]float32, 8), labels: []int32{0, 0, 1, 1, 0, 1, 2, 2}}
	fed := &Federation{Classes: 3, Clients: []Client{
		{Train: span(src, 0, 4), Val: span(src, 4, 2), Test: span(src, 6, 2)}, // halves; halves; all of class 2
		{Train: span(src, 0, 2), Val: span(src, 3, 3)},                        // all of class 0; two thirds of class 1
	}}
	d := mustDistances(t, fed)
	for name, tt := range map[string]struct {
		got       Distance
		clients   int
		mean, max float64
	}{
		"train and val": {d.TrainVal, 2, 1. / 3, 2. / 3}, "train and test": {d.TrainTest, 1, 1, 1},
		"val and test": {d.ValTest, 1, 1, 1},
	} {
		if tt.got.Clients != tt.clients || math.Abs(tt.got.Mean-tt.mean) > 1e-12 || math.Abs(tt.got.Max-tt.max) > 1e-12 ||
			tt.got.Random < 0 || tt.got.Random > 1 {
			t.Errorf("%s: %+v, must be %v in the mean and %v at most of %d clients", name, tt.got, tt.mean, tt.max, tt.clients)
		}
	}
}

// TestLabelSkew measures two clients, and none where examples do not have one class each.
func TestLabelSkew(t *testing.T) {
	src := &vectors{n: 1, values: make([]float32, 8), labels: []int32{0, 0, 1, 1, 0, 2, 2, 2}}
	fed := &Federation{Classes: 3, Clients: []Client{
		{Train: span(src, 0, 2), Test: span(src, 6, 2)},
		{Train: span(src, 2, 4)},
	}}
	skew, err := LabelSkew(fed)
	must(t, err)
	if len(skew) != 2 || math.Abs(skew[0]-0.5) > 1e-12 || math.Abs(skew[1]-0.25) > 1e-12 {
		t.Errorf("skews %v", skew)
	}
	for _, change := range []func(*Federation){
		func(f *Federation) { f.Lazy = true },
		func(f *Federation) { f.Target = Numbers },
		func(f *Federation) { f.EveryStep = true },
	} {
		other := *fed
		change(&other)
		if skew, err := LabelSkew(&other); skew != nil || err != nil {
			t.Errorf("%v, %v", skew, err)
		}
	}
}
