package dashboard

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/report"
	"github.com/fedfast/fedfast/internal/view"
)

// worker is one of a study with a cluster.
type worker struct {
	Name    string `json:"name"`
	Machine string `json:"machine"`
	State   string `json:"state"` // here, left or lost
	Trial   *int   `json:"trial"` // that it was given last
	CPU     string `json:"cpu"`
	Level   string `json:"level"`
	Workers int    `json:"workers"` // client tasks at once
}

// workersOf are those that a study has had.
func workersOf(ctx context.Context, v *view.Study, o *view.Overview) ([]worker, error) {
	known, _, err := v.Workers(ctx, o, nil)
	var all []worker
	for i := range known {
		w := &known[i]
		x := worker{Name: w.Worker, Machine: w.Host, State: w.Standing(), CPU: w.CPU, Level: w.Level, Workers: w.Workers}
		if w.Last >= 0 {
			x.Trial = &w.Last
		}
		all = append(all, x)
	}
	return all, err
}

// workers draws which worker trained which trial.
func (s *Server) workers(w http.ResponseWriter, r *http.Request) {
	picture, err := s.shifts(r)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'") // of the picture itself
	_, _ = w.Write(picture)                                                                    // who asked may be gone
}

// shifts is the picture of workers and trials.
func (s *Server) shifts(r *http.Request) ([]byte, error) {
	v, o, err := s.look(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	curves, err := v.Curves(r.Context(), o)
	if err != nil {
		return nil, err
	}
	workers, stretches, err := v.Workers(r.Context(), o, curves)
	if err != nil {
		return nil, err
	}
	f := report.Shifts(o, workers, stretches)
	if f == nil {
		return nil, noPictureError(v.Dir())
	}
	var text bytes.Buffer
	err = f.Write(&text, figure.SVG, figure.Light)
	return text.Bytes(), err
}

// noPictureError is about a study that no workers have trained.
type noPictureError string

// Error names the study.
func (dir noPictureError) Error() string {
	return string(dir) + ": no remote worker has trained a round of it"
}

// Is makes it an fs.ErrNotExist.
func (noPictureError) Is(target error) bool { return target == fs.ErrNotExist }
