-- The tables of a study's record, as SQLite keeps their text: see checkTables.

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
