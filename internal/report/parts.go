package report

import (
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/figure"
)

// Part is a group of pictures of a study.
type Part struct {
	ID, Title string
	more      bool // folded in reports
}

// Parts are those of a report, in their order.
var Parts = []Part{
	{"result", "Result", false},
	{"clients", "Clients", false},
	{"params", "Hyperparameters", false},
	{"tuner", "Client tuner", false},
	{"curves", "More curves", true},
	{"timeline", "Timeline", true},
}

// Figures are the pictures of a part, by its ID.
func (s *Study) Figures(part string) []*figure.Figure {
	switch part {
	case "result":
		return some(s.answerCurve(), s.history())
	case "clients":
		if len(s.clients) == 0 {
			return some(s.spread())
		}
		return some(s.ecdf(), s.sizes())
	case "params":
		return some(s.importance(), s.parallel(), s.scatters())
	case "tuner":
		return some(append([]*figure.Figure{s.sides()}, s.tunerPictures()...)...)
	case "curves":
		return some(append(s.curvePictures(), s.traces()...)...)
	case "timeline":
		return some(s.timeline(), Shifts(s.Overview, s.workers, s.stretches))
	}
	return nil
}

// some are the figures that are there.
func some(figures ...*figure.Figure) (all []*figure.Figure) {
	for _, f := range figures {
		if f != nil {
			all = append(all, f)
		}
	}
	return all
}

// Tables are those of a part, by its ID.
func (s *Study) Tables(part string) (all []Table) {
	var t *Table
	switch part {
	case "clients":
		t = s.fairnessTable()
	case "tuner":
		t = s.cellTable()
	}
	if t != nil {
		all = append(all, *t)
	}
	return all
}

// text is what a part says besides.
func (s *Study) text(part string) string {
	switch {
	case part == "params" && s.Mode == config.ModeTune && s.importances() == nil && len(s.dims()) > 0:
		return fmt.Sprintf("Hyperparameter importance needs at least %d trials (this study has %d).", leastArms, len(s.Trials))
	case part == "clients":
		return s.personalization()
	}
	return ""
}
