package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/fedfast/fedfast/internal/list"
)

// TableColumn is a column of a table to be written. Its values are int64, float64 or
// string where its kind is Int64, Double or ByteArray, or nil.
type TableColumn struct {
	Name   string
	Kind   Kind
	Values []any
}

// These are the descriptions of package format without its additions, so that files keep their bytes.
type (
	fileHead struct {
		Version int32                  `thrift:"1,required"`
		Schema  []format.SchemaElement `thrift:"2,required"`
		Rows    int64                  `thrift:"3,required"`
		Groups  []groupHead            `thrift:"4,required"`
		By      string                 `thrift:"6,required"`
	}
	groupHead struct {
		Chunks []chunkHead `thrift:"1,required"`
		Size   int64       `thrift:"2,required"`
		Rows   int64       `thrift:"3,required"`
	}
	chunkHead struct {
		At   int64 `thrift:"2,required"`
		Meta struct {
			Kind      Kind                    `thrift:"1,required"`
			Encodings []format.Encoding       `thrift:"2,required"`
			Path      []string                `thrift:"3,required"`
			Codec     format.CompressionCodec `thrift:"4,required"`
			Values    int64                   `thrift:"5,required"`
			Plain     int64                   `thrift:"6,required"`
			Packed    int64                   `thrift:"7,required"`
			At        int64                   `thrift:"9,required"`
		} `thrift:"3,required"`
	}
	pageHead struct {
		Type   format.PageType `thrift:"1,required"`
		Plain  int32           `thrift:"2,required"`
		Packed int32           `thrift:"3,required"`
		Data   struct {
			Values   int32           `thrift:"1,required"`
			Encoding format.Encoding `thrift:"2,required"`
			Levels   format.Encoding `thrift:"3,required"`
			Repeats  format.Encoding `thrift:"4,required"`
		} `thrift:"5,required"`
	}
)

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
	groups  []groupHead
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
	rows := len(columns[0].Values)
	for _, c := range columns {
		if len(c.Values) != rows {
			return fmt.Errorf("parquet: column %s has %d values, column %s %d", c.Name, len(c.Values), columns[0].Name, rows)
		}
	}
	if rows == 0 {
		return nil
	}
	g := groupHead{Rows: int64(rows)}
	for i, c := range columns {
		if i >= len(f.columns) || c.Name != f.columns[i].Name || c.Kind != f.columns[i].Kind {
			return fmt.Errorf("parquet: column %s is missing from earlier row groups", c.Name)
		}
		head, body, loose, err := page(c)
		if err != nil {
			return err
		}
		k := chunkHead{At: f.at}
		k.Meta.Kind, k.Meta.Path, k.Meta.Values, k.Meta.At = c.Kind, []string{c.Name}, g.Rows, f.at
		k.Meta.Codec, k.Meta.Encodings = format.Gzip, []format.Encoding{format.Plain, format.RLE}
		k.Meta.Plain, k.Meta.Packed = int64(len(head)+loose), int64(len(head)+len(body))
		g.Chunks, g.Size = append(g.Chunks, k), g.Size+k.Meta.Plain
		if err := errors.Join(f.write(head), f.write(body)); err != nil {
			return err
		}
	}
	f.groups = append(f.groups, g)
	return nil
}

// Close ends the file; it does not close what it is written to.
func (f *Writer) Close() error {
	foot, err := f.footer()
	if err != nil {
		return err
	}
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
	h := pageHead{Type: format.DataPage, Plain: int32(len(raw)), Packed: int32(packed.Len())}
	h.Data.Values, h.Data.Encoding = int32(len(c.Values)), format.Plain
	h.Data.Levels, h.Data.Repeats = format.RLE, format.RLE
	head, err = thrift.Marshal(&protocol, &h)
	return head, packed.Bytes(), len(raw), err
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
func (f *Writer) footer() ([]byte, error) {
	m := fileHead{Version: 1, Groups: f.groups, By: "fedfast"}
	m.Rows = int64(list.Sum(f.groups, func(g groupHead) int { return int(g.Rows) }))
	m.Schema = []format.SchemaElement{{Name: "table", NumChildren: thrift.New(int32(len(f.columns)))}}
	for _, c := range f.columns {
		e := format.SchemaElement{Name: c.Name, Type: thrift.New(c.Kind), RepetitionType: thrift.New(format.Optional)}
		if c.Kind == ByteArray {
			e.ConvertedType, e.LogicalType.Value = thrift.New(deprecated.UTF8), &format.StringType{}
		}
		m.Schema = append(m.Schema, e)
	}
	return thrift.Marshal(&protocol, &m)
}
