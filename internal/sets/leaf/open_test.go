package leaf_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

func TestOpenFEMNIST(t *testing.T) {
	dir := settest.Folder(t, map[string]string{
		"train/1.json": settest.FEMNIST("b", 12, "0.2"), "test/1.json": settest.FEMNIST("b", 4, "1.0"),
		"train/0.json": settest.FEMNIST("c", 20, "0.3333"), "test/0.json": settest.FEMNIST("a", 3, "0"),
	})
	fed := settest.Open(t, data.Config{Name: "leaf-femnist", Path: dir, Split: "files", Unseen: true, IID: new(false)})
	if len(fed.Clients) != 2 || fed.Clients[0].ID != "b" || fed.Clients[1].ID != "c" ||
		len(fed.Unseen) != 1 || fed.Unseen[0].ID != "a" {
		t.Fatalf("clients %+v, unseen %+v", fed.Clients, fed.Unseen)
	}
	for _, tt := range []struct {
		view   data.View
		n      int
		pixel  float32
		labels []int32
	}{
		{fed.Clients[0].Train, 10, 0.2, []int32{0, 9}},
		{fed.Clients[0].Val, 2, 0.2, []int32{10, 11}},
		{fed.Clients[0].Test, 4, 1, []int32{0, 3}},
		{fed.Clients[1].Train, 18, 0.3333, []int32{0, 17}}, // no part of 255: kept as a float
		{fed.Unseen[0].Test, 3, 0, []int32{0, 2}},
	} {
		x, labels := make([]float32, 2*784), make([]int32, 2)
		settest.Must(t, tt.view.Fill([]int32{0, int32(tt.n - 1)}, x, nil, labels, &data.Augment{Key: 3}))
		if tt.view.Len() != tt.n || slices.Min(x) != tt.pixel || slices.Max(x) != tt.pixel ||
			!slices.Equal(labels, tt.labels) {
			t.Errorf("%d examples of pixels %v to %v, labels %v; must be %+v", tt.view.Len(),
				slices.Min(x), slices.Max(x), labels, tt)
		}
	}
}

// TestOpenFEMNISTErrors checks that errors of files reach the caller in one line.
func TestOpenFEMNISTErrors(t *testing.T) {
	whole := settest.FEMNIST("u", 3, "1.0")
	for name, tt := range map[string]struct{ file, content, want string }{
		"lengths": {
			"train/a.json", strings.Replace(whole, `"y": [0,1,2]`, `"y": [0,1]`, 1),
			`: user "u": x has 3 samples, y has 2`,
		},
		"label": {
			"test/a.json", strings.Replace(whole, `"y": [0,1,2]`, `"y": [0,1,62]`, 1),
			`: user "u": sample 3 has label 62, must be an integer in [0, 62)`,
		},
		"pixels": {"a.json", strings.Replace(whole, "[1.0, ", "[", 1), `: user "u": sample 1 has 783 pixels, must be 784`},
		"cut":    {"a.json", whole[:5000], `: user "u": the JSON text ends early, after 5000 bytes; is the file complete?`},
	} {
		dir := settest.Folder(t, map[string]string{tt.file: tt.content})
		_, err := data.Open(t.Context(), data.Config{Name: "leaf-femnist", Path: dir})
		if want := "open leaf-femnist: " + filepath.Join(dir, tt.file) + tt.want; err == nil || err.Error() != want {
			t.Errorf("%s: error %v\nmust be %s", name, err, want)
		}
	}
}

func TestOpenLEAFText(t *testing.T) {
	text := strings.Repeat("To be, or not to be: that is the question. ", 4) + "\u00e9}"
	var x, y []string
	for i := range len([]rune(text)) - 80 {
		x = append(x, fmt.Sprintf("%q", string([]rune(text)[i:i+80])))
		y = append(y, fmt.Sprintf("%q", string([]rune(text)[i+80])))
	}
	file := fmt.Sprintf(`{"users": ["u"], "user_data": {"u": {"x": [%s], "y": [%s]}}}`,
		strings.Join(x, ","), strings.Join(y, ","))
	for _, tt := range []struct {
		encoding      string
		vocab         int
		space, e, odd int32
	}{{"leaf", 80, 1, 57, 79}, {"fedex", 101, 2 + 94, 2 + 14, 1}} {
		fed := settest.Open(t, data.Config{
			Name: "leaf-shakespeare",
			Path: settest.Folder(t, map[string]string{"all.json": file}), Encoding: tt.encoding, Split: "1/0/0",
		})
		v := fed.Clients[0].Train
		n := len(x)
		if v.Len() != n || fed.Vocab != tt.vocab || fed.SeqLen != 80 || fed.Kind != data.Tokens {
			t.Fatalf("%s: %d windows of %d, vocabulary %d", tt.encoding, v.Len(), n, fed.Vocab)
		}
		tokens, labels := make([]int32, 2*80), make([]int32, 2)
		settest.Must(t, v.Fill([]int32{0, int32(n - 2)}, nil, tokens, labels, nil))
		if tokens[2] != tt.space || tokens[4] != tt.e || labels[1] != tt.odd {
			t.Errorf("%s: blank %d, e %d, \u00e9 %d; must be %d, %d, %d", tt.encoding, tokens[2], tokens[4],
				labels[1], tt.space, tt.e, tt.odd)
		}
		if notes := strings.Join(fed.Notes, "\n"); !strings.Contains(notes,
			"1 characters (1 different ones) are not in the table") || !strings.Contains(notes, "share up to 80 characters") {
			t.Errorf("notes %q", notes)
		}
	}
}

func TestOpenRawTextErrors(t *testing.T) {
	path := filepath.Join(settest.Folder(t, map[string]string{"raw_data.txt": "no plays\n"}), "raw_data.txt")
	_, err := data.Open(t.Context(), data.Config{Name: "leaf-shakespeare", Path: path})
	if err == nil || !strings.HasPrefix(err.Error(),
		"open leaf-shakespeare: "+path+": no role with more than 80 characters in it") {
		t.Errorf("a text without plays: %v", err)
	}
	empty := t.TempDir()
	_, err = data.Open(t.Context(), data.Config{Name: "leaf-shakespeare", Path: empty})
	if want := "open leaf-shakespeare: " + empty +
		": neither raw_data.txt, plain or .gz, nor LEAF JSON files in it, in train/ or in test/"; err == nil ||
		err.Error() != want {
		t.Errorf("an empty folder: %v, must be %s", err, want)
	}
	dir := settest.Folder(t, map[string]string{"raw_data.txt.gz": "\x1f\x8b\x08\x00\x00"})
	_, err = data.Open(t.Context(), data.Config{Name: "leaf-shakespeare", Path: dir})
	if want := "open leaf-shakespeare: " + filepath.Join(dir,
		"raw_data.txt.gz") + ": the gzip data end early; is the file complete?"; err == nil || err.Error() != want {
		t.Errorf("a cut .gz: %v, must be %s", err, want)
	}
}
