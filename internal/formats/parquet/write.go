package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/fedfast/fedfast/internal/list"
)

// TableColumn is a column of a table to be written. Its values are int64, float64 or
// string where its kind is Int64, Double or ByteArray, or nil.
type TableColumn struct {
	Name   string
	Kind   Kind
	Values []any
}

// The format's number of texts among converted types, and its version.
const (
	utf8     = 0
	formatV1 = 1
)

// written is a column in the file.
type written struct {
	name          string
	kind          Kind
	offset        int64
	packed, loose int // bytes with and without compression, with the page's head
}

// Write writes a table in one group of rows, compressed with gzip. All columns must have as many values.
func Write(w io.Writer, columns []TableColumn) error {
	f := NewWriter(w)
	if err := f.Group(columns); err != nil {
		return err
	}
	return f.Close()
}

// Writer writes a table group by group.
type Writer struct {
	to      io.Writer
	at      int64
	columns []TableColumn // names and kinds
	groups  []rowGroup
}

// rowGroup is a group of rows in the file.
type rowGroup struct {
	chunks []written
	rows   int
}

// NewWriter returns a writer of a file.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Group writes rows, all columns of which must have as many values. Each group has
// the same columns; one without rows describes what they are.
func (f *Writer) Group(columns []TableColumn) error {
	if len(columns) == 0 {
		return errors.New("parquet: table has no columns")
	}
	if f.columns == nil {
		for _, c := range columns {
			f.columns = append(f.columns, TableColumn{Name: c.Name, Kind: c.Kind})
		}
		if err := f.write([]byte(magic)); err != nil {
			return err
		}
	}
	g := rowGroup{rows: len(columns[0].Values)}
	for _, c := range columns {
		if len(c.Values) != g.rows {
			return fmt.Errorf("parquet: column %s has %d values, column %s %d", c.Name, len(c.Values), columns[0].Name, g.rows)
		}
	}
	if g.rows == 0 {
		return nil
	}
	for i, c := range columns {
		if i >= len(f.columns) || c.Name != f.columns[i].Name || c.Kind != f.columns[i].Kind {
			return fmt.Errorf("parquet: column %s is missing from earlier row groups", c.Name)
		}
		head, body, loose, err := page(c)
		if err != nil {
			return err
		}
		g.chunks = append(g.chunks, written{c.Name, c.Kind, f.at, len(head) + len(body), len(head) + loose})
		if err := errors.Join(f.write(head), f.write(body)); err != nil {
			return err
		}
	}
	f.groups = append(f.groups, g)
	return nil
}

// Close ends the file; it does not close what it is written to.
func (f *Writer) Close() error {
	foot := f.footer()
	foot = binary.LittleEndian.AppendUint32(foot, uint32(len(foot)))
	return f.write(append(foot, magic...))
}

func (f *Writer) write(b []byte) error {
	n, err := f.to.Write(b)
	f.at += int64(n)
	return err
}

// page returns the only page of a column of a group: its head, its compressed body
// and that body's length before.
func page(c TableColumn) (head, body []byte, loose int, err error) {
	levels := presence(c.Values)
	raw := binary.LittleEndian.AppendUint32(nil, uint32(len(levels)))
	raw = append(raw, levels...)
	for _, v := range c.Values {
		if v == nil {
			continue
		}
		if raw, err = appendValue(raw, c, v); err != nil {
			return nil, nil, 0, err
		}
	}
	if len(raw) > math.MaxInt32 {
		return nil, nil, 0, fmt.Errorf("parquet: column %s takes %d bytes, too large for a page", c.Name, len(raw))
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(raw); err != nil {
		return nil, nil, 0, err
	}
	if err := z.Close(); err != nil {
		return nil, nil, 0, err
	}
	t := &thrift{}
	t.open()
	t.i32(1, dataPage)
	t.i32(2, len(raw))
	t.i32(3, packed.Len())
	t.sub(5, func() {
		t.i32(1, len(c.Values))
		t.i32(2, encodingPlain)
		t.i32(3, encodingRLE)
		t.i32(4, encodingRLE)
	})
	t.close()
	return t.bytes, packed.Bytes(), len(raw), nil
}

// presence describes which values are there, in runs of equal bits.
func presence(values []any) []byte {
	var out []byte
	for from := 0; from < len(values); {
		to := from
		for to < len(values) && (values[to] == nil) == (values[from] == nil) {
			to++
		}
		out = binary.AppendUvarint(out, uint64(to-from)<<1)
		bit := byte(1)
		if values[from] == nil {
			bit = 0
		}
		out = append(out, bit)
		from = to
	}
	return out
}

// appendValue appends a value in the plain encoding.
func appendValue(b []byte, c TableColumn, v any) ([]byte, error) {
	switch x := v.(type) {
	case int64:
		if c.Kind == Int64 {
			return binary.LittleEndian.AppendUint64(b, uint64(x)), nil
		}
	case float64:
		if c.Kind == Double {
			return binary.LittleEndian.AppendUint64(b, math.Float64bits(x)), nil
		}
	case string:
		if c.Kind == ByteArray {
			return append(binary.LittleEndian.AppendUint32(b, uint32(len(x))), x...), nil
		}
	}
	return nil, fmt.Errorf("parquet: column %s cannot store %T %v", c.Name, v, v)
}

// footer returns the file's metadata.
func (f *Writer) footer() []byte {
	t := &thrift{}
	t.open()
	t.i32(1, formatV1)
	t.list(2, len(f.columns)+1, kindStruct)
	t.open() // the root of the schema
	t.text(4, "table")
	t.i32(5, len(f.columns))
	t.close()
	for _, c := range f.columns {
		t.open()
		t.i32(1, int(c.Kind))
		t.i32(3, isOptional)
		t.text(4, c.Name)
		if c.Kind == ByteArray {
			t.i32(6, utf8)
			t.sub(10, func() { t.sub(1, func() {}) }) // the logical type string
		}
		t.close()
	}
	rows := list.Sum(f.groups, func(g rowGroup) int { return g.rows })
	t.i64(3, int64(rows))
	t.list(4, len(f.groups), kindStruct)
	for _, g := range f.groups {
		describe(t, g.chunks, g.rows)
	}
	t.text(6, "fedfast")
	t.close()
	return t.bytes
}

// describe writes what a group of rows is.
func describe(t *thrift, chunks []written, rows int) {
	size := int64(0)
	t.open()
	t.list(1, len(chunks), kindStruct)
	for _, c := range chunks {
		size += int64(c.loose)
		t.open()
		t.i64(2, c.offset)
		t.sub(3, func() {
			t.i32(1, int(c.kind))
			t.list(2, 2, kindInt32)
			t.varint(encodingPlain)
			t.varint(encodingRLE)
			t.list(3, 1, kindBinary)
			t.str(c.name)
			t.i32(4, codecGzip)
			t.i64(5, int64(rows))
			t.i64(6, int64(c.loose))
			t.i64(7, int64(c.packed))
			t.i64(9, c.offset)
		})
		t.close()
	}
	t.i64(2, size)
	t.i64(3, int64(rows))
	t.close()
}

// thrift is a message in Thrift's compact protocol: fields of a struct follow each
// other by rising numbers.
type thrift struct {
	bytes []byte
	last  []int // the number of the newest field, of each open struct
}

// varint appends a number in base 128, the zigzag form of a signed one.
func (t *thrift) varint(n int64) { t.bytes = binary.AppendVarint(t.bytes, n) }

// uvarint appends an unsigned number in base 128.
func (t *thrift) uvarint(n int) { t.bytes = binary.AppendUvarint(t.bytes, uint64(n)) }

// field begins a field of the open struct.
func (t *thrift) field(number int, kind byte) {
	last := &t.last[len(t.last)-1]
	if delta := number - *last; delta <= 15 {
		t.bytes = append(t.bytes, byte(delta)<<4|kind)
	} else {
		t.bytes = append(t.bytes, kind)
		t.varint(int64(number))
	}
	*last = number
}

// open begins the fields of a struct, close ends them.
func (t *thrift) open() { t.last = append(t.last, 0) }

func (t *thrift) close() {
	t.bytes = append(t.bytes, 0)
	t.last = t.last[:len(t.last)-1]
}

// i32 and i64 append an integer, text a string.
func (t *thrift) i32(number, value int) {
	t.field(number, kindInt32)
	t.varint(int64(value))
}

func (t *thrift) i64(number int, value int64) {
	t.field(number, kindInt64)
	t.varint(value)
}

func (t *thrift) text(number int, value string) {
	t.field(number, kindBinary)
	t.str(value)
}

// str appends an element of a list of strings.
func (t *thrift) str(value string) {
	t.uvarint(len(value))
	t.bytes = append(t.bytes, value...)
}

// list begins a list of n elements.
func (t *thrift) list(number, n int, kind byte) {
	t.field(number, kindList)
	if n < 15 {
		t.bytes = append(t.bytes, byte(n)<<4|kind)
		return
	}
	t.bytes = append(t.bytes, 0xf0|kind)
	t.uvarint(n)
}

// sub appends a struct.
func (t *thrift) sub(number int, fields func()) {
	t.field(number, kindStruct)
	t.open()
	fields()
	t.close()
}
