package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
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

// picture is a figure of a report with the numbers behind it.
type picture struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Wide  bool   `json:"wide"`
	SVG   string `json:"svg"`
	CSV   string `json:"csv"`
}

// shown is what a tab shows.
type shown struct {
	Text     []string       `json:"text"`
	Pictures []picture      `json:"pictures"`
	Tables   []report.Table `json:"tables"`
}

// add draws figures.
func (p *shown) add(figures []*figure.Figure) error {
	for _, f := range figures {
		x := picture{Name: f.Name, Title: f.Title, Wide: len(f.Panels) > 2 || f.Width > 700}
		for form, to := range map[figure.Form]*string{figure.SVG: &x.SVG, figure.CSV: &x.CSV} {
			var text strings.Builder
			if err := f.Write(&text, form, figure.Light); err != nil {
				return err
			}
			*to = text.String()
		}
		p.Pictures = append(p.Pictures, x)
	}
	return nil
}

// part tells a tab of a study as its report has it, or a trial.
func (s *Server) part(r *http.Request) (any, error) {
	dir, err := s.folder(r)
	if err != nil {
		return nil, err
	}
	st, err := report.Read(r.Context(), dir)
	if err != nil {
		return nil, err
	}
	p := &shown{Text: []string{}, Pictures: []picture{}, Tables: []report.Table{}}
	if text := r.URL.Query().Get("trial"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil {
			return nil, requestError("trial: must be a number")
		}
		return p, p.add(st.TrialFigures(number))
	}
	id := r.URL.Query().Get("part")
	if text := st.Remark(id); text != "" {
		p.Text = append(p.Text, text)
	}
	p.Tables = append(p.Tables, st.Tables(id)...)
	if t := st.WorstClients(); id == "clients" && t != nil {
		p.Tables = append(p.Tables, *t)
	}
	return p, p.add(st.Figures(id))
}

// mostCompared is how many studies are compared at once.
const mostCompared = 50

// compare tells what several studies came to together.
func (s *Server) compare(r *http.Request) (any, error) {
	dirs := r.URL.Query()["dir"]
	if len(dirs) < 2 || len(dirs) > mostCompared {
		return nil, requestError("dir: name from 2 to " + strconv.Itoa(mostCompared) + " studies")
	}
	var studies []*report.Study
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
	c, err := report.Compare(studies)
	if err != nil {
		return nil, err
	}
	p := &shown{Text: append([]string{}, c.Answer...), Pictures: []picture{}, Tables: c.Tables}
	return p, p.add(c.Figures)
}
