package mnist

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/memtest"
)

// TestBomb: a small gzip file whose values are as many as its header says is refused
// before they are all in memory.
func TestBomb(t *testing.T) {
	path := write(t, bomb(t, 200<<20))
	memtest.Bounded(t, 200<<20/1000, func() {
		if _, err := ReadImages(path); err == nil || !strings.HasPrefix(err.Error(), path+": unpacks to more than ") {
			t.Errorf("error %v", err)
		}
	})
}

// bomb is a gzip file of n empty images of a pixel.
func bomb(t testing.TB, n int) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	content := append([]byte{
		0, 0, 8, 3, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n), 0, 0, 0, 1, 0,
		0, 0, 1,
	}, make([]byte, n)...)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// FuzzRead: any bytes give values as the header says, or one line.
func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8})
	f.Add([]byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 8})
	f.Add([]byte{0, 0, 0x0c, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9})
	f.Add([]byte{0, 0, 8, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0})
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1, 0, 0, 0xff, 0xff})
	f.Add(bomb(f, 1<<20))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		line := func(err error) {
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q", err)
			}
		}
		memtest.Bounded(t, len(content), func() {
			if images, err := ReadImages(path); err != nil {
				line(err)
			} else if images.N*images.H*images.W != len(images.Pixels) {
				t.Errorf("%d x %d x %d, %d pixels", images.N, images.H, images.W, len(images.Pixels))
			}
		})
		if _, err := ReadLabels(path); err != nil {
			line(err)
		}
		if table, err := ReadTable(path); err != nil {
			line(err)
		} else {
			table.At(table.Rows-1, table.Columns-1)
		}
	})
}
