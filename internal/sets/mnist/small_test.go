package mnist_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/sets/mnist"
	"github.com/fedfast/fedfast/internal/test/settest"
)

func TestSmall(t *testing.T) {
	fed := settest.Open(t, data.Config{Name: "fashion-small"})
	train, val, test := settest.Totals(fed.Clients)
	if len(fed.Clients) != 100 || train != 8_800 || val != 1_100 || test != 1_100 ||
		fed.Files.Train != 9_000 || fed.Files.Test != 2_000 {
		t.Errorf("%d clients, %d, %d, %d samples, %+v", len(fed.Clients), train, val, test, fed.Files)
	}
	const want = "dbe89236b3f8f594"
	if fed.Fingerprint != want || fed.Synthetic {
		t.Errorf("fingerprint %s, must be %s: other pixels change all that is trained on them", fed.Fingerprint, want)
	}
	iid := settest.Open(t, data.Config{Name: "fashion-small", Partition: "iid", Split: "files", Clients: 50})
	if _, _, test := settest.Totals(iid.Clients); len(iid.Clients) != 50 || test != 2_000 {
		t.Errorf("%d clients with %d test samples", len(iid.Clients), test)
	}
	for _, c := range iid.Clients {
		if counts, err := c.Train.ClassCounts(10); err != nil || slices.Min(counts) == 0 {
			t.Errorf("client %s has classes %v, %v", c.ID, counts, err)
		}
	}
}

// TestSmallIsOfFashion: the embedded images and their labels are in Debian's files.
func TestSmallIsOfFashion(t *testing.T) {
	dir := "/usr/share/datasets/fashion-mnist"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("Debian's package dataset-fashion-mnist is not installed")
	}
	for part, split := range map[string]string{"train": "1/0/files", "t10k": "files"} {
		images, err := mnist.ReadImages(dir + "/" + part + "-images-idx3-ubyte.gz")
		settest.Must(t, err)
		classes, err := mnist.ReadLabels(dir + "/" + part + "-labels-idx1-ubyte.gz")
		settest.Must(t, err)
		known := map[string]byte{}
		for i, class := range classes {
			known[string(images.Pixels[784*i:][:784])] = class
		}
		fed := settest.Open(t, data.Config{Name: "fashion-small", Partition: "iid", Clients: 1, Split: split})
		view, n := fed.Clients[0].Train, 900
		if part == "t10k" {
			view, n = fed.Clients[0].Test, 200
		}
		x, _, labels := settest.Filled(t, fed, view)
		counts := map[int32]int{}
		for i, label := range labels {
			pixels := make([]byte, 784)
			for j, p := range x[784*i:][:784] {
				pixels[j] = byte(p*255 + 0.5)
			}
			if class, ok := known[string(pixels)]; !ok || int32(class) != label {
				t.Fatalf("%s: image %d of class %d is in the files: %v, as class %d", part, i, label, ok, class)
			}
			counts[label]++
		}
		if len(counts) != 10 || slices.Min(slices.Collect(maps.Values(counts))) != n {
			t.Errorf("%s: classes %v", part, counts)
		}
	}
}
