package wire

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fedfast/fedfast/internal/sys/memory"
)

// The subjects of a cluster, all served by the coordinator. Answers go to an inbox below
// Inboxes, whose name only the worker and the server know.
const (
	Home             = "fedfast"
	SubjectHello     = Home + ".hello"
	SubjectRequest   = Home + ".request"
	SubjectHeartbeat = Home + ".heartbeat"
	Inboxes          = Home + ".inbox."
)

// Bucket holds the blobs in transit.
const Bucket = Home

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
		return "", 0, fmt.Errorf("--cluster %s: must be HOST:PORT, such as 127.0.0.1:0 (port 0: any free port), "+
			"or nats://HOST:PORT of an external server", address)
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

// startServer starts a server at an address and writes the join file of a study. Unless
// the address is a loopback address, or with a certificate, connections are encrypted.
func startServer(study, address string, f Files) (*Broker, error) {
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	var who *identity
	if f.Certificate != "" {
		who, err = readIdentity(f.Certificate, f.Key)
	} else {
		who, err = newIdentity(host, !loopback(host))
	}
	if err != nil {
		return nil, err
	}
	return listen(study, host, port, who)
}

func listen(study, host string, port int, who *identity, change ...func(*server.Options)) (_ *Broker, err error) {
	free, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))) // the server tells no reason
	if err != nil {
		return nil, fmt.Errorf("--cluster: cannot %w; use an address of this machine and a free port, or port 0", err)
	}
	_ = free.Close() // nobody has connected
	b := &Broker{folder: filepath.Join(study, Folder, "server")}
	defer func() {
		if err != nil {
			b.Close(false)
		}
	}()
	own, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	authenticator, err := newAuthenticator(own, who.workers)
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName: "fedfast", Host: host, Port: port, NoSigs: true, NoLog: true, MaxPayload: maxMessage,
		MaxControlLine: 4096,
		JetStream:      true, StoreDir: b.folder, JetStreamMaxMemory: max(memory.Available()/2, 1<<30), JetStreamMaxStore: 1,
		CustomClientAuthentication: authenticator, AlwaysEnableNonce: true, NoSystemAccount: true,
		DisableShortFirstPing: true,
		PingInterval:          5 * time.Second, MaxPingsOut: 3, WriteDeadline: time.Minute,
	}
	o.StreamMaxBufferedSize = o.JetStreamMaxMemory // many workers may send their states at the same time
	for _, f := range change {
		f(o)
	}
	if port == 0 {
		o.Port = server.RANDOM_PORT
	}
	j := Join{Fedfast: Protocol}
	scheme, address := "nats", net.JoinHostPort(host, strconv.Itoa(port))
	if who.certificate != nil {
		o.TLS, o.TLSTimeout = true, 10
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*who.certificate}, MinVersion: tls.VersionTLS13}
		j.CA, scheme = Pinned(who.certificate), "tls"
	}
	if err := os.RemoveAll(b.folder); err != nil {
		return nil, err
	}
	if b.server, err = server.NewServer(o); err != nil {
		return nil, fmt.Errorf("--cluster %s: %w", address, err)
	}
	b.server.Start()
	if !b.server.ReadyForConnections(20 * time.Second) {
		return nil, fmt.Errorf("--cluster %s: the server does not start", address)
	}
	_, listening, err := net.SplitHostPort(b.server.Addr().String())
	if err != nil {
		return nil, err
	}
	for _, h := range who.hosts {
		j.URLs = append(j.URLs, scheme+"://"+net.JoinHostPort(h, listening))
	}
	b.url = j.URLs[0]
	seed, err := who.workers.Seed()
	if err != nil {
		return nil, err
	}
	j.Key = string(seed)
	options := []nats.Option{
		nats.InProcessServer(b.server), nats.Name(authenticator.coordinator),
		nats.CustomInboxPrefix(Inboxes + authenticator.coordinator),
	}
	if b.Conn, err = nats.Connect("", append(options, signed(own))...); err != nil {
		return nil, err
	}
	b.Path, err = j.Write(study)
	return b, err
}
