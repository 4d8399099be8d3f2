// Package tablefile writes tables as CSV, JSON lines or Parquet, for pandas and
// the like.
package tablefile

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/formats/parquet"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/store"
)

// writers write a table by the name of the format, which ends the names of its
// files, too.
var writers = map[string]func(io.Writer, *store.Table) error{"csv": writeCSV, "jsonl": writeJSONL, "parquet": writeParquet}

// Formats are the names of the formats.
func Formats() []string { return []string{"csv", "jsonl", "parquet"} }

// Write writes a table in a format.
func Write(w io.Writer, format string, t *store.Table) error {
	write := writers[format]
	if write == nil {
		return fmt.Errorf("unknown format %q; available: %s", format, strings.Join(Formats(), ", "))
	}
	return write(w, t)
}

// Text writes a value as a cell of a table; an absent one is empty.
func Text(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	default:
		return fmt.Sprint(x)
	}
}

func writeCSV(w io.Writer, t *store.Table) error {
	c := csv.NewWriter(w)
	if err := c.Write(t.Columns); err != nil {
		return err
	}
	for _, row := range t.Rows {
		cells := list.Of(row, Text)
		if err := c.Write(cells); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// writeJSONL writes an object a line, its keys in the order of the columns.
func writeJSONL(w io.Writer, t *store.Table) error {
	var line bytes.Buffer
	for _, row := range t.Rows {
		line.Reset()
		for i, v := range row {
			sep := byte(',')
			if i == 0 {
				sep = '{'
			}
			line.WriteByte(sep)
			key, err := json.Marshal(t.Columns[i])
			if err != nil {
				return err
			}
			value, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("column %s: %w", t.Columns[i], err)
			}
			line.Write(key)
			line.WriteByte(':')
			line.Write(value)
		}
		line.WriteString("}\n")
		if _, err := w.Write(line.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// writeParquet writes optional columns of 64-bit integers, doubles or strings, by
// what a column holds.
func writeParquet(w io.Writer, t *store.Table) error {
	var columns []parquet.TableColumn
	for i, name := range t.Columns {
		c := parquet.TableColumn{Name: name, Kind: columnKind(t, i), Values: make([]any, len(t.Rows))}
		for r, row := range t.Rows {
			c.Values[r] = as(c.Kind, row[i])
		}
		columns = append(columns, c)
	}
	return parquet.Write(w, columns)
}

// columnKind returns the narrowest kind that holds a column.
func columnKind(t *store.Table, column int) parquet.Kind {
	ints, floats, others := 0, 0, 0
	for _, row := range t.Rows {
		switch row[column].(type) {
		case nil:
		case int64:
			ints++
		case float64:
			floats++
		default:
			others++
		}
	}
	switch {
	case others > 0 || ints+floats == 0:
		return parquet.ByteArray
	case floats > 0:
		return parquet.Double
	}
	return parquet.Int64
}

// as returns a value as a column of a kind of columnKind holds it.
func as(kind parquet.Kind, v any) any {
	n, whole := v.(int64)
	switch {
	case v == nil:
		return nil
	case kind == parquet.ByteArray:
		return Text(v)
	case kind == parquet.Double && whole:
		return float64(n)
	}
	return v
}

// paramPrefix marks the columns that Expand adds.
const paramPrefix = "params_"

// Expand replaces the column params, an object, where there is one, by a
// column a hyperparameter: params_client.lr and so on.
func Expand(t *store.Table) {
	at := slices.Index(t.Columns, "params")
	if at < 0 {
		return
	}
	all := map[string]bool{}
	objects := make([]map[string]any, len(t.Rows))
	for i, row := range t.Rows {
		text, _ := row[at].(string)
		if json.Unmarshal([]byte(text), &objects[i]) == nil {
			for key := range objects[i] {
				all[key] = true
			}
		}
	}
	keys := slices.Sorted(maps.Keys(all))
	t.Columns = slices.Delete(slices.Clone(t.Columns), at, at+1)
	t.Columns = append(t.Columns, list.Of(keys, func(key string) string { return paramPrefix + key })...)
	for i, row := range t.Rows {
		row = slices.Delete(row, at, at+1)
		for _, key := range keys {
			v := objects[i][key]
			if b, ok := v.(bool); ok {
				v = strconv.FormatBool(b)
			}
			row = append(row, v)
		}
		t.Rows[i] = row
	}
}
