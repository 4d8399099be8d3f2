package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Broker is the server, with the coordinator's own connection to it.
type Broker struct {
	// Scope is nil for the coordinator's own server.
	Scope *Scope
	// Conn is the coordinator's connection, Path the path of the join file.
	Conn *nats.Conn
	Path string
	// Notice tells what becomes of an external server; nil tells nobody. It is set before
	// CreateBlobs.
	Notice func(line string)

	server *server.Server // nil for an external server
	folder string         // of the server, removed at the end
	url    string         // first address, to be shown
}

// Files are paths, each empty for none: for an external server that of credentials and that
// of a CA's certificate, for the coordinator's own that of its certificate and of the key.
type Files struct{ Credentials, CA, Certificate, Key string }

// Open starts a server at an address, or connects to an external one. It writes the join
// file below a directory.
func Open(ctx context.Context, dir, address string, f Files) (*Broker, error) {
	if external(address) {
		return joinServer(ctx, dir, address, f.Credentials, f.CA)
	}
	return startServer(dir, address, f)
}

// Listen subscribes the handlers of workers' messages.
func (b *Broker) Listen(hello, request, heartbeat func(*nats.Msg)) error {
	var errs []error
	for subject, f := range map[string]func(*nats.Msg){
		SubjectHello: hello, SubjectRequest: request,
		SubjectHeartbeat: heartbeat,
	} {
		_, err := b.Conn.Subscribe(b.Scope.subject(subject), f)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Greeting tells how to add workers.
func (b *Broker) Greeting() string {
	return fmt.Sprintf("coordinator at %s; add workers with: fedfast worker --join %s", b.url, oneline.Path(b.Path))
}

// Close closes the connection and stops the server. When the studies have ended it removes
// the join file, which late workers do not need.
func (b *Broker) Close(ended bool) {
	if ended {
		_ = b.Conn.FlushTimeout(time.Second)      // a worker that misses it sees that the file is gone
		defer func() { _ = RemoveJoin(b.Path) }() // it may be gone
	}
	if b.Conn != nil && b.Scope != nil {
		ctx, cancel := context.WithTimeout(context.Background(), dropTime)
		_ = dropBucket(ctx, b.Conn, b.Scope.subject(Bucket)) // it may not be there
		cancel()
	}
	if b.Conn != nil {
		b.Conn.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
	if b.folder != "" {
		_ = os.RemoveAll(b.folder)            // it holds nothing but the server's own
		_ = os.Remove(filepath.Dir(b.folder)) // a join file that stays keeps it
	}
}

// Era counts how often the coordinator has connected again. It never does to its own server.
func (b *Broker) Era() uint64 { return b.Conn.Stats().Reconnects }

// Outage reports whether the server was unreachable at some time since an era, or whether a
// transfer failed because it has no bucket yet: it may have restarted, and have lost the
// blobs in transit.
func (b *Broker) Outage(era uint64, err error) bool {
	return b.Era() != era || !b.Conn.IsConnected() || noBucket(err)
}

// Connected returns the names of the open connections. An external server does not show
// them: known is false then.
func (b *Broker) Connected() (names map[string]bool, known bool) {
	names = map[string]bool{}
	if b.server == nil {
		return names, false
	}
	all, err := b.server.Connz(&server.ConnzOptions{Limit: 1 << 16})
	if err != nil {
		return names, true
	}
	for _, conn := range all.Conns {
		names[conn.Name] = true
	}
	return names, true
}
