package tff_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/data/sets/internal/settest"
	"github.com/fedfast/fedfast/data/sets/tff/tfftest"
)

// h5Data holds files in TFF's older form, made by its make.py with h5py.
var h5Data = filepath.Join("..", "..", "formats", "hdf5", "testdata")

// same fails unless two federations hold equal clients and examples.
func same(t *testing.T, a, b *data.Federation) {
	t.Helper()
	if len(a.Clients) != len(b.Clients) || a.Classes != b.Classes {
		t.Fatalf("%d and %d clients, %d and %d classes", len(a.Clients), len(b.Clients), a.Classes, b.Classes)
	}
	labels := max(1, a.SeqLen)
	for i := range a.Clients {
		for part, pair := range [][2]data.View{{a.Clients[i].Train, b.Clients[i].Train}, {a.Clients[i].Test, b.Clients[i].Test}} {
			if a.Clients[i].ID != b.Clients[i].ID || pair[0].Len() != pair[1].Len() {
				t.Fatalf("client %s with %d examples, %s with %d", a.Clients[i].ID, pair[0].Len(), b.Clients[i].ID, pair[1].Len())
			}
			var got [2]string
			for p := range pair[0].Len() {
				for j, v := range pair {
					x, tokens, label := make([]float32, a.H*a.W*a.C), make([]int32, a.SeqLen), make([]int32, labels)
					settest.Must(t, v.Fill([]int32{int32(p)}, x, tokens, label, nil))
					got[j] = fmt.Sprint(x, tokens, label)
				}
				if got[0] != got[1] {
					t.Fatalf("client %s, part %d, example %d: %.200s and %.200s", a.Clients[i].ID, part, p, got[0], got[1])
				}
			}
		}
	}
}

// The same samples in both forms of TFF's files give the same federation.
func TestTFFOlderForm(t *testing.T) {
	var images, plays, pictures []tfftest.Row
	for split, clients := range map[string]int{"all_train": 12, "all_test": 14} {
		start := map[string]int{"all_train": 0, "all_test": 100}[split]
		for c := range clients {
			for i := range 1 + c%3 {
				pixels := make([]float32, 784)
				for j := range pixels {
					pixels[j] = float32(((i*784+j)*7+start+c)%256) / 255
				}
				images = append(images, tfftest.Row{Split: split, Client: fmt.Sprintf("f%04d_%02d", c, c), Message: tfftest.Example(
					tfftest.Feature{Name: "pixels", Floats: pixels}, tfftest.Feature{Name: "label", Ints: []int64{int64((c + i) % 10)}})})
			}
		}
	}
	for split, clients := range map[string]int{"train": 5, "test": 2} {
		for c := range clients {
			for _, text := range []string{fmt.Sprintf("To be %d", c), "", strings.Repeat("né ", 30)}[:1+c%3] {
				plays = append(plays, tfftest.Row{Split: split, Client: fmt.Sprintf("THE_PLAY_ROLE_%d", c), Message: tfftest.Example(
					tfftest.Feature{Name: "snippets", Text: []byte(text)})})
			}
		}
	}
	for split, clients := range map[string]int{"train": 3, "test": 1} {
		for c := range clients {
			for i := range 2 {
				pixels := make([]int64, 3072)
				for j := range pixels {
					pixels[j] = int64((i*3072 + j) * (c + 3) % 256)
				}
				pictures = append(pictures, tfftest.Row{Split: split, Client: strconv.Itoa(c), Message: tfftest.Example(
					tfftest.Feature{Name: "image", Ints: pixels},
					tfftest.Feature{Name: "label", Ints: []int64{[]int64{int64(c), int64(99 - c)}[i]}},
					tfftest.Feature{Name: "coarse_label", Ints: []int64{[]int64{int64(c), int64(19 - c)}[i]}})})
			}
		}
	}
	for _, tt := range []struct {
		name, file string
		rows       []tfftest.Row
	}{
		{"tff-femnist", "emnist_all.sqlite", images},
		{"tff-shakespeare", "shakespeare.sqlite", plays},
		{"tff-cifar100", "cifar100.sqlite", pictures},
	} {
		dir := t.TempDir()
		tfftest.Write(t, filepath.Join(dir, tt.file), tt.rows)
		cfg := data.Config{Name: tt.name, Path: h5Data, MinSamples: 1, Split: "100/0/files"}
		older := settest.Open(t, cfg)
		cfg.Path = dir
		same(t, older, settest.Open(t, cfg))
	}
}

func TestTFFOlderFormFails(t *testing.T) {
	copied := func(t *testing.T, files ...string) string {
		dir := t.TempDir()
		for _, f := range files {
			from, to, _ := strings.Cut(f, ">")
			content, err := os.ReadFile(filepath.Join(h5Data, from))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, to), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for _, tt := range []struct {
		name  string
		files []string
		want  string
	}{
		{"nothing", nil, "no file shakespeare.sqlite or shakespeare.sqlite.lzma, nor shakespeare_train.h5 and shakespeare_test.h5"},
		{"one of two", []string{"shakespeare_train.h5>shakespeare_train.h5"}, "shakespeare_test.h5: no such file"},
		{"other content", []string{"kinds.h5>shakespeare_train.h5", "kinds.h5>shakespeare_test.h5"}, "shakespeare_train.h5: /: has no member examples"},
		{"images", []string{"fed_emnist_train.h5>shakespeare_train.h5", "shakespeare_test.h5>shakespeare_test.h5"}, "shakespeare_train.h5: /examples/f0000_00: has no member snippets"},
		{"newer form", []string{"latest.h5>shakespeare_train.h5", "shakespeare_test.h5>shakespeare_test.h5"}, "is in the newer form of HDF5"},
	} {
		_, err := data.Open(t.Context(), data.Config{Name: "tff-shakespeare", Path: copied(t, tt.files...)})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v\nmust hold %q", tt.name, err, tt.want)
		}
	}
}
