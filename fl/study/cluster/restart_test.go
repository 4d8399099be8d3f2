package cluster

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/fedfast/fedfast/fl/study"
)

// siteServer starts an external server with an empty store at a port, 0 for a free one.
func siteServer(t *testing.T, port int) (*server.Server, int) {
	t.Helper()
	if port == 0 {
		port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true, JetStream: true,
		StoreDir: t.TempDir(), Username: "site", Password: "secret",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s, s.Addr().(*net.TCPAddr).Port
}

// TestExternalRestarts restarts an external server again and again while workers train, for
// trials of their own or together: it has lost the bucket with all blobs, which is no
// worker's fault, and the study comes to what it comes to in one process.
func TestExternalRestarts(t *testing.T) {
	for name, tt := range map[string]struct {
		setup    func() study.Setup
		rounds   Rounds
		restarts int
	}{
		"trials":        {func() study.Setup { return tinyStudy(t) }, RoundsNever, 3},
		"shared rounds": {func() study.Setup { return largeCohorts(t) }, RoundsAlways, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, port := siteServer(t, 0)
			t.Cleanup(func() { s.Shutdown() })
			r := newRun(t, func() study.Setup {
				s := tt.setup()
				s.SnapshotEvery = time.Millisecond // so that blobs are always in transit
				return s
			})
			r.options.Rounds, r.address = tt.rounds, "nats://site:secret@127.0.0.1:"+strconv.Itoa(port)
			restarts := 0
			r.after = func(round int) {
				r.await(2)
				if restarts < tt.restarts && round%3 == 0 {
					restarts++
					s.Shutdown()
					s.WaitForShutdown()
					s, _ = siteServer(t, port)
				}
			}
			r.sameAsAlone(t, r.worker(t.Context(), nil), r.worker(t.Context(), nil))
			at := "NATS server nats://127.0.0.1:" + strconv.Itoa(port) + ": "
			if restarts < tt.restarts || r.told(" joined (") != 2 || r.told(at+"connection lost") == 0 ||
				r.told(at+"connected again") == 0 || r.told(" lost") > r.told("connection lost") {
				t.Errorf("after %d restarts: notices %q", restarts, r.notices)
			}
		})
	}
}
