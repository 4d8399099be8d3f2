package wire

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"
)

// TestClock has workers whose clocks are wrong by hours and by years check the certificate
// of a coordinator: only what is out of all bounds is refused, and the line names the clock.
func TestClock(t *testing.T) {
	certificate, err := Certify([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(Pinned(certificate))) {
		t.Fatal("no certificate")
	}
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		off  time.Duration
		good bool
	}{
		{-2 * time.Hour, true},
		{2 * time.Hour, true},
		{-9 * 365 * 24 * time.Hour, true},
		{9 * 365 * 24 * time.Hour, true},
		{-50 * 365 * 24 * time.Hour, false},
	} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: time.Now().Add(tt.off)})
		if (err == nil) != tt.good {
			t.Errorf("a clock that is off by %v: %v", tt.off, err)
		}
		if err == nil {
			continue
		}
		said := clockError(&tls.CertificateVerificationError{Err: err}).Error()
		if !strings.Contains(said, "the clock of this machine says "+time.Now().UTC().Format(time.DateOnly)) ||
			!strings.HasSuffix(said, "; set the clock") {
			t.Errorf("it is told as %q", said)
		}
	}
}
