package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// dial starts a server at an address, or connects to an external one.
func dial(ctx context.Context, dir, address string, o *Options) (*broker, error) {
	if external(address) {
		return joinServer(ctx, dir, address, o.Credentials, o.CA)
	}
	return openBroker(dir, address)
}

// listen subscribes the handlers of workers' messages.
func (b *broker) listen(hello, request, heartbeat func(*nats.Msg)) error {
	var errs []error
	for subject, f := range map[string]func(*nats.Msg){subjectHello: hello, subjectRequest: request, subjectHeartbeat: heartbeat} {
		_, err := b.conn.Subscribe(b.scope.subject(subject), f)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// greeting tells how to add workers.
func (b *broker) greeting() string {
	return fmt.Sprintf("coordinator at %s; add workers with: fedfast worker --join %s", b.url, b.path)
}
