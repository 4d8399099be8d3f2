// Package parquet writes a table as a file in Apache Parquet's format: optional columns of 64-bit integers, doubles and texts in one group of
// rows, plainly encoded and compressed with gzip, as https://parquet.apache.org/docs/file-format says. That is all that fedfast's tables need;
// a whole library costs a sixth of the time that the program takes to build.
package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Kind is what a column holds, as the format numbers its physical types.
type Kind int

// The kinds of columns.
const (
	Int64  Kind = 2
	Double Kind = 5
	Text   Kind = 6 // a byte array in UTF-8
)

// Column is a column of a table. Its values are int64, float64 or string, by its kind, or nil.
type Column struct {
	Name   string
	Kind   Kind
	Values []any
}

// Numbers of the format.
const (
	magic       = "PAR1"
	optional    = 1 // repetition
	utf8        = 0 // converted type
	plain       = 0 // encoding
	runLengths  = 3 // encoding: run lengths and packed bits
	compression = 2 // gzip
	dataPage    = 0
	formatV1    = 1
)

// chunk is a column in the file.
type chunk struct {
	name          string
	kind          Kind
	offset        int64
	packed, loose int // bytes with and without compression, with the page's head
}

// Write writes a table. All columns must have as many values.
func Write(w io.Writer, columns []Column) error {
	if len(columns) == 0 {
		return errors.New("parquet: a table without columns")
	}
	rows := len(columns[0].Values)
	var file bytes.Buffer
	file.WriteString(magic)
	var chunks []chunk
	for _, c := range columns {
		if len(c.Values) != rows {
			return fmt.Errorf("parquet: column %s has %d values, column %s %d", c.Name, len(c.Values), columns[0].Name, rows)
		}
		if rows == 0 {
			chunks = append(chunks, chunk{name: c.Name, kind: c.Kind})
			continue
		}
		head, body, loose, err := page(c)
		if err != nil {
			return err
		}
		chunks = append(chunks, chunk{c.Name, c.Kind, int64(file.Len()), len(head) + len(body), len(head) + loose})
		file.Write(head)
		file.Write(body)
	}
	foot := footer(chunks, rows)
	file.Write(foot)
	file.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(foot))))
	file.WriteString(magic)
	_, err := w.Write(file.Bytes())
	return err
}

// page returns a column's only page: its head, its compressed body and that body's length before.
func page(c Column) (head, body []byte, loose int, err error) {
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
		return nil, nil, 0, fmt.Errorf("parquet: column %s takes %d bytes, more than a page may hold", c.Name, len(raw))
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
		t.i32(2, plain)
		t.i32(3, runLengths)
		t.i32(4, runLengths)
	})
	t.close()
	return t.bytes, packed.Bytes(), len(raw), nil
}

// presence says which values are there, in runs of equal bits.
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
func appendValue(b []byte, c Column, v any) ([]byte, error) {
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
		if c.Kind == Text {
			return append(binary.LittleEndian.AppendUint32(b, uint32(len(x))), x...), nil
		}
	}
	return nil, fmt.Errorf("parquet: column %s cannot hold the %T %v", c.Name, v, v)
}

// footer returns the file's metadata.
func footer(chunks []chunk, rows int) []byte {
	t := &thrift{}
	t.open()
	t.i32(1, formatV1)
	t.list(2, len(chunks)+1, typeStruct)
	t.open() // the root of the schema
	t.text(4, "table")
	t.i32(5, len(chunks))
	t.close()
	for _, c := range chunks {
		t.open()
		t.i32(1, int(c.kind))
		t.i32(3, optional)
		t.text(4, c.name)
		if c.kind == Text {
			t.i32(6, utf8)
			t.sub(10, func() { t.sub(1, func() {}) }) // the logical type string
		}
		t.close()
	}
	t.i64(3, int64(rows))
	groups := 1
	if rows == 0 {
		groups = 0
	}
	t.list(4, groups, typeStruct)
	if rows > 0 {
		group(t, chunks, rows)
	}
	t.text(6, "fedfast")
	t.close()
	return t.bytes
}

// group describes the only group of rows.
func group(t *thrift, chunks []chunk, rows int) {
	size := int64(0)
	t.open()
	t.list(1, len(chunks), typeStruct)
	for _, c := range chunks {
		size += int64(c.loose)
		t.open()
		t.i64(2, c.offset)
		t.sub(3, func() {
			t.i32(1, int(c.kind))
			t.list(2, 2, typeI32)
			t.varint(plain)
			t.varint(runLengths)
			t.list(3, 1, typeBinary)
			t.str(c.name)
			t.i32(4, compression)
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
