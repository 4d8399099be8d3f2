package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fedfast/fedfast/internal/list"
)

// trust returns the options for TLS with the CA of the join file as the only root, none
// if it has no CA.
func (j *Join) trust() ([]nats.Option, error) {
	if j.CA == "" {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(j.CA)) {
		return nil, errors.New("no PEM certificate found")
	}
	least := uint16(tls.VersionTLS13)
	if j.Scope != "" { // an external server may be older
		least = tls.VersionTLS12
	}
	return []nats.Option{nats.Secure(&tls.Config{RootCAs: roots, MinVersion: least})}, nil
}

// validYears is how long before and after its creation a certificate is valid: clocks of
// machines differ, and what bounds its use is that its key lives for one run.
const validYears = 10

// clockError explains the error of a connection that fails on the dates of the server's
// certificate.
func clockError(err error) error {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return fmt.Errorf("the server's certificate is valid from %s to %s, but the clock of this machine says %s; set the clock",
			invalid.Cert.NotBefore.Format(time.DateOnly), invalid.Cert.NotAfter.Format(time.DateOnly),
			time.Now().UTC().Format(time.DateTime))
	}
	return err
}

// Certify creates a certificate for hosts, signed by its own key, which is the only one
// that workers trust.
func Certify(hosts []string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	begin := time.Now().AddDate(-validYears, 0, 0)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fedfast coordinator"},
		NotBefore: begin, NotAfter: begin.AddDate(2*validYears, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, &key.PublicKey, key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// Pinned returns the certificate of a server, as PEM, as the join file has it.
func Pinned(c *tls.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}))
}

// identity is how a server and its workers prove who they are.
type identity struct {
	certificate *tls.Certificate // nil without encryption
	hosts       []string         // at which workers reach the server
	workers     nkeys.KeyPair
}

// newIdentity makes the identity of one run for a server that listens on a host.
func newIdentity(host string, encrypted bool) (*identity, error) {
	hosts, err := reachable(host)
	if err != nil {
		return nil, err
	}
	workers, err := nkeys.CreateUser()
	if err != nil || !encrypted {
		return &identity{nil, hosts, workers}, err
	}
	c, err := Certify(hosts)
	return &identity{c, hosts, workers}, err
}

// readIdentity reads an identity from files with a certificate and its key. The key of the
// workers follows from that key, so that equal files give equal join files.
func readIdentity(certificate, key string) (*identity, error) {
	c, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("--cert %s, --key %s: %w", certificate, key, err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.Leaf)
	if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots}); err != nil {
		return nil, fmt.Errorf("--cert %s: %w", certificate, clockError(err))
	}
	hosts := slices.DeleteFunc(slices.Clone(c.Leaf.DNSNames), func(name string) bool {
		return strings.Contains(name, "*")
	})
	hosts = append(hosts, list.Of(c.Leaf.IPAddresses, net.IP.String)...)
	if len(hosts) == 0 {
		return nil, fmt.Errorf("--cert %s: must have the coordinator's host as an alternative name", certificate)
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	seed := sha256.Sum256(append([]byte("fedfast workers"), der...))
	workers, wrong := nkeys.FromRawSeed(nkeys.PrefixByteUser, seed[:])
	return &identity{&c, hosts, workers}, errors.Join(err, wrong)
}
