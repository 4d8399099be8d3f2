package store

import (
	"context"
	"database/sql"
	_ "embed" // the views
	"errors"
	"fmt"
)

// applicationID marks the SQLite files of studies ("fdft").
const applicationID = 0x66646674

// migrations lead from each version of the schema to the next; the version of
// a file is their number.
var migrations = []string{`
CREATE TABLE journal (
	seq   INTEGER PRIMARY KEY,
	at    INTEGER NOT NULL,
	kind  TEXT    NOT NULL,
	trial INTEGER NOT NULL,
	round INTEGER NOT NULL,
	data  TEXT    NOT NULL,
	sum   BLOB    NOT NULL
);
CREATE INDEX journal_trial ON journal (trial, kind, round);
CREATE TABLE states (
	session INTEGER NOT NULL,
	slot    INTEGER NOT NULL,
	calls   INTEGER NOT NULL,
	data    BLOB    NOT NULL,
	sum     BLOB    NOT NULL,
	PRIMARY KEY (session, slot)
);
`}

// views are made anew whenever a study is opened for work, so they need no
// migrations.
//
//go:embed views.sql
var views string

// schemaVersion returns the version of a file's schema, 0 for an empty file.
func schemaVersion(ctx context.Context, db *sql.DB) (version int, err error) {
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if version > len(migrations) {
		err = fmt.Errorf("%w: its schema has version %d, this one knows up to %d", errNewer, version, len(migrations))
	}
	return version, err
}

// migrate brings a file to the newest version of the schema.
func migrate(ctx context.Context, db *sql.DB, version int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect once committed
	for _, script := range migrations[version:] {
		if _, err := tx.ExecContext(ctx, script); err != nil {
			return err
		}
	}
	for _, script := range []string{
		views,
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", len(migrations)),
	} {
		if _, err := tx.ExecContext(ctx, script); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// errNewer marks a file of a newer version of the program: no damage.
var errNewer = errors.New("written by a newer fedfast")
