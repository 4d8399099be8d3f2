package mnist

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	twoImages = []byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255}
	table     = []byte{0, 0, 12, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 1, 0, 255, 255, 255, 254}
)

func TestRead(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(twoImages); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{twoImages, packed.Bytes()} {
		m, err := ReadImages(write(t, content))
		if err != nil || m.N != 2 || m.H != 1 || m.W != 3 || !bytes.Equal(m.Pixels, []byte{1, 2, 3, 4, 5, 255}) {
			t.Errorf("images %+v, %v", m, err)
		}
	}
	labels, err := ReadLabels(write(t, []byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 9}))
	if err != nil || !bytes.Equal(labels, []byte{7, 9}) {
		t.Errorf("labels %v, %v", labels, err)
	}
	rows, err := ReadTable(write(t, table))
	if err != nil || rows.Rows != 2 || rows.Columns != 1 || rows.At(0, 0) != 256 || rows.At(1, 0) != -2 {
		t.Errorf("table %+v, %v", rows, err)
	}
}

func TestReadErrors(t *testing.T) {
	changed := func(at int, b byte) []byte {
		c := bytes.Clone(twoImages)
		c[at] = b
		return c
	}
	for _, tt := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty", nil, "the file is empty"},
		{"header cut off", twoImages[:9], "the file ends within its header; is it complete?"},
		{"values cut off", twoImages[:20], "4 bytes of values, the header [2 1 3] says 6; is the file complete?"},
		{"more values", append(bytes.Clone(twoImages), 0), "more values than the header [2 1 3] says"},
		{"a table", table, "the file starts with 00000c02, an IDX file of this kind with 00000803"},
		{"no rows", changed(7, 0), "dimension 1 is 0, which cannot be"},
		{"too many rows", changed(4, 200), "dimension 1 is 3355443202, which cannot be"},
		{
			"more than there is", changed(5, 200),
			"6 bytes of values, the header [13107202 1 3] says 39321606; is the file complete?",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.content)
			if _, err := ReadImages(path); err == nil || err.Error() != path+": "+tt.want {
				t.Errorf("error %v, must be %s", err, tt.want)
			}
		})
	}
	if _, err := ReadLabels(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a missing file: %v", err)
	}
}
