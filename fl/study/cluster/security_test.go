package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fedfast/fedfast/fl"
)

// openTest starts a server for a test, and returns what its join file says.
func openTest(t *testing.T, encrypted bool, change ...func(*server.Options)) (*broker, *join) {
	t.Helper()
	b, err := listen(t.TempDir(), "127.0.0.1", 0, encrypted, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	j, err := readJoin(b.path)
	if err != nil {
		t.Fatal(err)
	}
	return b, j
}

// TestThreatStranger: who has no key of the study is not let in, whatever he signs.
func TestThreatStranger(t *testing.T) {
	_, j := openTest(t, false)
	key, err := nkeys.FromSeed([]byte(j.Key))
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string][]nats.Option{
		"nothing":                  {nats.Name(token())},
		"a password":               {nats.Name(token()), nats.UserInfo("coordinator", "x")},
		"another key":              {nats.Name(token()), signed(other)},
		"another key's signature":  {nats.Name(token()), nats.Nkey(public, other.Sign)},
		"a name that is no secret": {nats.Name("me"), signed(key)},
	} {
		conn, err := nats.Connect(j.URLs[0], options...)
		if err == nil {
			conn.Close()
		}
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("with %s: %v", name, err)
		}
	}
	l, err := connect(j, "join")
	if err != nil {
		t.Fatal(err)
	}
	l.close()
}

// TestThreatListener: beyond loopback nothing is said in the clear, and nobody but
// whom the join file names can pose as the coordinator.
func TestThreatListener(t *testing.T) {
	_, j := openTest(t, true)
	if !strings.HasPrefix(j.URLs[0], "tls://127.0.0.1:") || j.CA == "" {
		t.Fatalf("the join file says %v", j.URLs)
	}
	l, err := connect(j, "join")
	if err != nil {
		t.Fatal(err)
	}
	if state, err := l.conn.TLSConnectionState(); err != nil || state.Version < 0x304 {
		t.Errorf("TLS %x: %v", state.Version, err)
	}
	l.close()
	_, other := openTest(t, true)
	posed := *j
	posed.URLs = other.URLs
	if _, err := connect(&posed, "join"); !errors.Is(err, errNoLink) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an impostor: %v", err)
	}
	key, err := nkeys.FromSeed([]byte(j.Key))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Replace(j.URLs[0], "tls://", "nats://", 1)
	if conn, err := nats.Connect(plain, nats.Name(token()), signed(key)); err == nil {
		conn.Close()
		t.Error("a connection without the certificate is accepted")
	}
	for host, alone := range map[string]bool{"127.0.0.1": true, "::1": true, "localhost": true, "127.8.8.8": true, "0.0.0.0": false, "::": false, "10.0.0.1": false, "node7": false} {
		if loopback(host) != alone {
			t.Errorf("%s is taken for loopback: %v", host, !alone)
		}
	}
}

// TestThreatNosyWorker: a worker hears nothing but the answers to itself, and speaks
// to nobody but the coordinator.
func TestThreatNosyWorker(t *testing.T) {
	b, j := openTest(t, false)
	if _, err := createBlobs(t.Context(), b.conn, nil); err != nil {
		t.Fatal(err)
	}
	l, err := connect(j, "join")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	refused := make(chan error, 100)
	l.conn.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })
	heard := func(*nats.Msg) {}
	tries := map[string]func(string) error{}
	for _, subject := range []string{">", "*.*", inboxes + ">", inboxes + token() + ".>", subjectRequest, subjectHello, "$O.>", "$JS.>", "_INBOX.>"} {
		tries[subject] = func(s string) error {
			_, err := l.conn.Subscribe(s, heard)
			return err
		}
	}
	for _, subject := range []string{
		inboxes + token() + ".x", "$JS.API.STREAM.DELETE.OBJ_" + bucket, "$JS.API.STREAM.PURGE.OBJ_" + bucket, "$JS.API.STREAM.CREATE.x", "$JS.API.STREAM.LIST", "other",
	} {
		tries[subject] = func(s string) error { return l.conn.Publish(s, []byte("{}")) }
	}
	for subject, try := range tries {
		if err := try(subject); err != nil {
			t.Fatal(err)
		}
		if err := l.conn.Flush(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", subject, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s is open to a worker", subject)
		}
	}
}

// TestThreatForgedBlob: bytes that are not those of their name are not used.
func TestThreatForgedBlob(t *testing.T) {
	b, j := openTest(t, false)
	if _, err := createBlobs(t.Context(), b.conn, nil); err != nil {
		t.Fatal(err)
	}
	l, err := connect(j, "join")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	theirs, err := openBlobs(t.Context(), l.conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs.most = 2 << 20
	s := &fl.Snapshot{Model: "m", Method: "fedavg", Weights: make([]float32, 300_000)}
	name, err := theirs.put(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := theirs.get(t.Context(), name)
	if err != nil || len(got.Weights) != len(s.Weights) || got.Model != "m" {
		t.Fatalf("a blob comes back as %v, %v", got, err)
	}
	forged := "00" + name[2:]
	if _, err := theirs.store.PutBytes(t.Context(), forged, []byte("something else")); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.get(t.Context(), forged); err == nil || !strings.Contains(err.Error(), "digest mismatch") {
		t.Errorf("a forged blob: %v", err)
	}
	if err := l.conn.Publish(subjectRequest, make([]byte, maxMessage+1)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("a message of %d bytes: %v", maxMessage+1, err)
	}
}

// TestThreatJoinFile: the join file is for the study's owner.
func TestThreatJoinFile(t *testing.T) {
	b, _ := openTest(t, false)
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes there")
	}
	for path, want := range map[string]os.FileMode{b.path: 0o600, filepath.Dir(b.path): 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// TestThreatForgedRequest: who does not know a worker's secret cannot speak for it, and
// one whose lease has ended is told to drop its trial.
func TestThreatForgedRequest(t *testing.T) {
	c := &Coordinator{handles: map[string]*workerHandle{}, rounds: map[place]result{}, blobs: &blobs{}}
	s := newHandle(hello{}, "in", "one")
	s.lease, s.trial = 7, 3
	c.handles["secret"] = s
	b, _ := openTest(t, false)
	if _, err := b.conn.Subscribe(subjectRequest, c.onRequest); err != nil {
		t.Fatal(err)
	}
	l := &link{conn: b.conn, heartbeat: time.Second}
	for i, tt := range []struct {
		worker string
		t      request
		want   string
	}{
		{"guessed", request{State: stateIdle}, orderAgain},
		{"secret", request{State: stateRound, Lease: 6, Trial: 3, Rounds: 5, Record: []byte("{}")}, orderDrop},
	} {
		l.worker = tt.worker
		o, err := l.ask(t.Context(), tt.t)
		if err != nil || o.Order != tt.want {
			t.Errorf("request %d is answered %v, %v; want %s", i, o, err, tt.want)
		}
	}
	if s.lease != 7 {
		t.Error("a stale request has ended the present lease")
	}
}
