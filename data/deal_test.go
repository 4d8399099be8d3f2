package data

import (
	"maps"
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
		"more samples than all":     {Config{Clients: 1, Samples: 21, Split: "files"}, "data.clients = 1, data.samples = 21: there are 20 samples to deal"},
	} {
		tt.cfg.Name, tt.cfg.Path = "cifar10", dir
		if _, err := Open(t.Context(), tt.cfg); err == nil || err.Error() != "open cifar10: "+tt.want {
			t.Errorf("%s: error %v, must be %s", name, err, tt.want)
		}
	}
}

// TestDirichletSkew checks that a small alpha gives clients few classes.
func TestDirichletSkew(t *testing.T) {
	even := Summarize(openSmallCIFAR(t, func(*Config) {}))
	skewed := Summarize(openSmallCIFAR(t, func(c *Config) { c.Partition, c.Alpha = "dirichlet", 0.1 }))
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
	writers.Clients[0].Test.Fill([]int32{0, 1}, x, nil, classes, nil)
	if !slices.Equal(classes, []int32{4, 6}) || !slices.Equal(x, []float32{0, 127. / 255, 0, 127. / 255}) {
		t.Errorf("writer 20 has test classes %v, pixels %v", classes, x)
	}
	for name, tt := range map[string]struct{ set, file, content, want string }{
		"class":       {"mnist", "t10k-labels-idx1-ubyte", labels("\x05\x0a"), "label 2 is 10, must be below 10"},
		"labels":      {"fashion-mnist", "train-labels-idx1-ubyte", labels("\x05"), "1 labels of 4 images"},
		"no labels":   {"mnist", "train-labels-idx1-ubyte", "", "the file ends within its header"},
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
