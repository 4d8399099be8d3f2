package parquet_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// pngOf encodes a picture as PNG.
func pngOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	settest.Must(t, png.Encode(&out, m))
	return out.Bytes()
}

// TestDeepPictures: pictures of 16 bits of which fewer are used have the range of those of
// 8 bits, and what is transparent is told.
func TestDeepPictures(t *testing.T) {
	type row struct {
		Image []byte `parquet:"image"`
		Label int32  `parquet:"label"`
	}
	deep := func(least, most int) []row {
		var rows []row
		for i := range 8 {
			g := image.NewGray16(image.Rect(0, 0, 2, 1))
			g.SetGray16(0, 0, color.Gray16{Y: uint16(most)})
			g.SetGray16(1, 0, color.Gray16{Y: uint16(least + (most-least)*i/7)})
			rows = append(rows, row{pngOf(t, g), int32(i % 2)})
		}
		return rows
	}
	open := func(rows []row) (*data.Federation, error) {
		path := write(t, filepath.Join(t.TempDir(), "own.parquet"), rows)
		return data.Open(t.Context(), data.Config{
			Name: "parquet", Path: path, Partition: "iid", Clients: 1,
			MinSamples: 1, Split: "100/0/0",
		})
	}
	for most, note := range map[int]string{
		255: "lower 8 are used", 1023: "lower 10 are used",
		4000: "lower 12 are used (the largest is 4000): 4095 is read as 255", 16383: "lower 14", 65535: "",
	} {
		fed, err := open(deep(0, most))
		settest.Must(t, err)
		x, _, _ := fill(t, fed.Clients[0].Train, 2, 0)
		if slices.Max(x) < 0.95 || slices.Min(x) != 0 || !strings.Contains(strings.Join(fed.Notes, "\n"), note) ||
			strings.Contains(strings.Join(fed.Notes, "\n"), "16 bits") != (note != "") {
			t.Errorf("%d: pixels %v, notes %q", most, x, fed.Notes)
		}
	}
	hot := image.NewGray16(image.Rect(0, 0, 2, 1))
	hot.SetGray16(0, 0, color.Gray16{Y: 65535})
	fed, err := open(append(slices.Concat(deep(0, 4000), deep(0, 4000)), row{pngOf(t, hot), 1}))
	settest.Must(t, err)
	x, _, _ := fill(t, fed.Clients[0].Train, 2, 0)
	if notes := strings.Join(fed.Notes, "\n"); slices.Max(x) < 0.95 || !strings.Contains(notes, "lower 12") ||
		!strings.Contains(notes, "1 of the pictures have pixels above 4095: they are read as 255") {
		t.Errorf("one hot picture: pixels %v, notes %s", x, notes)
	}
	for _, tt := range []struct {
		least, most int
		note        string
	}{
		{
			32768, 33267,
			`with values from 32768 to 33267, which become 2 of 256 levels; to keep more, save ((x - 32768.0) * (65535 / 499)).astype("uint16") of each picture x`,
		},
		{4000, 4095, "with values from 4000 to 4095, which become 6 of 256 levels"},
		{40000, 40000, ""},
		{0, 31, ""},
		{20000, 40000, ""},
	} {
		fed, err := open(deep(tt.least, tt.most))
		settest.Must(t, err)
		if said := strings.Join(fed.Notes, "\n"); !strings.Contains(said, tt.note) ||
			strings.Contains(said, "levels") != (tt.note != "") {
			t.Errorf("%d to %d: notes %q", tt.least, tt.most, fed.Notes)
		}
	}
	fed, err = open(append(deep(0, 4000), slices.Repeat([]row{{pngOf(t, hot), 1}}, 8)...))
	settest.Must(t, err)
	want := "from 0 to 65535, where all but that are at most 4000, which become " +
		"16 of 256 levels; to keep more, save ((numpy.minimum(x, 4000) - 0.0) * (65535 / 4000))"
	if got := strings.Join(fed.Notes, "\n"); !strings.Contains(got, want) {
		t.Errorf("a marker in each picture: notes %s, want %s", got, want)
	}
	shades := image.NewNRGBA64(image.Rect(0, 0, 2, 1)) // what is transparent loses no precision
	shades.SetNRGBA64(0, 0, color.NRGBA64{R: 4095, G: 0x100, B: 0x200, A: 0x1234})
	fed, err = open([]row{{pngOf(t, shades), 0}})
	settest.Must(t, err)
	if x, _, _ := fill(t, fed.Clients[0].Train, 6, 0); !slices.Equal(x[:3], []float32{1, 16. / 255, 32. / 255}) {
		t.Errorf("a transparent picture has the pixels %v", x)
	}
	mixed := append(deep(0, 4095), row{grey(t, 2, 1, 9), 0})
	if _, err := open(mixed); err == nil || !strings.Contains(err.Error(),
		"some pictures up to row 9 have 8 bits a channel, others 16") {
		t.Errorf("mixed: %v", err)
	}
	rows := []row{
		{colour(t, 2, 1, color.NRGBA{1, 2, 3, 9}, false), 0},
		{colour(t, 2, 1, color.NRGBA{1, 2, 3, 255}, false), 1},
	}
	if fed, err := open(rows); err != nil || fed.C != 3 || !strings.Contains(strings.Join(fed.Notes, "\n"),
		"some pictures are partly transparent") {
		t.Errorf("transparent: %v", err)
	}
}

// TestTestFilesByName: what files and folders are called says which samples are for testing.
func TestTestFilesByName(t *testing.T) {
	type row struct {
		Text  string `parquet:"text"`
		Label int32  `parquet:"label"`
	}
	for _, tt := range []struct {
		train, test string
		is          bool
	}{
		{"reviews_train.parquet", "reviews_test.parquet", true},
		{"reviews-train.parquet", "reviews-test-00000-of-00001.parquet", true},
		{"a.parquet", "reviewsTest.parquet", true},
		{"train/0.parquet", "test/0.parquet", true},
		{"data/train/0.parquet", "data/validation/0.parquet", true},
		{"part1.parquet", "my.dev.parquet", true},
		{"part1.parquet", "val_1.parquet", true},
		{"Train.parquet", "TEST.parquet", true},
		{"a.parquet", "latest.parquet", false},
		{"a.parquet", "protest2.parquet", false},
		{"b.parquet", "ab_test_train.parquet", false},
		{"a.parquet", "other/test.parquet", false},
	} {
		dir, rows := t.TempDir(), []row{{"a b", 0}, {"b c", 1}}
		write(t, filepath.Join(dir, tt.train), slices.Repeat(rows, 10))
		write(t, filepath.Join(dir, tt.test), rows)
		fed, err := data.Open(t.Context(), data.Config{
			Name: "parquet-text", Path: dir,
			Partition: "iid", Clients: 1, MinSamples: 1,
		})
		settest.Must(t, err)
		if noted := slices.Contains(fed.Notes,
			"files with test samples, by their names: "+tt.test); fed.FilesTest != tt.is || noted != tt.is {
			t.Errorf("%s and %s: test samples of the files %v, notes %q", tt.train, tt.test, fed.FilesTest, fed.Notes)
		}
	}
}

// TestLettersWithoutSpaces: scripts without spaces have a word a letter, and what is left of
// long texts, of texts of one word and of none is told.
func TestLettersWithoutSpaces(t *testing.T) {
	type row struct {
		Text  string `parquet:"text"`
		Label string `parquet:"label"`
	}
	for text, want := range map[string]string{
		"这部电影很好看": "the words are the 7 ", "とてもコーヒー": "the words are the 6 ", "หนังดีมาก": "the words are the 7 ",
		"word":    "2 of 2 texts are one word each",
		"word 这好": "the words are the 3 ", "###": "no words",
		"a + b )":                "50 % of the texts' characters are signs such as + or ) that are in no word",
		strings.Repeat("a ", 65): "of 2 of 2 texts, which are longer, the first 64 words are read",
	} {
		path := write(t, filepath.Join(t.TempDir(), "own.parquet"), []row{{text, "a"}, {text, "b"}})
		fed, err := data.Open(t.Context(), data.Config{
			Name: "parquet-text", Path: path, Partition: "iid", Clients: 1,
			MinSamples: 1, Split: "100/0/0",
		})
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if !strings.Contains(strings.Join(fed.Notes, "\n"), want) {
			t.Errorf("%s: %q, want %s", text, fed.Notes, want)
		}
	}
}

// TestDecimalLabels: decimal numbers are what they stand for, and columns that nothing is made of are told.
func TestDecimalLabels(t *testing.T) {
	type row struct {
		Text  string `parquet:"text"`
		Label int64  `parquet:"label,decimal(2:5)"`
		Split string `parquet:"split"`
	}
	path := write(t, filepath.Join(t.TempDir(), "own.parquet"), []row{{"a b", 100, "train"}, {"b", 250, "test"}})
	fed, err := data.Open(t.Context(), data.Config{
		Name: "parquet-text", Path: path, Partition: "iid", Clients: 1, MinSamples: 1, Split: "100/0/0",
	})
	settest.Must(t, err)
	targets := make([]float32, 2)
	settest.Must(t, fed.Clients[0].Train.FillTargets([]int32{0, 1}, targets))
	if slices.Sort(targets); !slices.Equal(targets, []float32{1, 2.5}) {
		t.Errorf("1.00 and 2.50 are %v", targets)
	}
	for _, note := range []string{
		"columns that nothing is made of: split; test samples come from files whose names have the word test",
	} {
		if !slices.Contains(fed.Notes, note) {
			t.Errorf("notes %q, want %s", fed.Notes, note)
		}
	}
}

// TestDarkPictures: pictures that are black, or nearly, are told.
func TestDarkPictures(t *testing.T) {
	type row struct {
		Image []byte `parquet:"image"`
		Label int32  `parquet:"label"`
	}
	for shade, want := range map[byte]string{
		0: "all pixels of the pictures are 0 of 255: there is nothing to learn from",
		9: "the brightest pixel of the pictures is 9 of 255; save (x * (255 / 9)).astype(\"uint8\") of each picture x " +
			"if that is white",
	} {
		path := write(t, filepath.Join(t.TempDir(), "own.parquet"), []row{{grey(t, 2, 1, 0), 0}, {grey(t, 2, 1, shade), 1}})
		fed, err := data.Open(t.Context(), data.Config{
			Name: "parquet", Path: path, Partition: "iid", Clients: 1, MinSamples: 1, Split: "100/0/0",
		})
		settest.Must(t, err)
		if !slices.Contains(fed.Notes, want) {
			t.Errorf("notes %q, want %s", fed.Notes, want)
		}
	}
}

// TestColumnsTaken: what columns of labels and clients are taken for in each type, and the
// line that leaves out or converts what is not read.
func TestColumnsTaken(t *testing.T) {
	nan, dir := math.NaN(), t.TempDir()
	for i, tt := range []struct {
		path func(path string) string
		want string
	}{
		{rows[float64, float64](t, []float64{0.5, 1.5, 2.25}, []float64{3, 3, 4}), "<nil>"},
		{
			rows[float64, int32](t, []float64{0, 1, 1}, []int32{3, 3, 4}),
			"though all are whole; save it as integers if they are classes",
		},
		{rows[int64, string](t, []int64{0, 1, 1}, []string{"a", "a", "b"}), "<nil>"},
		{rows[bool, string](t, []bool{false, true, true}, []string{"a", "a", "b"}), "<nil>"},
		{
			rows[int32, float32](t, []int32{0, 1, 1}, []float32{0.5, 0.5, 1}),
			"0.5 names a client; read are integers and names: save frame.client.astype(str)",
		},
		{
			rows[int32, float32](t, []int32{0, 1, 1}, []float32{1 << 24, 1, 1}),
			`floats round ids from 16777216, so that clients may become one; read are integers and names: read ids as texts`,
		},
		{
			rows[int32, float64](t, []int32{0, 1, 1}, []float64{3, nan, 1}),
			"the client of row 2 is missing; leave such rows out: frame = frame[frame.client.notna()]",
		},
		{
			rows[float64, string](t, []float64{0.5, nan, 1}, []string{"a", "a", "b"}),
			"row 2 is NaN, must be a finite number; leave such rows out: frame = frame[numpy.isfinite(frame.label)]",
		},
		{
			rows[*int32, string](t, []*int32{new(int32(1)), nil, new(int32(0))}, []string{"a", "a", "b"}),
			"row 2 has no value; leave such rows out, by frame.dropna()",
		},
		{
			rows[int32, string](t, []int32{0, 1, 2, 255}, []string{"a", "a", "b", "b"}),
			"1 of 4 labels are 255, the others 0 to 2; read are classes from 0 to 1048575: leave samples without a label out, frame = frame[frame.label != 255]",
		},
		{
			rows[int32, string](t, []int32{325000, 410000, 899000}, []string{"a", "a", "b"}),
			`the 3 labels are 3 different integers from 325000 to 899000; read are classes, most of which occur several times: save frame.label.astype("float32")`,
		},
		{
			rows[int64, string](t, []int64{1 << 40, 0}, []string{"a", "a"}),
			`save frame.label.astype("float32") if it is a number to predict, frame.label.astype(str) if it is the name of a class`,
		},
		{
			rows[int32, string](t, []int32{-1, 1, 1}, []string{"a", "a", "b"}),
			"the labels -1 and 1 are taken for the classes 0 and 1",
		},
		{
			rows[string, string](t, []string{"yes", "?"}, []string{"a", "a"}),
			`label 1 is "?", which stands for a missing value`,
		},
	} {
		fed, err := data.Open(t.Context(), data.Config{
			Name: "parquet-text",
			Path: tt.path(filepath.Join(dir, fmt.Sprint(i, ".parquet"))), MinSamples: 1, Split: "100/0/0",
		})
		got := fmt.Sprint(err)
		if err == nil {
			got += strings.Join(fed.Notes, "\n")
		}
		if !strings.Contains(got, tt.want) || strings.Contains(got, "\n\t") {
			t.Errorf("case %d: %s, want %s", i, got, tt.want)
		}
	}
}

// rows returns what writes a file of texts with labels and clients.
func rows[L, C any](t *testing.T, labels []L, clients []C) func(path string) string {
	type row struct {
		Text   string `parquet:"text"`
		Label  L      `parquet:"label"`
		Client C      `parquet:"client"`
	}
	return func(path string) string {
		var list []row
		for i := range labels {
			list = append(list, row{"a b", labels[i], clients[i]})
		}
		return write(t, path, list)
	}
}
