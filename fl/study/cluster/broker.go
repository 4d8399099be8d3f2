package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// dial opens a server at an address, or connects with one that runs already.
func dial(ctx context.Context, dir, address string, o *Options) (*broker, error) {
	if external(address) {
		return joinServer(ctx, dir, address, o.Credentials, o.CA)
	}
	return openBroker(dir, address)
}

// listen has workers answered.
func (b *broker) listen(hello, turn, beat func(*nats.Msg)) error {
	var errs []error
	for subject, f := range map[string]func(*nats.Msg){subjectHello: hello, subjectTurn: turn, subjectBeat: beat} {
		_, err := b.conn.Subscribe(b.scope.subject(subject), f)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// greeting says how workers come in.
func (b *broker) greeting() string {
	return fmt.Sprintf("coordinator at %s; add workers with: fedfast worker --join %s", b.url, b.path)
}
