package mnist_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/realdata"
	"github.com/fedfast/fedfast/internal/test/settest"
)

func TestRealQMNIST(t *testing.T) {
	fed := settest.Open(t, data.Config{Name: "qmnist", Path: realdata.Dir(t, "mnist"), Unseen: true})
	train, val, test := settest.Totals(fed.Clients)
	_, _, unseen := settest.Totals(fed.Unseen)
	if len(fed.Clients) != 539 || train+val+test != 60_000 || len(fed.Unseen) != 297 || unseen != 10_000 {
		t.Errorf("%d writers, %d images, %d other writers, %d images", len(fed.Clients),
			train+val+test, len(fed.Unseen), unseen)
	}
	// MNIST's own labels are the labels of the table: equal images have equal labels.
	mnist := settest.Open(t, data.Config{Name: "mnist", Path: realdata.Dir(t, "mnist"), Clients: 1, Split: "1/0/0"})
	own, writers := labels(t, mnist, mnist.Clients), labels(t, fed, slices.Concat(fed.Clients, fed.Unseen))
	if len(own) < 60_000 || !maps.EqualFunc(own, writers, slices.Equal[[]int32]) {
		t.Errorf("%d different images have other labels in MNIST than the %d in QMNIST", len(own), len(writers))
	}
}

// labels returns the labels of each image, by its pixels.
func labels(t *testing.T, fed *data.Federation, clients []data.Client) map[string][]int32 {
	t.Helper()
	all := map[string][]int32{}
	for _, c := range clients {
		for _, v := range []data.View{c.Train, c.Val, c.Test} {
			x, _, labels := settest.Filled(t, fed, v)
			for i, l := range labels {
				pixels := make([]byte, 784)
				for j, p := range x[784*i:][:784] {
					pixels[j] = byte(p*255 + 0.5)
				}
				all[string(pixels)] = append(all[string(pixels)], l)
			}
		}
	}
	for _, l := range all {
		slices.Sort(l)
	}
	return all
}

func TestRealFashion(t *testing.T) {
	if _, err := os.Stat("/usr/share/datasets/fashion-mnist"); err != nil {
		t.Skipf("Debian's package dataset-fashion-mnist is not installed")
	}
	fed := settest.Open(t, data.Config{
		Name: "fashion-mnist", Split: "files", Partition: "dirichlet",
		Alpha: 0.3, Clients: 50, Samples: 100,
	})
	train, val, test := settest.Totals(fed.Clients)
	if len(fed.Clients) != 50 || train != 4500 || val != 500 || test != 50*16 {
		t.Errorf("%d clients, %d, %d, %d images", len(fed.Clients), train, val, test)
	}
}
