package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

// TestLibraryReadsIt writes tables of any form and reads them with a library that
// others wrote.
func TestLibraryReadsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SampledFrom([]int{0, 1, 2, 7, 8, 9, 300}).Draw(t, "rows")
		var columns []TableColumn
		for i := range rapid.IntRange(1, 40).Draw(t, "columns") {
			c := TableColumn{Name: fmt.Sprintf("params_%d.é", i), Kind: rapid.SampledFrom([]Kind{
				Int64,
				Double, ByteArray,
			}).Draw(t, "kind")}
			for range rows {
				var v any
				switch {
				case rapid.IntRange(0, 3).Draw(t, "absent") == 0:
				case c.Kind == Int64:
					v = rapid.Int64().Draw(t, "int")
				case c.Kind == Double:
					v = rapid.Float64().Draw(t, "double")
				default:
					v = rapid.String().Draw(t, "text")
				}
				c.Values = append(c.Values, v)
			}
			columns = append(columns, c)
		}
		var b bytes.Buffer
		if err := Write(&b, columns); err != nil {
			t.Fatal(err)
		}
		compare(t, b.Bytes(), columns)
	})
}

// compare reads a file and compares what it holds.
func compare(t *rapid.T, content []byte, columns []TableColumn) {
	f, err := library.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range f.Schema().Columns() {
		if path[0] != columns[i].Name {
			t.Errorf("column %d is called %s", i, path[0])
		}
	}
	reader := library.NewReader(f)
	rows := make([]library.Row, 1)
	for row := range columns[0].Values {
		if n, err := reader.ReadRows(rows); n != 1 {
			t.Fatalf("row %d: %v", row, err)
		}
		for i, v := range rows[0] {
			want := columns[i].Values[row]
			same := v.IsNull() && want == nil
			switch x := want.(type) {
			case int64:
				same = !v.IsNull() && v.Int64() == x
			case float64:
				same = !v.IsNull() && math.Float64bits(v.Double()) == math.Float64bits(x)
			case string:
				same = !v.IsNull() && string(v.ByteArray()) == x
			}
			if !same {
				t.Fatalf("row %d of column %d is %v, want %v", row, i, v, want)
			}
		}
	}
	if n, err := reader.ReadRows(rows); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d more rows, %v", n, err)
	}
}

func TestMisuse(t *testing.T) {
	for want, columns := range map[string][]TableColumn{
		"has no columns": nil,
		"has 1 values":   {{Name: "a", Kind: Int64}, {Name: "b", Kind: Int64, Values: []any{nil}}},
		"cannot store":   {{Name: "a", Kind: Int64, Values: []any{0.5}}},
	} {
		if err := Write(io.Discard, columns); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
