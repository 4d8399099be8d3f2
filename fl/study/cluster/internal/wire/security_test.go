package wire

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
func openTest(t *testing.T, encrypted bool, change ...func(*server.Options)) (*Broker, *Join) {
	t.Helper()
	who, err := newIdentity("127.0.0.1", encrypted)
	if err != nil {
		t.Fatal(err)
	}
	b, err := listen(t.TempDir(), "127.0.0.1", 0, who, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(false) })
	j, err := ReadJoin(b.Path)
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
		"nothing":                  {nats.Name(Token())},
		"a password":               {nats.Name(Token()), nats.UserInfo("coordinator", "x")},
		"another key":              {nats.Name(Token()), signed(other)},
		"another key's signature":  {nats.Name(Token()), nats.Nkey(public, other.Sign)},
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
	l, err := Connect(j, "join", "")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// TestThreatListener: beyond loopback nothing is said in the clear, and nobody but
// whom the join file names can pose as the coordinator.
func TestThreatListener(t *testing.T) {
	_, j := openTest(t, true)
	if !strings.HasPrefix(j.URLs[0], "tls://127.0.0.1:") || j.CA == "" {
		t.Fatalf("the join file says %v", j.URLs)
	}
	l, err := Connect(j, "join", "")
	if err != nil {
		t.Fatal(err)
	}
	if state, err := l.Conn.TLSConnectionState(); err != nil || state.Version < 0x304 {
		t.Errorf("TLS %x: %v", state.Version, err)
	}
	l.Close()
	_, other := openTest(t, true)
	posed := *j
	posed.URLs = other.URLs
	if _, err := Connect(&posed, "join", ""); !errors.Is(err, ErrNoLink) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an impostor: %v", err)
	}
	key, err := nkeys.FromSeed([]byte(j.Key))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Replace(j.URLs[0], "tls://", "nats://", 1)
	if conn, err := nats.Connect(plain, nats.Name(Token()), signed(key)); err == nil {
		conn.Close()
		t.Error("a connection without the certificate is accepted")
	}
	for host, alone := range map[string]bool{
		"127.0.0.1": true, "::1": true, "localhost": true, "127.8.8.8": true,
		"0.0.0.0": false, "::": false, "10.0.0.1": false, "node7": false,
	} {
		if loopback(host) != alone {
			t.Errorf("%s is taken for loopback: %v", host, !alone)
		}
	}
}

// TestThreatNosyWorker: a worker hears nothing but the answers to itself, and speaks
// to nobody but the coordinator.
func TestThreatNosyWorker(t *testing.T) {
	b, j := openTest(t, false)
	if _, err := b.CreateBlobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := Connect(j, "join", "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refused := make(chan error, 100)
	l.Conn.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })
	heard := func(*nats.Msg) {}
	tries := map[string]func(string) error{}
	for _, subject := range []string{
		">", "*.*", Inboxes + ">", Inboxes + Token() + ".>", SubjectRequest, SubjectHello,
		"$O.>", "$JS.>", "_INBOX.>",
	} {
		tries[subject] = func(s string) error {
			_, err := l.Conn.Subscribe(s, heard)
			return err
		}
	}
	for _, subject := range []string{
		Inboxes + Token() + ".x", "$JS.API.STREAM.DELETE.OBJ_" + Bucket, "$JS.API.STREAM.PURGE.OBJ_" + Bucket,
		"$JS.API.STREAM.CREATE.x", "$JS.API.STREAM.LIST", "other",
	} {
		tries[subject] = func(s string) error { return l.Conn.Publish(s, []byte("{}")) }
	}
	for subject, try := range tries {
		if err := try(subject); err != nil {
			t.Fatal(err)
		}
		if err := l.Conn.Flush(); err != nil {
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
	if _, err := b.CreateBlobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := Connect(j, "join", "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err := l.OpenBlobs(t.Context(), "", 2<<20)
	if err != nil {
		t.Fatal(err)
	}
	s := &fl.Snapshot{Model: "m", Method: "fedavg", Weights: make([]float32, 300_000)}
	name, err := theirs.Put(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := theirs.Get(t.Context(), name)
	if err != nil || len(got.Weights) != len(s.Weights) || got.Model != "m" {
		t.Fatalf("a blob comes back as %v, %v", got, err)
	}
	forged := "00" + name[2:]
	if _, err := theirs.store.PutBytes(t.Context(), forged, []byte("something else")); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Get(t.Context(), forged); err == nil || !strings.Contains(err.Error(), "digest mismatch") {
		t.Errorf("a forged blob: %v", err)
	}
	if err := l.Conn.Publish(SubjectRequest, make([]byte, maxMessage+1)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("a message of %d bytes: %v", maxMessage+1, err)
	}
}

// TestThreatJoinFile: the join file is for the study's owner.
func TestThreatJoinFile(t *testing.T) {
	b, _ := openTest(t, false)
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes there")
	}
	for path, want := range map[string]os.FileMode{b.Path: 0o600, filepath.Dir(b.Path): 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
