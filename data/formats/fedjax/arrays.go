package fedjax

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/data/sys/oneline"
)

// Arrays are a client's arrays by name. Their first dimension counts the
// client's examples.
type Arrays map[string]Array

// Array is one array of NumPy, row by row.
type Array struct {
	Shape []int
	// Type is NumPy's name of the type of Data, "float32" for one; "bytes" for
	// Texts.
	Type string
	Data []byte
	// Texts are the elements of an array of texts.
	Texts [][]byte
}

// The extension types in which FedJAX packs arrays (core/serialization.py): of
// numbers [shape, type, data], of texts [shape, [text, ...]].
const (
	numberArray = 1
	textArray   = 4
)

// typeSizes are the bytes of an element.
var typeSizes = map[string]int{"float32": 4, "float64": 8, "uint8": 1, "int32": 4, "int64": 8}

// maxDims bounds the dimensions of an array.
const maxDims = 8

var errPack = errors.New("is no msgpack of arrays")

// decode reads the msgpack of a client: a map of arrays, which refer to packed.
func decode(packed []byte) (Arrays, error) {
	c := cursor{packed}
	n, err := c.length(mapKind)
	if err != nil {
		return nil, err
	}
	arrays := Arrays{}
	for range n {
		name, err := c.bytes()
		if err != nil {
			return nil, err
		}
		if _, twice := arrays[string(name)]; twice {
			return nil, fmt.Errorf("has array %s twice", oneline.Name(string(name)))
		}
		code, body, err := c.extension()
		if err != nil {
			return nil, fmt.Errorf("array %.64q: %w", name, err)
		}
		a, err := array(code, body)
		if err != nil {
			return nil, fmt.Errorf("array %.64q: %w", name, err)
		}
		arrays[string(name)] = a
	}
	return arrays, nil
}

// array reads the body of an extension.
func array(code byte, body []byte) (a Array, err error) {
	c := cursor{body}
	n, err := c.length(listKind)
	switch {
	case err != nil:
		return a, err
	case code == numberArray && n == 3:
	case code == textArray && n == 2:
	default:
		return a, fmt.Errorf("extension %d of %d parts is no array", code, n)
	}
	dims, err := c.length(listKind)
	if err != nil {
		return a, err
	}
	if dims > maxDims {
		return a, fmt.Errorf("has %d dimensions, at most %d are expected", dims, maxDims)
	}
	count := 1
	for range dims {
		d, err := c.length(numberKind)
		if err != nil {
			return a, err
		}
		if d > 0 && count > math.MaxInt32/d {
			return a, fmt.Errorf("dimensions %v and %d are too large", a.Shape, d)
		}
		count *= d
		a.Shape = append(a.Shape, d)
	}
	if code == textArray {
		a.Type = "bytes"
		n, err := c.length(listKind)
		if err != nil {
			return a, err
		}
		if n != count {
			return a, fmt.Errorf("holds %d texts, shape %v needs %d", n, a.Shape, count)
		}
		for range n {
			text, err := c.bytes()
			if err != nil {
				return a, err
			}
			a.Texts = append(a.Texts, text)
		}
		return a, nil
	}
	name, err := c.bytes()
	if err != nil {
		return a, err
	}
	a.Type = string(name)
	size := typeSizes[a.Type]
	if size == 0 {
		return a, fmt.Errorf("type %.64q is not known", a.Type)
	}
	if a.Data, err = c.bytes(); err != nil {
		return a, err
	}
	if len(a.Data) != count*size {
		return a, fmt.Errorf("holds %d bytes, shape %v of %s needs %d", len(a.Data), a.Shape, a.Type, count*size)
	}
	return a, nil
}

// find returns the array of a name; rows of it must have rowLen elements, or be
// single ones if rowLen is 0.
func (a Arrays) find(name string, rowLen int) (Array, error) {
	v, ok := a[name]
	if !ok {
		return v, fmt.Errorf("has no array %s", name)
	}
	size := 1
	for _, d := range v.Shape[min(1, len(v.Shape)):] {
		size *= d
	}
	if len(v.Shape) == 0 || size != max(1, rowLen) {
		return v, fmt.Errorf("array %s has shape %v, must be examples of %d values", name, v.Shape, max(1, rowLen))
	}
	return v, nil
}

// Floats returns the float32 values of an array whose rows have rowLen.
func (a Arrays) Floats(name string, rowLen int) ([]float32, error) {
	v, err := a.find(name, rowLen)
	if err != nil {
		return nil, err
	}
	if v.Type != "float32" {
		return nil, fmt.Errorf("array %s is of %s, must be of float32", name, v.Type)
	}
	values := make([]float32, len(v.Data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(v.Data[4*i:]))
	}
	return values, nil
}

// Bytes returns the bytes of an array whose rows have rowLen.
func (a Arrays) Bytes(name string, rowLen int) ([]byte, error) {
	v, err := a.find(name, rowLen)
	if err != nil {
		return nil, err
	}
	if v.Type != "uint8" {
		return nil, fmt.Errorf("array %s is of %s, must be of uint8", name, v.Type)
	}
	return v.Data, nil
}

// Labels returns one integer an example, each in [0, classes).
func (a Arrays) Labels(name string, classes int) ([]int32, error) {
	v, err := a.find(name, 0)
	if err != nil {
		return nil, err
	}
	labels := make([]int32, v.Shape[0])
	for i := range labels {
		var l int64
		switch v.Type {
		case "uint8":
			l = int64(v.Data[i])
		case "int32":
			l = int64(int32(binary.LittleEndian.Uint32(v.Data[4*i:])))
		case "int64":
			l = int64(binary.LittleEndian.Uint64(v.Data[8*i:]))
		default:
			return nil, fmt.Errorf("array %s is of %s, must be of integers", name, v.Type)
		}
		if l < 0 || l >= int64(classes) {
			return nil, fmt.Errorf("%s %d of example %d must be in 0 to %d", name, l, i+1, classes-1)
		}
		labels[i] = int32(l)
	}
	return labels, nil
}

// Texts returns one text an example.
func (a Arrays) Texts(name string) ([][]byte, error) {
	v, err := a.find(name, 0)
	if err != nil {
		return nil, err
	}
	if v.Type != "bytes" {
		return nil, fmt.Errorf("array %s is of %s, must be of texts", name, v.Type)
	}
	return v.Texts, nil
}
