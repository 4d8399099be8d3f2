// Package fedjax reads FedJAX's SQLite files: table federated_data (client_id,
// data, num_examples), data being a zlib stream of the msgpack of a client's
// arrays.
//
// The real files could not be had where this was written: the reader follows
// FedJAX's source code and is tested on files that the tests make.
package fedjax

import (
	"bytes"
	"compress/zlib"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"github.com/fedfast/fedfast/data/formats/sqlitefile"
	"github.com/fedfast/fedfast/data/sys/memory"
	"github.com/fedfast/fedfast/data/sys/oneline"
)

// maxClient bounds the unpacked bytes of one client.
const maxClient = 512 << 20

// Read calls each with every client, in the order of the file. n is its number
// of examples, which is the first dimension of all its arrays. Errors name the
// file, and those of each the client too.
func Read(ctx context.Context, path string, each func(client string, n int, arrays Arrays) error) (err error) {
	f, err := sqlitefile.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Need(ctx, "federated_data", "client_id", "data", "num_examples"); err != nil {
		return err
	}
	var client string
	var packed sql.RawBytes
	var n int
	seen := map[string]bool{}
	return f.Query(ctx, func(scan func(...any) error) error {
		if err := scan(&client, &packed, &n); err != nil {
			return err
		}
		if seen[client] {
			return fmt.Errorf("%s: client %.64q is in it twice", path, client)
		}
		seen[client] = true
		arrays, err := unpack(packed, n)
		if err == nil {
			err = each(client, n, arrays)
		}
		if err != nil {
			return fmt.Errorf("%s: client %.64q: %w", path, client, err)
		}
		return nil
	}, "SELECT client_id, data, num_examples FROM federated_data ORDER BY rowid")
}

// unpack returns the arrays of a client of n examples.
func unpack(packed []byte, n int) (Arrays, error) {
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the zlib data are damaged: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(z, maxClient+1))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the zlib data end early; is the file complete?")
	}
	if err != nil {
		return nil, fmt.Errorf("the zlib data are damaged: %w", err)
	}
	if len(content) > maxClient {
		return nil, fmt.Errorf("unpacks to more than %d bytes", maxClient)
	}
	if err := memory.Check(int64(len(content))); err != nil {
		return nil, err
	}
	arrays, err := decode(content)
	if err != nil {
		return nil, err
	}
	for name, a := range arrays {
		if len(a.Shape) == 0 || a.Shape[0] != n {
			return nil, fmt.Errorf("array %s has shape %v, num_examples is %d", oneline.Name(name), a.Shape, n)
		}
	}
	return arrays, nil
}
