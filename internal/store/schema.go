package store

import (
	"context"
	"database/sql"
	_ "embed" // the tables and views
	"errors"
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// applicationID marks the SQLite files of studies ("fdft").
const applicationID = 0x66646674

// formatVersion is the version of a study's record: its tables, the kinds of its
// rows and what they hold. Change it with anything that an older record lacks or
// says otherwise: a study of another version is refused.
const formatVersion = 1

//go:embed tables.sql
var tables string

// views are made anew whenever a study is opened for work.
//
//go:embed views.sql
var views string

// checkFormat reports whether a file holds a record yet, and refuses one of another
// version, or that another program has made.
func checkFormat(ctx context.Context, db *sql.DB) (begun bool, err error) {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return false, err
	}
	if version != 0 && version != formatVersion {
		return true, fmt.Errorf("%w: the record has format %d, want %d; use the version of fedfast that wrote it", errFormat, version, formatVersion)
	}
	if version == 0 {
		return false, nil
	}
	return true, checkTables(ctx, db)
}

// checkTables refuses a file with other tables, columns, indices or triggers than those of a
// record: reading a journal that is a view may have no end.
func checkTables(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, `SELECT name, type, coalesce(sql, '') FROM sqlite_schema WHERE type <> 'view' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err tells
	known := 0
	for ; rows.Next(); known++ {
		var name, kind, made string
		if err := rows.Scan(&name, &kind, &made); err != nil {
			return err
		}
		if !strings.Contains(tables, "\n"+made+";\n") {
			return fmt.Errorf("%w: not a record of fedfast: it holds the %s %s", errFormat, kind, oneline.Name(name))
		}
	}
	if err := rows.Err(); err != nil || known == strings.Count(tables, "\nCREATE ") {
		return err
	}
	return fmt.Errorf("%w: not a record of fedfast: it lacks the table journal or states", errFormat)
}

// prepare makes the tables of a new file, and the views of any.
func prepare(ctx context.Context, db *sql.DB, begun bool) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect once committed
	scripts := []string{
		views,
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", formatVersion),
	}
	if !begun {
		scripts = append([]string{tables}, scripts...)
	}
	for _, script := range scripts {
		if _, err := tx.ExecContext(ctx, script); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// errFormat marks a record of another format: no damage.
var errFormat = errors.New("unsupported format")
