package cluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/worker"
)

// These tests speak to a real server with what a join file holds, as whoever has the
// file can: with numbers that no worker says.

// openServer starts a server for a test.
func openServer(t *testing.T) *wire.Broker {
	t.Helper()
	b, err := wire.Open(t.Context(), t.TempDir(), "127.0.0.1:0", wire.Files{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(false) })
	return b
}

// connectTo connects to a server as who has its join file can.
func connectTo(t *testing.T, b *wire.Broker) *wire.Link {
	t.Helper()
	j, err := wire.ReadJoin(b.Path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := wire.Connect(j, b.Path, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// emptyCoordinator returns a coordinator without a study and a server.
func emptyCoordinator() *Coordinator {
	return &Coordinator{
		options: Options{Notice: func(string) {}}, terms: terms{version: "test", level: worker.Machine("").Level},
		transit: &transit{Blobs: &wire.Blobs{}}, journal: &journal{}, pool: newPool(), ledger: newLedger(),
		costs: newCosts(RoundsAuto, 64, nil),
	}
}

// puppet is a worker whose requests a test makes.
type puppet struct {
	*wire.Link
	t *testing.T
}

// puppetOf has a puppet join a study that is open.
func puppetOf(t *testing.T, r *run, change func(first, second *wire.Hello)) (*puppet, error) {
	t.Helper()
	r.mu.Lock()
	c := r.coordinator
	r.mu.Unlock()
	l := connectTo(t, c.broker)
	first := wire.Hello{Machine: worker.Machine("test")}
	second := wire.Hello{Machine: first.Machine, Facts: &c.terms.facts}
	if change != nil {
		change(&first, &second)
	}
	w, err := l.Hello(t.Context(), first)
	if err != nil {
		return nil, err
	}
	second.Worker = w.Worker
	if _, err = l.Hello(t.Context(), second); err != nil {
		return nil, err
	}
	l.Begin(w)
	return &puppet{l, t}, nil
}

// claimBlob says of a blob what no blob has.
func claimBlob(t *testing.T, l *wire.Link, name, meta string) {
	t.Helper()
	subject := "$O." + wire.Bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
	m, err := l.Conn.Request(subject, []byte(meta), 10*time.Second)
	if err != nil || bytes.Contains(m.Data, []byte("error")) {
		t.Fatalf("the metadata of a blob: %s, %v", m.Data, err)
	}
}

// raw sends a message as it stands, for no answer or one elsewhere.
func (p *puppet) raw(subject, reply, text string) {
	p.t.Helper()
	text = strings.ReplaceAll(text, "WORKER", p.Worker)
	if err := p.Conn.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: []byte(text)}); err != nil {
		p.t.Fatal(err)
	}
	if err := p.Conn.Flush(); err != nil {
		p.t.Fatal(err)
	}
}

// open waits until a study's coordinator is there.
func (r *run) open() {
	for {
		r.mu.Lock()
		c := r.coordinator
		r.mu.Unlock()
		if c != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestThreatHostileRequests has workers without a lease say what no worker says, while an
// honest one trains: each is given up, or not heard, and the study is as in one process.
func TestThreatHostileRequests(t *testing.T) {
	r := newRun(t, func() study.Setup { return tinyStudy(t) })
	r.after = func(round int) {
		if round == 1 {
			r.hostileRequests(t)
		}
	}
	r.sameAsAlone(t, r.worker(t.Context(), nil))
}

func (r *run) hostileRequests(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	for what, say := range map[string]wire.Request{
		"a state of a megabyte":   {State: long},
		"no state":                {},
		"trial 2^62":              {State: wire.StateRound, Trial: 1 << 62, Record: []byte("{}")},
		"a negative round":        {State: wire.StateRound, Rounds: -5, Record: []byte("{}")},
		"round 2^63-1":            {State: wire.StateRound, Rounds: 1<<63 - 1, Record: []byte("{}")},
		"slots of a negative":     {State: wire.StateShared, Lo: -1, Hi: 1 << 40},
		"a lease below none":      {State: wire.StateIdle, Lease: -1 << 63},
		"a blob elsewhere":        {State: wire.StateShared, Blob: "../../etc/passwd"},
		"a model without an end":  {State: wire.StateFetched, Model: long},
		"a state of another kind": {State: wire.StateFetched, Snapshot: strings.Repeat("0", wire.DigestSize) + "-1"},
		"a megabyte of a result":  {State: wire.StateShared, Result: []byte(long)},
	} {
		p, err := puppetOf(t, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := p.Ask(t.Context(), say)
		if err != nil || o.Order != wire.OrderLeave || len(o.Why) > 400 {
			t.Errorf("%s is answered with %+v, %v", what, o, err)
		}
	}
	// What it says of rounds that were never its own is not believed, nor compared.
	p, err := puppetOf(t, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	for trial := range 3 {
		for rounds := range 30 {
			for _, say := range []wire.Request{
				{State: wire.StateRound, Lease: int64(trial + 1), Trial: trial, Rounds: rounds, Record: []byte(`{"score": 0}`)},
				{State: wire.StateShared, Lease: int64(trial + 1), Trial: trial, Rounds: rounds, Hi: 16, Result: []byte("x")},
			} {
				if o, err := p.Ask(t.Context(), say); err != nil || o.Order != wire.OrderDrop {
					t.Fatalf("a round of nobody's is answered with %+v, %v", o, err)
				}
			}
		}
	}
	// Numbers that JSON or its reader do not have, and answers that go elsewhere.
	for _, text := range []string{
		`{"worker": "WORKER", "seq": 1e999, "state": "idle"}`,
		`{"worker": "WORKER", "seq": 9223372036854775813, "state": "idle"}`,
		`{"worker": "WORKER", "seq": NaN}`, `{"worker": "WORKER", "seq": 70, "state": "round", "rounds": 1.5}`, `[[[[`,
		strings.Repeat("[", 1<<20), "\x00\xff", ``,
	} {
		p.raw(wire.SubjectRequest, "", text)
		p.raw(wire.SubjectHello, "", text)
		p.raw(wire.SubjectHeartbeat, "", text)
	}
	theirs, err := p.OpenBlobs(t.Context(), "", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := theirs.PutBytes(t.Context(), []byte("what is to stay"))
	if err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{
		"$JS.API.STREAM.PURGE.OBJ_" + wire.Bucket, wire.SubjectRequest, wire.Inboxes,
		wire.Inboxes + "x.y", wire.Inboxes + "*.>", "$O." + wire.Bucket + ".M.x",
	} {
		p.raw(wire.SubjectHello, reply, `{"protocol": 1}`)
		p.raw(wire.SubjectRequest, reply, `{"worker": "WORKER", "seq": 1000, "state": "idle"}`)
	}
	if _, err := theirs.Bytes(t.Context(), kept); err != nil {
		t.Errorf("the coordinator's answers have removed a blob: %v", err)
	}
	// Workers with numbers and names that no machine has.
	for what, change := range map[string]func(first, second *wire.Hello){
		"a name of a megabyte": func(_, second *wire.Hello) { second.Host = long },
		"a CPU of a megabyte":  func(_, second *wire.Hello) { second.CPU = long },
		"a negative process":   func(_, second *wire.Hello) { second.PID = -1 },
		"2^62 workers":         func(_, second *wire.Hello) { second.Workers = 1 << 62 },
		"a version of no end":  func(first, _ *wire.Hello) { first.Version = long },
		"another protocol":     func(first, _ *wire.Hello) { first.Protocol = -1 << 62 },
		"facts without an end": func(_, second *wire.Hello) { second.Facts = &study.Facts{Data: long} },
		"a layout of no network": func(_, second *wire.Hello) {
			second.Facts = &study.Facts{
				Data:   second.Facts.Data,
				Layout: long,
			}
		},
	} {
		var refused *wire.RefusedError
		if _, err := puppetOf(t, r, change); !errors.As(err, &refused) || len(refused.Why) > 5000 ||
			strings.ContainsAny(refused.Why, "\n\x1b") {
			t.Errorf("%s: %.300v", what, err)
		}
	}
	if _, err := puppetOf(t, r, func(_, second *wire.Hello) { second.Host = "a\x1b[2J\nb" }); err != nil ||
		r.told("\x1b") > 0 || r.told("\n") > 0 {
		t.Errorf("a host that is no name: %v, %q", err, r.notices)
	}
}

// TestThreatManyWorkers: no more workers join than there may be.
func TestThreatManyWorkers(t *testing.T) {
	c := emptyCoordinator()
	for i := range wire.MaxWorkers {
		c.pool.handles[strconv.Itoa(i)] = newHandle(wire.Hello{}, "", "", nil)
	}
	b := openServer(t)
	if _, err := b.Conn.Subscribe(wire.SubjectHello, c.onHello); err != nil {
		t.Fatal(err)
	}
	l := connectTo(t, b)
	var refused *wire.RefusedError
	if _, err := l.Hello(t.Context(), wire.Hello{
		Machine: worker.Machine("test"), Worker: wire.Token(),
		Facts: &study.Facts{},
	}); !errors.As(err, &refused) || len(c.pool.handles) != wire.MaxWorkers {
		t.Errorf("another worker: %v; there are %d", err, len(c.pool.handles))
	}
}

// TestThreatHostileRecords has a worker with a lease send records that no round has: it is
// dismissed with a line about it, and the study is as in one process.
func TestThreatHostileRecords(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(record map[string]any)
		says   string
	}{
		"client 2^62":       {func(r map[string]any) { r["clients"].([]any)[0] = 1 << 62 }, "other clients than"},
		"a negative client": {func(r map[string]any) { r["clients"].([]any)[2] = -1 }, "other clients than"},
		"no clients":        {func(r map[string]any) { delete(r, "clients") }, "other clients than"},
		"a million clients": {func(r map[string]any) { r["clients"] = make([]int, 1<<20) }, "other clients than"},
		"slot 2^62 dropped": {
			func(r map[string]any) { r["dropped"], r["dropped_slots"] = 1, []int{1 << 62} },
			"slot 4611686018427387904 of 3",
		},
		"a negative slot dropped": {
			func(r map[string]any) { r["dropped"], r["dropped_slots"] = 1, []int{-1} },
			"slot -1 of 3",
		},
		"a slot dropped twice": {
			func(r map[string]any) { r["dropped"], r["dropped_slots"] = 2, []int{1, 1} },
			"slot 1 of 3",
		},
		"2^62 dropped":      {func(r map[string]any) { r["dropped"] = 1 << 62 }, "4611686018427387904 dropped"},
		"2^62 steps":        {func(r map[string]any) { r["steps"] = 1 << 62 }, "4611686018427387904 steps"},
		"negative examples": {func(r map[string]any) { r["examples"] = -1 }, "-1 steps"},
		"an infinite score": {func(r map[string]any) { r["score"] = "-inf" }, "its score is infinite"},
		"a score of NaN": {
			func(r map[string]any) { r["score"] = nil },
			"no client of the cohort has validation samples to score on",
		},
		"endless seconds": {func(r map[string]any) { r["seconds_simulated"] = "inf" }, "simulated seconds"},
		"hyperparameters": {
			func(r map[string]any) { r["params"] = map[string]any{"client.lr": 1} },
			"hyperparameters are set",
		},
		"one value of a probe": {
			func(r map[string]any) { r["probes"] = map[string]any{"val_error_before": []int{1}} },
			"1 values of the probe",
		},
		"a probe unasked": {func(r map[string]any) { r["aggregates"] = map[string]any{"x": 1} }, "was not requested"},
		"a mask of no data": {
			func(r map[string]any) { r["masked_test_errors"] = map[string]any{"x": 1} },
			"unknown mask",
		},
		"a number of no type": {func(r map[string]any) { r["steps"] = 1e300 }, "invalid record"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, func() study.Setup { return tinyStudy(t) })
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			liar := r.worker(ctx, func(o *levers) {
				o.change = func(record []byte) []byte {
					var fields map[string]any
					if err := json.Unmarshal(record, &fields); err != nil {
						t.Error(err)
					}
					tt.change(fields)
					text, err := json.Marshal(fields)
					if err != nil {
						t.Error(err)
					}
					return text
				}
			})
			var honest chan error
			go func() {
				r.until("dismissed ", 1)
				honest = r.worker(ctx, nil)
			}()
			got, err := r.tune(t.Context())
			r.isAsAlone(t, got, err, honest)
			if told := ends(t, liar); told == nil || r.told(tt.says) == 0 || strings.Contains(told.Error(), "\n") ||
				!strings.Contains(told.Error(), tt.says) {
				t.Errorf("the liar ends with %v, notices %q", told, r.notices)
			}
		})
	}
}

// work has a puppet heartbeat, and answer orders until the study ends or it returns nil.
func (p *puppet) work(answer func(o *wire.Order) *wire.Request) {
	go func() {
		next := wire.Request{State: wire.StateIdle}
		for {
			o, err := p.Ask(p.t.Context(), next)
			if err != nil || o.Order == wire.OrderStop || o.Order == wire.OrderLeave || o.Order == wire.OrderAgain {
				return
			}
			t := answer(o)
			if t == nil {
				return
			}
			t.Lease, t.Trial = o.Lease, o.Trial
			if o.Order == wire.OrderDrop {
				*t = wire.Request{State: wire.StateIdle}
			}
			next = *t
		}
	}()
}

// TestThreatHostileParts has a worker send parts of rounds, as they come and as blobs,
// that hold what no part has: it is dismissed with a line about it, and the study ends well.
func TestThreatHostileParts(t *testing.T) {
	// the binary form of a part, see fl/partfile.go, with 31 numbers a slot
	part := func(sum, slots int, client uint64) []byte {
		put := binary.LittleEndian
		text := append([]byte("ffpart\x00\x05"), make([]byte, 4*8)...)
		text = append(put.AppendUint64(text, uint64(sum)), make([]byte, 4*sum+2*8)...)
		text = put.AppendUint32(text, 0) // rows
		text = put.AppendUint32(text, uint32(slots))
		for range slots {
			text = append(put.AppendUint64(text, client), make([]byte, 31*8)...)
		}
		return put.AppendUint32(text, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
	}
	const unfit = "other slots or other sums came back"
	for name, tt := range map[string]struct {
		text []byte
		blob string // the size that the server is told
		says string
	}{
		"nothing":         {nil, "", "cut off"},
		"no part":         {[]byte("ffpart"), "", "cut off"},
		"no sum":          {part(0, 16, 0), "", unfit},
		"a short sum":     {part(3, 16, 0), "", unfit},
		"too many slots":  {part(0, 100, 0), "", unfit},
		"client 2^62":     {part(0, 16, 1<<62), "", unfit},
		"a huge blob":     {nil, "4611686018427387904", ""},
		"a blob of 100GB": {nil, "100000000000", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, func() study.Setup {
				return sharedStudy(t)
			})
			r.options.Rounds = RoundsAlways
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() {
				got, err := r.tune(ctx)
				if err == nil {
					r.isAsAlone(t, got, err)
				}
				ended <- err
			}()
			r.open()
			p, err := puppetOf(t, r, nil)
			if err != nil {
				stop()
				t.Fatalf("%v, the study with %v", err, <-ended)
			}
			digest := strings.Repeat("ab", wire.DigestSize/2)
			if tt.blob != "" {
				claimBlob(t, p.Link, digest, fmt.Sprintf(`{"name": %q, "bucket": %q, "nuid": "x", "size": %s, "chunks": 1}`, digest,
					wire.Bucket, tt.blob))
			}
			p.work(func(o *wire.Order) *wire.Request {
				if o.Order != wire.OrderShare {
					return &wire.Request{State: wire.StateIdle}
				}
				said := wire.Request{State: wire.StateShared, Rounds: o.Rounds, Lo: o.Task.Lo, Hi: o.Task.Hi, Result: tt.text}
				if tt.blob != "" {
					said.Blob = digest
				}
				return &said
			})
			r.until("dismissed ", 1)
			honest := r.worker(t.Context(), nil)
			select {
			case err := <-ended:
				if err != nil || r.told("dismissed ") != 2 && r.told("dismissed ") != 1 || r.told(tt.says) == 0 ||
					ends(t, honest) != nil {
					t.Errorf("the study ends with %v, notices %q", err, r.notices)
				}
			case <-time.After(60 * time.Second):
				stop()
				t.Errorf("the study goes on: %v", <-ended)
			}
		})
	}
}

// TestThreatForgedRequest: who does not know a worker's secret cannot speak for it, and
// one whose lease has ended has to drop its trial.
func TestThreatForgedRequest(t *testing.T) {
	c := emptyCoordinator()
	s := newHandle(wire.Hello{}, "in", "one", nil)
	s.lease, s.trial = 7, 3
	c.pool.handles["secret"] = s
	b := openServer(t)
	if _, err := b.Conn.Subscribe(wire.SubjectRequest, c.onRequest); err != nil {
		t.Fatal(err)
	}
	l := connectTo(t, b)
	for i, tt := range []struct {
		worker string
		t      wire.Request
		want   string
	}{
		{"guessed", wire.Request{State: wire.StateIdle}, wire.OrderAgain},
		{"secret", wire.Request{State: wire.StateRound, Lease: 6, Trial: 3, Rounds: 5, Record: []byte("{}")}, wire.OrderDrop},
	} {
		l.Worker = tt.worker
		o, err := l.Ask(t.Context(), tt.t)
		if err != nil || o.Order != tt.want {
			t.Errorf("request %d is answered %v, %v; want %s", i, o, err, tt.want)
		}
	}
	if s.lease != 7 {
		t.Error("a stale request has ended the present lease")
	}
}
