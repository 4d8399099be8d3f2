package wire

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// dropTime bounds the deletion of the bucket on an external server.
const dropTime = 2 * time.Second

// serverTime bounds a request to an external server.
const serverTime = 20 * time.Second

// external reports whether an address belongs to an external server.
func external(address string) bool {
	return strings.HasPrefix(address, "nats://") || strings.HasPrefix(address, "tls://")
}

// credentials returns the options for a credentials file, none without one. The address
// may contain a user and password instead.
func credentials(path string) []nats.Option {
	if path == "" {
		return nil
	}
	return []nats.Option{nats.UserCredentials(path)}
}

// joinServer connects to an external server and writes the join file.
func joinServer(ctx context.Context, study, address, creds, ca string) (_ *Broker, err error) {
	b := &Broker{url: address}
	defer func() {
		if err != nil {
			b.Close(false)
		}
	}()
	j := Join{Fedfast: Protocol, URLs: []string{address}}
	if b.Scope, j.Scope, j.Secret, err = newScope(); err != nil {
		return nil, err
	}
	if ca != "" {
		text, err := wholefile.Read(ca)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		j.CA = string(text)
	}
	trust, err := j.trust()
	if err != nil {
		return nil, fmt.Errorf("--ca %s: %w", ca, err)
	}
	name := Token()
	options := append(credentials(creds), nats.Name(name), nats.CustomInboxPrefix(b.Scope.subject(Inboxes)+name),
		nats.MaxReconnects(-1), nats.ReconnectWait(500*time.Millisecond), nats.Timeout(10*time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if b.Conn, err = nats.Connect(address, append(options, trust...)...); err != nil {
		return nil, fmt.Errorf("--cluster %s: %w", hideUser(address), clockError(err))
	}
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	js, err := jetstream.New(b.Conn)
	if err != nil {
		return nil, err
	}
	if _, err := js.AccountInfo(ctx); err != nil {
		return nil, fmt.Errorf("--cluster %s: JetStream of NATS 2.9 or newer must be enabled for this user: %w",
			hideUser(address), err)
	}
	b.url = hideUser(address)
	// left by a coordinator that was killed
	if old, err := ReadJoin(filepath.Join(study, Folder, JoinFile)); err == nil && old.Scope != "" {
		_ = dropBucket(ctx, b.Conn, old.Scope)
	}
	b.Path, err = j.Write(study)
	return b, err
}

// dropBucket deletes a bucket, if it exists.
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

// hideUser removes the user and password from an address.
func hideUser(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	if _, host, found := strings.Cut(rest, "@"); found {
		rest = host
	}
	return scheme + "://" + rest
}
