// Package oneshot is the session of a tuner of one shot: clients train by themselves with
// some configurations, what they tell decides about one, and that is the study's only trial.
package oneshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/grid"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// MostConfigs bounds the option configs.
const MostConfigs = 1000

// Options are the options of every such tuner.
var Options = []tuners.Option{
	{Name: "configs", Default: tuners.Num(25), Doc: "number of configurations that each client trains with by itself"},
	{Name: "clients", Default: tuners.Num(0), Doc: "number of clients that do, drawn by the seed; 0: all"},
	{Name: "epochs", Default: tuners.Num(0), Doc: "local epochs of each of these trainings; 0: client.epochs or client.steps"},
}

// Plan is what the options fix.
type Plan struct {
	configs int
	Search  tuners.LocalSearch
}

// ReadPlan reads the options and checks the rest of a request.
func ReadPlan(r *options.Reader, req tuners.ValidateRequest) Plan {
	b := req.Budget
	p := Plan{configs: r.Whole("configs", 1, MostConfigs)}
	p.Search.Clients = r.Whole("clients", 0, 1<<30)
	if req.Private && p.Search.Clients > 0 {
		r.Problem("options.clients", "in a private study all clients take part, since who is drawn would reveal others; leave clients out")
	}
	p.Search.Epochs = r.Real("epochs", "from 0 to 1000", func(x float64) bool { return x >= 0 && x <= 1000 })
	if b.TrialRounds < 1 || b.Rounds < b.TrialRounds {
		r.Problem("budget.rounds", "budget.rounds = %d is less than one trial of %d rounds (budget.trial_rounds)", b.Rounds, b.TrialRounds)
	}
	for _, i := range points.Free(req.Space) {
		if d := req.Space[i]; !strings.HasPrefix(d.Name, "client.") {
			r.Problem("space."+d.Name, "clients that train by themselves do not show which value of %s is good: give it one value, such as { choice = [%s] }", d.Name, d.Sample(0.5))
		}
	}
	return p
}

// Points are the configurations: all points of a space that has no more, else different ones
// that are drawn.
func (p Plan) Points(req tuners.OpenRequest) []tuners.Params {
	scale := points.Scale{Space: req.Space}
	if n, all := grid.Count(req.Space, 1, p.configs); all && !scale.Real() && !req.Space.Conditional() {
		return list.Made(n, func(i int) tuners.Params { return grid.Point(req.Space, 1, i) })
	}
	var out []tuners.Params
	const tries = 20 // for each, where few points are left
	for i := 0; len(out) < p.configs && i < tries*p.configs; i++ {
		point := req.Space.Sample(tuners.NewDraws(req.Seed, i, 0, "local params"))
		if !slices.ContainsFunc(out, point.Equal) {
			out = append(out, point)
		}
	}
	return out
}

// state is everything that calls change.
type state struct {
	Asked   bool          `json:"asked,omitempty"`
	Chosen  tuners.Params `json:"chosen,omitempty"`
	Started bool          `json:"started,omitempty"`
	Over    bool          `json:"over,omitempty"` // the trial has reported, or there is none
	Failed  bool          `json:"failed,omitempty"`
}

type session struct {
	tuners.TrialsOnly
	record.Record
	name   string
	req    tuners.OpenRequest
	points []tuners.Params
	search tuners.LocalSearch
	choose func([]tuners.Params, tuners.TrialReport) (tuners.Params, error)
	state  state
}

// Open starts or continues the session of the tuner called name, which chooses the trial's
// params by what is reported of the configurations.
func Open(name string, req tuners.OpenRequest, p Plan, choose func(configs []tuners.Params, r tuners.TrialReport) (tuners.Params, error)) (tuners.Session, error) {
	s := &session{name: name, req: req, points: p.Points(req), search: p.Search, choose: choose}
	s.search.Votes = min(s.search.Votes, len(s.points))
	return s, s.Begin(name, req.State, &s.state)
}

// Suggest has clients train by themselves, then starts the trial.
func (s *session) Suggest(context.Context, int) ([]tuners.Decision, error) {
	var d tuners.Decision
	switch st := &s.state; {
	case !st.Asked:
		st.Asked = true
		d = tuners.Decision{Kind: tuners.Local, Trial: tuners.NoTrial, Points: s.points, LocalSearch: &s.search}
	case st.Over && st.Failed:
		d = tuners.Decision{Kind: tuners.Done, Best: -1}
	case st.Over:
		d = tuners.Decision{Kind: tuners.Done}
	case st.Chosen == nil || st.Started:
		d = tuners.Decision{Kind: tuners.Wait}
	default:
		st.Started = true
		d = tuners.Decision{Kind: tuners.Start, Params: st.Chosen, ToRound: s.req.Budget.TrialRounds}
	}
	return []tuners.Decision{d}, s.Save(&s.state)
}

// Report chooses by what clients told, or ends with the trial.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	st := &s.state
	switch {
	case r.Trial == tuners.NoTrial && st.Asked && st.Chosen == nil && r.Failed:
		st.Over, st.Failed = true, true
	case r.Trial == tuners.NoTrial && st.Asked && st.Chosen == nil:
		if len(r.Measured) != len(s.points) {
			return fmt.Errorf("%s: asked for %d configurations, got %d", s.name, len(s.points), len(r.Measured))
		}
		var err error
		if st.Chosen, err = s.choose(s.points, r); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	case r.Trial == 0 && st.Started && !st.Over:
		st.Over, st.Failed = true, r.Unusable()
	default:
		return fmt.Errorf("%s: report for trial %d, which is not running", s.name, r.Trial)
	}
	return s.Save(st)
}
