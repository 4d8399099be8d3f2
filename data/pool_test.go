package data

import (
	"context"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/deal"
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
				fed := openSmall(t, func(c *Config) {
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

// The samples of a set with clients, training and test, are dealt anew, each once.
func TestRedeal(t *testing.T) {
	err := Register(SetInfo{Name: "test-redealt", Kind: Vector},
		func(context.Context, Config) (*Federation, []Examples, error) {
			var all []Examples
			for _, id := range []string{"a", "b", "c"} {
				v := span(line(20), 0, 20)
				all = append(all, Examples{Client: id, Train: v.Part(0, 15), Test: v.Part(15, 20)})
			}
			return &Federation{H: 1, W: 1, C: 1, Classes: 3}, all, nil
		})
	must(t, err)
	fed := mustOpen(t, Config{Name: "test-redealt", Partition: "shards", Clients: 5})
	if sizes, _ := dealtOnce(t, fed); !slices.Equal(sizes, []int{12, 12, 12, 12, 12}) ||
		fed.Files != (Totals{3, 0, 45, 15}) {
		t.Errorf("sizes %v, files %+v", sizes, fed.Files)
	}
}
