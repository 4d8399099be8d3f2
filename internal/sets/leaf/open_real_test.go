package leaf_test

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/deal"
	"github.com/fedfast/fedfast/internal/test/realdata"
	"github.com/fedfast/fedfast/internal/test/settest"
)

func TestRealFEMNIST(t *testing.T) {
	dir := realdata.Dir(t, "femnist")
	merged := settest.Open(t, data.Config{Name: "leaf-femnist", Path: dir, MinSamples: 1, Unseen: true})
	train, val, test := settest.Totals(merged.Clients)
	_, _, unseen := settest.Totals(merged.Unseen)
	if len(merged.Clients) != 105 || train+val+test != 14_708+1_685 || len(merged.Unseen) != 79 || unseen != 2_403 {
		t.Errorf("merged: %d writers, %d samples, %d unseen writers, %d samples", len(merged.Clients),
			train+val+test, len(merged.Unseen), unseen)
	}
	settest.Check(t, merged)
	files := settest.Open(t, data.Config{Name: "leaf-femnist", Path: dir, MinSamples: 1, Split: "files"})
	train, val, test = settest.Totals(files.Clients)
	if len(files.Clients) != 105 || train+val != 14_708 || test != 1_685 || files.Unseen != nil {
		t.Errorf("as the files split: %d writers, %d+%d samples, %d test samples, %d unseen", len(files.Clients), train,
			val, test, len(files.Unseen))
	}
	if !strings.Contains(strings.Join(files.Notes, "\n"), "79 clients have test samples only (2403 samples): left out") {
		t.Errorf("notes: %q", files.Notes)
	}
}

func TestRealMoby(t *testing.T) {
	path := filepath.Join(realdata.Dir(t, "shakespeare", "moby"), "raw_data.txt.gz")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fed := settest.Open(t, data.Config{Name: "leaf-shakespeare", Path: path, MinSamples: 1, Split: "10/0/0"})
	runtime.GC()
	runtime.ReadMemStats(&after)
	train, _, _ := settest.Totals(fed.Clients)
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
	fedex := settest.Open(t, data.Config{
		Name: "leaf-shakespeare", Path: filepath.Dir(path),
		Encoding: "fedex", MaxSamples: 50,
	})
	if fedex.Vocab != 101 || fedex.Classes != 101 {
		t.Errorf("encoding fedex has %d ids, %d classes, must be 101", fedex.Vocab, fedex.Classes)
	}
	settest.Check(t, fedex)
	for _, c := range fedex.Clients {
		if n := c.Train.Len() + c.Val.Len() + c.Test.Len(); n > 50 || n < 10 {
			t.Errorf("role %s has %d windows", c.ID, n)
		}
	}
}

func TestRealLEAFText(t *testing.T) {
	dir := realdata.Dir(t, "shakespeare", "leaf_small")
	fed := settest.Open(t, data.Config{Name: "leaf-shakespeare", Path: dir, Split: "90/10/files", MinSamples: 1})
	train, val, test := settest.Totals(fed.Clients)
	if len(fed.Clients) != 44 || train+val != 179_780 || test != 16_525 {
		t.Errorf("%d roles, %d+%d and %d windows", len(fed.Clients), train, val, test)
	}
	settest.Check(t, fed)
}

// FedTune's federation of FEMNIST: 192 clients by sizes and heterogeneity index of
// all writers' samples, as far as these go.
func TestRealRedeal(t *testing.T) {
	cfg := data.Config{
		Name: "leaf-femnist", Path: realdata.Dir(t, "femnist"), Partition: "classes",
		HI: []float64{0.8, 0.6, 0.4, 0.2}, Sizes: []int{60, 80, 100}, Clients: 96, Split: "90/10/files",
	}
	fed := settest.Open(t, cfg)
	_, held := settest.Held(t, fed)
	if len(fed.Clients) != 96 || held[0] != deal.HeldClasses(0.8, 62) || fed.Files != (data.Totals{
		Clients:  105,
		TestOnly: 79, Train: 14_708, Test: 4088,
	}) {
		t.Errorf("%d clients, the first holds %d classes; files %+v", len(fed.Clients), held[0], fed.Files)
	}
	settest.Check(t, fed)
}
