package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// serverTime bounds a request to a server of others.
const serverTime = 20 * time.Second

// external says whether an address is that of a server that runs already.
func external(address string) bool {
	return strings.HasPrefix(address, "nats://") || strings.HasPrefix(address, "tls://")
}

// credentials are the options that a connection to a server of others has: those of a
// credentials file, if one is named. A user and password may stand in the address.
func credentials(path string) []nats.Option {
	if path == "" {
		return nil
	}
	return []nats.Option{nats.UserCredentials(path)}
}

// joinServer connects with a server that runs already and writes the join file.
func joinServer(ctx context.Context, study, address, creds, ca string) (_ *broker, err error) {
	b := &broker{url: address}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	j := join{Fedfast: protocolVersion, URLs: []string{address}}
	if b.scope, j.Scope, j.Secret, err = newScope(); err != nil {
		return nil, err
	}
	if ca != "" {
		text, err := readSmall(ca)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		j.CA = string(text)
	}
	trust, err := j.trust()
	if err != nil {
		return nil, fmt.Errorf("--ca %s: %w", ca, err)
	}
	name := token()
	options := append(credentials(creds), nats.Name(name), nats.CustomInboxPrefix(b.scope.subject(inboxes)+name),
		nats.MaxReconnects(-1), nats.ReconnectWait(500*time.Millisecond), nats.Timeout(10*time.Second), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if b.conn, err = nats.Connect(address, append(options, trust...)...); err != nil {
		return nil, fmt.Errorf("--cluster %s: %w", hideUser(address), err)
	}
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	js, err := jetstream.New(b.conn)
	if err != nil {
		return nil, err
	}
	if _, err := js.AccountInfo(ctx); err != nil {
		return nil, fmt.Errorf("--cluster %s: the server must let this user work with JetStream, of version 2.9 or newer: %w", hideUser(address), err)
	}
	b.url = hideUser(address)
	if old, err := readJoin(filepath.Join(study, Folder, JoinFile)); err == nil && old.Scope != "" { // of a coordinator that was killed
		_ = dropBucket(ctx, b.conn, old.Scope)
	}
	b.path, err = j.write(study)
	return b, err
}

// dropBucket removes a bucket, if it is there.
func dropBucket(ctx context.Context, conn *nats.Conn, name string) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	err = js.DeleteObjectStore(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}

// hideUser leaves the user and the password of an address out.
func hideUser(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	if _, host, found := strings.Cut(rest, "@"); found {
		rest = host
	}
	return scheme + "://" + rest
}
