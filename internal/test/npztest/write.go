package npztest

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Array is an array to write.
type Array struct {
	// Name is the keyword to save it under.
	Name string
	// Shape are its dimensions, whose product is the number of values.
	Shape []int
	// Values are []uint8, []uint16, []int32, []int64, []float32, []float64 or
	// []string.
	Values any
	// Header, if not empty, is written in place of the one that Shape and Values
	// have: for tests of readers.
	Header string
}

// write writes an archive as numpy.savez does, or numpy.savez_compressed. Equal
// arrays give equal bytes.
func write(w io.Writer, compressed bool, arrays ...Array) error {
	z := zip.NewWriter(w)
	for _, c := range arrays {
		method := zip.Store
		if compressed {
			method = zip.Deflate
		}
		out, err := z.CreateHeader(&zip.FileHeader{Name: c.Name + ".npy", Method: method})
		if err != nil {
			return err
		}
		content, err := c.encode()
		if err != nil {
			return fmt.Errorf("array %s: %w", c.Name, err)
		}
		if _, err := out.Write(content); err != nil {
			return err
		}
	}
	return z.Close()
}

// encode returns an array in NumPy's format, version 1.0.
func (c Array) encode() ([]byte, error) {
	kind, values := "", c.Values
	switch v := c.Values.(type) {
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
	default:
		return nil, fmt.Errorf("values of type %T cannot be written", v)
	}
	shape := ""
	for i, d := range c.Shape {
		shape += fmt.Sprintf("%d, ", d)
		if i > 0 && i == len(c.Shape)-1 {
			shape = strings.TrimSuffix(shape, ", ")
		}
	}
	if len(c.Shape) == 1 {
		shape = strings.TrimSuffix(shape, " ")
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, shape)
	if c.Header != "" {
		header = c.Header
	}
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	out := []byte("\x93NUMPY\x01\x00")
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	return binary.Append(append(out, header...), binary.LittleEndian, values)
}
