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

// The subjects of a cluster, all served by the coordinator. Answers go to an inbox
// below inboxes whose name only the worker and the server know.
const (
	home         = "fedfast"
	subjectHello = home + ".hello"
	subjectTurn  = home + ".turn"
	subjectBeat  = home + ".beat"
	inboxes      = home + ".inbox."
)

// bucket holds the blobs on their way.
const bucket = home

// maxMessage bounds a message: a plan with hyperparameters for each slot, or a part
// of a blob.
const maxMessage = 8 << 20

// CheckAddress returns an error unless an address is HOST:PORT, or the URL of a server
// that runs already.
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
		return "", 0, fmt.Errorf("--cluster %s: must be HOST:PORT, such as 127.0.0.1:0, where port 0 is any free one, or nats://HOST:PORT of a server that runs already", address)
	}
	return host, port, nil
}

// loopback says whether a host is this machine alone.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// reachable returns the names and addresses by which workers may reach a host to
// which a server is bound.
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
	server *server.Server // nil for one of others
	scope  *scope         // at one of others
	conn   *nats.Conn
	folder string // of the server, removed at the end
	path   string // of the join file
	url    string // of the first of the addresses, for people
}

// openBroker starts a server at an address and writes the join file of a study.
// Beyond loopback it is encrypted.
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
	door, err := newDoor(own, theirs)
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName: "fedfast", Host: host, Port: port, NoSigs: true, NoLog: true, MaxPayload: maxMessage, MaxControlLine: 4096,
		JetStream: true, StoreDir: b.folder, JetStreamMaxMemory: max(memory.Available()/2, 1<<30), JetStreamMaxStore: 1,
		CustomClientAuthentication: door, AlwaysEnableNonce: true, NoSystemAccount: true, DisableShortFirstPing: true,
		PingInterval: 5 * time.Second, MaxPingsOut: 3, WriteDeadline: time.Minute,
	}
	o.StreamMaxBufferedSize = o.JetStreamMaxMemory // many workers may send their states at once
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
		return nil, fmt.Errorf("--cluster %s: no server can listen there; name an address of this machine and a free port, or port 0", address)
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
	options := []nats.Option{nats.InProcessServer(b.server), nats.Name(door.coordinator), nats.CustomInboxPrefix(inboxes + door.coordinator)}
	if b.conn, err = nats.Connect("", append(options, signed(own))...); err != nil {
		return nil, err
	}
	b.path, err = j.write(study)
	return b, err
}

// close ends the server.
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

// signed lets a connection prove that it has a key.
func signed(key nkeys.KeyPair) nats.Option {
	public, err := key.PublicKey()
	if err != nil {
		return func(*nats.Options) error { return err }
	}
	return nats.Nkey(public, key.Sign)
}

// token draws a name that nobody can guess.
func token() string {
	return strings.ToLower(rand.Text())
}

// door lets in who has a key, each to what is his.
type door struct {
	own, workers string // public keys
	coordinator  string // the name of its connection
}

func newDoor(own, workers nkeys.KeyPair) (*door, error) {
	o, err := own.PublicKey()
	if err != nil {
		return nil, err
	}
	w, err := workers.PublicKey()
	return &door{own: o, workers: w, coordinator: token()}, err
}

// Check lets in a connection that has signed the server's nonce. The coordinator may
// do everything. A worker may ask the coordinator, move blobs, and hear what comes to
// its own inbox, below the name of its connection.
func (d *door) Check(c server.ClientAuthentication) bool {
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
			subjectHello, subjectTurn, subjectBeat,
			"$O." + bucket + ".C.*", "$O." + bucket + ".M.*",
			"$JS.API.STREAM.INFO." + stream, "$JS.API.DIRECT.GET." + stream + ".>",
			"$JS.API.CONSUMER.CREATE." + stream + ".>", "$JS.API.CONSUMER.DELETE." + stream + ".*", "$JS.FC." + stream + ".>",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{inboxes + o.Name + ".>"}},
	}})
	return true
}

// isToken says whether a name is one that token draws.
func isToken(name string) bool {
	return len(name) == len(token()) && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// proven says whether a nonce was signed with the key of a public key.
func proven(public, signature string, nonce []byte) bool {
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(public)
	return err == nil && len(nonce) > 0 && key.Verify(nonce, sig) == nil
}
