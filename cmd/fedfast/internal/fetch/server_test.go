package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// server serves one content in the ways that its fault says, and counts what it
// was asked.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	content []byte
	fault   func(s *server, w http.ResponseWriter, r *http.Request) bool // true: it has answered
	asked   int
	ranges  []string
	gate    chan struct{}
}

// serve starts a server, which ends with the test.
func serve(t *testing.T, content []byte, fault func(s *server, w http.ResponseWriter, r *http.Request) bool) *server {
	t.Helper()
	s := &server{content: content, fault: fault, gate: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked++
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		s.mu.Unlock()
		if s.fault != nil && s.fault(s, w, r) {
			return
		}
		w.Header().Set("ETag", `"`+sum(s.content)[:16]+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(s.gate) })
	return s
}

// requests returns how often the server was asked, and for which ranges.
func (s *server) requests() (n int, ranges []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.ranges
}

// first reports whether this is the first request.
func (s *server) first() bool {
	n, _ := s.requests()
	return n == 1
}

// cut answers with the content but ends the connection after some bytes of it.
func (s *server) cut(w http.ResponseWriter, r *http.Request, bytes int) {
	start := 0
	if rng := r.Header.Get("Range"); rng != "" {
		start, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(rng, "bytes="), "-"))
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, len(s.content)-1, len(s.content)))
	}
	w.Header().Set("ETag", `"`+sum(s.content)[:16]+`"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(s.content)-start))
	if start > 0 {
		w.WriteHeader(http.StatusPartialContent)
	}
	_, _ = w.Write(s.content[start:min(start+bytes, len(s.content))])
	panic(http.ErrAbortHandler)
}

// noise returns n bytes that no gzip shortens.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}
