package wire

import (
	"crypto/rand"
	"encoding/base64"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

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
	return &authenticator{own: o, workers: w, coordinator: Token()}, err
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
	if !IsToken(o.Name) {
		return false
	}
	stream := "OBJ_" + Bucket
	c.RegisterUser(&server.User{Username: "worker", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			SubjectHello, SubjectRequest, SubjectHeartbeat,
			"$O." + Bucket + ".C.*", "$O." + Bucket + ".M.*",
			"$JS.API.STREAM.INFO." + stream, "$JS.API.DIRECT.GET." + stream + ".>",
			"$JS.API.CONSUMER.CREATE." + stream + ".>", "$JS.API.CONSUMER.DELETE." + stream + ".*", "$JS.FC." + stream + ".>",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{Inboxes + o.Name + ".>"}},
	}})
	return true
}

// IsToken reports whether a name has the form of a token.
func IsToken(name string) bool {
	return len(name) == len(Token()) && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz234567") == ""
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

// Token returns a random name that cannot be guessed.
func Token() string { return strings.ToLower(rand.Text()) }

// signed returns the option with which a connection proves that it has a key.
func signed(key nkeys.KeyPair) nats.Option {
	public, err := key.PublicKey()
	if err != nil {
		return func(*nats.Options) error { return err }
	}
	return nats.Nkey(public, key.Sign)
}
