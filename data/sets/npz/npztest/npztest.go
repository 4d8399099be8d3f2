// Package npztest writes archives in the form of numpy.savez for tests.
package npztest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Array is an array to write.
type Array struct {
	Name  string
	Shape []int
	// Values are []uint8, []uint16, []int32, []int64, []float32, []float64 or
	// []string.
	Values any
	// Header, if not "", is written instead of the right one.
	Header string
}

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
	z := zip.NewWriter(&out)
	for _, a := range arrays {
		method := zip.Store
		if compressed {
			method = zip.Deflate
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: method})
		if err != nil {
			return nil, err
		}
		content, err := a.encode()
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}

// encode returns an array in NumPy's format, version 1.0.
func (a Array) encode() ([]byte, error) {
	kind := ""
	values := a.Values
	switch v := a.Values.(type) {
	case []uint8:
		kind = "|u1"
	case []uint16:
		kind = "<u2"
	case []int32:
		kind = "<i4"
	case []int64:
		kind = "<i8"
	case []float32:
		kind = "<f4"
	case []float64:
		kind = "<f8"
	case []string:
		most := 1
		for _, s := range v {
			most = max(most, len([]rune(s)))
		}
		kind = fmt.Sprintf("<U%d", most)
		letters := make([]int32, len(v)*most)
		for i, s := range v {
			copy(letters[i*most:], []rune(s))
		}
		values = letters
	}
	shape := ""
	for i, d := range a.Shape {
		shape += fmt.Sprintf("%d, ", d)
		if i > 0 && i == len(a.Shape)-1 {
			shape = strings.TrimSuffix(shape, ", ")
		}
	}
	if len(a.Shape) == 1 {
		shape = strings.TrimSuffix(shape, " ")
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, shape)
	if a.Header != "" {
		header = a.Header
	}
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	out := []byte("\x93NUMPY\x01\x00")
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	return binary.Append(append(out, header...), binary.LittleEndian, values)
}
