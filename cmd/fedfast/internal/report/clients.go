package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// model is one of the two whose test errors are told by client.
type model struct {
	name string
	of   func(*fl.ClientError) float64
}

var bothModels = []model{
	{"personalized", func(c *fl.ClientError) float64 { return c.Personalized }},
	{"global", func(c *fl.ClientError) float64 { return c.Global }},
}

// errorsOf are the clients' test errors of a model, the lowest first.
func (s *Study) errorsOf(m model) (all []float64) {
	for i := range s.clients {
		if x := m.of(&s.clients[i]); !math.IsNaN(x) && !math.IsInf(x, 0) {
			all = append(all, x)
		}
	}
	slices.Sort(all)
	return all
}

// ecdf shows what share of the clients has at most an error.
func (s *Study) ecdf() *figure.Figure {
	e := s.errors()
	var lines []figure.Line
	for _, m := range bothModels {
		xs := s.errorsOf(m)
		if len(xs) < 2 {
			continue
		}
		line := figure.Line{Name: m.name + " model", Step: true, Points: []figure.Point{{X: e.by * xs[0]}}}
		for i, x := range xs {
			if i+1 < len(xs) && xs[i+1] == x {
				continue
			}
			line.Points = append(line.Points, figure.Point{X: e.by * x, Y: 100 * float64(i+1) / float64(len(xs))})
		}
		line.Points = thin(line.Points)
		lines = append(lines, line)
	}
	x := figure.Axis{Label: "test " + e.name + " of a client" + e.unit, Zero: true}
	y := figure.Axis{Label: "clients with at most this " + e.name + ", %", Zero: true}
	return plot("ecdf", "Test "+e.name+" over clients", x, y, lines)
}

// mostDots is how many clients have a dot.
const mostDots = 400

// sizes shows the clients' errors by their numbers of samples, skews those by how far their classes are
// from those of all.
func (s *Study) sizes() *figure.Figure {
	axis := figure.Axis{Label: "test samples of the client"}
	return s.against("sizes", "by client size", axis, func(c *fl.ClientError) float64 { return float64(c.Samples) })
}

func (s *Study) skews() *figure.Figure {
	axis := figure.Axis{Label: "label skew of the client, % of its training samples", Zero: true}
	f := s.against("skew", "by label skew", axis, func(c *fl.ClientError) float64 { return 100 * result.Defined(c.Skew) })
	if f != nil {
		f.Note = "Label skew: what share of a client's training samples would have to be of other classes, for the classes to be as frequent as in all clients' together."
	}
	return f
}

// against shows the clients' errors by another number of theirs, of which not all are equal.
func (s *Study) against(name, by string, x figure.Axis, of func(*fl.ClientError) float64) *figure.Figure {
	e := s.errors()
	every := max(1, len(s.clients)/mostDots)
	var dots []figure.Dots
	lo, hi := math.Inf(1), 0.0
	for _, m := range bothModels {
		d := figure.Dots{Name: m.name + " model"}
		for i := 0; i < len(s.clients); i += every {
			c := &s.clients[i]
			if y, at := m.of(c), of(c); !math.IsNaN(y) && !math.IsInf(y, 0) && !math.IsNaN(at) {
				d.Points = append(d.Points, figure.Dot{X: at, Y: e.by * y, Name: "client " + oneline.Name(c.Name)})
				lo, hi = min(lo, at), max(hi, at)
			}
		}
		if len(d.Points) > 1 {
			dots = append(dots, d)
		}
	}
	if lo == hi {
		return nil
	}
	x.Log = !x.Zero && hi > 50*lo
	return plot(name, "Test "+e.name+" "+by, x, figure.Axis{Label: "test " + e.name + e.unit, Zero: true}, nil, dots...)
}

// spread shows percentiles of the clients' test errors as the best trial learned.
func (s *Study) spread() *figure.Figure {
	best := s.best()
	if best < 0 {
		return nil
	}
	m := s.errors()
	var lines []figure.Line
	for _, p := range []struct {
		name string
		of   func(*result.Spread) float64
	}{
		{"90th percentile", func(x *result.Spread) float64 { return x.P90 }},
		{"median", func(x *result.Spread) float64 { return x.P50 }},
		{"10th percentile", func(x *result.Spread) float64 { return x.P10 }},
	} {
		if q := points(s.curves[best], func(r *view.Round) float64 {
			if r.TestSpread == nil {
				return math.NaN()
			}
			return p.of(r.TestSpread)
		}, m.by); len(q) > 0 {
			lines = append(lines, figure.Line{Name: p.name, Points: q})
		}
	}
	y := figure.Axis{Label: "test " + m.name + " of " + s.models() + m.unit}
	return curve("spread", "Per-client test "+m.name+", "+s.trialName(best), y, lines)
}

// fairnessTable tells how even the clients' test errors are.
func (s *Study) fairnessTable() *Table {
	e := s.errors()
	t := &Table{Title: "Test " + e.name + " over clients", Head: []string{"model", "mean", "standard deviation", "best 10 %", "worst 10 %", "Gini", "Jain", "clients"}}
	for _, m := range bothModels {
		xs := s.errorsOf(m)
		if len(xs) < 2 {
			continue
		}
		n, tenth := len(xs), max(1, len(xs)/10)
		mean, square, ranked, right := meanOf(xs), 0.0, 0.0, 0.0
		for i, x := range xs {
			square += (x - mean) * (x - mean)
			ranked += float64(2*(i+1)-n-1) * x
			right += (1 - x) * (1 - x)
		}
		gini, jain := "", ""
		if _, share := result.MeasureName(result.MeasureOf(s.Config)); share && right > 0 {
			jain = strconv.FormatFloat(float64(n)*(1-mean)*(1-mean)/right, 'f', 3, 64)
		}
		if mean > 0 {
			gini = strconv.FormatFloat(ranked/(float64(n)*float64(n)*mean), 'f', 3, 64)
		}
		t.Rows = append(t.Rows, []string{
			m.name, s.ErrorText(mean), s.ErrorText(math.Sqrt(square / float64(n-1))), s.ErrorText(meanOf(xs[:tenth])), s.ErrorText(meanOf(xs[n-tenth:])), gini, jain, count(n),
		})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func meanOf(xs []float64) (mean float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	return mean
}

// personalization says how many clients it made better and worse.
func (s *Study) personalization() string {
	better, worse, n := 0, 0, 0
	for _, c := range s.clients {
		switch {
		case math.IsNaN(c.Personalized) || math.IsNaN(c.Global):
			continue
		case c.Personalized < c.Global:
			better++
		case c.Personalized > c.Global:
			worse++
		}
		n++
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Personalization lowered the error of %d of %d clients and raised that of %d.", better, n, worse)
}

// worstTable lists the clients with the highest test errors: personalized ones where
// they were measured.
func (s *Study) worstTable() *Table {
	e := s.errors()
	all := view.Worst(s.clients)
	t := &Table{Title: "Clients with the highest test " + e.name, Head: []string{"client", "test samples", "personalized", "global"}}
	auc := slices.ContainsFunc(all, func(c fl.ClientError) bool { return c.GlobalAUC != nil || c.PersonalizedAUC != nil })
	if auc {
		t.Head = slices.Insert(append(t.Head, "its AUC"), 3, "its AUC")
	}
	for _, c := range all {
		row := []string{oneline.Name(c.Name), count(c.Samples), s.ErrorText(c.Personalized), s.ErrorText(c.Global)}
		if auc {
			row = slices.Insert(append(row, result.Scale{}.TextOf(c.GlobalAUC)), 3, result.Scale{}.TextOf(c.PersonalizedAUC))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// recallTable has the recall of each class that occurs, of the returned model on test samples, and how many
// samples of the class were predicted to be of which one, for few classes; nil where that is unknown.
func (s *Study) recallTable() *Table {
	for _, p := range view.Tests(s.Judged()) {
		if s.Errors() == nil || s.Errors().Evaluation == nil {
			break
		}
		m := p.Over(s.Errors().Evaluation).Measures
		if m == nil || m.Recall == nil {
			continue
		}
		t := &Table{Title: "Recall by class, " + p.Name, Head: []string{"class", "recall"}}
		for i := range m.Confusion {
			t.Head = append(t.Head, "predicted "+strconv.Itoa(i))
		}
		for i, r := range m.Recall {
			if r != nil {
				row := []string{strconv.Itoa(i), result.Scale{Percent: true}.Text(*r)}
				for j := range m.Confusion {
					row = append(row, count(m.Confusion[i][j]))
				}
				t.Rows = append(t.Rows, row)
			}
		}
		return t
	}
	return nil
}
