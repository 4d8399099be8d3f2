package sqlitefile

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/ulikunitz/xz/lzma"
)

func TestExpandStopsAtItsLimit(t *testing.T) {
	var packed bytes.Buffer
	w, err := lzma.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	content := append([]byte(magic), make([]byte, 1<<20)...)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := int64(len(content))
	for limit, want := range map[int64]error{whole: nil, whole - 1: errBomb, 100: errBomb} {
		n, err := expand(io.Discard, bytes.NewReader(packed.Bytes()), limit)
		if !errors.Is(err, want) || n > limit+1 {
			t.Errorf("limit %d: %d bytes, error %v, want %v", limit, n, err, want)
		}
	}
}
