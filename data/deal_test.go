package data

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// cifarFile returns n records with labels 0, 1, ..., 9, 0, ...
func cifarFile(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte(byte(i % 10))
		b.WriteString(strings.Repeat(string(rune(i%100)), 3072))
	}
	return b.String()
}

func openSmallCIFAR(t *testing.T, change func(*Config)) *Federation {
	t.Helper()
	dir := folder(t, map[string]string{
		"cifar-10-batches-bin/data_batch_1.bin": cifarFile(150), "cifar-10-batches-bin/data_batch_2.bin": cifarFile(50),
		"cifar-10-batches-bin/test_batch.bin": cifarFile(40),
	})
	cfg := Config{Name: "cifar10", Path: dir, Clients: 10, Split: "80/20/files", MinSamples: 1}
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
		{"iid, the files' test", func(*Config) {}, 10, 16, 4, 4, "dealt (iid) to 10 clients of 20 samples and 4 test samples"},
		{"samples set", func(c *Config) { c.Samples = 10 }, 10, 8, 2, 2, "10 clients of 10 samples"},
		{"more clients than samples for them", func(c *Config) { c.Samples, c.Clients = 30, 500 }, 6, 24, 6, 6, "200 samples are enough for 6 clients of 30 (data.samples), not for 500 (data.clients)"},
		{"merged", func(c *Config) { c.Split = "80/10/10" }, 10, 19, 2, 3, "were merged before they were dealt"},
		{"dirichlet", func(c *Config) { c.Partition, c.Alpha = "dirichlet", 0.1 }, 10, 16, 4, 4, "dealt (dirichlet)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fed := openSmallCIFAR(t, tt.change)
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
			again := openSmallCIFAR(t, tt.change)
			other := openSmallCIFAR(t, func(c *Config) { tt.change(c); c.Seed = 9 })
			last := len(fed.Clients) - 1
			if p := fed.Clients[last].Train.places(); !slices.Equal(p, again.Clients[last].Train.places()) || slices.Equal(p, other.Clients[last].Train.places()) {
				t.Error("the seed does not decide what is dealt")
			}
		})
	}
}

func TestDealErrors(t *testing.T) {
	dir := folder(t, map[string]string{"data_batch_1.bin": cifarFile(20), "test_batch.bin": cifarFile(5)})
	for name, tt := range map[string]struct {
		cfg  Config
		want string
	}{
		"more clients than samples": {Config{Clients: 30}, "data.clients = 30, data.samples = 0: there are 25 samples to deal"},
		"sizes of more than all":    {Config{Clients: 3, Sizes: []int{10, 5}, MinSamples: 5, Split: "files"}, "data.sizes = [10 5]: 20 samples are enough for 2 clients, not for 3 (data.clients)"},
		"log-normal of too few":     {Config{Clients: 3, SizeSigma: 1}, "data.clients = 3, data.samples = 0, data.min_samples = 10: there are 25 samples to deal"},
		"power law of too many":     {Config{Clients: 2, Samples: 13, SizeExponent: 1}, "data.clients = 2, data.samples = 13, data.min_samples = 10: there are 25 samples to deal"},
		"more shards than samples":  {Config{Clients: 12, Partition: "shards", Shards: 3}, "data.shards = 3: a client of 2 samples has no sample for each"},
		"more classes than all":     {Config{Clients: 1, Partition: "classes", ClientClasses: 11}, "data.client_classes = 11: cifar10 has 10 classes"},
		"more classes than samples": {Config{Clients: 12, Partition: "classes", ClientClasses: 3}, `data.partition = "classes": a client of 2 samples cannot hold 3 classes`},
		"classes run out":           {Config{Clients: 2, Samples: 10, MinSamples: 1, Partition: "classes", HI: []float64{1}}, `data.partition = "classes": the classes of 2 clients are 14 samples short of 20; ask for fewer samples or more classes of a client`},
		"more samples than all":     {Config{Clients: 1, Samples: 21, Split: "files"}, "data.clients = 1, data.samples = 21: there are 20 samples to deal"},
	} {
		tt.cfg.Name, tt.cfg.Path = "cifar10", dir
		if _, err := Open(t.Context(), tt.cfg); err == nil || err.Error() != "open cifar10: "+tt.want {
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
		"indices":   {func(c *Config) { c.Partition, c.HI = "classes", []float64{0.8, 0.4} }, func(i int) int { return []int{3, 6}[i%2] }},
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
				fed := openSmallCIFAR(t, func(c *Config) {
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
				if total != tt.total && !strings.Contains(strings.Join(fed.Notes, "\n"), "are left out: with them the classes") || total > tt.total || test < tt.total/5-20 {
					t.Errorf("%d and %d samples are dealt, notes %q", total, test, fed.Notes)
				}
			})
		}
	}
}

// TestDealTable deals FedTune's setup: client i has size number i modulo 2 and
// index number floor(i/2) modulo 2.
func TestDealTable(t *testing.T) {
	fed := openSmallCIFAR(t, func(c *Config) {
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
	fed := openSmallCIFAR(t, func(c *Config) { c.Partition, c.ClientClasses, c.Clients = "classes", 1, 12 })
	if len(fed.Clients) != 12 || fed.Clients[0].Train.Len()+fed.Clients[0].Val.Len() != 10 || !strings.Contains(strings.Join(fed.Notes, "\n"), "72 of 192 samples are left out") {
		t.Errorf("%d clients, the first of %d, notes %q", len(fed.Clients), fed.Clients[0].Train.Len(), fed.Notes)
	}
}

// TestDirichletSkew checks that a small alpha gives clients few classes.
func TestDirichletSkew(t *testing.T) {
	even := mustSummarize(t, openSmallCIFAR(t, func(*Config) {}))
	skewed := mustSummarize(t, openSmallCIFAR(t, func(c *Config) { c.Partition, c.Alpha = "dirichlet", 0.1 }))
	if even.MeanEntropy < 1.8 || skewed.MeanEntropy > 1.3 {
		t.Errorf("mean entropy of the classes of 10 clients: iid %v, Dirichlet(0.1) %v", even.MeanEntropy, skewed.MeanEntropy)
	}
}

func TestOpenDigits(t *testing.T) {
	images := func(n int) string {
		return "\x00\x00\x08\x03\x00\x00\x00" + string(rune(n)) + "\x00\x00\x00\x01\x00\x00\x00\x02" + strings.Repeat("\x00\x7f", n)
	}
	labels := func(classes string) string {
		return "\x00\x00\x08\x01\x00\x00\x00" + string(rune(len(classes))) + classes
	}
	rows := func(classAndWriter ...byte) string {
		b := []byte{0, 0, 12, 2, 0, 0, 0, byte(len(classAndWriter) / 2), 0, 0, 0, 3}
		for i := 0; i < len(classAndWriter); i += 2 {
			b = append(b, 0, 0, 0, classAndWriter[i], 0, 0, 0, 1, 0, 0, 0, classAndWriter[i+1])
		}
		return string(b)
	}
	files := map[string]string{
		"train-images-idx3-ubyte": images(4), "train-labels-idx1-ubyte": labels("\x01\x02\x03\x04"),
		"t10k-images-idx3-ubyte": images(2), "t10k-labels-idx1-ubyte": labels("\x05\x06"),
		"qmnist-train-labels-idx2-int": rows(1, 20, 2, 9, 3, 20, 4, 20), "qmnist-test-labels-idx2-int": rows(5, 30, 6, 20, 7, 40),
	}
	fed := mustOpen(t, Config{Name: "mnist", Path: folder(t, files), Clients: 2, MinSamples: 1, Split: "1/1/files"})
	if len(fed.Clients) != 2 || fed.W != 2 || fed.H != 1 {
		t.Errorf("opened %+v", *fed)
	}
	writers := mustOpen(t, Config{Name: "qmnist", Path: folder(t, files), Unseen: true, MinSamples: 1, Split: "1/0/1"})
	if len(writers.Clients) != 1 || writers.Clients[0].ID != "20" || len(writers.Unseen) != 1 || writers.Unseen[0].ID != "30" {
		t.Fatalf("opened %+v", *writers)
	}
	x, classes := make([]float32, 4), make([]int32, 2)
	must(t, writers.Clients[0].Test.Fill([]int32{0, 1}, x, nil, classes, nil))
	if !slices.Equal(classes, []int32{4, 6}) || !slices.Equal(x, []float32{0, 127. / 255, 0, 127. / 255}) {
		t.Errorf("writer 20 has test classes %v, pixels %v", classes, x)
	}
	for name, tt := range map[string]struct{ set, file, content, want string }{
		"class":       {"mnist", "t10k-labels-idx1-ubyte", labels("\x05\x0a"), "label 2 is 10, must be below 10"},
		"labels":      {"fashion-mnist", "train-labels-idx1-ubyte", labels("\x05"), "1 labels of 4 images"},
		"no labels":   {"mnist", "train-labels-idx1-ubyte", "", "the file is empty"},
		"size":        {"mnist", "t10k-images-idx3-ubyte", "\x00\x00\x08\x03\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00", "images of 1x1, the training images are 1x2"},
		"rows":        {"qmnist", "qmnist-train-labels-idx2-int", rows(1, 2), "1 rows of 3 numbers; 4 images need as many rows"},
		"class of 10": {"qmnist", "qmnist-test-labels-idx2-int", rows(1, 2, 10, 4), "row 2 has class 10, must be in [0, 10)"},
	} {
		changed := maps.Clone(files)
		changed[tt.file] = tt.content
		_, err := Open(t.Context(), Config{Name: tt.set, Path: folder(t, changed)})
		if err == nil || !strings.Contains(err.Error(), tt.file+": "+tt.want) {
			t.Errorf("%s: error %v, must be %s", name, err, tt.want)
		}
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
