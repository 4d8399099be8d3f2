// Package npztest writes archives in the form of numpy.savez for tests.
package npztest

import (
	"bytes"
	"os"
	"testing"
)

// Write makes an archive, compressed or not.
func Write(t testing.TB, path string, compressed bool, arrays ...Array) {
	t.Helper()
	content, err := Encode(compressed, arrays...)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Encode returns an archive.
func Encode(compressed bool, arrays ...Array) ([]byte, error) {
	var out bytes.Buffer
	err := write(&out, compressed, arrays...)
	return out.Bytes(), err
}
