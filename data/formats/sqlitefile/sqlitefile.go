// Package sqlitefile opens SQLite files for reading, plain ones and ones packed
// by LZMA (.lzma or .xz). SQLite needs to seek, so a packed file is unpacked once
// into the user's cache directory and found there afterwards.
package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver, SQLite in Go
)

// magic starts every SQLite file.
const magic = "SQLite format 3\x00"

// File is an open SQLite file. It is read-only and has no locks: nobody may
// write to it meanwhile.
type File struct {
	// Path is the name that Open was given. Errors use it even where the
	// content comes from an unpacked copy.
	Path string
	db   *sql.DB
}

// Open opens a file, and unpacks it before if need be. Its errors name the file.
func Open(ctx context.Context, path string) (*File, error) {
	head, err := readHead(path)
	if err != nil {
		return nil, err
	}
	plain := path
	if head != magic {
		if !packed(path, head) {
			return nil, fmt.Errorf("%s: not an SQLite file, nor one packed by LZMA (.lzma, .xz)", path)
		}
		if plain, err = unpack(ctx, path); err != nil {
			return nil, err
		}
	}
	full, err := filepath.Abs(plain)
	if err != nil {
		return nil, err
	}
	full = filepath.ToSlash(full)
	if !strings.HasPrefix(full, "/") {
		full = "/" + full // a drive letter
	}
	name := url.URL{Scheme: "file", Path: full, RawQuery: "mode=ro&immutable=1"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &File{Path: path, db: db}, nil
}

// readHead returns the first bytes of a file, as many as magic has or all.
func readHead(path string) (head string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	content := make([]byte, len(magic))
	n, err := io.ReadFull(f, content)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	return string(content[:n]), nil
}

// Close closes the file.
func (f *File) Close() error { return f.db.Close() }

// Need reports whether a table has the columns that are needed. The error names
// what is missing.
func (f *File) Need(ctx context.Context, table string, columns ...string) error {
	var have []string
	err := f.Query(ctx, func(scan func(...any) error) error {
		var name string
		if err := scan(&name); err != nil {
			return err
		}
		have = append(have, strings.ToLower(name))
		return nil
	}, "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return err
	}
	if len(have) == 0 {
		return fmt.Errorf("%s: has no table %s", f.Path, table)
	}
	for _, c := range columns {
		if !slices.Contains(have, c) {
			return fmt.Errorf("%s: table %s has no column %s, only %s", f.Path, table, c, strings.Join(have, ", "))
		}
	}
	return nil
}

// Query calls row for each row of the answer to an SQL query. What a
// *sql.RawBytes of scan holds is valid until row returns. An error of row ends
// it and is returned as it is; one of SQLite is named.
func (f *File) Query(ctx context.Context, row func(scan func(...any) error) error, query string, args ...any) (err error) {
	rows, err := f.db.QueryContext(ctx, query, args...)
	if err != nil {
		return f.named(ctx, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	scan := func(to ...any) error {
		if err := rows.Scan(to...); err != nil {
			return f.named(ctx, err)
		}
		return nil
	}
	for rows.Next() {
		if err := row(scan); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return f.named(ctx, err)
	}
	return nil
}

// named puts the file's name in front of an error of SQLite.
func (f *File) named(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w; is the file complete?", f.Path, err)
}
