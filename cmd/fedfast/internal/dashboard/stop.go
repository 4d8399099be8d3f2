package dashboard

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Control ends a study that is at work, or trials of it, as study.Control does.
type Control interface {
	StopTrial(number int) error
	StopStudy() error
}

var _ Control = (*study.Control)(nil)

// NewToken returns a token that nobody guesses.
func NewToken() string { return rand.Text() }

// allowed says whether a request carries the token, in a header that no page of
// another origin can send without being asked first.
func (s *Server) allowed(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && s.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) == 1
}

// stop ends what the form names: trial=NUMBER, or study=all.
func (s *Server) stop(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(r) {
		http.Error(w, "missing token: open the URL that the command printed", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 1024)
	err := s.carryOut(r.PostFormValue("trial"), r.PostFormValue("study"))
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, errUnclear):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, study.ErrNoSuchTrial):
		http.Error(w, err.Error(), http.StatusNotFound)
	default:
		http.Error(w, oneline.Of(err.Error()), http.StatusConflict)
	}
}

// errUnclear is about a form that does not say what to stop.
var errUnclear = errors.New("missing parameter: must be trial=NUMBER or study=all")

// carryOut has a trial ended, or the study.
func (s *Server) carryOut(trial, all string) error {
	number, err := strconv.Atoi(trial)
	switch {
	case all == "all" && trial == "":
		return s.Control.StopStudy()
	case all == "" && err == nil:
		return s.Control.StopTrial(number)
	}
	return errUnclear
}
