package npz_test

import (
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/npztest"
	"github.com/fedfast/fedfast/internal/test/realdata"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// ownFile writes arrays into a file.
func ownFile(t testing.TB, arrays ...npztest.Array) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.npz")
	npztest.Write(t, path, true, arrays...)
	return path
}

// counted returns n values from k on.
func counted[T uint8 | int32 | int64 | float32](n, k int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(k + i)
	}
	return out
}

// TestOpenOwnImages: bytes and floats, clients by number, test samples apart.
func TestOpenOwnImages(t *testing.T) {
	path := ownFile(t,
		npztest.Array{Name: "x", Shape: []int{4, 2, 1, 2}, Values: counted[uint8](16, 0)},
		npztest.Array{Name: "y", Shape: []int{4}, Values: []int64{0, 6, 1, 2}},
		npztest.Array{Name: "client", Shape: []int{4}, Values: []int64{10, 9, 10, 9}},
		npztest.Array{Name: "x_test", Shape: []int{2, 2, 1, 2}, Values: counted[uint8](8, 100)},
		npztest.Array{Name: "y_test", Shape: []int{2}, Values: []int64{3, 4}},
		npztest.Array{Name: "client_test", Shape: []int{2}, Values: []int64{9, 8}},
		npztest.Array{Name: "names", Shape: []int{1}, Values: []string{"a"}})
	fed := settest.Open(t, data.Config{
		Name: "npz-images", Path: path, Split: "100/0/files", MinSamples: 1,
		Unseen: true, IID: new(false),
	})
	if fed.H != 2 || fed.W != 1 || fed.C != 2 || fed.Classes != 7 || fed.Kind != data.Image || len(fed.Clients) != 2 ||
		fed.Clients[0].ID != "9" || fed.Clients[1].ID != "10" {
		t.Fatalf("%+v", fed)
	}
	if fed.Files != (data.Totals{Clients: 2, TestOnly: 1, Train: 4, Test: 2}) || len(fed.Fingerprint) != 16 ||
		fed.Notes[0] != "arrays that nothing is made of: names" {
		t.Errorf("files %+v, fingerprint %q, notes %q", fed.Files, fed.Fingerprint, fed.Notes)
	}
	for _, tt := range []struct {
		view   data.View
		pixels []int
		labels []int32
	}{
		{fed.Clients[0].Train, []int{4, 5, 6, 7, 12, 13, 14, 15}, []int32{6, 2}},
		{fed.Clients[0].Test, []int{100, 101, 102, 103}, []int32{3}},
		{fed.Clients[1].Train, []int{0, 1, 2, 3, 8, 9, 10, 11}, []int32{0, 1}},
		{fed.Unseen[0].Test, []int{104, 105, 106, 107}, []int32{4}},
	} {
		x, _, labels := settest.Filled(t, fed, tt.view)
		var want []float32
		for _, k := range tt.pixels {
			want = append(want, float32(float64(k)/255))
		}
		if !slices.Equal(x, want) || !slices.Equal(labels, tt.labels) {
			t.Errorf("examples %v, labels %v; want %v, %v", x, labels, want, tt.labels)
		}
	}
	path = ownFile(t, npztest.Array{Name: "x_train", Shape: []int{2, 1, 2}, Values: []float32{-1, 2, 0.25, 7}},
		npztest.Array{Name: "y_train", Shape: []int{2}, Values: []uint8{0, 1}},
		npztest.Array{Name: "client_train", Shape: []int{2}, Values: []string{"b", "b"}})
	fed = settest.Open(t, data.Config{Name: "npz-images", Path: path, Split: "50/50/0", MinSamples: 1, IID: new(false)})
	if x, _, labels := settest.Filled(t, fed, fed.Clients[0].Val); fed.C != 1 || fed.W != 2 ||
		!slices.Equal(x, []float32{0.25, 7}) || labels[0] != 1 || fed.Clients[0].ID != "b" {
		t.Errorf("floats %v, labels %v of %+v", x, labels, fed.Clients)
	}
}

// TestNormalizedBytes: bytes with data.image_mean and data.image_std are what the same
// floats are, to the bit, whatever the targets are, and for any client and test sample.
func TestNormalizedBytes(t *testing.T) {
	const n, size = 130, 6 // all bytes occur
	clients := npztest.Array{Name: "client", Shape: []int{n}, Values: make([]int64, n)}
	for i := range n {
		clients.Values.([]int64)[i] = int64(i % 3)
	}
	truth, classes := make([]uint8, 3*n), make([]int64, n)
	for i := range n {
		truth[3*i+i%3], classes[i] = 1, int64(i%4)
	}
	for name, y := range map[string]npztest.Array{
		"classes": {Shape: []int{n}, Values: classes}, "numbers": {Shape: []int{n, 2}, Values: counted[float32](2*n, 3)},
		"labels": {Shape: []int{n, 3}, Values: truth},
	} {
		for _, c := range []struct{ mean, std []float64 }{
			{[]float64{0.485, 0.456, 0.406}, []float64{0.229, 0.224, 0.225}},
			{[]float64{0.5}, []float64{0.1, 1, 1e-6}},
			{[]float64{0, 1, 0.1307}, []float64{0.3081}},
		} {
			// As NumPy does it on float32 arrays: x / 255, less the mean, over the deviation.
			floats := func(pixels []uint8) []float32 {
				all := make([]float32, len(pixels))
				for i, k := range pixels {
					x := float32(k) / float32(255)
					x -= float32(c.mean[i%3%len(c.mean)])
					all[i] = x / float32(c.std[i%3%len(c.std)])
				}
				return all
			}
			pixels, tests := counted[uint8](n*size, 0), counted[uint8](2*size, 100)
			y.Name = "y"
			yTest := y
			yTest.Name, yTest.Shape = "y_test", append([]int{2}, y.Shape[1:]...)
			switch v := y.Values.(type) {
			case []int64:
				yTest.Values = v[:2]
			case []float32:
				yTest.Values = v[:4]
			case []uint8:
				yTest.Values = v[:6]
			}
			cfg := data.Config{Name: "npz-images", MinSamples: 1, Seed: 3}
			open := func(x, test any, cfg data.Config) *data.Federation {
				cfg.Path = ownFile(t, npztest.Array{Name: "x", Shape: []int{n, 1, 2, 3}, Values: x}, y, clients,
					npztest.Array{Name: "x_test", Shape: []int{2, 1, 2, 3}, Values: test}, yTest)
				return settest.Open(t, cfg)
			}
			want := open(floats(pixels), floats(tests), cfg)
			cfg.ImageMean, cfg.ImageStd = c.mean, c.std
			got := open(pixels, tests, cfg)
			if got.Fingerprint != want.Fingerprint || len(got.Clients) != 3 || got.Test.Len() != 2 {
				t.Fatalf("%s, %v: fingerprints %s and %s of %d clients", name, c, got.Fingerprint,
					want.Fingerprint, len(got.Clients))
			}
			same := func(got, want data.View, fed *data.Federation) {
				t.Helper()
				x, _, labels := settest.Filled(t, fed, got)
				floats, _, classes := settest.Filled(t, fed, want)
				if len(x) == 0 || !slices.Equal(x, floats) || !slices.Equal(labels, classes) {
					t.Errorf("%s, %v: bytes give %v, floats %v", name, c, x, floats)
				}
			}
			same(got.Test, want.Test, got)
			for i := range got.Clients {
				same(got.Clients[i].Train, want.Clients[i].Train, got)
				same(got.Clients[i].Val, want.Clients[i].Val, got)
			}
		}
	}
	path := ownFile(t, npztest.Array{Name: "x", Shape: []int{20, 1, 2}, Values: counted[float32](40, 0)},
		npztest.Array{Name: "y", Shape: []int{20}, Values: make([]int64, 20)},
		npztest.Array{Name: "client", Shape: []int{20}, Values: make([]int64, 20)})
	fed := settest.Open(t, data.Config{
		Name: "npz-images", Path: path, IID: new(false), ImageMean: []float64{0.5},
		ImageStd: []float64{0.25},
	})
	plain := settest.Open(t, data.Config{Name: "npz-images", Path: path, IID: new(false)})
	floats, _, _ := settest.Filled(t, plain, plain.Clients[0].Train)
	for i := range floats {
		floats[i] = (floats[i] - 0.5) / 0.25
	}
	if x, _, _ := settest.Filled(t, fed, fed.Clients[0].Train); len(x) == 0 || !slices.Equal(x, floats) {
		t.Errorf("floats %v, must be %v", x, floats)
	}
}

// TestOpenOwnSplit: test samples of the file's own are the test examples, unless
// the configuration says otherwise.
func TestOpenOwnSplit(t *testing.T) {
	x := npztest.Array{Name: "x", Shape: []int{40, 1}, Values: counted[float32](40, 0)}
	y := npztest.Array{Name: "y", Shape: []int{40}, Values: make([]uint8, 40)}
	client := npztest.Array{Name: "client", Shape: []int{40}, Values: make([]int64, 40)}
	without := ownFile(t, x, y, client)
	with := ownFile(t, x, y, client, npztest.Array{Name: "x_test", Shape: []int{5, 1}, Values: counted[float32](5, 100)},
		npztest.Array{Name: "y_test", Shape: []int{5}, Values: make([]uint8, 5)},
		npztest.Array{Name: "client_test", Shape: []int{5}, Values: make([]int64, 5)})
	for _, tt := range []struct {
		name, path, split string
		train, val, test  int
	}{
		{"own test samples", with, "", 36, 4, 5},
		{"none", without, "", 32, 4, 4},
		{"merged", with, "80/10/10", 36, 4, 5},
		{"merged, larger test", with, "1/1/1", 15, 15, 15},
	} {
		fed := settest.Open(t, data.Config{Name: "npz-vectors", Path: tt.path, Split: tt.split})
		c := fed.Clients[0]
		if c.Train.Len() != tt.train || c.Val.Len() != tt.val || c.Test.Len() != tt.test {
			t.Errorf("%s: %d, %d, %d examples, must be %d, %d, %d", tt.name, c.Train.Len(), c.Val.Len(),
				c.Test.Len(), tt.train, tt.val, tt.test)
		}
		noted := slices.Contains(fed.Notes,
			`36 samples train and 4 validate; the test set is the files' 5 test samples (data.split = "files")`)
		if own := tt.path == with && tt.split == ""; own != fed.FilesTest || own != noted {
			t.Errorf("%s: the test samples are the files' own: %v, notes %q", tt.name, fed.FilesTest, fed.Notes)
		}
	}
}

// TestOpenCentral: test samples without clients are a test set of no client, whoever
// gets the others, unless the split cuts the test samples of clients.
func TestOpenCentral(t *testing.T) {
	path := ownFile(t, npztest.Array{Name: "x", Shape: []int{40, 1}, Values: counted[float32](40, 0)},
		npztest.Array{Name: "y", Shape: []int{40}, Values: make([]uint8, 40)},
		npztest.Array{Name: "client", Shape: []int{40}, Values: append(make([]int64, 20), slices.Repeat([]int64{1}, 20)...)},
		npztest.Array{Name: "x_test", Shape: []int{3, 1}, Values: counted[float32](3, 100)},
		npztest.Array{Name: "y_test", Shape: []int{3}, Values: []uint8{0, 2, 1}})
	var print string
	for _, tt := range []struct {
		cfg  data.Config
		note string
	}{
		{data.Config{}, "36 samples train and 4 validate; the test set is the files' 3 test samples of no client, on which the global model is measured (data.split = \"files\")"},
		{data.Config{Split: "50/50/files"}, "20 samples train and 20 validate"},
		{data.Config{Partition: "iid", Clients: 4}, "dealt (iid) to 4 clients of 10 samples"},
		{data.Config{Partition: "dirichlet", Alpha: 1, Clients: 2}, "dealt (dirichlet, data.alpha = 1 in all: 0.333 for each of 3 classes) to 2 clients of 20 samples"},
		{
			data.Config{Split: "80/10/10"},
			"the files' test set of 3 samples, which are of no client, is left out (data.split = \"80/10/10\")",
		},
	} {
		tt.cfg.Name, tt.cfg.Path = "npz-vectors", path
		fed := settest.Open(t, tt.cfg)
		if !strings.Contains(strings.Join(fed.Notes, "\n"), tt.note) {
			t.Errorf("%+v: notes %q", tt.cfg, fed.Notes)
		}
		_, _, test := settest.Totals(fed.Clients)
		x, _, labels := settest.Filled(t, fed, fed.Test)
		if left := tt.cfg.Split == "80/10/10"; left && (len(x) != 0 || test != 4) || !left &&
			(test != 0 || !slices.Equal(x, []float32{100, 101, 102}) || !slices.Equal(labels, []int32{0, 2, 1})) {
			t.Errorf("%+v: test set %v %v, clients test on %d", tt.cfg, x, labels, test)
		}
		if fed.Files.Train != 40 || fed.Files.Test != 3 || fed.Classes != 3 || print != "" && fed.Fingerprint != print {
			t.Errorf("%+v: %+v", tt.cfg, fed)
		}
		print = fed.Fingerprint
	}
}

// TestFloatsAreHeldOnce: opening 32-bit floats, of training and test samples, takes the
// memory that they fill, and gives their values.
func TestFloatsAreHeldOnce(t *testing.T) {
	const n, width = 1000, 2000 // 8 MB each
	values, other := make([]float32, n*width), make([]float32, n*width)
	for i := range values {
		values[i], other[i] = float32(i), -float32(i)
	}
	path := filepath.Join(t.TempDir(), "own.npz")
	npztest.Write(t, path, false, npztest.Array{Name: "x", Shape: []int{n, width}, Values: values},
		npztest.Array{Name: "y", Shape: []int{n}, Values: make([]uint8, n)},
		npztest.Array{Name: "client", Shape: []int{n}, Values: make([]uint8, n)},
		npztest.Array{Name: "x_test", Shape: []int{n, width}, Values: other},
		npztest.Array{Name: "y_test", Shape: []int{n}, Values: make([]uint8, n)})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fed := settest.Open(t, data.Config{Name: "npz-vectors", Path: path, IID: new(false)})
	runtime.ReadMemStats(&after)
	if took, size := after.TotalAlloc-before.TotalAlloc, uint64(2*4*n*width); took > size*5/4 {
		t.Errorf("%d bytes of floats took %d of memory", size, took)
	}
	x, _, _ := settest.Filled(t, fed, fed.Clients[0].Train)
	if test, _, _ := settest.Filled(t, fed, fed.Test); !slices.Equal(x, values[:len(x)]) ||
		len(x) != 900*width || !slices.Equal(test, other) {
		t.Error("the samples are not those of the file")
	}
}

// TestOrderOfOwnClients: pictures and vectors are shuffled before the cut, text is
// not; data.iid says otherwise.
func TestOrderOfOwnClients(t *testing.T) {
	var names []string
	for i := range 60 {
		names = append(names, strconv.Itoa(i))
	}
	y := npztest.Array{Name: "y", Shape: []int{60}, Values: names}
	client := npztest.Array{Name: "client", Shape: []int{60}, Values: make([]int64, 60)}
	form := map[string]npztest.Array{
		"npz-images":  {Name: "x", Shape: []int{60, 1, 1}, Values: counted[uint8](60, 0)},
		"npz-vectors": {Name: "x", Shape: []int{60, 1}, Values: counted[float32](60, 0)},
		"npz-tokens":  {Name: "x", Shape: []int{60, 1}, Values: counted[int64](60, 0)},
	}
	for _, tt := range []struct {
		set      string
		iid      *bool
		shuffled bool
	}{
		{"npz-images", nil, true},
		{"npz-vectors", nil, true},
		{"npz-tokens", nil, false},
		{"npz-vectors", new(false), false},
		{"npz-tokens", new(true), true},
	} {
		path := ownFile(t, form[tt.set], y, client)
		labels := func(seed uint64) []int32 {
			fed := settest.Open(t, data.Config{Name: tt.set, Path: path, IID: tt.iid, Seed: seed})
			c := fed.Clients[0]
			var all []int32
			for _, v := range []data.View{c.Train, c.Val, c.Test} {
				_, _, l := settest.Filled(t, fed, v)
				all = append(all, l...)
			}
			return all
		}
		got := labels(1)
		if slices.IsSorted(got) == tt.shuffled || !slices.Equal(got, labels(1)) ||
			slices.Equal(got, labels(2)) == tt.shuffled {
			t.Errorf("%s, iid %v: order %v with seed 1, %v with seed 2", tt.set, tt.iid, got, labels(2))
		}
		if slices.Sort(got); !slices.Equal(got, counted[int32](60, 0)) {
			t.Errorf("%s: samples were lost: %v", tt.set, got)
		}
	}
}

// TestOpenOwnVectors without clients, which are dealt.
func TestOpenOwnVectors(t *testing.T) {
	path := ownFile(t, npztest.Array{Name: "x", Shape: []int{12, 2}, Values: counted[int64](24, -3)},
		npztest.Array{Name: "y", Shape: []int{12}, Values: counted[uint8](12, 0)})
	fed := settest.Open(t, data.Config{
		Name: "npz-vectors", Path: path, Partition: "iid", Clients: 3,
		Split: "50/25/25", MinSamples: 1,
	})
	seen := map[int32]bool{}
	for _, c := range fed.Clients {
		for _, v := range []data.View{c.Train, c.Val, c.Test} {
			x, _, labels := settest.Filled(t, fed, v)
			for i, l := range labels {
				if seen[l] || x[2*i] != float32(2*l-3) || x[2*i+1] != float32(2*l-2) {
					t.Errorf("sample %d is %v", l, x[2*i:2*i+2])
				}
				seen[l] = true
			}
		}
	}
	if len(seen) != 12 || len(fed.Clients) != 3 || fed.C != 2 || fed.Classes != 12 ||
		fed.Files != (data.Totals{Train: 12}) {
		t.Errorf("%d samples of %d clients, %+v", len(seen), len(fed.Clients), fed)
	}
	other := settest.Open(t, data.Config{
		Name: "npz-vectors", Path: path, Partition: "dirichlet",
		Alpha: 1, Clients: 2, MinSamples: 1,
	})
	if len(other.Clients) != 2 || other.Fingerprint != fed.Fingerprint {
		t.Errorf("%d clients, fingerprints %s and %s", len(other.Clients), other.Fingerprint, fed.Fingerprint)
	}
}

// TestUnscaledVectors: a note names what scales numbers that are far from 1.
func TestUnscaledVectors(t *testing.T) {
	for _, tt := range []struct {
		from      int
		normalize string
		noted     bool
	}{{-101, "", true}, {-60, "", false}, {77, "", false}, {78, "auto", true}, {5000, "global", false}} {
		path := ownFile(t, npztest.Array{Name: "x", Shape: []int{12, 2}, Values: counted[float32](24, tt.from)},
			npztest.Array{Name: "y", Shape: []int{12}, Values: counted[uint8](12, 0)})
		fed := settest.Open(t, data.Config{
			Name: "npz-vectors", Path: path, Partition: "iid", Clients: 3,
			Split: "50/25/25", MinSamples: 1, Normalize: tt.normalize,
		})
		if strings.Contains(strings.Join(fed.Notes, "\n"), "data.normalize = ") != tt.noted {
			t.Errorf("%+v: notes %q", tt, fed.Notes)
		}
	}
}

// TestOpenOwnTokens: with a class of each row, and to learn the next id.
func TestOpenOwnTokens(t *testing.T) {
	x := npztest.Array{Name: "x", Shape: []int{2, 3}, Values: []int64{5, 1, 0, 7, 600, 2}}
	client := npztest.Array{Name: "client", Shape: []int{2}, Values: []string{"u", "u"}}
	fed := settest.Open(t, data.Config{Name: "npz-tokens", Path: ownFile(t, x, client, npztest.Array{
		Name:  "y",
		Shape: []int{2}, Values: []uint8{1, 0},
	}), MinSamples: 1, Split: "100/0/0"})
	if _, tokens, labels := settest.Filled(t, fed, fed.Clients[0].Train); fed.SeqLen != 3 || fed.Vocab != 601 ||
		fed.Classes != 2 || fed.EveryStep || !slices.Equal(tokens, []int32{5, 1, 0, 7, 600, 2}) ||
		!slices.Equal(labels, []int32{1, 0}) {
		t.Errorf("tokens %v, labels %v of %+v", tokens, labels, fed)
	}
	fed = settest.Open(t, data.Config{Name: "npz-tokens", Path: ownFile(t, x, client), MinSamples: 1, Split: "100/0/0"})
	if _, tokens, labels := settest.Filled(t, fed, fed.Clients[0].Train); fed.SeqLen != 2 || fed.Vocab != 601 ||
		fed.Classes != 601 || !fed.EveryStep || !slices.Equal(tokens, []int32{5, 1, 7, 600}) ||
		!slices.Equal(labels, []int32{1, -1, 600, 2}) {
		t.Errorf("tokens %v, labels %v of %+v", tokens, labels, fed)
	}
}

// TestOpenOwnErrors: one line describes what to save instead.
func TestOpenOwnErrors(t *testing.T) {
	x := npztest.Array{Name: "x", Shape: []int{2, 4, 4}, Values: make([]uint8, 32)}
	y := npztest.Array{Name: "y", Shape: []int{2}, Values: []int64{0, 1}}
	client := npztest.Array{Name: "client", Shape: []int{2}, Values: []string{"a", "b"}}
	as := func(a npztest.Array, name string) npztest.Array { a.Name = name; return a }
	for _, tt := range []struct {
		name, set string
		arrays    []npztest.Array
		want      string
	}{
		{
			"no x", "npz-images",
			[]npztest.Array{y, client},
			"has no array x, but y, client; it must be a file of numpy.savez(",
		},
		{"no y", "npz-images", []npztest.Array{x, client}, "has no array y"},
		{
			"no client", "npz-images",
			[]npztest.Array{x, y},
			`has no array client: save client=..., the client of each sample, or have the samples dealt, such as with data.partition = "iid"`,
		},
		{
			"short y", "npz-images",
			[]npztest.Array{x, {Name: "y", Shape: []int{1}, Values: []int64{0}}, client},
			"array y has the shape [1], must be one number for each row of x, whose shape is [2 4 4]",
		},
		{"y of three dimensions", "npz-images", []npztest.Array{
			x,
			{Name: "y", Shape: []int{2, 1, 1}, Values: []int64{0, 1}},
			client,
		}, "array y has the shape [2 1 1]"},
		{
			"classes below 0", "npz-images",
			[]npztest.Array{x, {Name: "y", Shape: []int{2}, Values: []int64{0, -1}}, client},
			"array y: label 1 is -1; read are classes from 0 to 1048575: leave samples without a label out, keep = y >= 0; x, y, client = x[keep], y[keep], client[keep]",
		},
		{"missing names", "npz-images", []npztest.Array{
			x,
			{Name: "y", Shape: []int{2}, Values: []string{"a", "nan"}},
			client,
		}, `array y: label 1 is "nan", which stands for a missing value; leave such samples out`},
		{"missing clients", "npz-images", []npztest.Array{x, y, {
			Name: "client", Shape: []int{2},
			Values: []string{"a", "None"},
		}}, `array client: value 1 is "None", which stands for a missing value`},
		{"bands first", "npz-images", []npztest.Array{
			{Name: "x", Shape: []int{2, 3, 5, 5}, Values: make([]uint8, 150)},
			y,
			client,
		}, "looks like channels first; read are (n, height, width, channels): save x.transpose(0, 2, 3, 1)"},
		{"more bands first", "npz-images", []npztest.Array{
			{Name: "x", Shape: []int{2, 6, 5, 5}, Values: make([]uint8, 300)},
			y, client,
		}, "looks like channels first"},
		{"truth values", "npz-images", []npztest.Array{{
			Name: "x", Shape: []int{2, 1, 1}, Values: []uint8{1, 0},
			Header: "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 1, 1), }",
		}, y, client}, `save x.astype("float32")`},
		{"a row of labels", "npz-images", []npztest.Array{x, {
			Name: "y", Shape: []int{1, 2},
			Values: []int64{0, 1},
		}, client}, "save y.ravel()"},
		{"samples last", "npz-vectors", []npztest.Array{
			{Name: "x", Shape: []int{3, 2}, Values: make([]float32, 6)},
			y,
			client,
		}, "save numpy.moveaxis(x, -1, 0) if the samples are last"},
		{"clients of floats", "npz-images", []npztest.Array{x, y, {
			Name: "client", Shape: []int{2},
			Values: []float64{0, 1.5},
		}}, `array client: 1.5 names a client; read are integers and names: save client.astype(str)`},
		{
			"clients that are rounded", "npz-images",
			[]npztest.Array{x, y, {Name: "client", Shape: []int{2}, Values: []float64{0, 1 << 60}}},
			`floats round ids from 9007199254740992, so that clients may become one; read are integers and names: ` +
				`read ids as texts where they come from, as by pandas.read_csv(file, dtype={"client": str})`,
		},
		{
			"a client that is missing", "npz-images",
			[]npztest.Array{x, y, {
				Name: "client", Shape: []int{2},
				Values: []float64{0, math.NaN()},
			}},
			`array client: value [1] is NaN, must be a finite float32; leave such samples out: keep = numpy.isfinite(client.reshape(len(client), -1)).all(1); x, y, client = x[keep], y[keep], client[keep]`,
		},
		{
			"a label that is missing", "npz-images",
			[]npztest.Array{x, {
				Name: "y", Shape: []int{2},
				Values: []float64{0, math.NaN()},
			}, client},
			`array y: value [1] is NaN, must be a finite float32; leave such samples out: keep = numpy.isfinite(y.reshape(len(y), -1)).all(1); x, y,`,
		},
		{
			"large labels", "npz-images",
			[]npztest.Array{x, {Name: "y", Shape: []int{2}, Values: []int64{0, 1 << 40}}, client},
			`save y.astype("float32") if they are numbers to predict, y.astype(str) if they are names of classes`,
		},
		{"tests of others", "npz-vectors", []npztest.Array{
			{Name: "x", Shape: []int{12, 1}, Values: make([]float32, 12)},
			{Name: "y", Shape: []int{12}, Values: make([]int64, 12)},
			{Name: "client", Shape: []int{12}, Values: make([]int64, 12)},
			{Name: "x_test", Shape: []int{2, 1}, Values: make([]float32, 2)},
			{Name: "y_test", Shape: []int{2}, Values: make([]int64, 2)},
			{Name: "client_test", Shape: []int{2}, Values: []int64{8, 9}},
		}, `data.split = "files": all 2 test samples are of clients without training samples; set data.unseen = true, which evaluates such clients, or three numbers`},
		{
			"texts", "npz-vectors",
			[]npztest.Array{{Name: "x", Shape: []int{2}, Values: []string{"a b", "c"}}, y, client},
			`array x: holds texts; read are arrays of numbers, and texts from Parquet: save pandas.DataFrame({"text": x, "label": y, "client": client}).to_parquet("own.parquet")`,
		},
		{"one number a sample", "npz-vectors", []npztest.Array{
			{Name: "x", Shape: []int{2}, Values: []float32{1, 2}},
			y,
			client,
		}, `array x: has the shape [2]; read are rows of values, one a sample: save x.reshape(-1, 1)`},
		{"padding below 0", "npz-tokens", []npztest.Array{
			{Name: "x", Shape: []int{2, 2}, Values: []int64{5, 6, 7, -1}},
			y,
			client,
		}, `value [1, 1] is -1, must be in 0 to 65535: ids from 0, which pads; save numpy.unique(x, return_inverse=True)[1].reshape(x.shape)`},
		{
			"a single number", "npz-images",
			[]npztest.Array{{Name: "x", Values: []int64{3}}, y, client},
			"array y has the shape [2], must be one number for each row of x, whose shape is []",
		},
		{
			"no samples", "npz-images",
			[]npztest.Array{{Name: "x", Shape: []int{0, 4, 4}, Values: []uint8{}}},
			"array x: has the shape [0 4 4]: there are no samples in it",
		},
		{"vectors", "npz-vectors", []npztest.Array{x, y, client}, "array x has the shape [2 4 4], must be (n, features)"},
		{"channels first", "npz-images", []npztest.Array{
			{Name: "x", Shape: []int{2, 3, 2, 5}, Values: make([]uint8, 60)},
			y,
			client,
		}, "save x.transpose(0, 2, 3, 1)"},
		{"pixels of 64 bits", "npz-images", []npztest.Array{
			{Name: "x", Shape: []int{2, 1, 1}, Values: make([]int64, 2)},
			y,
			client,
		}, `array x: is of type int64, must be uint8 or floats; read are bytes k for k/255, and floats: save x.astype("uint8")`},
		{
			"test without y", "npz-images",
			[]npztest.Array{x, y, client, as(x, "x_test"), as(client, "client_test")},
			"there must be both arrays y and y_test",
		},
		{"clients of the test samples alone", "npz-images", []npztest.Array{
			x, y, as(x, "x_test"), as(y, "y_test"),
			as(client, "client_test"),
		}, "array client_test is there without client, the client of each training sample"},
		{
			"y_test alone", "npz-images",
			[]npztest.Array{x, y, client, as(y, "y_test")},
			"array y_test is there without x_test",
		},
		{
			"test of another form", "npz-images",
			[]npztest.Array{x, y, client, {
				Name: "x_test", Shape: []int{2, 4, 1},
				Values: make([]uint8, 8),
			}, as(y, "y_test"), as(client, "client_test")},
			"samples of x_test have the shape [4 1] and the type uint8, those of x [4 4] and uint8",
		},
		{"tokens above 65,535", "npz-tokens", []npztest.Array{
			{Name: "x", Shape: []int{2, 1}, Values: []int64{0, 1 << 16}},
			y,
			client,
		}, "array x: value [1, 0] is 65536, must be in 0 to 65535"},
		{
			"one id", "npz-tokens",
			[]npztest.Array{{Name: "x", Shape: []int{2, 1}, Values: []int64{0, 1}}, client},
			"a row of one id has none after it to learn",
		},
	} {
		_, err := data.Open(t.Context(), data.Config{Name: tt.set, Path: ownFile(t, tt.arrays...), MinSamples: 1})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	rows := npztest.Array{Name: "x", Shape: []int{2, 2}, Values: make([]int64, 4)}
	if _, err := data.Open(t.Context(), data.Config{
		Name: "npz-tokens", Path: ownFile(t, rows), Partition: "dirichlet",
		Alpha: 1, Clients: 1, MinSamples: 1,
	}); err == nil || !strings.Contains(err.Error(),
		"without an array y the samples have no class each") {
		t.Errorf("dealt by classes that there are not: %v", err)
	}
	if _, err := data.Open(t.Context(), data.Config{Name: "npz-images", Path: t.TempDir() + "/none.npz"}); err == nil ||
		!strings.Contains(err.Error(), `none.npz": no such file or folder`) {
		t.Errorf("no file: %v", err)
	}
}

// TestRealOwn saves FEMNIST as arrays: the federation is the same.
func TestRealOwn(t *testing.T) {
	dir := realdata.Dir(t, "femnist")
	cfg := data.Config{Name: "leaf-femnist", Path: dir, Split: "100/0/files", MinSamples: 1, IID: new(false)}
	want := settest.Open(t, cfg)
	arrays := []npztest.Array{
		{Name: "x"},
		{Name: "y"},
		{Name: "client"},
		{Name: "x_test"},
		{Name: "y_test"},
		{Name: "client_test"},
	}
	for part := range 2 {
		var pixels []uint8
		var classes []int64
		var clients []string
		for _, c := range want.Clients {
			v := []data.View{c.Train, c.Test}[part]
			x, _, labels := settest.Filled(t, want, v)
			for _, p := range x {
				pixels = append(pixels, uint8(p*255+0.5))
			}
			for _, l := range labels {
				classes, clients = append(classes, int64(l)), append(clients, c.ID)
			}
		}
		arrays[3*part].Values, arrays[3*part].Shape = pixels, []int{len(classes), 28, 28}
		arrays[3*part+1].Values, arrays[3*part+2].Values = classes, clients
		arrays[3*part+1].Shape, arrays[3*part+2].Shape = []int{len(classes)}, []int{len(classes)}
	}
	cfg.Name, cfg.Path = "npz-images", ownFile(t, arrays...)
	got := settest.Open(t, cfg)
	if len(got.Clients) != len(want.Clients) || got.Classes != want.Classes {
		t.Fatalf("%d clients, %d classes", len(got.Clients), got.Classes)
	}
	for i := range want.Clients {
		for part := range 2 {
			a, b := []data.View{want.Clients[i].Train, want.Clients[i].Test}[part],
				[]data.View{got.Clients[i].Train, got.Clients[i].Test}[part]
			x, _, labels := settest.Filled(t, want, a)
			y, _, classes := settest.Filled(t, got, b)
			if want.Clients[i].ID != got.Clients[i].ID || !slices.Equal(x, y) || !slices.Equal(labels, classes) {
				t.Fatalf("client %s, part %d differs", want.Clients[i].ID, part)
			}
		}
	}
}

// TestPaddedByAnotherID: a note says that only 0 pads.
func TestPaddedByAnotherID(t *testing.T) {
	client := npztest.Array{Name: "client", Shape: []int{2}, Values: []int64{0, 0}}
	for id, want := range map[uint8]string{
		0: "", 9: "2 of 2 rows end with id 9 several times, but only 0 pads; save numpy.where(x == 9, 0, x + 1)",
	} {
		x := npztest.Array{Name: "x", Shape: []int{2, 3}, Values: []uint8{1, id, id, 2, id, id}}
		fed := settest.Open(t, data.Config{
			Name: "npz-tokens", Path: ownFile(t, x, client), MinSamples: 1, Split: "100/0/0",
		})
		if got := strings.Join(fed.Notes, "\n"); !strings.Contains(got, want) || strings.Contains(got, "pads") != (id > 0) {
			t.Errorf("id %d: notes %s, want %s", id, got, want)
		}
	}
}
