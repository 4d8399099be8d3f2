package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// certificate CERT KEY ADDRESS...: writes a certificate that signs itself for addresses of
// the Internet Protocol, and its private key.
func certificate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: certificate CERT KEY ADDRESS...")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	for _, address := range args[2:] {
		leaf.IPAddresses = append(leaf.IPAddresses, net.ParseIP(address))
	}
	public, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	ts.Check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	for i, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: public}, {Type: "PRIVATE KEY", Bytes: private}} {
		ts.Check(os.WriteFile(ts.MkAbs(args[i]), pem.EncodeToMemory(block), 0o600))
	}
}
