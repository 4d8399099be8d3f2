package npz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/sets/own"
)

const (
	magic     = "\x93NUMPY"
	maxHeader = 1 << 16
	maxSize   = 1 << 28 // letters or bytes of a value
)

// readHeader returns the text between the preamble and the values.
func readHeader(in io.Reader) (string, error) {
	preamble := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(in, preamble); err != nil || string(preamble[:len(magic)]) != magic {
		return "", errors.New("not a NumPy array")
	}
	length, size := make([]byte, 4), 4
	if major := preamble[len(magic)]; major == 1 {
		size = 2
	}
	if _, err := io.ReadFull(in, length[:size]); err != nil {
		return "", err
	}
	n := binary.LittleEndian.Uint32(length)
	if n > maxHeader {
		return "", fmt.Errorf("the file is damaged: a header of %d bytes", n)
	}
	header := make([]byte, n)
	_, err := io.ReadFull(in, header)
	return string(header), err
}

// The two forms of a header: of a plain array, and any.
var (
	plain   = regexp.MustCompile(`^\{'descr': '([<>|=])([a-zA-Z])([0-9]*)(?:\[[^']*\])?', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \}\s*$`)
	numbers = regexp.MustCompile(`[0-9]+`)
)

// ways convert arrays of types that are not read, by NumPy's letters.
var ways = map[string]string{
	"c": "numpy.column_stack([%[1]s.real, %[1]s.imag])", "M": "(%s - numpy.datetime64(0, \"D\")) / numpy.timedelta64(1, \"D\"), or .astype(str) of names", "m": "%s / numpy.timedelta64(1, \"D\")",
	"V": "(%[1]s.view(\"uint16\").astype(\"uint32\") << 16).view(\"float32\") of bfloat16, " +
		"%[1]s.view(\"float32\").reshape(len(%[1]s), -1) of floats",
}

// parse takes in a header.
func (a *Array) parse(header string) error {
	m := plain.FindStringSubmatch(header)
	if strings.Contains(header, "'descr': [") {
		return own.Refused("records of several fields", "plain arrays of numbers or strings", fmt.Sprintf("from numpy.lib.recfunctions import structured_to_unstructured; save structured_to_unstructured(%s)", a.Name))
	}
	if m == nil {
		return fmt.Errorf("unsupported array header: %.200q", header)
	}
	a.Kind, a.order = m[2][0], binary.LittleEndian
	if m[1] == ">" {
		a.order = binary.BigEndian
	}
	if a.Kind == 'O' {
		return own.Refused("contains Python objects", "arrays of numbers or strings, all rows of one length", fmt.Sprintf("save numpy.array(%s.tolist()), %[1]s.astype(\"float32\") of Decimals, or %[1]s.astype(str) of names", a.Name))
	}
	size, err := strconv.Atoi(m[3])
	if err != nil || size < 1 || size > maxSize || !strings.ContainsRune("uifbUS", rune(a.Kind)) {
		way, ok := ways[m[2]]
		if !ok {
			way = "%s.astype(\"float32\")"
		}
		return own.Refused(fmt.Sprintf("values of type %s%.20s are not supported", m[2], m[3]), "integers, floats and strings", "save "+fmt.Sprintf(way, a.Name))
	}
	if a.Size = size; a.Kind == 'U' {
		a.Size *= 4
	}
	for _, text := range numbers.FindAllString(m[5], -1) {
		d, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("a dimension of %.30s: more than any array has", text)
		}
		a.Shape = append(a.Shape, d)
	}
	if m[4] == "True" && len(a.Shape) > 1 {
		return fmt.Errorf("is in Fortran order; save numpy.ascontiguousarray(%s)", a.Name)
	}
	return nil
}

// product returns the bytes of values of some bytes and a shape; ok is false when
// that is more than an int holds.
func product(size int, shape []int) (n int, ok bool) {
	n = size
	for _, d := range shape {
		if d != 0 && n > math.MaxInt/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}
