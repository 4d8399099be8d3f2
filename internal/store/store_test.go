package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rowsOf reads the whole journal.
func rowsOf(t *testing.T, s Reader) []Row {
	t.Helper()
	var rows []Row
	if err := s.Each(t.Context(), func(r Row) error { rows = append(rows, r); return nil }, "a", "b"); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestEachOfNoKind reads the rows of all kinds.
func TestEachOfNoKind(t *testing.T) {
	v, err := Look(t.Context(), fill(t, 10))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	for name, each := range map[string]func(f func(Row) error) error{
		"Each":  func(f func(Row) error) error { return v.Each(t.Context(), f) },
		"Since": func(f func(Row) error) error { return v.Since(t.Context(), 0, 100, f) },
		"Few":   func(f func(Row) error) error { return v.Few(t.Context(), 100, f) },
	} {
		n := int64(0)
		if err := each(func(r Row) error { n++; return nil }); err != nil || n != 10 {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
	}
}

// fill appends rows and returns the store's directory, closed.
func fill(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	for i := range n {
		if err := s.Append([]string{"a", "b"}[i%2], i%3, i, fmt.Appendf(nil, `{"score":%d,"text":"%0120d"}`, i,
			i)); err != nil {
			t.Fatal(err)
		}
		if err := s.SetState(1, i%2, i, fmt.Appendf(nil, "state %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestJournalOutlivesTheProcess(t *testing.T) {
	dir := fill(t, 100)
	s := open(t, dir)
	defer func() { _ = s.Close() }()
	rows := rowsOf(t, s)
	if len(rows) != 100 || s.Seq() != 100 || len(s.Notes()) > 0 {
		t.Fatalf("%d rows, sequence %d, notes %v", len(rows), s.Seq(), s.Notes())
	}
	for i, r := range rows {
		if r.Seq != int64(i+1) || r.Round != i || r.Trial != i%3 || !strings.Contains(string(r.Data),
			fmt.Sprintf(`"score":%d,`, i)) {
			t.Errorf("row %d is %+v", i, r)
		}
	}
	for calls, want := range map[int]string{99: "state 99", 98: "state 98", 200: "state 99", 97: ""} {
		if state, at, err := s.State(t.Context(), 1, calls); err != nil || string(state) != want || want != "" &&
			at != min(calls, 99) {
			t.Errorf("the state after %d calls is %q after %d, %v; want %q", calls, state, at, err, want)
		}
	}
	if got, err := s.Rows(t.Context(), 1, "a", 20, 60, 3); err != nil || len(got) != 3 || got[0].Round != 22 ||
		got[2].Round != 34 {
		t.Errorf("rows of trial 1 from round 20: %v, %+v", err, got)
	}
	if last, err := s.LastRounds(t.Context(), "a"); err != nil || last[0] != 96 || last[1] != 94 || last[2] != 98 {
		t.Errorf("last rounds %v, %v", last, err)
	}
}

// TestRowsAreCopied: whoever appends a row may use its memory again before it is committed.
func TestRowsAreCopied(t *testing.T) {
	s := open(t, t.TempDir())
	defer func() { _ = s.Close() }()
	data := []byte(`{"n":1}`)
	if err := s.Append("a", 0, 0, data); err != nil {
		t.Fatal(err)
	}
	copy(data, `{"n":2}`)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if rows := rowsOf(t, s); len(rows) != 1 || string(rows[0].Data) != `{"n":1}` || len(s.Notes()) > 0 {
		t.Errorf("rows %+v, notes %v", rows, s.Notes())
	}
}

// TestRowsShareATransaction waits for what is committed without Flush.
func TestRowsShareATransaction(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { _ = s.Close() }()
	for range 10 {
		if err := s.Append("a", 0, 0, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(rowsOf(t, s)); n != 0 {
		t.Errorf("%d rows are committed at once", n)
	}
	for deadline := time.Now().Add(10 * time.Second); len(rowsOf(t, s)) != 10; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the rows are never committed")
		}
	}
}

// TestFlippedBits changes single bits anywhere in the database. What is left is
// always a beginning of what was written, and what is lost is said.
func TestFlippedBits(t *testing.T) {
	whole := fill(t, 60)
	text, err := os.ReadFile(filepath.Join(whole, File))
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf(t, open(t, fill(t, 60)))
	random := rand.New(rand.NewPCG(3, 4))
	lost := 0
	for range 60 {
		dir := t.TempDir()
		at, bit := random.IntN(len(text)), byte(1)<<random.IntN(8)
		damaged := append([]byte(nil), text...)
		damaged[at] ^= bit
		if err := os.WriteFile(filepath.Join(dir, File), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), dir)
		if errors.Is(err, errFormat) {
			continue // the number of the version was hit
		}
		if err != nil {
			t.Errorf("bit %d of byte %d: %v", bit, at, err)
			continue
		}
		rows := rowsOf(t, s)
		for i, r := range rows {
			if string(r.Data) != string(want[i].Data) || r.Round != want[i].Round || r.Kind != want[i].Kind {
				t.Errorf("bit %d of byte %d: row %d is %s", bit, at, i, r.Data)
			}
		}
		if len(rows) < len(want) {
			lost++
			if len(s.Notes()) != 1 || !strings.Contains(s.Notes()[0], "was damaged") {
				t.Errorf("bit %d of byte %d: %d rows are lost, the notes are %q", bit, at, len(want)-len(rows), s.Notes())
			}
			if got, err := os.ReadFile(filepath.Join(dir, File+".damaged")); err != nil || string(got) != string(damaged) {
				t.Errorf("the damaged file is not kept: %v", err)
			}
		}
		if err := s.Append("a", 0, 0, []byte("{}")); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		again := open(t, dir)
		if got := len(rowsOf(t, again)); got != len(rows)+1 || len(again.Notes()) > 0 {
			t.Errorf("after repair and a row there are %d rows, notes %q", got, again.Notes())
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	if lost < 20 {
		t.Errorf("only %d flips hit a row", lost)
	}
}

func TestTruncatedDatabase(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(fill(t, 60), File))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 10, 100, 4096, 5000, len(text) / 2, len(text) - 4096, len(text) - 1} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), text[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, snapshotDir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, snapshotDir, "x"+snapshotEnd), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), dir)
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}
		if rows := rowsOf(t, s); len(rows) == 60 || len(s.Notes()) != 1 {
			t.Errorf("%d bytes: %d rows, notes %q", size, len(rows), s.Notes())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOtherFormatsAreRefused(t *testing.T) {
	dir := fill(t, 1)
	s := open(t, dir)
	if _, err := s.db.ExecContext(t.Context(), fmt.Sprintf("PRAGMA user_version = %d", formatVersion+1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "the record has format 2, want 1") {
		t.Errorf("Open: %v", err)
	}
	if _, err := Look(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "the record has format 2") {
		t.Errorf("Look: %v", err)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var busy *BusyError
	if _, err := Open(t.Context(), dir); !errors.As(err, &busy) || busy.PID != os.Getpid() ||
		!strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("a second process gets %v", err)
	}
	if err := s.Append("a", 0, 0, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	v, err := Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if v.Busy() != os.Getpid() || len(rowsOf(t, v)) != 1 {
		t.Errorf("a reader sees process %d and %d rows", v.Busy(), len(rowsOf(t, v)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if v.Busy() != 0 {
		t.Errorf("a reader sees process %d after the end", v.Busy())
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Look(t.Context(), t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory gives %v", err)
	}
}

func TestSnapshots(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { _ = s.Close() }()
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	read := func(name string) (text string, err error) {
		err = s.ReadSnapshot(name, func(r io.Reader) error {
			all, err := io.ReadAll(r)
			text = string(all)
			return err
		})
		return text, err
	}
	for _, name := range []string{"b", "a"} {
		if err := s.WriteSnapshot(name, write("of "+name)); err != nil {
			t.Fatal(err)
		}
	}
	broken := errors.New("out of ink")
	if err := s.WriteSnapshot("a", func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a failed write gives %v", err)
	}
	if names, err := s.Snapshots(); err != nil || fmt.Sprint(names) != "[a b]" {
		t.Errorf("the snapshots are %v, %v", names, err)
	}
	if text, err := read("a"); err != nil || text != "of a" {
		t.Errorf("read %q, %v", text, err)
	}
	path := s.snapshotPath("a")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[i] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read("a"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "snapshot a") {
			t.Errorf("byte %d: %v", i, err)
		}
		if err := os.WriteFile(path, whole[:i], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read("a"); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	if err := s.RemoveSnapshot("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := read("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed snapshot gives %v", err)
	}
	part := filepath.Join(dir, snapshotDir, ".c"+snapshotEnd+"123")
	if err := os.WriteFile(part, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if _, err := os.Stat(part); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unfinished file is left: %v", err)
	}
}

// TestViews reads a small made-up study as other programs do.
func TestViews(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, r := range []Row{
		{Kind: "study", Trial: -1, Data: []byte(`{"name":"x","mode":"tune","trial_rounds":4}`)},
		{Kind: "session", Trial: -1, Data: []byte(`{"cpu":"c","workers":2}`)},
		{
			Kind: "suggest", Trial: -1,
			Data: []byte(`{"n":1,"decisions":[{"kind":"start","trial":0,"params":{"client.lr":0.5},"to_round":2},{"kind":"start","trial":1,"params":{"client.lr":1},"to_round":2},{"kind":"start","trial":2,"params":{"client.lr":2},"to_round":2},{"kind":"start","trial":3,"params":{"client.lr":3},"to_round":2}]}`),
		},
		{Kind: "trial", Trial: 0, Data: []byte(`{"params":{"client.lr":0.5}}`)},
		{Kind: "trial", Trial: 1, Data: []byte(`{"params":{"client.lr":1}}`)},
		{Kind: "trial", Trial: 2, Data: []byte(`{"params":{"client.lr":2}}`)},
		{Kind: "trial", Trial: 3, Data: []byte(`{"params":{"client.lr":3},"source":1}`)},
		{
			Kind: "round", Trial: 0, Round: 1,
			Data: []byte(`{"score":0.5,"train_loss":1.5,"steps":3,"examples":30,"dropped":1}`),
		},
		{
			Kind: "round", Trial: 0, Round: 2,
			Data: []byte(`{"score":0.25,"train_loss":1,"steps":3,"examples":30,"dropped":0}`),
		},
		{Kind: "rung", Trial: 0, Round: 2, Data: []byte(`{"score":0.25}`)},
		{
			Kind: "round", Trial: 1, Round: 1,
			Data: []byte(`{"score":0.75,"train_loss":null,"steps":3,"examples":30,"dropped":0}`),
		},
		{Kind: "fail", Trial: 2, Round: 0, Data: []byte(`{"reason":"panic"}`)},
	} {
		if err := s.Append(r.Kind, r.Trial, r.Round, r.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	states := func() string {
		t.Helper()
		v, err := Look(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = v.Close() }()
		trials, err := v.Table(t.Context(), "trials")
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, row := range trials.Rows {
			fmt.Fprintf(&b, "%v %v %v; ", row[1], row[3], row[5])
		}
		return b.String()
	}
	if got, want := states(), "0 running 0.25; 1 running <nil>; 2 failed <nil>; 3 running <nil>; "; got != want {
		t.Errorf("the trials are %s, want %s", got, want)
	}
	if err := s.Append("suggest", -1, 0, []byte(`{"decisions":[{"kind":"stop","trial":0}]}`)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []Row{
		{
			Kind: "worker", Trial: -1,
			Data: []byte(`{"worker":"a-1","state":"joined","host":"a","pid":7,"level":"avx2","workers":2}`),
		},
		{Kind: "lease", Trial: 0, Round: 2, Data: []byte(`{"lease":1,"worker":"a-1"}`)},
		{
			Kind: "round", Trial: 0, Round: 3,
			Data: []byte(`{"examples":3,"test_error":0.5,"fleet":{"clock":9,"jobs":[{"client":1,"end":9}]}}`),
		},
		{Kind: "worker", Trial: -1, Data: []byte(`{"worker":"a-1","state":"lost"}`)},
		{Kind: "act", Trial: -1, Data: []byte(`{"act":"stop study"}`)},
		{
			Kind: "plan", Trial: 0, Round: 3,
			Data: []byte(`{"Server":null,"Clients":[{}],"Table":null,"Notes":{"theta":[0.5,0.5]}}`),
		},
		{Kind: "finalist", Trial: 0, Round: 9, Data: []byte(`{"score":0.125,"clients":3,"examples":8}`)},
		{Kind: "result", Trial: -1, Data: []byte(`{"tune":{"best":{"number":0,"round":9,"score":0.125},"survivor":null}}`)},
		{Kind: "baseline", Trial: -1, Round: 9, Data: []byte(`{"configurations":1,"rounds":9,"target":"global"}`)},
		{Kind: "configuration", Trial: -1, Round: 9, Data: []byte(`{"number":0,"params":{},"score":0.5,"test_error":0.75}`)},
	} {
		if err := s.Append(r.Kind, r.Trial, r.Round, r.Data); err != nil {
			t.Fatal(err)
		}
	}
	// Whatever views the file has, a reader brings its own.
	for _, view := range []string{"models", "curves"} {
		if _, err := s.db.ExecContext(t.Context(), "DROP VIEW "+view); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := states(), "0 pruned 0.25; 1 completed <nil>; 2 failed <nil>; 3 completed <nil>; "; got != want {
		t.Errorf("the trials are %s, want %s", got, want)
	}
	v, err := Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	for _, name := range Tables() {
		if table, err := v.Table(t.Context(), name); err != nil || len(table.Columns) < 3 || name != "reports" &&
			len(table.Rows) == 0 {
			t.Errorf("%s: %v, %+v", name, err, table)
		}
	}
	for view, want := range map[string]int{
		"studies": 1, "study_directions": 1, "trial_params": 4, "trial_values": 1,
		"trial_intermediate_values": 1,
	} {
		var n int
		if err := v.db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+view).Scan(&n); err != nil || n != want {
			t.Errorf("%s has %d rows, %v; want %d", view, n, err, want)
		}
	}
	var told string
	const workers = "SELECT w.worker || ' ' || state || ' ' || rounds || ': ' || r.trial || ' ' || r.round FROM workers w JOIN worker_rounds r ON r.worker = w.worker"
	if err := v.db.QueryRowContext(t.Context(), workers).Scan(&told); err != nil || told != "a-1 lost 1: 0 3" {
		t.Errorf("the workers are %q, %v", told, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestElapsedLeavesOutTheTimeBetween(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { _ = s.Close() }()
	for i, at := range []int64{1000, 1300, 5000, 5200} {
		r := Row{Seq: int64(i + 1), At: at, Kind: []string{"session", "round"}[i%2], Data: []byte("{}")}
		if err := s.commit(&batch{rows: []Row{r}, sums: [][]byte{{}}}); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := s.Elapsed(t.Context(), "session"); err != nil || d != 500*time.Millisecond {
		t.Errorf("elapsed %v, %v; want 500ms", d, err)
	}
}

// TestLookBeforeTheRecord looks at a study whose file has no tables yet.
func TestLookBeforeTheRecord(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, File), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Look(t.Context(), dir)
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != dir+": the study has no record yet" {
		t.Error(err)
	}
}

// TestForeignTablesAreRefused refuses, for reading and for work, a database with other tables,
// columns, triggers or indices than a record's, however it would answer.
func TestForeignTablesAreRefused(t *testing.T) {
	for change, want := range map[string]string{
		"ALTER TABLE journal RENAME TO j; CREATE VIEW journal AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS seq, 0 AS at, 'a' AS kind, 0 AS trial, 0 AS round, '{}' AS data, x'' AS sum FROM r": "the table j",
		"DROP TABLE journal; CREATE VIEW journal AS SELECT 1 AS seq":                                       "lacks the table journal",
		"ALTER TABLE journal ADD COLUMN more TEXT":                                                         "the table journal",
		"CREATE TRIGGER act AFTER INSERT ON journal BEGIN DELETE FROM journal; END":                        "the trigger act",
		"CREATE INDEX slow ON journal (json_extract(data, '$.x'))":                                         "the index slow",
		"DROP TABLE states; CREATE VIRTUAL TABLE states USING fts5(session, slot, calls, data, sum)":       "the table states",
		"DROP INDEX journal_trial; CREATE INDEX journal_trial ON journal (trial, kind, round) WHERE seq>9": "the index journal_trial",
	} {
		dir := fill(t, 3)
		db, err := openDB(filepath.Join(dir, File))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := Look(ctx, dir); err == nil || !strings.Contains(err.Error(), "not a record of fedfast: it ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: Look: %v", change, err)
		}
		if _, err := Open(ctx, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Open: %v", change, err)
		}
		cancel()
	}
}

// TestSizesAreBounded opens records with a value that is longer than any of fedfast's: it is
// refused unread, and what is before it is saved.
func TestSizesAreBounded(t *testing.T) {
	const long = "zeroblob(65 << 20)"
	for change, want := range map[string]string{
		"UPDATE journal SET data = " + long + " WHERE seq = 2":                                        "row 2 of journal",
		"UPDATE journal SET kind = printf('%.*c', 1000, 'x') WHERE seq = 2":                           "row 2 of journal",
		"UPDATE journal SET sum = zeroblob(1000) WHERE seq = 3":                                       "row 3 of journal",
		"UPDATE journal SET at = 'long ago' WHERE seq = 3":                                            "row 3 of journal",
		"UPDATE journal SET trial = 'none' WHERE seq = 2":                                             "row 2 of journal",
		"UPDATE journal SET round = 1.5 WHERE seq = 2":                                                "row 2 of journal",
		"UPDATE states SET data = " + long:                                                            "row 1 of states",
		"UPDATE states SET slot = 'none' WHERE slot = 1":                                              "of states",
		"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = " + long + " WHERE name = 'acts'": "too big",
	} {
		dir := fill(t, 3)
		raw, err := sql.Open("sqlite", filepath.Join(dir, File))
		if err != nil {
			t.Fatal(err)
		}
		raw.SetMaxOpenConns(1)
		if _, err := raw.ExecContext(t.Context(), change); err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		if err := raw.Close(); err != nil {
			t.Fatal(err)
		}
		for name, look := range map[string]func(context.Context, string) (*View, error){"Look": Look, "Glance": Glance} {
			if v, err := look(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "damaged (") ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v, %v", change, name, v, err)
			}
		}
		s, err := Open(t.Context(), dir)
		if err != nil || len(s.Notes()) != 1 || !strings.Contains(s.Notes()[0], want) {
			t.Errorf("%s: Open: %v, %v", change, s, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if v, err := Look(t.Context(), dir); err != nil {
			t.Errorf("%s: Look after Open: %v", change, err)
		} else if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLookChecksTheChainOnce changes rows that nobody has read yet, and the study under the path.
func TestLookChecksTheChainOnce(t *testing.T) {
	dir := fill(t, 3)
	look := func() error {
		v, err := Look(t.Context(), dir)
		if err == nil {
			err = v.Close()
		}
		return err
	}
	if err := look(); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if err := errors.Join(s.Append("a", 0, 9, []byte("{}")), s.Close(), look()); err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{
		"UPDATE journal SET at = 0 WHERE seq = 4", "UPDATE journal SET at = 0",
		"DELETE FROM journal WHERE seq = 1",
	} {
		s := open(t, dir)
		err := errors.Join(s.Append("a", 0, 9, []byte("{}")), s.Flush())
		if err == nil {
			_, err = s.db.ExecContext(t.Context(), strings.Replace(change, "4", strconv.FormatInt(s.Seq(), 10), 1))
		}
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		if err := look(); err == nil || !strings.Contains(err.Error(), "the checksum of row") {
			t.Errorf("%s: %v", change, err)
		}
		dir = fill(t, 3)
	}
	other := fill(t, 5)
	if err := look(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, File)), os.Rename(filepath.Join(other, File),
		filepath.Join(dir, File)), look()); err != nil {
		t.Errorf("another study under the same path: %v", err)
	}
}

// TestWritesWaitForOtherPrograms holds the write lock for longer than SQLite waits: nothing
// is lost, and one line tells why it takes so long.
func TestWritesWaitForOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	told := make(chan string, 10)
	s, err := OpenAfter(t.Context(), dir, nil, func(text string) { told <- text })
	if err != nil {
		t.Fatal(err)
	}
	other, err := openDB(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append("a", 0, 0, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Flush() }()
	if text := <-told; !strings.Contains(text, "has locked it; waiting for up to 10m") {
		t.Errorf("told is %q", text)
	}
	if err := errors.Join(tx.Rollback(), other.Close()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("once it is free: %v", err)
	}
	if len(rowsOf(t, s)) != 1 || len(told) > 0 {
		t.Errorf("%d rows, and %d more lines", len(rowsOf(t, s)), len(told))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
