package sqlitefile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"

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

// TestExpandKeepsTheReadersError checks that a stop in the middle is told apart
// from damaged data.
func TestExpandKeepsTheReadersError(t *testing.T) {
	var packed bytes.Buffer
	w, err := lzma.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	content := []byte(magic)
	for i := range 1 << 18 { // does not pack well
		content = append(content, byte(i*i>>7), byte(i*i>>13))
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	broken := io.MultiReader(bytes.NewReader(packed.Bytes()[:packed.Len()/2]), iotest.ErrReader(context.Canceled))
	if _, err := expand(io.Discard, broken, 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, must be that of the reader", err)
	}
}
