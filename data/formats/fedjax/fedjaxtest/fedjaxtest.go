// Package fedjaxtest writes files in the form of FedJAX for tests.
package fedjaxtest

import (
	"bytes"
	"compress/zlib"
	"database/sql"
	"encoding/binary"
	"math"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

// Client is one client of a file.
type Client struct {
	ID       string
	Examples int
	Arrays   []Array
	// Data, if not nil, is written instead of the packed arrays.
	Data []byte
}

// Array is a named array of uint8, float32, int32 or texts.
type Array struct {
	Name   string
	Shape  []int
	Bytes  []byte
	Floats []float32
	Ints   []int32
	Texts  [][]byte
}

// Write makes a file of clients.
func Write(t testing.TB, path string, clients []Client) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE federated_data (client_id BLOB NOT NULL PRIMARY KEY, data BLOB NOT NULL, num_examples INTEGER NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		content := c.Data
		if content == nil {
			content = Deflate(t, Pack(c.Arrays...))
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO federated_data VALUES (?, ?, ?)", []byte(c.ID), content, c.Examples); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// Deflate returns the zlib stream of content.
func Deflate(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Pack returns the msgpack of arrays, in the shortest forms as Python's msgpack
// writes them.
func Pack(arrays ...Array) []byte {
	b := []byte{0x80 | byte(len(arrays))}
	for _, a := range arrays {
		b = appendText(b, a.Name)
		code, body := a.body()
		switch n := len(body); {
		case n == 1 || n == 2 || n == 4 || n == 8 || n == 16:
			b = append(b, 0xd4+byte(math.Log2(float64(n))))
		case n < 1<<8:
			b = append(b, 0xc7, byte(n))
		case n < 1<<16:
			b = binary.BigEndian.AppendUint16(append(b, 0xc8), uint16(n))
		default:
			b = binary.BigEndian.AppendUint32(append(b, 0xc9), uint32(n))
		}
		b = append(append(b, code), body...)
	}
	return b
}

// body returns the extension's code and content.
func (a Array) body() (code byte, b []byte) {
	shape := []byte{0x90 | byte(len(a.Shape))}
	for _, d := range a.Shape {
		shape = appendNumber(shape, d)
	}
	if a.Texts != nil {
		b = append([]byte{0x92}, shape...)
		b = appendList(b, len(a.Texts))
		for _, text := range a.Texts {
			b = appendBinary(b, text)
		}
		return 4, b
	}
	b = append([]byte{0x93}, shape...)
	var content []byte
	switch {
	case a.Bytes != nil:
		b = appendText(b, "uint8")
		content = a.Bytes
	case a.Floats != nil:
		b = appendText(b, "float32")
		for _, v := range a.Floats {
			content = binary.LittleEndian.AppendUint32(content, math.Float32bits(v))
		}
	default:
		b = appendText(b, "int32")
		for _, v := range a.Ints {
			content = binary.LittleEndian.AppendUint32(content, uint32(v))
		}
	}
	return 1, appendBinary(b, content)
}

func appendText(b []byte, s string) []byte {
	if len(s) < 32 {
		return append(append(b, 0xa0|byte(len(s))), s...)
	}
	return append(append(b, 0xd9, byte(len(s))), s...)
}

func appendNumber(b []byte, n int) []byte {
	switch {
	case n < 1<<7:
		return append(b, byte(n))
	case n < 1<<8:
		return append(b, 0xcc, byte(n))
	}
	return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(n))
}

func appendList(b []byte, n int) []byte {
	if n < 16 {
		return append(b, 0x90|byte(n))
	}
	return binary.BigEndian.AppendUint16(append(b, 0xdc), uint16(n))
}

func appendBinary(b, content []byte) []byte {
	switch n := len(content); {
	case n < 1<<8:
		b = append(b, 0xc4, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0xc5), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xc6), uint32(n))
	}
	return append(b, content...)
}
