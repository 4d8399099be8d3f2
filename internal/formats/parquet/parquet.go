// Package parquet reads and writes files in Apache Parquet's format.
//
// It reads columns that have one value a row, or none. What a
// file says of its sizes and numbers is checked before it is used: a file becomes no more
// than memory.Most of its own size. It writes tables of optional columns of 64-bit
// integers, doubles and strings in groups of rows.
//
// The descriptions in a file are read and written by package format of parquet-go. The rest of that library would add
// a twelfth to the time that fedfast takes to build and a tenth to its size, and trusts what files say of their
// sizes: one of 2 kB took 4.7 GB.
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
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// magic begins and ends every file.
const magic = "PAR1"

// Kind is how the values of a column are stored.
type Kind = format.Type

// The kinds.
const (
	Boolean   = format.Boolean
	Int32     = format.Int32
	Int64     = format.Int64
	Int96     = format.Int96
	Float     = format.Float
	Double    = format.Double
	ByteArray = format.ByteArray
	Fixed     = format.FixedLenByteArray
)

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
	groups []format.RowGroup
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
	// Decimal says that integers, or bytes, are decimal numbers.
	Decimal bool
	// Gaps has Each call for a row without a value, too, which is an error otherwise.
	Gaps bool

	index    int
	length   int // of values of a fixed length
	uuid     bool
	opaque   bool // half floats or intervals
	optional int  // how many of the groups and the column itself may be missing
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
	if err := f.footer(footer); err != nil {
		return fmt.Errorf("its footer: %w", err)
	}
	return nil
}

// footer reads what describes the file.
func (f *File) footer(content []byte) error {
	var m format.FileMetaData
	if _, err := described(content, f.Budget, &m); err != nil {
		return err
	}
	if m.EncryptionAlgorithm.Value != nil {
		return errors.New("is encrypted")
	}
	if err := f.columns(m.Schema); err != nil {
		return err
	}
	sum := int64(0)
	for _, g := range m.RowGroups {
		if len(g.Columns) != len(f.Columns) {
			return fmt.Errorf("a group of rows has %d columns, the schema %d", len(g.Columns), len(f.Columns))
		}
		for i := range g.Columns {
			switch k := &g.Columns[i]; {
			case k.FilePath != "":
				return errors.New("its values are in another file")
			case k.CryptoMetadata.Value != nil:
				return errors.New("is encrypted")
			}
		}
		if sum += g.NumRows; g.NumRows < 0 || sum > m.NumRows {
			break
		}
	}
	if f.Rows, f.groups = m.NumRows, m.RowGroups; sum != f.Rows || sum < 0 {
		return fmt.Errorf("it says that the file has %d rows, and its groups of rows have %d", f.Rows, sum)
	}
	return nil
}

// columns makes the columns of the schema, whose first element holds all others.
func (f *File) columns(schema []format.SchemaElement) error {
	if len(schema) == 0 {
		return errors.New("it has no schema")
	}
	rest := schema[1:]
	var walk func(in Column, children int32) error
	walk = func(in Column, children int32) error {
		if len(in.Path) > deepest {
			return fmt.Errorf("columns nested more than %d deep", deepest)
		}
		for range children {
			if len(rest) == 0 {
				return errors.New("its schema ends early")
			}
			e := &rest[0]
			rest = rest[1:]
			c := in
			c.Path = append(slices.Clip(in.Path), e.Name)
			c.Repeated = in.Repeated || e.RepetitionType.V == format.Repeated
			if e.RepetitionType.V != format.Required {
				c.optional++
			}
			if err := f.Budget.Take(int64(16*len(c.Path)) + 64); err != nil {
				return err
			}
			if e.NumChildren.V > 0 {
				if err := walk(c, e.NumChildren.V); err != nil {
					return err
				}
				continue
			}
			if !e.Type.Valid {
				continue // a group of nothing
			}
			c.Kind, c.index = e.Type.V, len(f.Columns)
			c.mean(e)
			f.Columns = append(f.Columns, c)
		}
		return nil
	}
	if err := walk(Column{}, schema[0].NumChildren.V); err != nil {
		return err
	}
	if len(rest) > 0 {
		return errors.New("its schema has elements that are in no group")
	}
	return nil
}

// mean takes in what the values of a column mean.
func (c *Column) mean(e *format.SchemaElement) {
	means := e.ConvertedType.V
	c.Scale, c.Unsigned = 1, means == deprecated.Uint32 || means == deprecated.Uint64
	ticks := map[deprecated.ConvertedType]float64{deprecated.TimestampMillis: 864e5, deprecated.TimestampMicros: 864e8}
	if t, is := e.LogicalType.Value.(*format.TimestampType); is && t.Unit.Value != nil {
		c.Scale = float64(24 * time.Hour / t.Unit.Value.Duration())
	} else if days := ticks[means]; c.Kind == Int64 && days > 0 {
		c.Scale = days
	}
	of, is := e.LogicalType.Value.(*format.DecimalType)
	if c.length = int(e.TypeLength.V); is || means == deprecated.Decimal {
		scale := e.Scale.V
		if is {
			scale = of.Scale
		}
		c.Scale, c.Decimal = math.Pow(10, float64(scale)), true
	}
	_, c.uuid = e.LogicalType.Value.(*format.UUIDType)
	_, c.opaque = e.LogicalType.Value.(*format.Float16Type)
	c.opaque = c.opaque || means == deprecated.Interval
}

// name writes the path of a column with dots.
func (c *Column) name() string { return strings.Join(c.Path, ".") }

// levelBits returns how many bits a definition level of the column has.
func (c *Column) levelBits() int { return bits.Len(uint(c.optional)) }
