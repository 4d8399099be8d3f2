package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// Call is an answered call of a tuner's session that decides about trials.
type Call struct {
	Kind string `json:"-"`
	// N and Decisions are of a Suggest.
	N         int        `json:"n,omitempty"`
	Decisions []Decision `json:"decisions,omitempty"`
	// Trial and what follows are of a Report.
	Trial  *int   `json:"trial,omitempty"`
	Round  int    `json:"round,omitempty"`
	Score  *Real  `json:"score,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Values are the values of several objectives and constraints.
	Values map[string]Real `json:"values,omitempty"`
	// Measured are sub-networks that were scored.
	Measured []Measured `json:"measured,omitempty"`
	Samples  []int      `json:"samples,omitempty"`
}

// Measured is a tuners.Measured.
type Measured struct {
	Score  Real    `json:"score"`
	FLOPs  float64 `json:"flops"`
	Params float64 `json:"params"`
	// Votes and Clients are of a point with which clients trained by themselves.
	Votes   float64 `json:"votes,omitempty"`
	Clients []Real  `json:"clients,omitempty"`
}

// Decision is a tuners.Decision with names for its kind.
type Decision struct {
	Kind        string              `json:"kind"`
	Trial       int                 `json:"trial"`
	Source      *int                `json:"source,omitempty"`
	Params      tuners.Params       `json:"params,omitempty"`
	ToRound     int                 `json:"to_round,omitempty"`
	Best        *int                `json:"best,omitempty"`
	Environment *tuners.Environment `json:"environment,omitempty"`
	Table       []tuners.Cell       `json:"table,omitempty"`
	Points      []tuners.Params     `json:"points,omitempty"`
	Local       *tuners.LocalSearch `json:"local,omitempty"`
}

// SuggestOf records a Suggest.
func SuggestOf(n int, decisions []tuners.Decision) Call {
	c := Call{Kind: store.KindSuggest, N: n, Decisions: []Decision{}}
	for _, d := range decisions {
		r := Decision{Kind: d.Kind.String(), Trial: d.Trial, Params: d.Params, ToRound: d.ToRound, Environment: d.Environment, Table: d.Table, Points: d.Points, Local: d.LocalSearch}
		switch d.Kind {
		case tuners.Fork:
			r.Source = &d.Source
		case tuners.Done:
			r.Best = &d.Best
		case tuners.Start, tuners.Resume, tuners.Stop, tuners.Release, tuners.Wait, tuners.Score, tuners.Local:
		}
		c.Decisions = append(c.Decisions, r)
	}
	return c
}

// ReportOf records a Report.
func ReportOf(r tuners.TrialReport) Call {
	c := Call{Kind: store.KindReport, Trial: &r.Trial, Round: r.Round, Failed: r.Failed, Reason: r.Reason}
	if !r.Failed && r.Trial != tuners.NoTrial {
		c.Score = new(Real(r.Score))
	}
	c.Values = Reals(r.Values)
	for _, m := range r.Measured {
		rec := Measured{Score: Real(m.Score), FLOPs: m.FLOPs, Params: m.Params, Votes: m.Votes}
		for _, x := range m.Clients {
			rec.Clients = append(rec.Clients, Real(x))
		}
		c.Measured = append(c.Measured, rec)
	}
	c.Samples = r.Samples
	return c
}

// Report returns that of a Report.
func (c *Call) Report() tuners.TrialReport {
	r := tuners.TrialReport{Trial: *c.Trial, Round: c.Round, Score: math.NaN(), Failed: c.Failed, Reason: c.Reason}
	if c.Score != nil {
		r.Score = float64(*c.Score)
	}
	r.Values = Numbers(c.Values)
	for _, m := range c.Measured {
		point := tuners.Measured{Score: float64(m.Score), FLOPs: m.FLOPs, Params: m.Params, Votes: m.Votes}
		for _, x := range m.Clients {
			point.Clients = append(point.Clients, float64(x))
		}
		r.Measured = append(r.Measured, point)
	}
	r.Samples = c.Samples
	return r
}

// Suggested returns the decisions of a Suggest.
func (c *Call) Suggested() ([]tuners.Decision, error) {
	var out []tuners.Decision
	for _, r := range c.Decisions {
		d := tuners.Decision{Trial: r.Trial, Params: r.Params, ToRound: r.ToRound, Environment: r.Environment, Table: r.Table, Points: r.Points, LocalSearch: r.Local}
		for kind := tuners.Start; kind <= tuners.Local; kind++ {
			if kind.String() == r.Kind {
				d.Kind = kind
			}
		}
		if d.Kind == 0 {
			return nil, fmt.Errorf("unknown recorded decision %q", r.Kind)
		}
		if r.Source != nil {
			d.Source = *r.Source
		}
		if r.Best != nil {
			d.Best = *r.Best
		}
		out = append(out, d)
	}
	return out, nil
}

// Same reports whether two records hold the same call and answer.
func (c *Call) Same(o *Call) bool {
	a, errA := json.Marshal(c)
	b, errB := json.Marshal(o)
	return errA == nil && errB == nil && c.Kind == o.Kind && bytes.Equal(a, b)
}
