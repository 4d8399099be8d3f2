package cluster

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

// scope is what a study has of a server that others use too: names of its own, and a
// key under which all that is said and put there is sealed. nil is a server of the
// coordinator's own, which lets nobody else in.
type scope struct {
	name string
	aead cipher.AEAD
}

// Who seals a message or a blob: what one side says cannot be given back to it.
const (
	byWorker      = "worker"
	byCoordinator = "coordinator"
	byEither      = "blob"
)

// keySize is that of AES-256.
const keySize = 32

// newScope draws a scope and the key that goes into the join file.
func newScope() (s *scope, name, key string, err error) {
	secret := make([]byte, keySize)
	if _, err := rand.Read(secret); err != nil {
		return nil, "", "", err
	}
	name, key = home+"-"+token(), base64.StdEncoding.EncodeToString(secret)
	s, err = scopeOf(name, key)
	return s, name, key, err
}

// scopeOf returns the scope of a join file.
func scopeOf(name, key string) (*scope, error) {
	if key == "" {
		return nil, nil
	}
	secret, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(secret) != keySize || !isToken(strings.TrimPrefix(name, home+"-")) {
		return nil, errors.New("its scope or its key is none")
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &scope{name, aead}, err
}

// subject is one of the cluster's subjects, or its bucket, in the scope.
func (s *scope) subject(of string) string {
	if s == nil {
		return of
	}
	return s.name + strings.TrimPrefix(of, home)
}

// seal closes text, which open opens again.
func (s *scope) seal(text []byte, by string) []byte {
	if s == nil {
		return text
	}
	return s.aead.Seal(nil, nil, text, []byte(by))
}

// sealed is how many bytes seal makes of so many.
func (s *scope) sealed(n int) int {
	if s == nil {
		return n
	}
	return n + s.aead.Overhead()
}

// open opens what was sealed, and fails for what a stranger has made.
func (s *scope) open(text []byte, by string) ([]byte, error) {
	if s == nil {
		return text, nil
	}
	return s.aead.Open(nil, nil, text, []byte(by))
}

// read reads what a worker says. What is none of ours is not answered, nor what asks for
// an answer anywhere but in an inbox: the coordinator may speak to everybody.
func (s *scope) read(m *nats.Msg, v any) bool {
	if m.Reply != "" && !isToken(s.inboxOf(m.Reply)) {
		return false
	}
	text, err := s.open(m.Data, byWorker)
	return err == nil && json.Unmarshal(text, v) == nil
}

// respond answers a worker.
func (s *scope) respond(m *nats.Msg, v any) {
	text, err := json.Marshal(v)
	if err == nil {
		_ = m.Respond(s.seal(text, byCoordinator)) // who does not hear it asks again
	}
}
