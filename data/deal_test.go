package data

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// smallSet is a set without clients: some samples to train on, and some to test on,
// with classes 0, 1, ..., 9, 0, ...
func smallSet(name string, train, test int) {
	values, labels := make([]float32, train+test), make([]int32, train+test)
	for i := range labels {
		values[i] = float32(i)
		labels[i] = int32(i % train % 10)
	}
	err := Register(SetInfo{Name: name, Kind: Vector, Dealt: true},
		func(context.Context, Config) (*Federation, []Examples, error) {
			all := VectorView(1, values, labels)
			return &Federation{H: 1, W: 1, C: 1, Classes: 10}, []Examples{{
				Train: all.Part(0, train),
				Test:  all.Part(train, train+test), Pooled: true,
			}}, nil
		})
	if err != nil {
		panic(err)
	}
}

func init() {
	smallSet("test-small", 200, 40)
	smallSet("test-few", 20, 5)
}

func openSmall(t *testing.T, change func(*Config)) *Federation {
	t.Helper()
	cfg := Config{Name: "test-small", Clients: 10, Split: "80/20/files", MinSamples: 1}
	change(&cfg)
	return mustOpen(t, cfg)
}

func TestDeal(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		change                    func(*Config)
		clients, train, val, test int // of each client
		note                      string
	}{
		{
			"iid, the files' test", func(*Config) {}, 10, 16, 4, 4,
			"dealt (iid) to 10 clients of 20 samples and 4 test samples",
		},
		{"samples set", func(c *Config) { c.Samples = 10 }, 10, 8, 2, 2, "10 clients of 10 samples"},
		{
			"more clients than samples for them", func(c *Config) { c.Samples, c.Clients = 30, 500 }, 6, 24, 6, 6,
			"200 samples are enough for 6 clients of 30 (data.samples), not for 500 (data.clients)",
		},
		{"merged", func(c *Config) { c.Split = "80/10/10" }, 10, 19, 2, 3, "were merged before they were dealt"},
		{
			"dirichlet", func(c *Config) { c.Partition, c.Alpha = "dirichlet", 0.1 }, 10, 16, 4, 4,
			"% of the samples are of other classes than their clients drew (data.alpha = 0.1)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fed := openSmall(t, tt.change)
			if len(fed.Clients) != tt.clients || !strings.Contains(strings.Join(fed.Notes, "\n"), tt.note) {
				t.Fatalf("%d clients, notes %q", len(fed.Clients), fed.Notes)
			}
			seen := map[int32]bool{}
			for _, c := range fed.Clients {
				if c.Train.Len() != tt.train || c.Val.Len() != tt.val || c.Test.Len() != tt.test {
					t.Errorf("client %s has %d, %d, %d samples", c.ID, c.Train.Len(), c.Val.Len(), c.Test.Len())
				}
				for _, v := range []View{c.Train, c.Val, c.Test} {
					for _, p := range v.places() {
						if seen[p] {
							t.Fatalf("sample %d is dealt twice", p)
						}
						seen[p] = true
					}
				}
			}
			again := openSmall(t, tt.change)
			other := openSmall(t, func(c *Config) { tt.change(c); c.Seed = 9 })
			last := len(fed.Clients) - 1
			if p := fed.Clients[last].Train.places(); !slices.Equal(p, again.Clients[last].Train.places()) ||
				slices.Equal(p, other.Clients[last].Train.places()) {
				t.Error("the seed does not decide what is dealt")
			}
		})
	}
}

func TestDealErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  Config
		want string
	}{
		"more clients than samples": {Config{Clients: 30}, "data.clients = 30, data.samples = 0: only 25 samples to deal"},
		"sizes of more than all": {
			Config{Clients: 3, Sizes: []int{10, 5}, MinSamples: 5, Split: "files"},
			"data.sizes = [10 5]: 20 samples are enough for 2 clients, not for 3 (data.clients)",
		},
		"log-normal of too few": {
			Config{Clients: 3, SizeSigma: 1},
			"data.clients = 3, data.samples = 0, data.min_samples = 10: only 25 samples to deal",
		},
		"power law of too many": {
			Config{Clients: 2, Samples: 13, SizeExponent: 1},
			"data.clients = 2, data.samples = 13, data.min_samples = 10: only 25 samples to deal",
		},
		"more shards than samples": {
			Config{Clients: 12, Partition: "shards", Shards: 3},
			"data.shards = 3: a client of 2 samples has too few",
		},
		"more classes than all": {
			Config{Clients: 1, Partition: "classes", ClientClasses: 11},
			"data.client_classes = 11: test-few has 10 classes",
		},
		"more classes than samples": {
			Config{Clients: 12, Partition: "classes", ClientClasses: 3},
			`data.partition = "classes": a client of 2 samples cannot hold 3 classes`,
		},
		"classes run out": {
			Config{Clients: 2, Samples: 10, MinSamples: 1, Partition: "classes", HI: []float64{1}},
			`data.partition = "classes": the classes of 2 clients are 14 samples short of 20; ask for fewer samples or more classes of a client`,
		},
		"more samples than all": {
			Config{Clients: 1, Samples: 21, Split: "files"},
			"data.clients = 1, data.samples = 21: only 20 samples to deal",
		},
	} {
		tt.cfg.Name = "test-few"
		if _, err := Open(t.Context(), tt.cfg); err == nil || err.Error() != "open test-few: "+tt.want {
			t.Errorf("%s: error %v, must be %s", name, err, tt.want)
		}
	}
}

// TestDealSkewed deals sizes that differ, with every mix of the classes: exact
// sizes, no sample twice, test samples of the client's own classes.
func TestDealSkewed(t *testing.T) {
	mixes := map[string]struct {
		change  func(*Config)
		classes func(client int) int // 0 is any number
	}{
		"iid":       {func(*Config) {}, func(int) int { return 0 }},
		"dirichlet": {func(c *Config) { c.Partition, c.Alpha = "dirichlet", 0.5 }, func(int) int { return 0 }},
		"shards":    {func(c *Config) { c.Partition = "shards" }, func(int) int { return 0 }},
		"classes":   {func(c *Config) { c.Partition, c.ClientClasses = "classes", 4 }, func(int) int { return 4 }},
		"indices": {
			func(c *Config) { c.Partition, c.HI = "classes", []float64{0.8, 0.4} },
			func(i int) int { return []int{3, 6}[i%2] },
		},
	}
	for name, tt := range map[string]struct {
		change func(*Config)
		total  int
	}{
		"log-normal":         {func(c *Config) { c.SizeSigma = 0.5 }, 200},
		"power law":          {func(c *Config) { c.SizeExponent = 0.5 }, 200},
		"power law, mean 15": {func(c *Config) { c.SizeExponent, c.Samples = 0.5, 15 }, 150},
		"list":               {func(c *Config) { c.Sizes = []int{24} }, 192},
	} {
		for mix, m := range mixes {
			t.Run(name+", "+mix, func(t *testing.T) {
				fed := openSmall(t, func(c *Config) {
					c.MinSamples = 8
					tt.change(c)
					if len(c.Sizes) > 0 {
						c.Clients = 8
					}
					m.change(c)
				})
				seen, total, test := map[int32]bool{}, 0, 0
				for i, c := range fed.Clients {
					own := c.Train.join(c.Val)
					total, test = total+own.Len(), test+c.Test.Len()
					if own.Len() < 8 || c.Test.Len() > own.Len()/5 {
						t.Errorf("client %s has %d and %d samples", c.ID, own.Len(), c.Test.Len())
					}
					held := 0
					counts, tests := classCounts(t, own, 10), classCounts(t, c.Test, 10)
					for class, n := range counts {
						if n > 0 {
							held++
						} else if tests[class] > 0 && (mix == "shards" || m.classes(i) > 0) {
							t.Errorf("client %s has test samples of class %d, and none to train on", c.ID, class)
						}
					}
					if want := m.classes(i); want > 0 && held != want {
						t.Errorf("client %s holds %d classes, must hold %d", c.ID, held, want)
					}
					for _, p := range own.join(c.Test).places() {
						if seen[p] {
							t.Fatalf("sample %d is dealt twice", p)
						}
						seen[p] = true
					}
				}
				if total != tt.total && !strings.Contains(strings.Join(fed.Notes, "\n"), "are left out: with them the classes") ||
					total > tt.total || test < tt.total/5-20 {
					t.Errorf("%d and %d samples are dealt, notes %q", total, test, fed.Notes)
				}
			})
		}
	}
}

// TestDealTable deals FedTune's setup: client i has size number i modulo 2 and
// index number floor(i/2) modulo 2.
func TestDealTable(t *testing.T) {
	fed := openSmall(t, func(c *Config) {
		c.Partition, c.Sizes, c.HI = "classes", []int{10, 30}, []float64{0.9, 0.5}
	})
	for i, c := range fed.Clients {
		held := 0
		for _, n := range classCounts(t, c.Train.join(c.Val), 10) {
			if n > 0 {
				held++
			}
		}
		if size := c.Train.Len() + c.Val.Len(); size != []int{10, 30}[i%2] || held != []int{2, 6}[i/2%2] {
			t.Errorf("client %s has %d samples of %d classes", c.ID, size, held)
		}
	}
}

// TestDealWhatClassesAllow leaves the number of samples open where one class
// each cannot give all: as many are dealt as go, and a note says so.
func TestDealWhatClassesAllow(t *testing.T) {
	fed := openSmall(t, func(c *Config) { c.Partition, c.ClientClasses, c.Clients = "classes", 1, 12 })
	if len(fed.Clients) != 12 || fed.Clients[0].Train.Len()+fed.Clients[0].Val.Len() != 10 ||
		!strings.Contains(strings.Join(fed.Notes, "\n"), "72 of 192 samples are left out") {
		t.Errorf("%d clients, the first of %d, notes %q", len(fed.Clients), fed.Clients[0].Train.Len(), fed.Notes)
	}
}

// TestDirichletSkew checks that a small alpha gives clients few classes.
func TestDirichletSkew(t *testing.T) {
	even := mustSummarize(t, openSmall(t, func(*Config) {}))
	skewed := mustSummarize(t, openSmall(t, func(c *Config) { c.Partition, c.Alpha = "dirichlet", 0.1 }))
	if even.MeanEntropy < 1.8 || skewed.MeanEntropy > 1.3 {
		t.Errorf("mean entropy of the classes of 10 clients: iid %v, Dirichlet(0.1) %v", even.MeanEntropy, skewed.MeanEntropy)
	}
}

// TestPlanIsWhole: what a plan has comes from the configuration.
func TestPlanIsWhole(t *testing.T) {
	var c Config
	for _, f := range reflect.ValueOf(&c).Elem().Fields() {
		switch {
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.CanInt():
			f.SetInt(7)
		case f.CanFloat():
			f.SetFloat(0.5)
		case f.Kind() == reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		}
	}
	for field, value := range reflect.ValueOf(c.plan()).Fields() {
		if value.IsZero() {
			t.Errorf("deal.Plan.%s is not filled in", field.Name)
		}
	}
}
