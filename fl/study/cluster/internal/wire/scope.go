package wire

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
)

// Scope separates a study from other users of an external server: it has its own names,
// and a key with which all messages and blobs are encrypted. A nil scope is for the
// coordinator's own server, which admits nobody else.
type Scope struct {
	name string
	aead cipher.AEAD
}

// The sender of a message or blob, authenticated so that it cannot be sent back.
const (
	byWorker      = "worker"
	byCoordinator = "coordinator"
	byEither      = "blob"
)

// keySize is the size of an AES-256 key.
const keySize = 32

// newScope creates a random scope and the key for the join file.
func newScope() (s *Scope, name, key string, err error) {
	secret := make([]byte, keySize)
	if _, err := rand.Read(secret); err != nil {
		return nil, "", "", err
	}
	name, key = Home+"-"+Token(), base64.StdEncoding.EncodeToString(secret)
	s, err = scopeOf(name, key)
	return s, name, key, err
}

// scopeOf returns the scope of a join file.
func scopeOf(name, key string) (*Scope, error) {
	if key == "" {
		return nil, nil
	}
	secret, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(secret) != keySize || !IsToken(strings.TrimPrefix(name, Home+"-")) {
		return nil, errors.New("invalid scope or key")
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &Scope{name, aead}, err
}

// subject returns the scoped name of a subject or of the bucket.
func (s *Scope) subject(of string) string {
	if s == nil {
		return of
	}
	return s.name + strings.TrimPrefix(of, Home)
}

// seal encrypts text.
func (s *Scope) seal(text []byte, by string) []byte {
	if s == nil {
		return text
	}
	return s.aead.Seal(nil, nil, text, []byte(by))
}

// sealed returns the size of n bytes after seal.
func (s *Scope) sealed(n int) int {
	if s == nil {
		return n
	}
	return n + s.aead.Overhead()
}

// open decrypts and authenticates text.
func (s *Scope) open(text []byte, by string) ([]byte, error) {
	if s == nil {
		return text, nil
	}
	return s.aead.Open(nil, nil, text, []byte(by))
}

// Read decodes a worker's message. It rejects foreign messages, and those whose reply
// subject is not an inbox: the coordinator may publish to any subject.
func (s *Scope) Read(m *nats.Msg, v any) bool {
	if m.Reply != "" && !IsToken(s.InboxOf(m.Reply)) {
		return false
	}
	text, err := s.open(m.Data, byWorker)
	return err == nil && json.Unmarshal(text, v) == nil
}

// Respond answers a worker.
func (s *Scope) Respond(m *nats.Msg, v any) {
	text, err := json.Marshal(v)
	if err == nil {
		_ = m.Respond(s.seal(text, byCoordinator)) // if it is lost, the worker asks again
	}
}

// InboxOf returns the name of the connection to which an inbox belongs, empty if reply
// is not an inbox.
func (s *Scope) InboxOf(reply string) string {
	rest, ok := strings.CutPrefix(reply, s.subject(Inboxes))
	name, _, found := strings.Cut(rest, ".")
	if !ok || !found {
		return ""
	}
	return name
}
