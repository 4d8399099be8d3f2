package dashboard

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
)

// policy allows a page what comes from this server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// mostBody bounds the bytes of a request after its header: a form that stops a trial.
const mostBody = 1024

// guarded answers only who asks for a host of the loopback, which a foreign name that
// is made to point there is not, and has the token, which other users of the machine do not
// have. It refuses what other origins' pages send.
func (s *Server) guarded(next http.Handler) http.Handler {
	checked := http.NewCrossOriginProtection().Handler(s.admitted(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		if !loopback(r.Host) {
			http.Error(w, "this server accepts only requests to 127.0.0.1 or localhost", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		checked.ServeHTTP(w, r)
	})
}

// admitted answers who has the token in a cookie. Who has it in the address gets that cookie, and
// the address without it. A cookie is sent to all ports of a host, so its name has the port.
func (s *Server) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, port, _ := net.SplitHostPort(r.Host) // 80 may be left out
		name, query := "fedfast-"+port, r.URL.Query()
		if s.knows(query.Get("token")) {
			query.Del("token")
			http.SetCookie(w, &http.Cookie{Name: name, Value: s.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}) //nolint:gosec // http is all that the loopback has
			http.Redirect(w, r, (&url.URL{Path: path.Clean(r.URL.Path), RawQuery: query.Encode()}).String(), http.StatusSeeOther)
			return
		}
		if c, err := r.Cookie(name); err != nil || !s.knows(c.Value) {
			http.Error(w, "missing token: open the address that fedfast printed when it started this server", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// NewToken returns a token that nobody guesses.
func NewToken() string { return rand.Text() }

// knows reports whether a token is the server's.
func (s *Server) knows(token string) bool {
	return s.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) == 1
}

// loopback says whether a host, with a port or without, names this machine to
// itself.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if name == "localhost" {
		return true
	}
	if n := len(name); n > 1 && name[0] == '[' && name[n-1] == ']' {
		name = name[1 : n-1]
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.IsLoopback()
}
