package mnist_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

func TestOpenDigits(t *testing.T) {
	images := func(n int) string {
		return "\x00\x00\x08\x03\x00\x00\x00" + string(rune(n)) + "\x00\x00\x00\x01\x00\x00\x00\x02" +
			strings.Repeat("\x00\x7f", n)
	}
	labels := func(classes string) string {
		return "\x00\x00\x08\x01\x00\x00\x00" + string(rune(len(classes))) + classes
	}
	rows := func(classAndWriter ...byte) string {
		b := []byte{0, 0, 12, 2, 0, 0, 0, byte(len(classAndWriter) / 2), 0, 0, 0, 3}
		for i := 0; i < len(classAndWriter); i += 2 {
			b = append(b, 0, 0, 0, classAndWriter[i], 0, 0, 0, 1, 0, 0, 0, classAndWriter[i+1])
		}
		return string(b)
	}
	files := map[string]string{
		"train-images-idx3-ubyte": images(4), "train-labels-idx1-ubyte": labels("\x01\x02\x03\x04"),
		"t10k-images-idx3-ubyte": images(2), "t10k-labels-idx1-ubyte": labels("\x05\x06"),
		"qmnist-train-labels-idx2-int": rows(1, 20, 2, 9, 3, 20, 4, 20),
		"qmnist-test-labels-idx2-int":  rows(5, 30, 6, 20, 7, 40),
	}
	fed := settest.Open(t, data.Config{
		Name: "mnist", Path: settest.Folder(t, files), Clients: 2,
		MinSamples: 1, Split: "1/1/files",
	})
	if len(fed.Clients) != 2 || fed.W != 2 || fed.H != 1 {
		t.Errorf("opened %+v", *fed)
	}
	writers := settest.Open(t, data.Config{
		Name: "qmnist", Path: settest.Folder(t, files), Unseen: true,
		MinSamples: 1, Split: "1/0/1",
	})
	if len(writers.Clients) != 1 || writers.Clients[0].ID != "20" || len(writers.Unseen) != 1 ||
		writers.Unseen[0].ID != "30" {
		t.Fatalf("opened %+v", *writers)
	}
	x, classes := make([]float32, 4), make([]int32, 2)
	settest.Must(t, writers.Clients[0].Test.Fill([]int32{0, 1}, x, nil, classes, nil))
	if !slices.Equal(classes, []int32{4, 6}) || !slices.Equal(x, []float32{0, 127. / 255, 0, 127. / 255}) {
		t.Errorf("writer 20 has test classes %v, pixels %v", classes, x)
	}
	for name, tt := range map[string]struct{ set, file, content, want string }{
		"class":     {"mnist", "t10k-labels-idx1-ubyte", labels("\x05\x0a"), "label 2 is 10, must be below 10"},
		"labels":    {"fashion-mnist", "train-labels-idx1-ubyte", labels("\x05"), "1 labels of 4 images"},
		"no labels": {"mnist", "train-labels-idx1-ubyte", "", "the file is empty"},
		"size": {
			"mnist", "t10k-images-idx3-ubyte",
			"\x00\x00\x08\x03\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00",
			"images of 1x1, the training images are 1x2",
		},
		"rows": {
			"qmnist", "qmnist-train-labels-idx2-int", rows(1, 2),
			"1 rows of 3 numbers; 4 images need as many rows",
		},
		"class of 10": {"qmnist", "qmnist-test-labels-idx2-int", rows(1, 2, 10, 4), "row 2 has class 10, must be in [0, 10)"},
	} {
		changed := maps.Clone(files)
		changed[tt.file] = tt.content
		_, err := data.Open(t.Context(), data.Config{Name: tt.set, Path: settest.Folder(t, changed)})
		if err == nil || !strings.Contains(err.Error(), tt.file+": "+tt.want) {
			t.Errorf("%s: error %v, must be %s", name, err, tt.want)
		}
	}
}
