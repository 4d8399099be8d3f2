package parquet_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/memtest"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// encoded returns the bytes of a file.
func encoded[T any](t testing.TB, rows []T) []byte {
	t.Helper()
	var out bytes.Buffer
	settest.Must(t, library.Write(&out, rows, library.Compression(&library.Zstd)))
	return out.Bytes()
}

type labelledImage struct {
	Image []byte `parquet:"image,dict"`
	Label int32  `parquet:"label"`
}

type labelledText struct {
	Text  string `parquet:"text,dict"`
	Label int32  `parquet:"label"`
}

// largePicture is a grey PNG of side x side pixels, which takes a thousandth of them.
func largePicture(t testing.TB, side int) []byte {
	t.Helper()
	var out bytes.Buffer
	settest.Must(t, png.Encode(&out, image.NewGray(image.Rect(0, 0, side, side))))
	return out.Bytes()
}

func opened(t testing.TB, name string, content []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.parquet")
	settest.Must(t, os.WriteFile(path, content, 0o600))
	_, err := data.Open(t.Context(), data.Config{Name: name, Path: path, Partition: "iid", Clients: 1, MinSamples: 1})
	return err
}

// TestSmallFilesOfMuch: pictures and texts that a small file holds once and names often,
// and a picture of many pixels, are refused before they fill the memory.
func TestSmallFilesOfMuch(t *testing.T) {
	often, texts := make([]labelledImage, 300), make([]labelledText, 2500)
	for i, one := 0, largePicture(t, 400); i < len(often); i++ {
		often[i].Image = one
	}
	for i, one := 0, strings.Repeat("word, ", 10_000); i < len(texts); i++ {
		texts[i].Text = one
	}
	for _, tt := range []struct {
		name, set, want string
		content         []byte
	}{
		{
			"many pixels", "parquet",
			"the picture of row 1: it says that it has 8000 x 8000 pixels: would become 257 MB in memory, but a file of",
			encoded(t, []labelledImage{{largePicture(t, 8000), 0}}),
		},
		{"one picture often", "parquet", "x 400 pixels: would become ", encoded(t, often)},
		{"one text often", "parquet-text", "the texts up to row 1", encoded(t, texts)},
	} {
		memtest.Bounded(t, len(tt.content), func() {
			if err := opened(t, tt.set, tt.content); err == nil || !strings.Contains(err.Error(), tt.want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v\nwant %s", tt.name, err, tt.want)
			}
		})
	}
}

// FuzzOpen: any file gives a federation or one line, in bounded memory and time.
func FuzzOpen(f *testing.F) {
	f.Add(encoded(f, []labelledImage{{grey(f, 4, 3, 9), 1}, {grey(f, 4, 3, 8), 0}}), false)
	f.Add(encoded(f, []labelledImage{{largePicture(f, 3000), 1}}), false)
	f.Add(encoded(f, []labelledText{{"some words, and more", 1}, {strings.Repeat("a b ", 1000), 0}}), true)
	f.Fuzz(func(t *testing.T, content []byte, text bool) {
		memtest.Bounded(t, len(content), func() {
			name := map[bool]string{false: "parquet", true: "parquet-text"}[text]
			if err := opened(t, name, content); err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
		})
	})
}
