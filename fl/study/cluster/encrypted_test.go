package cluster

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/config"
)

// siteFiles are what a site with an authority of its own gives to its users.
type siteFiles struct{ ca, creds, strangers string }

// encryptedSite configures a server in a directory that speaks TLS, with a certificate
// of its own authority, and lets those in whom an account of its operator has signed.
func encryptedSite(t *testing.T, dir string) siteFiles {
	t.Helper()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pair, err := wire.Certify([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate := write("server.pem", wire.Pinned(pair))
	private := write("server.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))

	operator, operatorID := newKey(t, nkeys.CreateOperator)
	account := func(name string, limits jwt.JetStreamLimits) (nkeys.KeyPair, string, string) {
		key, id := newKey(t, nkeys.CreateAccount)
		claims := jwt.NewAccountClaims(id)
		claims.Name, claims.Limits.JetStreamLimits = name, limits
		text, err := claims.Encode(operator)
		if err != nil {
			t.Fatal(err)
		}
		return key, id, text
	}
	_, systemID, system := account("SYS", jwt.JetStreamLimits{})
	tenant, tenantID, text := account("TENANT", jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit,
		Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
	})
	claims := jwt.NewOperatorClaims(operatorID)
	claims.SystemAccount = systemID
	operatorText, err := claims.Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	write(serverFile, fmt.Sprintf(`listen: "127.0.0.1:-1"
jetstream { store_dir: %q }
tls { cert_file: %q, key_file: %q }
operator: %q
resolver: MEMORY
resolver_preload: { %s: %q, %s: %q }
`, dir, certificate, private, write("operator.jwt", operatorText), systemID, system, tenantID, text))

	user := func(name string, by nkeys.KeyPair) string {
		key, id := newKey(t, nkeys.CreateUser)
		text, err := jwt.NewUserClaims(id).Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		seed, err := key.Seed()
		if err != nil {
			t.Fatal(err)
		}
		creds, err := jwt.FormatUserConfig(text, seed)
		if err != nil {
			t.Fatal(err)
		}
		return write(name+".creds", string(creds))
	}
	other, _ := newKey(t, nkeys.CreateAccount) // which the operator does not know
	return siteFiles{ca: certificate, creds: user("user", tenant), strangers: user("stranger", other)}
}

func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
	t.Helper()
	key, err := create()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

// TestExternalEncrypted runs a study at a server of others that has a certificate of
// its own authority and asks for credentials. Without either nobody is let in.
func TestExternalEncrypted(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := encryptedSite(t, dir)
			address := start(t, dir)
			r := newRun(t, func() study.Setup {
				s := tinyStudy(t, "tuner.name=random", "client_tuner.name=")
				s.Config.Tuner.Options, s.Config.Budget = nil, config.Budget{Rounds: 6, TrialRounds: 3}
				return s
			})
			r.address = "tls://" + address
			r.options.CA, r.options.Credentials = files.ca, files.creds
			r.after = func(int) { r.await(1) }
			admitted := func(o *levers) { o.Credentials = files.creds }
			stranger := r.worker(t.Context(), func(o *levers) { o.Credentials, o.Patience = files.strangers, time.Second })
			r.sameAsAlone(t, r.worker(t.Context(), admitted))
			_ = ends(t, stranger) // it has looked for a coordinator until the join file went
			if r.told(" joined (") != 1 || r.told("uthorization Violation; reconnecting") == 0 {
				t.Errorf("notices %q", r.notices)
			}
			for want, change := range map[string]func(*run){
				"certificate signed by unknown authority": func(r *run) { r.options.CA = "" },
				"uthorization": func(r *run) { r.options.Credentials = files.strangers },
				"--ca " + files.creds + ": no PEM certificate found": func(r *run) { r.options.CA = files.creds },
				"--ca: open ": func(r *run) { r.options.CA = filepath.Join(dir, "none") },
			} {
				r := newRun(t, r.setup)
				r.address, r.options.CA, r.options.Credentials = "tls://"+address, files.ca, files.creds
				change(r)
				if _, err := r.tune(t.Context()); err == nil || !strings.Contains(err.Error(), want) ||
					strings.Contains(err.Error(), "\n") {
					t.Errorf("%v, want %s", err, want)
				}
				if exists(r.join()) {
					t.Error("there is a join file")
				}
			}
		})
	}
}
