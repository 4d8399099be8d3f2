package data

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// realData returns a folder of the real data sets, or skips.
func realData(t testing.TB, name ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("reading whole data sets is left out of short tests")
	}
	root := os.Getenv("FEDFAST_DATA")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "data")
	}
	dir := filepath.Join(append([]string{root}, name...)...)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no data set at %s; set FEDFAST_DATA to the folder of data sets", dir)
	}
	return dir
}

// ender is a test, of rapid's too.
type ender interface {
	Helper()
	Fatal(args ...any)
}

// must ends the test on an error.
func must(t ender, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// classCounts counts the labels of a view.
func classCounts(t testing.TB, v View, classes int) []int {
	t.Helper()
	counts, err := v.ClassCounts(classes)
	must(t, err)
	return counts
}

func mustOpen(t testing.TB, cfg Config) *Federation {
	t.Helper()
	fed, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return fed
}

// totals sums the examples of the clients by part.
func totals(clients []Client) (train, val, test int) {
	for _, c := range clients {
		train += c.Train.Len()
		val += c.Val.Len()
		test += c.Test.Len()
	}
	return train, val, test
}

// checkExamples reads every example and checks that it is within the facts of
// the federation.
func checkExamples(t *testing.T, fed *Federation) {
	t.Helper()
	x := make([]float32, fed.H*fed.W*fed.C)
	tokens, label := make([]int32, fed.SeqLen), make([]int32, max(1, fed.SeqLen))
	read := func(id string, v View) {
		for p := range v.Len() {
			must(t, v.Fill([]int32{int32(p)}, x, tokens, label, nil))
			if label[0] < 0 || int(label[0]) >= fed.Classes {
				t.Fatalf("client %s, example %d: label %d of %d classes", id, p, label[0], fed.Classes)
			}
			for _, token := range tokens {
				if token < 0 || int(token) >= fed.Vocab {
					t.Fatalf("client %s, example %d: token %d of %d", id, p, token, fed.Vocab)
				}
			}
		}
	}
	for _, c := range slices.Concat(fed.Clients, fed.Unseen) {
		read(c.ID, c.Train)
		read(c.ID, c.Val)
		read(c.ID, c.Test)
	}
}

func TestRealFEMNIST(t *testing.T) {
	dir := realData(t, "femnist")
	merged := mustOpen(t, Config{Name: "leaf-femnist", Path: dir, MinSamples: 1, Unseen: true})
	train, val, test := totals(merged.Clients)
	_, _, unseen := totals(merged.Unseen)
	if len(merged.Clients) != 105 || train+val+test != 14_708+1_685 || len(merged.Unseen) != 79 || unseen != 2_403 {
		t.Errorf("merged: %d writers, %d samples, %d unseen writers, %d samples", len(merged.Clients), train+val+test, len(merged.Unseen), unseen)
	}
	checkExamples(t, merged)
	files := mustOpen(t, Config{Name: "leaf-femnist", Path: dir, MinSamples: 1, Split: "files"})
	train, val, test = totals(files.Clients)
	if len(files.Clients) != 105 || train+val != 14_708 || test != 1_685 || files.Unseen != nil {
		t.Errorf("as the files split: %d writers, %d+%d samples, %d test samples, %d unseen", len(files.Clients), train, val, test, len(files.Unseen))
	}
	if !strings.Contains(strings.Join(files.Notes, "\n"), "79 clients have test samples only (2403 samples): left out") {
		t.Errorf("notes: %q", files.Notes)
	}
}

func TestRealMoby(t *testing.T) {
	path := filepath.Join(realData(t, "shakespeare", "moby"), "raw_data.txt.gz")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fed := mustOpen(t, Config{Name: "leaf-shakespeare", Path: path, MinSamples: 1, Split: "10/0/0"})
	runtime.GC()
	runtime.ReadMemStats(&after)
	train, _, _ := totals(fed.Clients)
	if len(fed.Clients) != 1_140 || train != 4_224_556 || fed.Vocab != 80 || fed.Classes != 80 {
		t.Errorf("%d roles, %d windows, %d ids", len(fed.Clients), train, fed.Vocab)
	}
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("holds %d KB, allocated %d KB while opening", held>>10, (after.TotalAlloc-before.TotalAlloc)>>10)
	if held > 8<<20 { // the text is 5.1 MB
		t.Errorf("the federation holds %d bytes: windows are not shared", held)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
		t.Errorf("opening allocated %d bytes in all", used)
	}
	fedex := mustOpen(t, Config{Name: "leaf-shakespeare", Path: filepath.Dir(path), Encoding: "fedex", MaxSamples: 50})
	if fedex.Vocab != 101 || fedex.Classes != 101 {
		t.Errorf("encoding fedex has %d ids, %d classes, must be 101", fedex.Vocab, fedex.Classes)
	}
	checkExamples(t, fedex)
	for _, c := range fedex.Clients {
		if n := c.Train.Len() + c.Val.Len() + c.Test.Len(); n > 50 || n < 10 {
			t.Errorf("role %s has %d windows", c.ID, n)
		}
	}
}

func TestRealLEAFText(t *testing.T) {
	dir := realData(t, "shakespeare", "leaf_small")
	fed := mustOpen(t, Config{Name: "leaf-shakespeare", Path: dir, Split: "90/10/files", MinSamples: 1})
	train, val, test := totals(fed.Clients)
	if len(fed.Clients) != 44 || train+val != 179_780 || test != 16_525 {
		t.Errorf("%d roles, %d+%d and %d windows", len(fed.Clients), train, val, test)
	}
	checkExamples(t, fed)
}

func TestRealQMNIST(t *testing.T) {
	fed := mustOpen(t, Config{Name: "qmnist", Path: realData(t, "mnist"), Unseen: true})
	train, val, test := totals(fed.Clients)
	_, _, unseen := totals(fed.Unseen)
	if len(fed.Clients) != 539 || train+val+test != 60_000 || len(fed.Unseen) != 297 || unseen != 10_000 {
		t.Errorf("%d writers, %d images, %d other writers, %d images", len(fed.Clients), train+val+test, len(fed.Unseen), unseen)
	}
	// MNIST's own labels are those of the table.
	mnist := mustOpen(t, Config{Name: "mnist", Path: realData(t, "mnist"), Clients: 1, Split: "1/0/files"})
	own := mnist.Clients[0].Train.src.(*images).labels
	for i, l := range fed.Clients[0].Train.src.(*images).labels {
		if l != own[i] {
			t.Fatalf("image %d has label %d in MNIST and %d in QMNIST", i, own[i], l)
		}
	}
}

func TestRealFashion(t *testing.T) {
	if _, err := os.Stat(debianFashion); err != nil {
		t.Skipf("Debian's package dataset-fashion-mnist is not installed")
	}
	fed := mustOpen(t, Config{Name: "fashion-mnist", Split: "files", Partition: "dirichlet", Alpha: 0.3, Clients: 50, Samples: 100})
	train, val, test := totals(fed.Clients)
	if len(fed.Clients) != 50 || train != 4500 || val != 500 || test != 50*16 {
		t.Errorf("%d clients, %d, %d, %d images", len(fed.Clients), train, val, test)
	}
}

// TestRealCIFAR10 deals FedEx's way: the subset of 20,000 images is enough for
// 200 of the 500 clients.
func TestRealCIFAR10(t *testing.T) {
	fed := mustOpen(t, Config{Name: "cifar10", Path: realData(t, "cifar10"), Split: "80/20/files", Clients: 500, Samples: 100, Augment: "fedex-cifar"})
	train, val, test := totals(fed.Clients)
	if len(fed.Clients) != 200 || train != 16_000 || val != 4_000 || test != 4_000 {
		t.Errorf("%d clients, %d, %d, %d images", len(fed.Clients), train, val, test)
	}
	if !strings.Contains(strings.Join(fed.Notes, "\n"), "enough for 200 clients") {
		t.Errorf("notes: %q", fed.Notes)
	}
	checkExamples(t, fed)
}
