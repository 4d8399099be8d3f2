package dashboard

import (
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/store"
)

// part names a tab of a study's page.
type part struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// tabs are the tabs of a study besides its curves and trials.
func tabs(o *view.Overview) []part {
	var all []part
	if o.Mode == config.ModeTune {
		all = append(all, part{"params", "Hyperparameters"})
	}
	all = append(all, part{"clients", "Clients"})
	if o.Config.Devices() != nil {
		all = append(all, part{"fleet", "Fleet"})
	}
	if name := o.Config.ClientTuner.Name; o.Mode == config.ModeTune && name != "" && name != "none" {
		all = append(all, part{"tuner", "Client tuner"})
	}
	return append(all, part{"timeline", "Timeline & sessions"}, part{"config", "Configuration"})
}

// picture is a figure of a report.
type picture struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Wide  bool   `json:"wide"`
	SVG   string `json:"svg"`
}

// shown is what a tab shows.
type shown struct {
	Text     []string       `json:"text"`
	Pictures []picture      `json:"pictures"`
	Tables   []report.Table `json:"tables"`
}

// add draws figures, in the width that a request has room for.
func (p *shown) add(r *http.Request, figures []*figure.Figure) error {
	wide, _ := strconv.Atoi(r.URL.Query().Get("wide")) // 0 for a page that has room
	for _, f := range figures {
		x := picture{Name: f.Name, Title: f.Title, Wide: len(f.Panels) > 2 || f.Width > 700}
		if wide >= 280 {
			f.Narrow(float64(wide))
		}
		var text strings.Builder
		if err := f.Write(&text, figure.Live, figure.Light); err != nil {
			return err
		}
		x.SVG = text.String()
		p.Pictures = append(p.Pictures, x)
	}
	return nil
}

// part tells a tab of a study as its report has it, or a trial.
func (s *Server) part(r *http.Request) (any, error) {
	studies, err := s.read(r, 1)
	if err != nil {
		return nil, err
	}
	st := studies[0]
	p := &shown{Text: []string{}, Pictures: []picture{}, Tables: []report.Table{}}
	if r.URL.Query().Has("trial") {
		figures, err := figuresOf(r, studies)
		if err != nil {
			return nil, err
		}
		return p, p.add(r, figures)
	}
	id := r.URL.Query().Get("part")
	if text := st.Remark(id); text != "" {
		p.Text = append(p.Text, text)
	}
	figures := st.Figures(id)
	p.Tables = append(p.Tables, st.Tables(id)...)
	if id == "clients" {
		p.Tables, figures = append(p.Tables, st.Tables("classes")...), append(figures, st.Figures("classes")...)
	}
	return p, p.add(r, figures)
}

// figuresOf are the figures of studies, or those of the trial that a request names.
func figuresOf(r *http.Request, studies []*report.Study) ([]*figure.Figure, error) {
	if !r.URL.Query().Has("trial") {
		return report.Figures(studies)
	}
	number, err := strconv.Atoi(r.URL.Query().Get("trial"))
	if err != nil {
		return nil, requestError("trial: must be a number")
	}
	return studies[0].TrialFigures(number), nil
}

// figure writes one figure of a report, or of a trial's, as a file in a form.
func (s *Server) figure(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	studies, err := s.read(r, 1)
	var all []*figure.Figure
	if err == nil {
		all, err = figuresOf(r, studies)
	}
	name := query.Get("name")
	form, wrong := figure.FormOf("x." + query.Get("form"))
	at := slices.IndexFunc(all, func(f *figure.Figure) bool { return f.Name == name })
	switch {
	case wrong != nil:
		err = requestError("form: must be svg, png, pdf or csv")
	case err == nil && at < 0:
		err = requestError("name: no figure " + strconv.Quote(name) + " is there yet")
	}
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Disposition", `attachment; filename="`+all[at].Name+string(form)+`"`)
	_ = all[at].Write(w, form, figure.Light) // who asked may be gone
}

// mostCompared is how many studies are compared at once.
const mostCompared = 50

// read reads the studies that a request names, least or more.
func (s *Server) read(r *http.Request, least int) (studies []*report.Study, err error) {
	dirs, err := s.dirs(r.URL.Query()["dir"])
	if err != nil {
		return nil, err
	}
	if len(dirs) < least || len(dirs) > mostCompared {
		return nil, requestError(fmt.Sprintf("dir: name from %d to %d studies", least, mostCompared))
	}
	for _, name := range dirs {
		dir, err := s.at(name)
		if err != nil {
			return nil, err
		}
		st, err := report.Read(r.Context(), dir)
		if err != nil {
			return nil, err
		}
		st.Dir = name
		studies = append(studies, st)
	}
	return studies, nil
}

// dirs replaces directories of several seeds by those of the seeds that have begun.
func (s *Server) dirs(names []string) (all []string, err error) {
	for _, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Errorf("study %s: %w", name, fs.ErrNotExist)
		}
		at := filepath.Join(s.Root, filepath.FromSlash(name))
		if !workdir.HoldsSeeds(at) {
			all = append(all, name)
			continue
		}
		dirs, err := workdir.Dirs(at)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			if store.Exists(dir) {
				all = append(all, path.Join(name, filepath.Base(dir)))
			}
		}
	}
	return all, nil
}

// compare tells what several studies came to together.
func (s *Server) compare(r *http.Request) (any, error) {
	studies, err := s.read(r, 2)
	if err != nil {
		return nil, err
	}
	c, err := report.Compare(studies)
	if err != nil {
		return nil, err
	}
	p := &shown{Text: append([]string{}, c.Answer...), Pictures: []picture{}, Tables: c.Tables}
	return p, p.add(r, c.Figures)
}
