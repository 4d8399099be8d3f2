package data

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data/formats/fedjax/fedjaxtest"
)

func TestOpenFedJAXEMNIST(t *testing.T) {
	dir := t.TempDir()
	client := func(id string, n int, value float32) fedjaxtest.Client {
		labels := make([]int32, n)
		for i := range labels {
			labels[i] = int32(i)
		}
		return fedjaxtest.Client{ID: id, Examples: n, Arrays: []fedjaxtest.Array{
			{Name: "label", Shape: []int{n}, Ints: labels},
			{Name: "pixels", Shape: []int{n, 28, 28}, Floats: slices.Repeat([]float32{value}, 784*n)},
		}}
	}
	const b, a = "00112233445566:f2000_01", "00112233445566:f0001_02"
	for _, stem := range []string{"federated_emnist", "federated_emnist_digitsonly"} {
		fedjaxtest.Write(t, filepath.Join(dir, stem+"_train.sqlite"), []fedjaxtest.Client{client(b, 10, 0.2), client(a, 10, 0.3333)})
		fedjaxtest.Write(t, filepath.Join(dir, stem+"_test.sqlite"), []fedjaxtest.Client{client(b, 3, 1)})
	}
	for _, name := range []string{"fedjax-femnist", "fedjax-femnist-digits"} {
		fed := mustOpen(t, Config{Name: name, Path: dir, Split: "files", IID: new(false)})
		if len(fed.Clients) != 2 || fed.Clients[0].ID != a || fed.Clients[1].ID != b {
			t.Fatalf("clients %+v", fed.Clients)
		}
		x, labels := make([]float32, 784), make([]int32, 1)
		must(t, fed.Clients[0].Train.Fill([]int32{7}, x, nil, labels, nil))
		if slices.Min(x) != 0.3333 || slices.Max(x) != 0.3333 || labels[0] != 7 {
			t.Errorf("pixels %v to %v, label %d", slices.Min(x), slices.Max(x), labels[0])
		}
		must(t, fed.Clients[1].Test.Fill([]int32{2}, x, nil, labels, nil))
		if fed.Clients[1].Test.Len() != 3 || slices.Min(x) != 1 || labels[0] != 2 {
			t.Errorf("%d test examples, pixels from %v, label %d", fed.Clients[1].Test.Len(), slices.Min(x), labels[0])
		}
		checkExamples(t, fed)
	}
	if _, err := Open(t.Context(), Config{Name: "fedjax-femnist", Path: filepath.Join(dir, "federated_emnist_train.sqlite")}); err == nil || !strings.Contains(err.Error(), "must be the folder that holds FedJAX's federated_emnist_train.sqlite and") {
		t.Errorf("a file for a folder: %v", err)
	}
}

func TestOpenFedJAXShakespeare(t *testing.T) {
	if fedjaxVocab != 90 {
		t.Fatalf("%d ids", fedjaxVocab)
	}
	dir := t.TempDir()
	texts := func(id string, snippets ...string) fedjaxtest.Client {
		a := fedjaxtest.Array{Name: "snippets", Shape: []int{len(snippets)}}
		for _, s := range snippets {
			a.Texts = append(a.Texts, []byte(s))
		}
		return fedjaxtest.Client{ID: id, Examples: len(snippets), Arrays: []fedjaxtest.Array{a}}
	}
	fedjaxtest.Write(t, filepath.Join(dir, "shakespeare_train.sqlite"), []fedjaxtest.Client{texts("R", "hd", strings.Repeat("d", 80), "\xff")})
	fedjaxtest.Write(t, filepath.Join(dir, "shakespeare_test.sqlite"), []fedjaxtest.Client{texts("R", strings.Repeat("d", 79))})
	fed := mustOpen(t, Config{Name: "fedjax-shakespeare", Path: dir, Split: "100/0/files", MinSamples: 1})
	c := fed.Clients[0]
	// 4 + 82 + 3 = 89 ids, 88 of them labels; 81 ids, 80 labels: a whole run.
	if c.Train.Len() != 2 || c.Test.Len() != 1 || !fed.EveryStep {
		t.Fatalf("%d+%d examples", c.Train.Len(), c.Test.Len())
	}
	tokens, labels := make([]int32, 2*80), make([]int32, 2*80)
	must(t, c.Train.Fill([]int32{0, 1}, nil, tokens, labels, nil))
	const d, h = 3, 4
	for _, tt := range []struct {
		name      string
		got, want []int32
	}{
		{"tokens", tokens[:6], []int32{1, h, d, 2, 1, d}},
		{"labels", labels[:6], []int32{h, d, 2, 1, d, d}},
		{"the second run", tokens[80:91], []int32{d, d, d, d, d, 2, 1, 89, 2, 0, 0}},
		{"its labels", labels[80:91], []int32{d, d, d, d, 2, 1, 89, 2, -1, -1, -1}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: %v, must be %v", tt.name, tt.got, tt.want)
		}
	}
	must(t, c.Test.Fill([]int32{0}, nil, tokens, labels, nil))
	if slices.Contains(labels[:80], -1) || labels[79] != 2 {
		t.Errorf("labels of a whole run: %v", labels[:80])
	}
	if got := joinedRows([][]byte{bytes.Repeat([]byte("d"), 79)}); len(got) != 81 {
		t.Errorf("81 ids make %d, must be one row", len(got))
	}
}

func TestOpenFedJAXCIFAR100(t *testing.T) {
	dir := t.TempDir()
	client := func(id string, n int, first byte) fedjaxtest.Client {
		pixels, fine, coarse := make([]byte, n*3072), make([]int32, n), make([]int32, n)
		for i := range n {
			pixels[i*3072] = first + byte(i)
			fine[i], coarse[i] = int32(99-i), int32(i)
		}
		return fedjaxtest.Client{ID: id, Examples: n, Arrays: []fedjaxtest.Array{
			{Name: "image", Shape: []int{n, 32, 32, 3}, Bytes: pixels},
			{Name: "coarse_label", Shape: []int{n}, Ints: coarse},
			{Name: "label", Shape: []int{n}, Ints: fine},
		}}
	}
	fedjaxtest.Write(t, filepath.Join(dir, "federated_cifar100_train.sqlite"), []fedjaxtest.Client{client("0", 12, 10), client("1", 10, 60)})
	fedjaxtest.Write(t, filepath.Join(dir, "federated_cifar100_test.sqlite"), []fedjaxtest.Client{client("0", 10, 200)})
	fed := mustOpen(t, Config{Name: "fedjax-cifar100", Path: dir, Split: "100/0/0", Unseen: true, IID: new(false)})
	if len(fed.Clients) != 2 || len(fed.Unseen) != 1 || fed.Unseen[0].ID != "test/0" || fed.Files != (Totals{2, 1, 22, 10}) {
		t.Fatalf("opened %+v", *fed)
	}
	for _, tt := range []struct {
		view  View
		pixel byte
	}{{fed.Clients[0].Train, 13}, {fed.Clients[1].Train, 63}, {fed.Unseen[0].Test, 203}} {
		x, label := make([]float32, 3072), make([]int32, 1)
		must(t, tt.view.Fill([]int32{3}, x, nil, label, nil))
		if x[0] != unitTable[tt.pixel] || x[1] != 0 || label[0] != 96 {
			t.Errorf("pixels %v, %v, label %d; the first must be %v", x[0], x[1], label[0], unitTable[tt.pixel])
		}
	}
	checkExamples(t, fed)
	bad := t.TempDir()
	fedjaxtest.Write(t, filepath.Join(bad, "federated_cifar100_train.sqlite"), []fedjaxtest.Client{{ID: "0", Examples: 1, Arrays: []fedjaxtest.Array{
		{Name: "image", Shape: []int{1, 3072}, Floats: make([]float32, 3072)},
		{Name: "coarse_label", Shape: []int{1}, Ints: []int32{1}},
		{Name: "label", Shape: []int{1}, Ints: []int32{1}},
	}}})
	if _, err := Open(t.Context(), Config{Name: "fedjax-cifar100", Path: bad}); err == nil || !strings.Contains(err.Error(), `client "0": array image is of float32, must be of uint8`) {
		t.Errorf("floats for bytes: %v", err)
	}
}
