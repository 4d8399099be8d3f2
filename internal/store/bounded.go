package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// maxData bounds the bytes of Data. The longest hold rounds with the errors of all
// clients of a federation.
const maxData = 64 << 20

// openBounded opens a database by its name for the driver, each connection with pragmas. What is
// longer than any row is an error before it is read: others' files may hold anything.
func openBounded(name, pragmas string) (*sql.DB, error) {
	c, err := sqlite.NewConnector(name)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(bounded{c, pragmas}), nil
}

// bounded makes connections with a limit of length.
type bounded struct {
	driver.Connector
	pragmas string
}

// Connect makes one.
func (b bounded) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := b.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(borrowed{c, b}) // sqlite.Limit takes a connection of database/sql
	conn, err := db.Conn(ctx)
	if err == nil {
		if _, err = sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, maxData+4096); err == nil {
			_, err = conn.ExecContext(ctx, b.pragmas) // some read the whole schema
		}
		err = errors.Join(err, conn.Close())
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// borrowed is a connection that stays open when it is given back.
type borrowed struct {
	driver.Conn
	bounded
}

// Connect returns it.
func (b borrowed) Connect(context.Context) (driver.Conn, error) { return b, nil }

// Close does nothing.
func (borrowed) Close() error { return nil }

// Unwrap returns the driver's own.
func (b borrowed) Unwrap() driver.Conn { return b.Conn }
