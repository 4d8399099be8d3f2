package tff_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
	"github.com/fedfast/fedfast/internal/test/tfftest"
)

// emnistRows returns n images of one writer: image i has label i and only pixels
// of value.
func emnistRows(split, client string, n int, value float32) []tfftest.Row {
	var rows []tfftest.Row
	for i := range n {
		rows = append(rows, tfftest.Row{Split: split, Client: client, Message: tfftest.Example(
			tfftest.Feature{Name: "label", Ints: []int64{int64(i)}},
			tfftest.Feature{Name: "pixels", Floats: slices.Repeat([]float32{value}, 784)},
		)})
	}
	return rows
}

// writeTFF writes a file of a set and returns its folder.
func writeTFF(t *testing.T, name string, rows []tfftest.Row) string {
	t.Helper()
	dir := t.TempDir()
	tfftest.Write(t, filepath.Join(dir, name+".sqlite"), rows)
	return dir
}

func TestOpenTFFEMNIST(t *testing.T) {
	dir := writeTFF(t, "emnist_all", slices.Concat(
		emnistRows("all_test", "b", 4, 1), emnistRows("all_train", "b", 12, 0.2), emnistRows("all_train", "a", 20, 0.3333),
		emnistRows("digits_only_train", "b", 10, 0.2), emnistRows("digits_only_test", "b", 2, 1)))
	packed := tfftest.Pack(t, filepath.Join(dir, "emnist_all.sqlite"))
	if err := os.Remove(filepath.Join(dir, "emnist_all.sqlite")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, packed} {
		fed := settest.Open(t, data.Config{Name: "tff-femnist", Path: path, Split: "files", IID: new(false)})
		if len(fed.Clients) != 2 || fed.Clients[0].ID != "a" || fed.Clients[1].ID != "b" ||
			fed.Classes != 62 || fed.H*fed.W*fed.C != 784 {
			t.Fatalf("clients %+v of %+v", fed.Clients, fed)
		}
		for _, tt := range []struct {
			view   data.View
			n      int
			pixel  float32
			labels []int32
		}{
			{fed.Clients[0].Train, 18, 0.3333, []int32{0, 17}}, // no part of 255: kept as a float
			{fed.Clients[1].Train, 10, 0.2, []int32{0, 9}},
			{fed.Clients[1].Val, 2, 0.2, []int32{10, 11}},
			{fed.Clients[1].Test, 4, 1, []int32{0, 3}},
		} {
			x, labels := make([]float32, 2*784), make([]int32, 2)
			settest.Must(t, tt.view.Fill([]int32{0, int32(tt.n - 1)}, x, nil, labels, nil))
			if tt.view.Len() != tt.n || slices.Min(x) != tt.pixel || slices.Max(x) != tt.pixel ||
				!slices.Equal(labels, tt.labels) {
				t.Errorf("%d examples of pixels %v to %v, labels %v; must be %+v", tt.view.Len(),
					slices.Min(x), slices.Max(x), labels, tt)
			}
		}
		settest.Check(t, fed)
	}
	digits := settest.Open(t, data.Config{Name: "tff-femnist-digits", Path: dir, Split: "files", IID: new(false)})
	if train, val, test := settest.Totals(digits.Clients); len(digits.Clients) != 1 || train+val != 10 ||
		test != 2 || digits.Classes != 10 {
		t.Errorf("digits: %d clients, %d+%d, %d classes", len(digits.Clients), train+val, test, digits.Classes)
	}
}

func TestOpenTFFCIFAR100(t *testing.T) {
	row := func(split, client string, label int64) tfftest.Row {
		pixels := make([]int64, 3072)
		for i := range pixels {
			pixels[i] = (int64(i) + label) % 256
		}
		return tfftest.Row{Split: split, Client: client, Message: tfftest.Example(
			tfftest.Feature{Name: "coarse_label", Ints: []int64{label / 5}},
			tfftest.Feature{Name: "image", Ints: pixels}, tfftest.Feature{Name: "label", Ints: []int64{label}})}
	}
	var rows []tfftest.Row
	for i := range int64(20) {
		rows = append(rows, row("train", "0", i), row("train", "10", 99-i), row("test", "0", 50+i))
	}
	fed := settest.Open(t, data.Config{
		Name: "tff-cifar100", Path: writeTFF(t, "cifar100", rows),
		Unseen: true, IID: new(false),
	})
	if len(fed.Clients) != 2 || fed.Clients[1].ID != "10" || len(fed.Unseen) != 1 || fed.Unseen[0].ID != "test/0" ||
		fed.Unseen[0].Test.Len() != 20 {
		t.Fatalf("clients %+v, unseen %+v", fed.Clients, fed.Unseen)
	}
	x, labels := make([]float32, 3072), make([]int32, 1)
	settest.Must(t, fed.Clients[1].Train.Fill([]int32{3}, x, nil, labels, nil))
	if labels[0] != 96 {
		t.Errorf("label %d, must be 96", labels[0])
	}
	for i, v := range x {
		if v != float32(float64((i+96)%256)/255) {
			t.Fatalf("value %d is %v, must be %d/255", i, v, (i+96)%256)
		}
	}
	settest.Check(t, fed)
}

// snippet returns the row of a text of client R.
func snippet(split, text string) tfftest.Row {
	return tfftest.Row{
		Split: split, Client: "R",
		Message: tfftest.Example(tfftest.Feature{Name: "snippets", Text: []byte(text)}),
	}
}

func TestOpenTFFShakespeare(t *testing.T) {
	long := strings.Repeat("ad", 100) // 202 ids: two rows of 81 and one of 40
	dir := writeTFF(t, "shakespeare", []tfftest.Row{
		snippet("train", "hd"), snippet("train", long), snippet("test", "\xffd"), snippet("train", strings.Repeat("t", 80)),
	})
	fed := settest.Open(t, data.Config{Name: "tff-shakespeare", Path: dir, Split: "100/0/files", MinSamples: 1})
	if !fed.EveryStep || fed.SeqLen != 80 || fed.Vocab != 90 || fed.Classes != 90 || fed.Kind != data.Tokens {
		t.Errorf("the federation is %+v", fed)
	}
	// The last row of the 80 letters would hold the end alone: no label.
	if c := fed.Clients[0]; c.Train.Len() != 5 || c.Test.Len() != 1 {
		t.Fatalf("%d+%d examples", c.Train.Len(), c.Test.Len())
	}
	tokens, labels := make([]int32, 2*80), make([]int32, 2*80)
	a, d, h, end := int32(64), int32(1), int32(2), int32(89)
	settest.Must(t, fed.Clients[0].Train.Fill([]int32{0, 3}, nil, tokens, labels, nil))
	for _, tt := range []struct {
		name      string
		got, want []int32
	}{
		{"tokens", tokens[:5], []int32{88, h, d, end, 0}},
		{"labels", labels[:5], []int32{h, d, end, -1, -1}},
		{"tokens of the end", tokens[80+36 : 80+42], []int32{d, a, d, end, 0, 0}},
		{"labels of the end", labels[80+36 : 80+42], []int32{a, d, end, -1, -1, -1}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: %v, must be %v", tt.name, tt.got, tt.want)
		}
	}
	settest.Must(t, fed.Clients[0].Train.Fill([]int32{1, 4}, nil, tokens, labels, nil))
	if slices.Contains(labels[:80], -1) || labels[80+79] != 5 {
		t.Errorf("labels of full rows: %v", labels)
	}
	settest.Must(t, fed.Clients[0].Test.Fill([]int32{0}, nil, tokens, labels, nil))
	if tokens[1] != 87 || labels[0] != 87 ||
		!slices.Equal(fed.Notes[:1], []string{"1 characters are not in TFF's table: they count as id 87"}) {
		t.Errorf("a strange character: tokens %v, notes %q", tokens[:3], fed.Notes)
	}
}

func TestOpenTFFErrors(t *testing.T) {
	image := func(label int64, pixels []float32) []tfftest.Row {
		return []tfftest.Row{
			{Split: "all_train", Client: "f1", Message: tfftest.Example(
				tfftest.Feature{Name: "label", Ints: []int64{label}}, tfftest.Feature{Name: "pixels", Floats: pixels})},
			{Split: "all_test", Client: "f1", Message: []byte{}},
		}
	}
	bright := make([]float32, 784)
	bright[5] = 255
	for _, tt := range []struct {
		set, file string
		rows      []tfftest.Row
		want      string
	}{
		{"tff-femnist", "emnist_all", image(62, make([]float32, 784)), "label 62 must be in 0 to 61"},
		{"tff-femnist", "emnist_all", image(1, make([]float32, 783)), "feature pixels holds 783 floats, must be 784 floats"},
		{"tff-femnist", "emnist_all", image(1, bright), "pixel 5 is 255, must be in 0 to 1"},
		{"tff-femnist-digits", "emnist_all", image(1, bright), "has no split digits_only_train, only all_test, all_train"},
		{"tff-shakespeare", "shakespeare", []tfftest.Row{
			{
				Split: "train", Client: "f1",
				Message: tfftest.Example(tfftest.Feature{Name: "label", Ints: []int64{1}}),
			},
			{Split: "test", Client: "f1", Message: []byte{}},
		}, "has no feature snippets"},
		{
			"tff-cifar100", "cifar100",
			[]tfftest.Row{
				{Split: "train", Client: "f1", Message: tfftest.Example(
					tfftest.Feature{Name: "label", Ints: []int64{1}}, tfftest.Feature{Name: "coarse_label", Ints: []int64{1}},
					tfftest.Feature{Name: "image", Ints: slices.Repeat([]int64{256}, 3072)})},
				{Split: "test", Client: "f1", Message: []byte{}},
			},
			"pixel value 0 of image is 256, must be in 0 to 255",
		},
	} {
		dir := writeTFF(t, tt.file, tt.rows)
		_, err := data.Open(t.Context(), data.Config{Name: tt.set, Path: dir})
		want := fmt.Sprintf("open %s: %s: ", tt.set, filepath.Join(dir, tt.file+".sqlite"))
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, must be one line: %s ... %s", err, want, tt.want)
		}
	}
	empty := t.TempDir()
	if _, err := data.Open(t.Context(), data.Config{Name: "tff-cifar100", Path: empty, IID: new(false)}); err == nil ||
		!strings.HasSuffix(err.Error(), "no file cifar100.sqlite or cifar100.sqlite.lzma") {
		t.Errorf("an empty folder: %v", err)
	}
	older := settest.Folder(t, map[string]string{"fed_cifar100_train.h5": ""})
	for _, path := range []string{older, filepath.Join(older, "fed_cifar100_train.h5")} {
		_, err := data.Open(t.Context(), data.Config{Name: "tff-cifar100", Path: path, IID: new(false)})
		if err == nil || !strings.Contains(err.Error(),
			"fed_cifar100_train.h5: TFF's older HDF5 files are not read; cifar100.sqlite.lzma has the same samples") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
