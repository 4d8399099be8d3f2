package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

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

// TestThreatHostileCoordinator has workers hear what no coordinator says: each ends with
// a line about it.
func TestThreatHostileCoordinator(t *testing.T) {
	good := wire.Welcome{Heartbeat: 100}
	digest := strings.Repeat("0", wire.DigestSize)
	plan := `{"server": {}}`
	for name, tt := range map[string]struct {
		first wire.Welcome
		order string
	}{
		"no heartbeat":           {wire.Welcome{}, ""},
		"a negative heartbeat":   {wire.Welcome{Heartbeat: -1}, ""},
		"a heartbeat of 2^62 ms": {wire.Welcome{Heartbeat: 1 << 62}, ""},
		"a tag of a megabyte":    {wire.Welcome{Heartbeat: 100, Tag: strings.Repeat("x", 1<<20)}, ""},
		"a refusal in colours":   {wire.Welcome{Refused: "\x1b[31mred\n\n" + strings.Repeat("x", 1<<20)}, ""},
		"a negative trial":       {good, `"order": "start", "trial": -1`},
		"trial 2^62":             {good, `"order": "start", "trial": 4611686018427387904`},
		"a lease below none":     {good, `"order": "start", "lease": -1`},
		"a snapshot elsewhere":   {good, `"order": "start", "snapshot": "../x"`},
		"a round without plan":   {good, `"order": "round"`},
		"a task without plan":    {good, `"order": "share", "task": {"weights": "` + digest + `"}`},
		"slot 2^62": {good, `"order": "share", "plan": ` + plan + `, "task": {"weights": "` + digest +
			`", "hi": 4611686018427387904}`},
		"a negative slot": {good, `"order": "share", "plan": ` + plan + `, "task": {"weights": "` + digest +
			`", "lo": -16}`},
		"a task of no weights": {good, `"order": "share", "plan": ` + plan + `, "task": {"weights": "", "hi": 16}`},
		"a leave in colours":   {good, `"order": "leave", "why": "\u001b[31m\n"`},
		"round 2^62":           {good, `"order": "round", "rounds": 4611686018427387904, "plan": ` + plan},
	} {
		t.Run(name, func(t *testing.T) {
			b := openServer(t)
			if _, err := b.CreateBlobs(t.Context()); err != nil {
				t.Fatal(err)
			}
			secret := wire.Token()
			err := b.Listen(func(m *nats.Msg) {
				tt.first.Worker = secret
				b.Scope.Respond(m, tt.first)
			}, func(m *nats.Msg) {
				var said wire.Request
				if b.Scope.Read(m, &said) {
					_ = m.Respond(fmt.Appendf(nil, `{"seq": %d, %s}`, said.Seq, tt.order))
				}
			}, func(*nats.Msg) {})
			if err != nil {
				t.Fatal(err)
			}
			w := Simulated(Options{Join: b.Path, Version: "test", Patience: time.Second}, "host", Stub{Most: 1 << 20},
				study.Facts{})
			ended := make(chan error, 1)
			go func() { ended <- w.Work(t.Context()) }()
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

// TestWorkerLeavesBeforeItIsReady asks a worker to leave that waits for its join file,
// for a coordinator that does not answer, or for one that is lost.
func TestWorkerLeavesBeforeItIsReady(t *testing.T) {
	for _, waits := range []string{"join file", "answer", "coordinator"} {
		t.Run(waits, func(t *testing.T) {
			join := filepath.Join(t.TempDir(), "join")
			if waits != "join file" {
				b := openServer(t)
				if err := b.Listen(func(*nats.Msg) {}, func(*nats.Msg) {}, func(*nats.Msg) {}); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(b.Path)
				if err != nil || os.WriteFile(join, text, 0o600) != nil {
					t.Fatal(err)
				}
				if waits == "coordinator" {
					b.Close(false)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- New(Options{Join: join, Version: "test"}, nil).Work(ctx) }()
			time.Sleep(100 * time.Millisecond)
			stop()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("the worker ends with %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("the worker stays")
			}
		})
	}
}
