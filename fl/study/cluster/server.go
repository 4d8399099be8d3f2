package cluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fedfast/fedfast/internal/sys/memory"
)

// The subjects of a cluster, all served by the coordinator. Answers go to an inbox below
// inboxes, whose name only the worker and the server know.
const (
	home             = "fedfast"
	subjectHello     = home + ".hello"
	subjectRequest   = home + ".request"
	subjectHeartbeat = home + ".heartbeat"
	inboxes          = home + ".inbox."
)

// bucket holds the blobs in transit.
const bucket = home

// maxMessage bounds a message: a plan with hyperparameters for each slot, or a part
// of a blob.
const maxMessage = 8 << 20

// CheckAddress returns an error unless an address is HOST:PORT or the URL of an external
// NATS server.
func CheckAddress(address string) error {
	if external(address) {
		return nil
	}
	_, _, err := splitAddress(address)
	return err
}

func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || host == "" || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("--cluster %s: must be HOST:PORT, such as 127.0.0.1:0 (port 0: any free port), or nats://HOST:PORT of an external server", address)
	}
	return host, port, nil
}

// loopback reports whether a host is a loopback address.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// reachable returns the names and addresses at which workers may reach a server that
// listens on a host.
func reachable(host string) ([]string, error) {
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsUnspecified() {
		return []string{host}, nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var hosts []string
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
			hosts = append(hosts, n.IP.String())
		}
	}
	return hosts, nil
}

// broker is the server, with the coordinator's own connection to it.
type broker struct {
	server *server.Server // nil for an external server
	scope  *scope         // nil for the coordinator's own server
	conn   *nats.Conn
	folder string // of the server, removed at the end
	path   string // of the join file
	url    string // first address, to be shown
}

// openBroker starts a server at an address and writes the join file of a study. Unless
// the address is a loopback address, connections are encrypted.
func openBroker(study, address string) (*broker, error) {
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	return listen(study, host, port, !loopback(host))
}

func listen(study, host string, port int, encrypted bool, change ...func(*server.Options)) (_ *broker, err error) {
	hosts, err := reachable(host)
	if err != nil {
		return nil, err
	}
	b := &broker{folder: filepath.Join(study, Folder, "server")}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	own, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	theirs, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	authenticator, err := newAuthenticator(own, theirs)
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName: "fedfast", Host: host, Port: port, NoSigs: true, NoLog: true, MaxPayload: maxMessage, MaxControlLine: 4096,
		JetStream: true, StoreDir: b.folder, JetStreamMaxMemory: max(memory.Available()/2, 1<<30), JetStreamMaxStore: 1,
		CustomClientAuthentication: authenticator, AlwaysEnableNonce: true, NoSystemAccount: true, DisableShortFirstPing: true,
		PingInterval: 5 * time.Second, MaxPingsOut: 3, WriteDeadline: time.Minute,
	}
	o.StreamMaxBufferedSize = o.JetStreamMaxMemory // many workers may send their states at the same time
	for _, f := range change {
		f(o)
	}
	if port == 0 {
		o.Port = server.RANDOM_PORT
	}
	j := join{Fedfast: protocolVersion}
	scheme, address := "nats", net.JoinHostPort(host, strconv.Itoa(port))
	if encrypted {
		ca, certificate, err := certify(hosts)
		if err != nil {
			return nil, err
		}
		o.TLS, o.TLSTimeout = true, 10
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}
		j.CA, scheme = ca, "tls"
	}
	if err := os.RemoveAll(b.folder); err != nil {
		return nil, err
	}
	if b.server, err = server.NewServer(o); err != nil {
		return nil, fmt.Errorf("--cluster %s: %w", address, err)
	}
	b.server.Start()
	if !b.server.ReadyForConnections(20 * time.Second) {
		return nil, fmt.Errorf("--cluster %s: cannot listen; use an address of this machine and a free port, or port 0", address)
	}
	_, listening, err := net.SplitHostPort(b.server.Addr().String())
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		j.URLs = append(j.URLs, scheme+"://"+net.JoinHostPort(h, listening))
	}
	b.url = j.URLs[0]
	seed, err := theirs.Seed()
	if err != nil {
		return nil, err
	}
	j.Key = string(seed)
	options := []nats.Option{nats.InProcessServer(b.server), nats.Name(authenticator.coordinator), nats.CustomInboxPrefix(inboxes + authenticator.coordinator)}
	if b.conn, err = nats.Connect("", append(options, signed(own))...); err != nil {
		return nil, err
	}
	b.path, err = j.write(study)
	return b, err
}

// close closes the connection and stops the server.
func (b *broker) close() {
	if b.conn != nil && b.scope != nil {
		ctx, cancel := context.WithTimeout(context.Background(), haste)
		_ = dropBucket(ctx, b.conn, b.scope.subject(bucket)) // it may not be there
		cancel()
	}
	if b.conn != nil {
		b.conn.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
	if b.folder != "" {
		_ = os.RemoveAll(b.folder) // it holds nothing but the server's own
	}
}

// signed returns the option with which a connection proves that it has a key.
func signed(key nkeys.KeyPair) nats.Option {
	public, err := key.PublicKey()
	if err != nil {
		return func(*nats.Options) error { return err }
	}
	return nats.Nkey(public, key.Sign)
}

// token returns a random name that cannot be guessed.
func token() string {
	return strings.ToLower(rand.Text())
}

// authenticator admits connections that have a key, each with its own permissions.
type authenticator struct {
	own, workers string // public keys
	coordinator  string // name of its connection
}

func newAuthenticator(own, workers nkeys.KeyPair) (*authenticator, error) {
	o, err := own.PublicKey()
	if err != nil {
		return nil, err
	}
	w, err := workers.PublicKey()
	return &authenticator{own: o, workers: w, coordinator: token()}, err
}

// Check admits a connection that has signed the server's nonce. The coordinator may do
// everything. A worker may send requests to the coordinator, transfer blobs, and
// subscribe to its own inbox, below the name of its connection.
func (d *authenticator) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	if o.Nkey != d.own && o.Nkey != d.workers || !proven(o.Nkey, o.Sig, c.GetNonce()) {
		return false
	}
	if o.Nkey == d.own {
		c.RegisterUser(&server.User{Username: "coordinator"})
		return true
	}
	if !isToken(o.Name) {
		return false
	}
	stream := "OBJ_" + bucket
	c.RegisterUser(&server.User{Username: "worker", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			subjectHello, subjectRequest, subjectHeartbeat,
			"$O." + bucket + ".C.*", "$O." + bucket + ".M.*",
			"$JS.API.STREAM.INFO." + stream, "$JS.API.DIRECT.GET." + stream + ".>",
			"$JS.API.CONSUMER.CREATE." + stream + ".>", "$JS.API.CONSUMER.DELETE." + stream + ".*", "$JS.FC." + stream + ".>",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{inboxes + o.Name + ".>"}},
	}})
	return true
}

// isToken reports whether a name has the form of a token.
func isToken(name string) bool {
	return len(name) == len(token()) && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// proven reports whether a nonce was signed with the key of a public key.
func proven(public, signature string, nonce []byte) bool {
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(public)
	return err == nil && len(nonce) > 0 && key.Verify(nonce, sig) == nil
}
