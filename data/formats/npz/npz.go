// Package npz reads the files that numpy.savez and numpy.savez_compressed write:
// zip archives of arrays, each in NumPy's format (NEP 1). Arrays of numbers and of
// texts are read, in the order of C; objects, structures and Fortran's order are
// refused with what to do about it.
package npz

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	magic     = "\x93NUMPY"
	suffix    = ".npy"
	maxHeader = 1 << 16
	// maxRatio is how much deflate can shrink zeros; an array that claims more is
	// a damaged one, and is not made room for.
	maxRatio = 1032
)

// File is an open archive.
type File struct {
	path string
	zip  *zip.ReadCloser
}

// Open opens an archive. Errors of File and its arrays name the path.
func Open(path string) (*File, error) {
	z, err := zip.OpenReader(path)
	if errors.Is(err, zip.ErrFormat) {
		return nil, fmt.Errorf("%s: this is no archive of numpy.savez: %w", path, err)
	}
	if err != nil {
		return nil, err
	}
	return &File{path, z}, nil
}

// Close closes the archive.
func (f *File) Close() error { return f.zip.Close() }

// Names returns the names of the arrays in the order of the archive.
func (f *File) Names() []string {
	var names []string
	for _, e := range f.zip.File {
		names = append(names, strings.TrimSuffix(e.Name, suffix))
	}
	return names
}

// Array is an array of a file with its values as they are stored.
type Array struct {
	// Name is the keyword that the array was saved under.
	Name string
	// Shape are its dimensions; a single number has none.
	Shape []int
	// Kind is NumPy's letter: 'u' and 'i' are whole numbers, 'f' floats, 'b' truth
	// values, 'U' and 'S' texts.
	Kind byte
	// Size is how many bytes a value has; of texts also four for each letter.
	Size int

	path  string
	order binary.ByteOrder
	bytes []byte
}

// Read reads an array. It returns nil when the file has none of this name.
func (f *File) Read(name string) (*Array, error) {
	for _, e := range f.zip.File {
		if e.Name != name+suffix {
			continue
		}
		a := &Array{Name: name, path: f.path}
		if err := a.read(e); err != nil {
			return nil, a.errorf("%w", err)
		}
		return a, nil
	}
	return nil, nil
}

func (a *Array) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: array %s: %w", a.path, a.Name, fmt.Errorf(format, args...))
}

// read reads the header and the values.
func (a *Array) read(e *zip.File) error {
	in, err := e.Open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was read only
	header, err := readHeader(in)
	if err != nil {
		return err
	}
	if err := a.parse(header); err != nil {
		return err
	}
	n, ok := a.Size, true
	for _, d := range a.Shape {
		if n, ok = times(n, d); !ok {
			break
		}
	}
	if !ok || uint64(n) > e.UncompressedSize64 || uint64(n)/maxRatio > e.CompressedSize64+1 {
		return fmt.Errorf("the file is damaged: %v values of %d bytes are more than it has", a.Shape, a.Size)
	}
	a.bytes = make([]byte, n)
	if _, err := io.ReadFull(in, a.bytes); err != nil {
		return err
	}
	switch n, err := io.Copy(io.Discard, in); { // at the end the archive's checksum is compared
	case err != nil:
		return fmt.Errorf("the file is damaged: %w", err)
	case n > 0:
		return fmt.Errorf("the file is damaged: %d bytes are left over", n)
	}
	return nil
}

// times multiplies; ok is false when the product is none that an int holds.
func times(a, b int) (n int, ok bool) {
	if b != 0 && a > math.MaxInt/b {
		return 0, false
	}
	return a * b, true
}

// readHeader returns the text between the preamble and the values.
func readHeader(in io.Reader) (string, error) {
	preamble := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(in, preamble); err != nil || string(preamble[:len(magic)]) != magic {
		return "", errors.New("it does not begin as NumPy's arrays do")
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
		return "", fmt.Errorf("a header of %d bytes", n)
	}
	header := make([]byte, n)
	_, err := io.ReadFull(in, header)
	return string(header), err
}

// The two forms of a header: of a plain array, and any.
var (
	plain   = regexp.MustCompile(`^\{'descr': '([<>|=])([a-zA-Z])([0-9]*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \}\s*$`)
	numbers = regexp.MustCompile(`[0-9]+`)
)

// parse takes in a header.
func (a *Array) parse(header string) error {
	m := plain.FindStringSubmatch(header)
	if m == nil {
		return fmt.Errorf("its header is not that of a plain array: %q", header)
	}
	a.Kind, a.order = m[2][0], binary.LittleEndian
	if m[1] == ">" {
		a.order = binary.BigEndian
	}
	if a.Kind == 'O' {
		return errors.New("it holds Python objects; save an array of numbers or texts (all rows of one length), such as numpy.array(list, dtype=numpy.int32)")
	}
	size, err := strconv.Atoi(m[3])
	if err != nil || size < 1 || !strings.ContainsRune("uifbUS", rune(a.Kind)) {
		return fmt.Errorf("values of type %s%s are not read; save whole numbers, floats or texts", m[2], m[3])
	}
	if a.Size = size; a.Kind == 'U' {
		a.Size *= 4
	}
	for _, text := range numbers.FindAllString(m[5], -1) {
		d, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		a.Shape = append(a.Shape, d)
	}
	if m[4] == "True" && len(a.Shape) > 1 {
		return fmt.Errorf("it is in Fortran's order; save numpy.ascontiguousarray(%s)", a.Name)
	}
	return nil
}

// Len returns the number of values.
func (a *Array) Len() int { return len(a.bytes) / a.Size }

// Type writes the type as NumPy does: uint8, float32, <U5.
func (a *Array) Type() string {
	switch a.Kind {
	case 'u':
		return "uint" + strconv.Itoa(8*a.Size)
	case 'i':
		return "int" + strconv.Itoa(8*a.Size)
	case 'f':
		return "float" + strconv.Itoa(8*a.Size)
	case 'b':
		return "bool"
	case 'U':
		return "<U" + strconv.Itoa(a.Size/4)
	}
	return string(a.Kind) + strconv.Itoa(a.Size)
}

// Bytes returns the values of an array of type uint8 or bool.
func (a *Array) Bytes() ([]byte, error) {
	if a.Size != 1 || a.Kind != 'u' && a.Kind != 'b' {
		return nil, a.errorf("values of type %s, must be uint8", a.Type())
	}
	return a.bytes, nil
}

// Floats returns numbers, rounded to 32 bits. They must be finite.
func (a *Array) Floats() ([]float32, error) {
	get := a.whole()
	switch {
	case a.Kind == 'f' && a.Size == 4:
		get = func(b []byte) (float64, bool) { return float64(math.Float32frombits(a.order.Uint32(b))), true }
	case a.Kind == 'f' && a.Size == 8:
		get = func(b []byte) (float64, bool) { return math.Float64frombits(a.order.Uint64(b)), true }
	}
	if get == nil {
		return nil, a.errorf("values of type %s, must be float32, float64 or whole numbers; save %s.astype(\"float32\")", a.Type(), a.Name)
	}
	out := make([]float32, a.Len())
	for i := range out {
		x, ok := get(a.bytes[i*a.Size:])
		out[i] = float32(x)
		if !ok || math.IsNaN(x) || math.IsInf(float64(out[i]), 0) {
			return nil, a.errorf("value %s is %v, must be a finite number that 32 bits hold", a.place(i), x)
		}
	}
	return out, nil
}

// Ints returns whole numbers, which must be in [least, most].
func (a *Array) Ints(least, most int32) ([]int32, error) {
	get := a.whole()
	if get == nil {
		return nil, a.errorf("values of type %s, must be whole numbers; save %s.astype(\"int32\"), or numpy.unique(%s, return_inverse=True)[1] of names", a.Type(), a.Name, a.Name)
	}
	out := make([]int32, a.Len())
	for i := range out {
		x, ok := get(a.bytes[i*a.Size:])
		if !ok || x < float64(least) || x > float64(most) {
			return nil, a.errorf("value %s is %.0f, must be in %d to %d", a.place(i), x, least, most)
		}
		out[i] = int32(x)
	}
	return out, nil
}

// whole returns what reads a whole number, nil of another type; ok is false for
// one that a float64 does not hold.
func (a *Array) whole() func(b []byte) (x float64, ok bool) {
	const exact = 1 << 53
	unsigned := func(n uint64) (float64, bool) { return float64(n), n <= exact }
	signed := func(n int64) (float64, bool) { return float64(n), n >= -exact && n <= exact }
	switch {
	case (a.Kind == 'u' || a.Kind == 'b') && a.Size == 1:
		return func(b []byte) (float64, bool) { return float64(b[0]), true }
	case a.Kind == 'u' && a.Size == 2:
		return func(b []byte) (float64, bool) { return unsigned(uint64(a.order.Uint16(b))) }
	case a.Kind == 'u' && a.Size == 4:
		return func(b []byte) (float64, bool) { return unsigned(uint64(a.order.Uint32(b))) }
	case a.Kind == 'u' && a.Size == 8:
		return func(b []byte) (float64, bool) { return unsigned(a.order.Uint64(b)) }
	case a.Kind == 'i' && a.Size == 1:
		return func(b []byte) (float64, bool) { return float64(int8(b[0])), true }
	case a.Kind == 'i' && a.Size == 2:
		return func(b []byte) (float64, bool) { return signed(int64(int16(a.order.Uint16(b)))) }
	case a.Kind == 'i' && a.Size == 4:
		return func(b []byte) (float64, bool) { return signed(int64(int32(a.order.Uint32(b)))) }
	case a.Kind == 'i' && a.Size == 8:
		return func(b []byte) (float64, bool) { return signed(int64(a.order.Uint64(b))) }
	}
	return nil
}

// Texts returns texts, which whole numbers are written as.
func (a *Array) Texts() ([]string, error) {
	out := make([]string, a.Len())
	switch get := a.whole(); {
	case get != nil:
		for i := range out {
			x, ok := get(a.bytes[i*a.Size:])
			if !ok {
				return nil, a.errorf("value %s is too large a number", a.place(i))
			}
			out[i] = strconv.FormatFloat(x, 'f', 0, 64)
		}
	case a.Kind == 'S':
		for i := range out {
			out[i] = strings.TrimRight(string(a.bytes[i*a.Size:][:a.Size]), "\x00")
			if !utf8.ValidString(out[i]) {
				return nil, a.errorf("value %s is no text in UTF-8: %q", a.place(i), out[i])
			}
		}
	case a.Kind == 'U':
		var letters []rune
		for i := range out {
			letters = letters[:0]
			for at := 0; at < a.Size; at += 4 {
				letters = append(letters, rune(a.order.Uint32(a.bytes[i*a.Size+at:])))
			}
			out[i] = strings.TrimRight(string(letters), "\x00")
		}
	default:
		return nil, a.errorf("values of type %s, must be whole numbers or texts", a.Type())
	}
	return out, nil
}

// Numeric says whether the values are whole numbers.
func (a *Array) Numeric() bool { return a.whole() != nil }

// place writes the index of value i, such as [3, 0].
func (a *Array) place(i int) string {
	index := make([]string, len(a.Shape))
	for k := len(a.Shape) - 1; k >= 0; k-- {
		index[k] = strconv.Itoa(i % a.Shape[k])
		i /= a.Shape[k]
	}
	return "[" + strings.Join(index, ", ") + "]"
}
