package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/nats-io/nats.go"
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
// machines differ, and what bounds its use is that its authority lives for one run.
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

// Certify creates a certificate authority for one run of a coordinator. It returns the
// authority's certificate, as PEM, and a server certificate for hosts. The authority's
// key is discarded: it signs nothing else.
func Certify(hosts []string) (ca string, server tls.Certificate, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", server, err
	}
	begin := time.Now().AddDate(-validYears, 0, 0)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fedfast cluster"},
		NotBefore: begin, NotAfter: begin.AddDate(2*validYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, MaxPathLenZero: true,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, root, root, &caKey.PublicKey, caKey)
	if err != nil {
		return "", server, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", server, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "fedfast coordinator"},
		NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, caKey)
	if err != nil {
		return "", server, err
	}
	pinned := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	return string(pinned), tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
