package dashboard

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Control ends a study that is at work, or trials of it, as study.Control does.
type Control interface {
	StopTrial(number int) error
	StopStudy() error
}

var _ Control = (*study.Control)(nil)

// stop ends what the form names: trial=NUMBER, or study=all.
func (s *Server) stop(w http.ResponseWriter, r *http.Request) {
	err := errUnclear
	if r.ParseForm() == nil { // and not a form in parts, which may be put into files
		err = s.carryOut(r.PostForm.Get("trial"), r.PostForm.Get("study"))
	}
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
