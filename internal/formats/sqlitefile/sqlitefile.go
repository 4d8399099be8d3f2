// Package sqlitefile opens SQLite files for reading, plain ones and ones packed
// by LZMA (.lzma or .xz). SQLite needs to seek, so a packed file is unpacked once
// into the user's cache directory and found there afterwards.
package sqlitefile

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver, SQLite in Go

	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/regular"
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
	size int64
}

// minRow is less than any row takes in a file: of a table with three columns, its
// place in the page, its length, its number and the types of the columns.
const minRow = 8

// Room returns how many rows the file can have at most.
func (f *File) Room() int64 { return f.size / minRow }

// Open opens a file, and unpacks it before if need be. Its errors name the file.
func Open(ctx context.Context, path string) (*File, error) {
	head, size, err := readHead(path)
	if err != nil {
		return nil, err
	}
	plain := path
	if !strings.HasPrefix(head, magic) {
		if size == 0 {
			return nil, fmt.Errorf("%s: the file is empty", path)
		}
		if !packed(path, head) {
			return nil, fmt.Errorf("%s: not an SQLite file, nor one packed by LZMA (.lzma, .xz)", path)
		}
		if plain, err = unpack(ctx, path); err != nil {
			return nil, err
		}
		if head, size, err = readHead(plain); err != nil {
			return nil, err
		}
	}
	if err := whole(head, size); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
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
	return &File{Path: path, db: db, size: size}, nil
}

// headSize is the length of the head of an SQLite file.
const headSize = 100

// readHead returns the first bytes of a file, headSize or all, and its length.
func readHead(path string) (head string, size int64, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	content := make([]byte, headSize)
	n, err := io.ReadFull(f, content)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", 0, err
	}
	return string(content[:n]), info.Size(), nil
}

// whole returns an error if an SQLite file is shorter than its head says. The
// head's number of pages counts if it is from the same change as the rest of the
// head. (SQLite, Database File Format, 1.3.8)
func whole(head string, size int64) error {
	if len(head) < headSize {
		return errors.New("the file ends within its head; is it complete?")
	}
	page := int64(binary.BigEndian.Uint16([]byte(head[16:])))
	if page == 1 {
		page = 65536
	}
	if page < 512 || page&(page-1) != 0 {
		return fmt.Errorf("pages of %d bytes, as no SQLite file has: the file is damaged", page)
	}
	want := int64(binary.BigEndian.Uint32([]byte(head[28:]))) * page
	if want == 0 || head[24:28] != head[92:96] {
		want = (size + page - 1) / page * page
	}
	if size < want {
		return fmt.Errorf("has %d bytes, must have %d; is the file complete?", size, want)
	}
	return nil
}

// Close closes the file.
func (f *File) Close() error { return f.db.Close() }

// Need reports whether a table has the columns that are needed. The error names
// what is missing. A view is not a table, for it may go on without end.
func (f *File) Need(ctx context.Context, table string, columns ...string) error {
	is := ""
	err := f.Query(ctx, func(scan func(...any) error) error {
		var kind string
		var page int64
		if err := scan(&kind, &page); err != nil {
			return err
		}
		if is = kind; kind == "table" && page == 0 {
			is = "virtual table"
		}
		return nil
	}, "SELECT type, COALESCE(rootpage, 0) FROM sqlite_master WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')", table)
	switch {
	case err != nil:
		return err
	case is == "":
		return fmt.Errorf("%s: has no table %s", f.Path, table)
	case is != "table":
		return fmt.Errorf("%s: %s is a %s, must be a table", f.Path, table, is)
	}
	var have []string
	err = f.Query(ctx, func(scan func(...any) error) error {
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
	for _, c := range columns {
		if !slices.Contains(have, c) {
			return fmt.Errorf("%s: table %s has no column %s, only %s", f.Path, table, c, oneline.Names(have))
		}
	}
	return nil
}

// maxColumns is as many columns as SQLite allows a table.
const maxColumns = 32767

// Query calls row for each row of the answer to an SQL query. What a
// *sql.RawBytes of scan holds is valid until row returns. An error of row ends
// it and is returned as it is; one of SQLite is named. More rows than the file has
// room for, as a damaged one may seem to have, are an error, and so are rows that share
// their bytes until they have more than memory.Most of the file's size. A query must not look
// for rows on its own: SQLite cannot be stopped between two of them.
func (f *File) Query(ctx context.Context, row func(scan func(...any) error) error, query string, args ...any) (err error) {
	rows, err := f.db.QueryContext(ctx, query, args...)
	if err != nil {
		return f.named(ctx, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	budget := memory.NewBudget(f.size)
	scan := func(to ...any) error {
		if err := rows.Scan(to...); err != nil {
			return f.named(ctx, err)
		}
		for _, v := range to {
			n := 0
			switch v := v.(type) {
			case *sql.RawBytes:
				n = len(*v)
			case *string:
				n = len(*v)
			}
			if err := budget.Take(int64(n)); err != nil {
				return fmt.Errorf("%s: the rows of a table: %w", f.Path, err)
			}
		}
		return nil
	}
	for n := int64(0); rows.Next(); n++ {
		if n > f.Room()+maxColumns {
			return fmt.Errorf("%s: has more rows than %d bytes have room for: the file is damaged", f.Path, f.size)
		}
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
