// Package parquet reads and writes files in Apache Parquet's format.
//
// It reads columns that have one value a row, or none. What a
// file says of its sizes and numbers is checked before it is used: a file becomes no more
// than memory.Most of its own size. It writes tables of optional columns of 64-bit
// integers, doubles and strings in groups of rows.
//
// A library would add a twelfth to the time that fedfast takes to build and a tenth to its
// size, and trusts what files say of their sizes: one of 2 kB took 4.7 GB.
//
// (Apache Parquet, format 2.11: parquet.thrift, Encodings.md, Compression.md)
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// magic begins and ends every file.
const magic = "PAR1"

// Kind is how the values of a column are stored.
type Kind int

// The kinds by their numbers in the format.
const (
	Boolean Kind = iota
	Int32
	Int64
	Int96
	Float
	Double
	ByteArray
	Fixed
)

var kindNames = []string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

// String returns the format's name of a kind.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("type %d", int(k))
	}
	return kindNames[k]
}

// File is an open file.
type File struct {
	// Path is the name that Open was given.
	Path string
	// Rows is the number of rows, and Columns are the columns of values.
	Rows    int64
	Columns []Column
	// Budget is for all that is made of the file.
	Budget *memory.Budget

	in     Source
	end    int64 // of the pages, where the footer begins
	size   int64
	groups []group
	zstd   unzstd
	buffers
}

// Column is a column of values.
type Column struct {
	// Path is its name, after the names of the groups that it is in.
	Path []string
	Kind Kind
	// Repeated says that a row may have several values.
	Repeated bool
	// Scale is what an integer is divided by: the ticks of a day for times and dates since 1970, a power of
	// ten for decimal numbers, and 1 for others.
	Scale    float64
	Unsigned bool
	// Gaps has Each call for a row without a value, too, which is an error otherwise.
	Gaps bool

	index    int
	optional int // how many of the groups and the column itself may be missing
}

// group is a part of the rows.
type group struct {
	rows   int64
	chunks []chunk // one a column
}

// chunk says where the values of a column are.
type chunk struct {
	codec  int64
	values int64
	at     int64 // of its first page
	kind   Kind
}

// Source is what a file is read from.
type Source interface {
	fs.File
	io.ReaderAt
}

// Open opens a file and reads its footer. Errors of File name the path.
func Open(path string) (*File, error) {
	in, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	return Read(path, in)
}

// Read reads the footer of a file, which it closes when it fails. Errors of File name the path.
func Read(path string, in Source) (*File, error) {
	f := &File{Path: path, in: in}
	if err := f.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: not a Parquet file: %w", path, regular.Cause(err)), in.Close())
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.in.Close() }

// open reads the footer: its content, its length in 4 bytes, and the magic.
func (f *File) open() error {
	info, err := f.in.Stat()
	if err != nil {
		return err
	}
	f.size = info.Size()
	f.Budget = memory.NewBudget(f.size)
	const tail = 4 + len(magic)
	if f.size < int64(len(magic)+tail) {
		return errShort
	}
	head, end := make([]byte, len(magic)), make([]byte, tail)
	if _, err := f.in.ReadAt(head, 0); err != nil {
		return err
	}
	if _, err := f.in.ReadAt(end, f.size-int64(tail)); err != nil {
		return err
	}
	switch {
	case string(head) == "PARE" || string(end[4:]) == "PARE":
		return errors.New("is encrypted")
	case string(head) != magic || string(end[4:]) != magic:
		return fmt.Errorf("it does not begin and end with %s; is it complete?", magic)
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if f.end = f.size - int64(tail) - n; f.end < int64(len(magic)) {
		return fmt.Errorf("footer length %d exceeds file size %d", n, f.size)
	}
	if err := f.Budget.Take(n); err != nil {
		return err
	}
	footer := make([]byte, n)
	if _, err := f.in.ReadAt(footer, f.end); err != nil {
		return err
	}
	if err := f.footer(&compact{b: footer}); err != nil {
		return fmt.Errorf("its footer: %w", err)
	}
	return nil
}

// element is an element of the schema, which lists a tree: a group, then what is in it.
type element struct {
	name     string
	kind     Kind
	repeat   int64 // 0 is there once, 1 may be missing, 2 may be there often
	children int64
	means    int64 // ConvertedType, and 11 of an Int64 is a time in nanoseconds
	digits   int64 // after the point of a decimal number
}

// The values of element.repeat.
const (
	isOptional = 1
	isRepeated = 2
)

// footer reads FileMetaData.
func (f *File) footer(c *compact) error {
	var schema []element
	err := c.fields(kindStruct, func(id int, kind byte) (bool, error) {
		switch id {
		case 2:
			return true, c.list(kind, func(kind byte) error {
				e, err := readElement(c, kind)
				if err == nil {
					err = f.Budget.Take(int64(len(e.name)) + 64)
				}
				schema = append(schema, e)
				return err
			})
		case 3:
			var err error
			f.Rows, err = c.int(kind)
			return true, err
		case 4:
			if f.Columns == nil { // the schema comes before
				if err := f.columns(schema); err != nil {
					return false, err
				}
			}
			return true, c.list(kind, func(kind byte) error { return f.group(c, kind) })
		case 8:
			return false, errors.New("is encrypted")
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	if f.Columns == nil {
		if err := f.columns(schema); err != nil {
			return err
		}
	}
	sum := int64(0)
	for _, g := range f.groups {
		if sum += g.rows; g.rows < 0 || sum > f.Rows {
			break
		}
	}
	if f.Rows < 0 || sum != f.Rows {
		return fmt.Errorf("it says that the file has %d rows, and its groups of rows have %d", f.Rows, sum)
	}
	return nil
}

// readElement reads a SchemaElement.
func readElement(c *compact, kind byte) (e element, err error) {
	e.kind, e.means = -1, -1
	err = c.fields(kind, func(id int, kind byte) (bool, error) {
		var v int64
		var err error
		switch id {
		case 1:
			v, err = c.int(kind)
			e.kind = Kind(v)
		case 3:
			e.repeat, err = c.int(kind)
		case 4:
			var name []byte
			name, err = c.binary(kind)
			e.name = string(name)
		case 5:
			e.children, err = c.int(kind)
		case 6:
			e.means, err = c.int(kind)
		case 7:
			e.digits, err = c.int(kind)
		case 10: // LogicalType: TIMESTAMP has a TimeUnit
			err = c.fields(kind, func(id int, kind byte) (bool, error) {
				if id != 8 {
					return false, nil
				}
				return true, c.fields(kind, func(id int, kind byte) (bool, error) {
					if id != 2 {
						return false, nil
					}
					return true, c.fields(kind, func(id int, _ byte) (bool, error) { e.means = int64(8 + id); return false, nil })
				})
			})
		default:
			return false, nil
		}
		return true, err
	})
	return e, err
}

// columns makes the columns of the schema, whose first element holds all others.
func (f *File) columns(schema []element) error {
	if len(schema) == 0 {
		return errors.New("it has no schema")
	}
	f.Columns = []Column{}
	rest := schema[1:]
	var walk func(in Column, children int64) error
	walk = func(in Column, children int64) error {
		if len(in.Path) > deepest {
			return fmt.Errorf("columns nested more than %d deep", deepest)
		}
		for range children {
			if len(rest) == 0 {
				return errors.New("its schema ends early")
			}
			e := rest[0]
			rest = rest[1:]
			c := in
			c.Path = append(slices.Clip(in.Path), e.name)
			c.Repeated = in.Repeated || e.repeat == isRepeated
			if e.repeat == isOptional || e.repeat == isRepeated {
				c.optional++
			}
			if err := f.Budget.Take(int64(16*len(c.Path)) + 64); err != nil {
				return err
			}
			if e.children > 0 {
				if err := walk(c, e.children); err != nil {
					return err
				}
				continue
			}
			if e.kind < Boolean || e.kind > Fixed {
				continue // a group of nothing
			}
			c.Kind, c.index, c.Scale = e.kind, len(f.Columns), 1
			c.Unsigned = e.means == 13 || e.means == 14
			switch days := map[int64]float64{9: 864e5, 10: 864e8, 11: 864e11}[e.means]; {
			case e.means == 5 && e.digits > 0:
				c.Scale = math.Pow(10, float64(e.digits))
			case e.kind == Int64 && days > 0:
				c.Scale = days
			}
			f.Columns = append(f.Columns, c)
		}
		return nil
	}
	if err := walk(Column{}, schema[0].children); err != nil {
		return err
	}
	if len(rest) > 0 {
		return errors.New("its schema has elements that are in no group")
	}
	return nil
}

// group reads a RowGroup.
func (f *File) group(c *compact, kind byte) error {
	var g group
	err := c.fields(kind, func(id int, kind byte) (bool, error) {
		var err error
		switch id {
		case 1:
			err = c.list(kind, func(kind byte) error {
				if len(g.chunks) == len(f.Columns) {
					return fmt.Errorf("a group of rows has more columns than the schema: %d", len(f.Columns))
				}
				k, err := readChunk(c, kind)
				if err == nil {
					err = f.Budget.Take(48)
				}
				g.chunks = append(g.chunks, k)
				return err
			})
		case 3:
			g.rows, err = c.int(kind)
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && len(g.chunks) != len(f.Columns) {
		err = fmt.Errorf("a group of rows has %d columns, the schema %d", len(g.chunks), len(f.Columns))
	}
	f.groups = append(f.groups, g)
	return err
}

// readChunk reads a ColumnChunk.
func readChunk(c *compact, kind byte) (k chunk, err error) {
	data, dictionary := int64(0), int64(0)
	k.kind = -1
	err = c.fields(kind, func(id int, kind byte) (bool, error) {
		switch id {
		case 1:
			return false, errors.New("its values are in another file")
		case 8:
			return false, errors.New("is encrypted")
		case 3:
			return true, c.fields(kind, func(id int, kind byte) (bool, error) {
				to := map[int]*int64{4: &k.codec, 5: &k.values, 9: &data, 11: &dictionary}[id]
				if id == 1 {
					v, err := c.int(kind)
					k.kind = Kind(v)
					return true, err
				}
				if to == nil {
					return false, nil
				}
				var err error
				*to, err = c.int(kind)
				return true, err
			})
		}
		return false, nil
	})
	k.at = data
	if dictionary > 0 && dictionary < data {
		k.at = dictionary
	}
	return k, err
}

// name writes the path of a column with dots.
func (c *Column) name() string { return strings.Join(c.Path, ".") }

// levelBits returns how many bits a definition level of the column has.
func (c *Column) levelBits() int { return bits.Len(uint(c.optional)) }
