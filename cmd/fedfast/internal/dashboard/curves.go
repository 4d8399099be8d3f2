package dashboard

import (
	"math"
	"net/http"
	"strconv"

	"github.com/fedfast/fedfast/fl/study/view"
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

// drawn holds the curves of a study's trials in columns of Width units of the axis. A
// column of one round holds its value, a wider one the lowest and the highest value of
// its rounds.
type drawn struct {
	Seq   int64   `json:"seq"`
	Width float64 `json:"width"`
	// End is the end of the axis.
	End float64 `json:"end"`
	// Curves are the curves of each metric, by the places of the trials.
	Curves map[string][]reals `json:"curves"`
}

// axes say where rounds stand on an axis, for those of one trial in their order.
var axes = map[string]func(o *view.Overview) func(*view.Round) float64{
	"": func(*view.Overview) func(*view.Round) float64 {
		return func(r *view.Round) float64 { return float64(r.Round - 1) }
	},
	"seconds": func(o *view.Overview) func(*view.Round) float64 {
		return func(r *view.Round) float64 { return max(0, r.At.Sub(o.Started).Seconds()) }
	},
	"clock": func(*view.Overview) func(*view.Round) float64 {
		return func(r *view.Round) float64 {
			if r.Fleet == nil {
				return 0
			}
			return max(0, float64(r.Fleet.Clock))
		}
	},
	"updates": func(*view.Overview) func(*view.Round) float64 {
		sum := 0
		return func(r *view.Round) float64 {
			sum += r.Clients
			return float64(sum)
		}
	},
}

// curves tells the curves of all trials.
func (s *Server) curves(r *http.Request) (any, error) {
	v, o, err := s.look(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	d := drawn{Seq: o.Seq, Curves: map[string][]reals{}}
	name := r.URL.Query().Get("by")
	by := axes[name]
	if by == nil {
		return nil, requestError("by: must be seconds, clock or updates")
	}
	curves, err := v.Curves(r.Context(), o)
	if err != nil {
		return nil, err
	}
	if name == "" {
		d.End = float64(length(o))
		d.Width = float64(width(length(o), len(o.Trials)))
	} else {
		for _, rounds := range curves {
			at := by(o)
			for i := range rounds {
				d.End = max(d.End, at(&rounds[i]))
			}
		}
		d.Width = max(d.End, 1) / float64(min(max(allColumns/max(1, len(o.Trials)), fewColumns), mostColumns))
	}
	for _, metric := range metrics(o) {
		d.Curves[metric] = []reals{}
		for _, rounds := range curves {
			d.Curves[metric] = append(d.Curves[metric], thin(rounds, measure[metric], by(o), d.Width))
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

// thin puts a curve into columns of a width.
func thin(rounds []view.Round, of, at func(*view.Round) float64, width float64) reals {
	out := reals{}
	per := 2
	if width == 1 {
		per = 1
	}
	for i := range rounds {
		x, place := of(&rounds[i]), per*int(at(&rounds[i])/width)
		for len(out) < place+per {
			out = append(out, math.NaN())
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		if math.IsNaN(out[place]) {
			out[place], out[place+per-1] = x, x
			continue
		}
		out[place], out[place+per-1] = min(out[place], x), max(out[place+per-1], x)
	}
	return out
}
