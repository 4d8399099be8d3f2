package dashboard

import (
	"net"
	"net/http"
	"net/netip"
)

// policy allows a page what comes from this server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guarded answers only who asks for a host of the loopback, which a foreign name that
// is made to point there is not, and refuses what other origins' pages send.
func guarded(next http.Handler) http.Handler {
	checked := http.NewCrossOriginProtection().Handler(next)
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
		checked.ServeHTTP(w, r)
	})
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
