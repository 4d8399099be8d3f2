// Package mnist holds MNIST, QMNIST and Fashion-MNIST, and reads the IDX files of
// the family: a big-endian header (two zero bytes, a type, the number of
// dimensions, each dimension as uint32), then the values, the last dimension
// fastest.
package mnist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/fedfast/fedfast/internal/formats/gzfile"
)

// The value types that the family uses.
const (
	typeUint8 = 0x08
	typeInt32 = 0x0c
)

// maxDim bounds a dimension, so that a damaged header cannot ask for any size.
const maxDim = 1 << 28

// Images are N images of H x W grey bytes, row by row.
type Images struct {
	N, H, W int
	Pixels  []byte
}

// ReadImages reads a file of images, plain or gzip.
func ReadImages(path string) (*Images, error) {
	dims, values, err := read(path, typeUint8, 3)
	if err != nil {
		return nil, err
	}
	return &Images{N: dims[0], H: dims[1], W: dims[2], Pixels: values}, nil
}

// ReadLabels reads a file of one byte an example, plain or gzip.
func ReadLabels(path string) ([]byte, error) {
	_, values, err := read(path, typeUint8, 1)
	return values, err
}

// Table is a list of Rows rows of Columns numbers.
type Table struct {
	Rows, Columns int
	values        []byte
}

// At returns the number at a row and a column.
func (t *Table) At(row, column int) int32 {
	return int32(binary.BigEndian.Uint32(t.values[4*(row*t.Columns+column):]))
}

// ReadTable reads a file of int32 rows, such as QMNIST's extended labels, plain
// or gzip.
func ReadTable(path string) (*Table, error) {
	dims, values, err := read(path, typeInt32, 2)
	if err != nil {
		return nil, err
	}
	return &Table{Rows: dims[0], Columns: dims[1], values: values}, nil
}

// read reads a file of the given type and number of dimensions.
func read(path string, kind byte, rank int) (dims []int, values []byte, err error) {
	f, err := gzfile.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	header := make([]byte, 4+4*rank)
	if _, err := io.ReadFull(f, header); err != nil {
		return nil, nil, short(path, err)
	}
	if want := []byte{0, 0, kind, byte(rank)}; !bytes.Equal(header[:4], want) {
		return nil, nil, fmt.Errorf("%s: the file starts with %x, an IDX file of this kind with %x", path, header[:4], want)
	}
	size := 1
	if kind == typeInt32 {
		size = 4
	}
	for i := range rank {
		d := binary.BigEndian.Uint32(header[4+4*i:])
		if d == 0 || d > maxDim || size > maxDim*16/int(d) {
			return nil, nil, fmt.Errorf("%s: dimension %d is %d, which cannot be", path, i+1, d)
		}
		dims = append(dims, int(d))
		size *= int(d)
	}
	content, err := f.Rest(min(int64(size), f.Most()) + 1) // one more, to see the end
	switch n := len(content); {
	case err != nil:
		return nil, nil, err
	case n < size:
		return nil, nil, fmt.Errorf("%s: %d bytes of values, the header %v says %d; is the file complete?", path, n, dims, size)
	case n > size:
		return nil, nil, fmt.Errorf("%s: more values than the header %v says", path, dims)
	}
	return dims, content, nil
}

// short says that a file ends within its header.
func short(path string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: the file ends within its header; is it complete?", path)
	}
	return err
}
