package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data/deal"
)

// dealtOnce fails unless all samples of the clients are different ones, and
// returns the clients' sizes and how many classes each holds.
func dealtOnce(t *testing.T, fed *Federation) (sizes, held []int) {
	t.Helper()
	seen := map[int32]bool{}
	for _, c := range fed.Clients {
		size, classes := 0, map[int]bool{}
		for _, v := range []View{c.Train, c.Val, c.Test} {
			size += v.Len()
			for _, p := range v.places() {
				if seen[p] {
					t.Fatalf("sample %d is dealt twice", p)
				}
				seen[p] = true
			}
			for class, n := range classCounts(t, v, fed.Classes) {
				if n > 0 {
					classes[class] = true
				}
			}
		}
		sizes, held = append(sizes, size), append(held, len(classes))
	}
	return sizes, held
}

// Every way to deal classes goes with every way to deal sizes.
func TestCombinations(t *testing.T) {
	ways := map[string]func(*Config){
		"iid":       func(*Config) {},
		"dirichlet": func(c *Config) { c.Alpha = 0.3 },
		"shards":    func(c *Config) { c.Shards = 2 },
		"classes":   func(c *Config) { c.HI = []float64{0.8, 0.2} },
	}
	for way, shape := range ways {
		for _, sizes := range []string{"equal", "listed", "log-normal", "power law"} {
			t.Run(way+" "+sizes, func(t *testing.T) {
				fed := openSmallCIFAR(t, func(c *Config) {
					c.Partition, c.Split, c.MinSamples, c.Clients = way, "80/20/files", 10, 6
					shape(c)
					switch sizes {
					case "listed":
						c.Sizes = []int{12, 20, 30}
					case "log-normal":
						c.SizeSigma, c.Samples = 0.8, 15
					case "power law":
						c.SizeExponent, c.Samples = 1, 15
					default:
						c.Samples = 15
					}
				})
				all, held := dealtOnce(t, fed)
				var trains []int
				for _, c := range fed.Clients {
					trains = append(trains, c.Train.Len()+c.Val.Len())
				}
				sum := 0
				for _, n := range trains {
					sum += n
				}
				switch sizes {
				case "equal":
					if slices.Min(trains) != 15 || slices.Max(trains) != 15 {
						t.Errorf("sizes %v", trains)
					}
				case "listed":
					if !slices.Equal(trains, []int{12, 20, 30, 12, 20, 30}) {
						t.Errorf("sizes %v", trains)
					}
				default:
					if sum != 90 || slices.Min(trains) < 10 || slices.Max(trains) < 20 {
						t.Errorf("sizes %v", trains)
					}
				}
				if len(all) != 6 {
					t.Fatalf("%d clients", len(all))
				}
				if way == "classes" { // of 10: HI 0.8 and 0.2 in turn
					groups := 1
					if sizes == "listed" {
						groups = 3
					}
					for i, n := range held {
						if want := deal.HeldClasses([]float64{0.8, 0.2}[i/groups%2], 10); n != want {
							t.Errorf("client %d holds %d classes, must hold %d", i, n, want)
						}
					}
				}
				for i, n := range held { // a class has 9 samples or more: a run of m spans at most m/9+2
					if way == "shards" && n > 2*(trains[i]/2/9+2) {
						t.Errorf("clients of %v samples hold %v classes", trains, held)
					}
				}
			})
		}
	}
}

// The samples of a set with clients can be dealt anew, or kept with their caps.
func TestRedeal(t *testing.T) {
	cfg := Config{Name: "tff-cifar100", Path: h5Data, MinSamples: 1, Split: "50/50/0"}
	natural := mustOpen(t, cfg)
	cfg.Partition = "natural"
	named := mustOpen(t, cfg)
	if len(named.Clients) != 3 || fmt.Sprint(natural.Notes) != fmt.Sprint(named.Notes) {
		t.Errorf("natural: %d clients, notes %q", len(named.Clients), named.Notes)
	}
	// All eight samples: those of the clients and of the test client.
	cfg.Partition, cfg.Clients = "iid", 2
	fed := mustOpen(t, cfg)
	sizes, _ := dealtOnce(t, fed)
	if !slices.Equal(sizes, []int{4, 4}) || fed.Files != natural.Files || !strings.Contains(strings.Join(fed.Notes, "\n"), "the samples of 4 clients were put together and dealt anew") {
		t.Errorf("sizes %v, files %+v, notes %q", sizes, fed.Files, fed.Notes)
	}
	count := map[string]int{}
	for _, f := range []*Federation{fed, mustOpen(t, Config{Name: "tff-cifar100", Path: h5Data, MinSamples: 1, Split: "50/50/0", Unseen: true})} {
		for _, c := range append(f.Clients, f.Unseen...) {
			for _, v := range []View{c.Train, c.Val, c.Test} {
				for i := range v.Len() {
					x, label := make([]float32, 3072), make([]int32, 1)
					must(t, v.Fill([]int32{int32(i)}, x, nil, label, nil))
					count[fmt.Sprint(x, label)]++
				}
			}
		}
	}
	for image, n := range count {
		if n%2 != 0 {
			t.Errorf("%.60s comes %d times in both", image, n)
		}
	}
	// By class, too, and texts with a label at every character by chance alone.
	cfg.Partition, cfg.ClientClasses, cfg.Clients = "classes", 1, 2
	if _, held := dealtOnce(t, mustOpen(t, cfg)); slices.Max(held) != 1 {
		t.Errorf("clients hold %v classes", held)
	}
	texts := Config{Name: "tff-shakespeare", Path: h5Data, MinSamples: 1, Split: "100/0/0", Partition: "iid", Clients: 2}
	plays := mustOpen(t, texts)
	labels := make([]int32, 80)
	must(t, plays.Clients[1].Train.Fill([]int32{0}, nil, make([]int32, 80), labels, nil))
	if !plays.EveryStep || len(plays.Clients) != 2 || labels[0] < 1 || int(labels[0]) >= tffVocab {
		t.Errorf("%d clients, labels %v", len(plays.Clients), labels)
	}
	texts.Partition = "shards"
	if _, err := Open(t.Context(), texts); err == nil || !strings.Contains(err.Error(), "have no class each to be dealt by") {
		t.Errorf("texts by class: %v", err)
	}
}

// FedTune's federation of FEMNIST: 192 clients by sizes and heterogeneity index of
// all writers' samples, as far as these go.
func TestRealRedeal(t *testing.T) {
	cfg := Config{Name: "leaf-femnist", Path: realData(t, "femnist"), Partition: "classes", HI: []float64{0.8, 0.6, 0.4, 0.2}, Sizes: []int{60, 80, 100}, Clients: 96, Split: "90/10/files"}
	fed := mustOpen(t, cfg)
	_, held := dealtOnce(t, fed)
	if len(fed.Clients) != 96 || held[0] != deal.HeldClasses(0.8, 62) || fed.Files != (Totals{105, 79, 14_708, 4088}) {
		t.Errorf("%d clients, the first holds %d classes; files %+v", len(fed.Clients), held[0], fed.Files)
	}
	checkExamples(t, fed)
}
