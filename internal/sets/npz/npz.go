// Package npz holds the sets of users' own data, and reads the files that
// numpy.savez and numpy.savez_compressed write: zip archives of arrays, each in
// NumPy's format (NEP 1). Arrays of numbers and of strings are read, in the order of
// C; objects, structures and Fortran's order are refused with what to do about it.
package npz

import (
	"archive/zip"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

const (
	suffix = ".npy"
	// maxRatio is how much deflate can shrink zeros; an array that claims more is
	// a damaged one, and is not made room for.
	maxRatio = 1032
)

// File is an open archive.
type File struct {
	path string
	file *os.File
	size int64
	zip  *zip.Reader
}

// Open opens an archive. No two arrays may have the same name. Errors of File and
// its arrays name the path.
func Open(path string) (*File, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, file: file}
	if err := f.open(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// open reads the archive's list of arrays.
func (f *File) open() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	f.size = info.Size()
	f.zip, err = zip.NewReader(f.file, f.size)
	switch {
	case f.size == 0:
		return fmt.Errorf("%s: the file is empty", f.path)
	case errors.Is(err, zip.ErrFormat):
		return fmt.Errorf("%s: not an archive of numpy.savez, but %s", f.path, cmp.Or(own.Kind(f.path),
			"another file; data.name = \"csv\" reads tables in text form"))
	case err != nil:
		return fmt.Errorf("%s: %w", f.path, err)
	}
	seen := map[string]bool{}
	for _, name := range f.Names() {
		if seen[name] {
			return fmt.Errorf("%s: duplicate array %s", f.path, oneline.Name(name))
		}
		seen[name] = true
	}
	return nil
}

// Close closes the archive.
func (f *File) Close() error { return f.file.Close() }

// Names returns the names of the arrays in the order of the archive.
func (f *File) Names() []string {
	return list.Of(f.zip.File, func(e *zip.File) string { return strings.TrimSuffix(e.Name, suffix) })
}

// Array is an array of a file with its values as they are stored.
type Array struct {
	// Name is the keyword that the array was saved under.
	Name string
	// Shape are its dimensions; a single number has none.
	Shape []int
	// Kind is NumPy's letter: 'u' and 'i' are integers, 'f' floats, 'b' truth
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
		if strings.TrimSuffix(e.Name, suffix) != name {
			continue
		}
		a := &Array{Name: name, path: f.path}
		if e.CompressedSize64 > uint64(f.size) {
			return nil, a.errorf("the file is damaged: it says that it has %d bytes of the array, and has %d in all", e.CompressedSize64, f.size)
		}
		if err := a.read(e); err != nil {
			return nil, a.errorf("%w", err)
		}
		return a, nil
	}
	return nil, nil
}

func (a *Array) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: array %s: %w", a.path, oneline.Name(a.Name), fmt.Errorf(format, args...))
}

// read reads the header and the values. Room is made for no more than the packed
// bytes can become, and than there is memory.
func (a *Array) read(e *zip.File) error {
	if e.Flags&1 != 0 {
		return own.Refused("is encrypted", "archives without a password", "unpack it, and save numpy.savez(\"own.npz\", ...)")
	}
	in, err := e.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		names := map[uint16]string{9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd", 95: "xz", 99: "encryption"}
		return own.Refused("is packed by "+cmp.Or(names[e.Method], fmt.Sprintf("method %d of zip", e.Method)),
			"archives of numpy.savez and numpy.savez_compressed", fmt.Sprintf("save numpy.savez(\"own.npz\", **numpy.load(%q))",
				filepath.Base(a.path)))
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was read only
	header, err := readHeader(in)
	if err != nil {
		return early(err)
	}
	if err := a.parse(header); err != nil {
		return err
	}
	n, ok := product(a.Size, a.Shape)
	if !ok || uint64(n) > e.UncompressedSize64 || uint64(n)/maxRatio > e.CompressedSize64+1 {
		return fmt.Errorf("the file is damaged: %v values of %d bytes are more than it has", a.Shape, a.Size)
	}
	if err := memory.Check(int64(n)); err != nil {
		return err
	}
	a.bytes = make([]byte, n)
	if _, err := io.ReadFull(in, a.bytes); err != nil {
		return early(err)
	}
	// At the end the archive's checksum is compared.
	switch _, err := io.ReadFull(in, make([]byte, 1)); {
	case err == nil:
		return fmt.Errorf("the file is damaged: bytes are left over after %v values", a.Shape)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("the file is damaged: %w", regular.Cause(err))
	}
	return nil
}

// early explains the end of a member within what it must hold.
func early(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file is damaged: the array ends early")
	}
	return regular.Cause(err)
}

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
	plain = regexp.MustCompile(`^\{'descr':'([<>|=])([a-zA-Z])([0-9]*)(?:\[[^']*\])?',` +
		`'fortran_order':(True|False),'shape':\(([0-9,]*)\)\}\s*$`)
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
	m := plain.FindStringSubmatch(strings.NewReplacer(" ", "", ",}", "}", ", }", "}").Replace(header))
	if strings.Contains(header, "'descr': [") {
		return own.Refused("records of several fields", "plain arrays of numbers or strings",
			fmt.Sprintf("from numpy.lib.recfunctions import structured_to_unstructured; save structured_to_unstructured(%s)",
				a.Name))
	}
	if m == nil {
		return own.Refused(fmt.Sprintf("the header %.200q is not as NumPy writes it", header), "arrays of numpy.savez",
			fmt.Sprintf("save numpy.savez(\"own.npz\", **numpy.load(%q))", filepath.Base(a.path)))
	}
	a.Kind, a.order = m[2][0], binary.LittleEndian
	if m[1] == ">" {
		a.order = binary.BigEndian
	}
	if a.Kind == 'O' {
		return own.Refused("contains Python objects", "arrays of numbers or strings, all rows of one length",
			fmt.Sprintf("save numpy.array(%s.tolist()), %[1]s.astype(\"float32\") of Decimals, or %[1]s.astype(str) of names",
				a.Name))
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
