package mnist

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzRead: any bytes give values as the header says, or one line.
func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8})
	f.Add([]byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 8})
	f.Add([]byte{0, 0, 0x0c, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9})
	f.Add([]byte{0, 0, 8, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0})
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1, 0, 0, 0xff, 0xff})
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
		if images, err := ReadImages(path); err != nil {
			line(err)
		} else if images.N*images.H*images.W != len(images.Pixels) {
			t.Errorf("%d x %d x %d, %d pixels", images.N, images.H, images.W, len(images.Pixels))
		}
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
