package dashboard

import (
	"math"
	"net/http"
	"strconv"

	"github.com/fedfast/fedfast/internal/view"
)

// The bounds of what a picture is made of: columns of a curve, and of all curves
// together.
const (
	mostColumns = 1000
	allColumns  = 20_000
	fewColumns  = 100
)

// measure reads a metric of a round.
var measure = map[string]func(*view.Round) float64{
	"score": func(r *view.Round) float64 { return r.Mean },
	"loss":  func(r *view.Round) float64 { return r.TrainLoss },
	"test":  func(r *view.Round) float64 { return r.TestError },
}

// reals are numbers of which some may be missing, with as many digits as a picture
// shows.
type reals []float64

// MarshalJSON writes missing ones, and those that are not finite, as null.
func (x reals) MarshalJSON() ([]byte, error) {
	text := make([]byte, 1, 2+8*len(x))
	text[0] = '['
	for i, f := range x {
		if i > 0 {
			text = append(text, ',')
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			text = append(text, "null"...)
			continue
		}
		text = strconv.AppendFloat(text, f, 'g', 5, 64)
	}
	return append(text, ']'), nil
}

// drawn holds the curves of a study's trials in columns of Width rounds. A column of
// one round holds its value, a wider one the lowest and the highest value of its
// rounds.
type drawn struct {
	Seq   int64 `json:"seq"`
	Width int   `json:"width"`
	// Curves are those of each metric, by the places of the trials.
	Curves map[string][]reals `json:"curves"`
}

// curves tells the curves of all trials, or where a sketch is asked for one round of
// each column, which takes no time.
func (s *Server) curves(r *http.Request) (any, error) {
	v, o, err := s.look(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	d := drawn{Seq: o.Seq, Width: width(length(o), len(o.Trials)), Curves: map[string][]reals{}}
	var curves [][]view.Round
	if r.FormValue("sketch") != "" {
		curves, err = v.Sketch(r.Context(), o, d.Width)
	} else {
		curves, err = v.Curves(r.Context(), o)
	}
	if err != nil {
		return nil, err
	}
	for _, metric := range metrics(o) {
		d.Curves[metric] = []reals{}
		for _, rounds := range curves {
			d.Curves[metric] = append(d.Curves[metric], thin(rounds, measure[metric], d.Width))
		}
	}
	return d, nil
}

// width is how many rounds a column holds, so that curves of a length have few
// enough of them.
func width(length, curves int) int {
	columns := min(max(allColumns/max(1, curves), fewColumns), mostColumns)
	return max(1, (length+columns-1)/columns)
}

// thin puts a curve into columns of width rounds.
func thin(rounds []view.Round, of func(*view.Round) float64, width int) reals {
	if len(rounds) == 0 {
		return reals{}
	}
	per := min(width, 2)
	out := make(reals, per*((rounds[len(rounds)-1].Round-1)/width+1))
	for i := range out {
		out[i] = math.NaN()
	}
	for i := range rounds {
		x := of(&rounds[i])
		at := per * ((rounds[i].Round - 1) / width)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		if math.IsNaN(out[at]) {
			out[at], out[at+per-1] = x, x
			continue
		}
		out[at], out[at+per-1] = min(out[at], x), max(out[at+per-1], x)
	}
	return out
}
