package dashboard

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/internal/finite"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

//go:embed assets
var assets embed.FS

// Server shows the studies below a folder.
type Server struct {
	// Root is the folder.
	Root string
	// Control stops trials of the study that is the Root itself, or all of it; nil for
	// a server that changes nothing.
	Control Control
	// Token is what the address of a first request must have as token=; a cookie has it from
	// then on. Who lacks it sees nothing.
	Token string
	list  list
}

// Handler answers all that the pages ask, from hosts of the loopback only.
func (s *Server) Handler() http.Handler {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	for path, file := range map[string]string{"GET /{$}": "index.html", "GET /study": "study.html", "GET /compare": "compare.html"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, file) })
	}
	mux.HandleFunc("GET /api/studies", answer(func(r *http.Request) (any, error) { return s.list.read(r.Context(), s) }))
	mux.HandleFunc("GET /api/study", answer(s.study))
	mux.HandleFunc("GET /api/curves", answer(s.curves))
	mux.HandleFunc("GET /api/news", answer(s.news))
	mux.HandleFunc("GET /api/part", answer(s.part))
	mux.HandleFunc("GET /api/compare", answer(s.compare))
	mux.HandleFunc("GET /api/figure", s.figure)
	mux.HandleFunc("GET /hover.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = io.WriteString(w, report.Hover) // who asked may be gone
	})
	if s.Control != nil {
		mux.HandleFunc("POST /api/stop", s.stop)
	}
	return s.guarded(mux)
}

// Serve answers on a listener until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout: time.Minute, WriteTimeout: 10 * time.Minute, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }, // it ends what is read
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // nothing is lost: pages ask again
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// answer writes what a function returns as JSON, or its error as a line.
func answer(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		if err != nil {
			fail(w, err)
			return
		}
		text, err := finite.Marshal(v)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // who asked may be gone
	}
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = http.StatusNotFound
	case errors.As(err, new(requestError)):
		code = http.StatusBadRequest
	}
	http.Error(w, oneline.Of(err.Error()), code)
}

// requestError says what is wrong with a request.
type requestError string

func (b requestError) Error() string { return string(b) }

// folder is the folder of the study that a request is about, by its path below the root.
func (s *Server) folder(r *http.Request) (string, error) { return s.at(r.URL.Query().Get("dir")) }

// at is the folder of a study by its path below the root.
func (s *Server) at(name string) (string, error) {
	path := filepath.FromSlash(name)
	if !filepath.IsLocal(path) || !store.Exists(filepath.Join(s.Root, path)) {
		return "", fmt.Errorf("study %s: %w", name, fs.ErrNotExist)
	}
	return filepath.Join(s.Root, path), nil
}

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
