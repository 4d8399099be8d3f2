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
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study"
)

// These tests speak to a real server with what a join file holds, as whoever has the
// file can: with numbers that no worker says.

// takes returns how many bytes f allocates.
func takes(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// claim says of a blob what no blob has.
func claim(t *testing.T, l *link, name, meta string) {
	t.Helper()
	subject := "$O." + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
	m, err := l.conn.Request(subject, []byte(meta), 10*time.Second)
	if err != nil || bytes.Contains(m.Data, []byte("error")) {
		t.Fatalf("the metadata of a blob: %s, %v", m.Data, err)
	}
}

// TestThreatHugeBlob: the size of a blob that somebody claims takes no memory.
func TestThreatHugeBlob(t *testing.T) {
	b, j := openTest(t, false)
	ours, err := createBlobs(t.Context(), b.conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	ours.most = 1 << 20
	l, err := connect(j, "join")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for i, size := range []string{"4611686018427387904", "9223372036854775813", "18446744073709551615", "100000000000", "1048577", "-1", "1e99", "NaN"} {
		name := fmt.Sprintf("%064x", i)
		claim(t, l, name, fmt.Sprintf(`{"name": %q, "bucket": %q, "nuid": "x", "size": %s, "chunks": 1}`, name, bucket, size))
		var err error
		if n := takes(func() { _, err = ours.bytes(t.Context(), name) }); err == nil || n > 4<<20 || strings.Contains(err.Error(), "\n") {
			t.Errorf("a blob of %s bytes takes %d bytes: %v", size, n, err)
		}
	}
	name := strings.Repeat("a", digestSize)
	claim(t, l, name, fmt.Sprintf(`{"name": %q, "bucket": %q, "nuid": "x", "size": 9, "options": {"link": {"bucket": %q, "name": %q}}}`, name, bucket, bucket, name))
	if _, err := ours.bytes(t.Context(), name); err == nil || !strings.HasSuffix(err.Error(), "is a link") {
		t.Errorf("a blob that is a link to itself: %v", err)
	}
	for _, name := range []string{"", "x", strings.Repeat("a", 1<<20), strings.Repeat("z", digestSize), "../" + strings.Repeat("a", digestSize-3)} {
		if _, err := ours.bytes(t.Context(), name); err == nil || len(err.Error()) > 200 {
			t.Errorf("a blob of the name %.20q: %v", name, err)
		}
	}
}

// puppet is a worker whose requests a test makes.
type puppet struct {
	*link
	t *testing.T
}

// puppetOf has a puppet join a study that is open.
func puppetOf(t *testing.T, r *run, change func(first, second *hello)) (*puppet, error) {
	t.Helper()
	r.mu.Lock()
	c := r.coordinator
	r.mu.Unlock()
	j, err := readJoin(r.join())
	if err != nil {
		t.Fatal(err)
	}
	l, err := connect(j, r.join())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.conn.Close() })
	first := hello{Machine: thisMachine("test")}
	second := hello{Machine: first.Machine, Facts: &c.facts}
	if change != nil {
		change(&first, &second)
	}
	w, err := l.hello(t.Context(), first)
	if err != nil {
		return nil, err
	}
	if second.Worker = w.Worker; change == nil {
		l.heartbeat = 100 * time.Millisecond
	}
	if _, err = l.hello(t.Context(), second); err != nil {
		return nil, err
	}
	l.worker, l.tag = w.Worker, w.Tag
	return &puppet{l, t}, nil
}

// raw sends a message as it stands, for no answer or one elsewhere.
func (p *puppet) raw(subject, reply, text string) {
	p.t.Helper()
	text = strings.ReplaceAll(text, "WORKER", p.worker)
	if err := p.conn.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: []byte(text)}); err != nil {
		p.t.Fatal(err)
	}
	if err := p.conn.Flush(); err != nil {
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
	for what, say := range map[string]request{
		"a state of a megabyte":   {State: long},
		"no state":                {},
		"trial 2^62":              {State: stateRound, Trial: 1 << 62, Record: []byte("{}")},
		"a negative round":        {State: stateRound, Rounds: -5, Record: []byte("{}")},
		"round 2^63-1":            {State: stateRound, Rounds: 1<<63 - 1, Record: []byte("{}")},
		"slots of a negative":     {State: stateShared, Lo: -1, Hi: 1 << 40},
		"a lease below none":      {State: stateIdle, Lease: -1 << 63},
		"a blob elsewhere":        {State: stateShared, Blob: "../../etc/passwd"},
		"a model without an end":  {State: stateFetched, Model: long},
		"a state of another kind": {State: stateFetched, Snapshot: strings.Repeat("0", digestSize) + "-1"},
		"a megabyte of a result":  {State: stateShared, Result: []byte(long)},
	} {
		p, err := puppetOf(t, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := p.ask(t.Context(), say)
		if err != nil || o.Order != orderLeave || len(o.Why) > 400 {
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
			for _, say := range []request{
				{State: stateRound, Lease: int64(trial + 1), Trial: trial, Rounds: rounds, Record: []byte(`{"score": 0}`)},
				{State: stateShared, Lease: int64(trial + 1), Trial: trial, Rounds: rounds, Hi: 16, Result: []byte("x")},
			} {
				if o, err := p.ask(t.Context(), say); err != nil || o.Order != orderDrop {
					t.Fatalf("a round of nobody's is answered with %+v, %v", o, err)
				}
			}
		}
	}
	// Numbers that JSON or its reader do not have, and answers that go elsewhere.
	for _, text := range []string{
		`{"worker": "WORKER", "seq": 1e999, "state": "idle"}`, `{"worker": "WORKER", "seq": 9223372036854775813, "state": "idle"}`,
		`{"worker": "WORKER", "seq": NaN}`, `{"worker": "WORKER", "seq": 70, "state": "round", "rounds": 1.5}`, `[[[[`, strings.Repeat("[", 1<<20), "\x00\xff", ``,
	} {
		p.raw(subjectRequest, "", text)
		p.raw(subjectHello, "", text)
		p.raw(subjectHeartbeat, "", text)
	}
	theirs, err := openBlobs(t.Context(), p.conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs.most = 1 << 20
	kept, err := theirs.putBytes(t.Context(), []byte("what is to stay"))
	if err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{"$JS.API.STREAM.PURGE.OBJ_" + bucket, subjectRequest, inboxes, inboxes + "x.y", inboxes + "*.>", "$O." + bucket + ".M.x"} {
		p.raw(subjectHello, reply, `{"protocol": 1}`)
		p.raw(subjectRequest, reply, `{"worker": "WORKER", "seq": 1000, "state": "idle"}`)
	}
	if _, err := theirs.bytes(t.Context(), kept); err != nil {
		t.Errorf("the coordinator's answers have removed a blob: %v", err)
	}
	// Workers with numbers and names that no machine has.
	for what, change := range map[string]func(first, second *hello){
		"a name of a megabyte":   func(_, second *hello) { second.Host = long },
		"a CPU of a megabyte":    func(_, second *hello) { second.CPU = long },
		"a negative process":     func(_, second *hello) { second.PID = -1 },
		"2^62 workers":           func(_, second *hello) { second.Workers = 1 << 62 },
		"a version of no end":    func(first, _ *hello) { first.Version = long },
		"another protocol":       func(first, _ *hello) { first.Protocol = -1 << 62 },
		"facts without an end":   func(_, second *hello) { second.Facts = &study.Facts{Data: long} },
		"a layout of no network": func(_, second *hello) { second.Facts = &study.Facts{Data: second.Facts.Data, Layout: long} },
	} {
		var refused *RefusedError
		if _, err := puppetOf(t, r, change); !errors.As(err, &refused) || len(refused.Why) > 5000 || strings.ContainsAny(refused.Why, "\n\x1b") {
			t.Errorf("%s: %.300v", what, err)
		}
	}
	if _, err := puppetOf(t, r, func(_, second *hello) { second.Host = "a\x1b[2J\nb" }); err != nil || r.told("\x1b") > 0 || r.told("\n") > 0 {
		t.Errorf("a host that is no name: %v, %q", err, r.notices)
	}
}

// TestThreatManyWorkers: no more workers join than there may be.
func TestThreatManyWorkers(t *testing.T) {
	c := &Coordinator{options: Options{Version: "test", Notice: func(string) {}}, level: thisMachine("").Level, handles: map[string]*workerHandle{}, blobs: &blobs{}}
	for i := range maxWorkers {
		c.handles[strconv.Itoa(i)] = newHandle(hello{}, "", "")
	}
	b, j := openTest(t, false)
	if _, err := b.conn.Subscribe(subjectHello, c.onHello); err != nil {
		t.Fatal(err)
	}
	l, err := connect(j, "join")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	var refused *RefusedError
	if _, err := l.hello(t.Context(), hello{Machine: thisMachine("test"), Worker: token(), Facts: &study.Facts{}}); !errors.As(err, &refused) || len(c.handles) != maxWorkers {
		t.Errorf("another worker: %v; there are %d", err, len(c.handles))
	}
}

// TestThreatHostileRecords has a worker with a lease send records that no round has: the
// study ends with a line about it.
func TestThreatHostileRecords(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(record map[string]any)
		says   string
	}{
		"client 2^62":             {func(r map[string]any) { r["clients"].([]any)[0] = 1 << 62 }, "other clients than"},
		"a negative client":       {func(r map[string]any) { r["clients"].([]any)[2] = -1 }, "other clients than"},
		"no clients":              {func(r map[string]any) { delete(r, "clients") }, "other clients than"},
		"a million clients":       {func(r map[string]any) { r["clients"] = make([]int, 1<<20) }, "other clients than"},
		"slot 2^62 dropped":       {func(r map[string]any) { r["dropped"], r["dropped_slots"] = 1, []int{1 << 62} }, "slot 4611686018427387904 of 3"},
		"a negative slot dropped": {func(r map[string]any) { r["dropped"], r["dropped_slots"] = 1, []int{-1} }, "slot -1 of 3"},
		"a slot dropped twice":    {func(r map[string]any) { r["dropped"], r["dropped_slots"] = 2, []int{1, 1} }, "slot 1 of 3"},
		"2^62 dropped":            {func(r map[string]any) { r["dropped"] = 1 << 62 }, "4611686018427387904 dropped"},
		"2^62 steps":              {func(r map[string]any) { r["steps"] = 1 << 62 }, "4611686018427387904 steps"},
		"negative examples":       {func(r map[string]any) { r["examples"] = -1 }, "-1 steps"},
		"an infinite score":       {func(r map[string]any) { r["score"] = "-inf" }, "its score is infinite"},
		"a score of NaN":          {func(r map[string]any) { r["score"] = nil }, "no client of the cohort has validation examples to score on"},
		"endless seconds":         {func(r map[string]any) { r["seconds_simulated"] = "inf" }, "simulated seconds"},
		"hyperparameters":         {func(r map[string]any) { r["params"] = map[string]any{"client.lr": 1} }, "hyperparameters are set"},
		"one value of a probe":    {func(r map[string]any) { r["probes"] = map[string]any{"val_error_before": []int{1}} }, "1 values of the probe"},
		"a probe unasked":         {func(r map[string]any) { r["aggregates"] = map[string]any{"x": 1} }, "was not requested"},
		"a mask of no data":       {func(r map[string]any) { r["masked_test_errors"] = map[string]any{"x": 1} }, "unknown mask"},
		"a number of no type":     {func(r map[string]any) { r["steps"] = 1e300 }, "invalid record"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, func() study.Setup { return tinyStudy(t) })
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			liar := r.worker(ctx, func(o *WorkerOptions) {
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
			_, err := r.tune(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the study ends with %v", err)
			}
			stop()
			_ = ends(t, liar) // it was asked to
		})
	}
}

// work has a puppet heartbeat, and answer orders until the study ends or it returns nil.
func (p *puppet) work(answer func(o *order) *request) {
	p.begin(p.worker, 100*time.Millisecond)
	go func() {
		next := request{State: stateIdle}
		for {
			o, err := p.ask(p.t.Context(), next)
			if err != nil || o.Order == orderStop || o.Order == orderLeave || o.Order == orderAgain {
				return
			}
			t := answer(o)
			if t == nil {
				return
			}
			t.Lease, t.Trial = o.Lease, o.Trial
			if o.Order == orderDrop {
				*t = request{State: stateIdle}
			}
			next = *t
		}
	}()
}

// TestThreatHostileParts has a worker send parts of rounds, as they come and as blobs,
// that hold what no part has: the study ends with a line about it.
func TestThreatHostileParts(t *testing.T) {
	// the binary form of a part, see fl/partfile.go, with 25 numbers a slot
	part := func(sum, slots int, client uint64) []byte {
		put := binary.LittleEndian
		text := append([]byte("ffpart\x00\x02"), make([]byte, 4*8)...)
		text = append(put.AppendUint64(text, uint64(sum)), make([]byte, 4*sum+2*8)...)
		text = put.AppendUint32(text, uint32(slots))
		for range slots {
			text = append(put.AppendUint64(text, client), make([]byte, 24*8)...)
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
				s := largeCohorts(t, "tuner.name=random")
				s.Config.Tuner.Options = nil
				return s
			})
			r.options.Rounds = RoundsAlways
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() {
				_, err := r.tune(ctx)
				ended <- err
			}()
			r.open()
			p, err := puppetOf(t, r, nil)
			if err != nil {
				stop()
				t.Fatalf("%v, the study with %v", err, <-ended)
			}
			digest := strings.Repeat("ab", digestSize/2)
			if tt.blob != "" {
				claim(t, p.link, digest, fmt.Sprintf(`{"name": %q, "bucket": %q, "nuid": "x", "size": %s, "chunks": 1}`, digest, bucket, tt.blob))
			}
			p.work(func(o *order) *request {
				if o.Order != orderShare {
					return &request{State: stateIdle}
				}
				said := request{State: stateShared, Rounds: o.Rounds, Lo: o.Task.Lo, Hi: o.Task.Hi, Result: tt.text}
				if tt.blob != "" {
					said.Blob = digest
				}
				return &said
			})
			select {
			case err := <-ended:
				if err == nil || errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("the study ends with %v", err)
				}
			case <-time.After(60 * time.Second):
				stop()
				t.Errorf("the study goes on: %v", <-ended)
			}
		})
	}
}

// TestThreatHostileCoordinator has workers hear what no coordinator says: each ends with
// a line about it.
func TestThreatHostileCoordinator(t *testing.T) {
	good := welcome{Heartbeat: 100}
	digest := strings.Repeat("0", digestSize)
	plan := `{"server": {}}`
	for name, tt := range map[string]struct {
		first welcome
		order string
	}{
		"no heartbeat":           {welcome{}, ""},
		"a negative heartbeat":   {welcome{Heartbeat: -1}, ""},
		"a heartbeat of 2^62 ms": {welcome{Heartbeat: 1 << 62}, ""},
		"a tag of a megabyte":    {welcome{Heartbeat: 100, Tag: strings.Repeat("x", 1<<20)}, ""},
		"a refusal in colours":   {welcome{Refused: "\x1b[31mred\n\n" + strings.Repeat("x", 1<<20)}, ""},
		"a negative trial":       {good, `"order": "start", "trial": -1`},
		"trial 2^62":             {good, `"order": "start", "trial": 4611686018427387904`},
		"a lease below none":     {good, `"order": "start", "lease": -1`},
		"a snapshot elsewhere":   {good, `"order": "start", "snapshot": "../x"`},
		"a round without plan":   {good, `"order": "round"`},
		"a task without plan":    {good, `"order": "share", "task": {"weights": "` + digest + `"}`},
		"slot 2^62":              {good, `"order": "share", "plan": ` + plan + `, "task": {"weights": "` + digest + `", "hi": 4611686018427387904}`},
		"a negative slot":        {good, `"order": "share", "plan": ` + plan + `, "task": {"weights": "` + digest + `", "lo": -16}`},
		"a task of no weights":   {good, `"order": "share", "plan": ` + plan + `, "task": {"weights": "", "hi": 16}`},
		"a leave in colours":     {good, `"order": "leave", "why": "\u001b[31m\n"`},
		"round 2^62":             {good, `"order": "round", "rounds": 4611686018427387904, "plan": ` + plan},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := openTest(t, false)
			if _, err := createBlobs(t.Context(), b.conn, nil); err != nil {
				t.Fatal(err)
			}
			secret := token()
			err := b.listen(func(m *nats.Msg) {
				tt.first.Worker = secret
				b.scope.respond(m, tt.first)
			}, func(m *nats.Msg) {
				var said request
				if b.scope.read(m, &said) {
					_ = m.Respond(fmt.Appendf(nil, `{"seq": %d, %s}`, said.Seq, tt.order))
				}
			}, func(*nats.Msg) {})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorker(WorkerOptions{Join: b.path, Version: "test", Ended: func() bool { return false }, Notice: func(string) {}, Patience: time.Second})
			w.study = stub{most: 1 << 20}
			ended := make(chan error, 1)
			go func() { ended <- w.work(t.Context()) }()
			select {
			case err = <-ended:
			case <-time.After(30 * time.Second):
				t.Fatal("the worker goes on")
			}
			if err == nil || len(err.Error()) > 5000 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("it ends with %.200v", err)
			}
		})
	}
}

// TestThreatHostileJoinFile reads files that are none.
func TestThreatHostileJoinFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "join")
	for name, text := range map[string]string{
		"nothing":     "",
		"no URL":      fmt.Sprintf(`{"fedfast_cluster": %d, "key": "x", "urls": []}`, protocolVersion),
		"a web page":  fmt.Sprintf(`{"fedfast_cluster": %d, "key": "x", "urls": ["https://x:1"]}`, protocolVersion),
		"no host":     fmt.Sprintf(`{"fedfast_cluster": %d, "key": "x", "urls": ["nats://"]}`, protocolVersion),
		"2^62":        `{"fedfast_cluster": 4611686018427387904, "key": "x", "urls": ["nats://x:1"]}`,
		"2^63+5":      `{"fedfast_cluster": 9223372036854775813, "key": "x", "urls": ["nats://x:1"]}`,
		"two million": strings.Repeat(" ", 2<<20) + "{}",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readJoin(path); err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "--join") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Truncate(path, 100e9); err != nil {
		t.Skip(err)
	}
	var err error
	if n := takes(func() { _, err = readJoin(path) }); err == nil || n > 16<<20 {
		t.Errorf("a file of 100 GB takes %d bytes: %v", n, err)
	}
	if _, err = readJoin(filepath.Dir(path)); err == nil {
		t.Error("a folder is read")
	}
}
