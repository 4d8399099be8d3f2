package conformance

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/tuners"
)

// runner runs the trials of a study on its surface.
type runner struct {
	study *Study
	in    *session
}

// Act takes note of a decision, and of the trial that it opens.
func (r *runner) Act(_ context.Context, d tuners.Decision) error {
	out := r.in.out
	out.Said = append(out.Said, describe(d))
	switch d.Kind {
	case tuners.Start:
		out.Trials = append(out.Trials, &Trial{Number: d.Trial, Params: d.Params, Source: -1})
	case tuners.Fork:
		out.Trials = append(out.Trials, &Trial{Number: d.Trial, Params: d.Params, Source: d.Source, Rounds: out.Trials[d.Source].Rounds})
	case tuners.Done:
		out.Best = d.Best
	case tuners.Resume, tuners.Stop, tuners.Release, tuners.Wait, tuners.Score, tuners.Local:
	}
	return nil
}

// Run takes a trial's score from the surface, or lets its client tuner play its
// rounds.
func (r *runner) Run(ctx context.Context, seg play.Segment, begins func(int)) (tuners.TrialReport, error) {
	s, out := r.study, r.in.out
	if seg.LocalSearch != nil {
		return tuners.TrialReport{Trial: tuners.NoTrial, Score: math.NaN(), Measured: local(s.Surface, seg.Points, seg.LocalSearch), Samples: make([]int, localClients)}, nil
	}
	t := out.Trials[seg.Trial]
	if len(seg.Points) > 0 {
		return tuners.TrialReport{Trial: t.Number, Round: t.Rounds, Score: t.Score, Measured: measure(r.in.req.Space, t, seg.Points)}, nil
	}
	out.Rounds += seg.To - t.Rounds
	if s.Clients == nil {
		t.Rounds, t.Score = seg.To, s.Surface.Score(t.Params, seg.To)
	} else if t.client == nil {
		req := r.in.req
		req.Trial, req.Params, req.State, req.Options = t.Number, base.Merge(t.Params), s.prepared, s.ClientOptions
		var err error
		if t.client, err = s.open(ctx, s.Clients, req, out); err != nil {
			return tuners.TrialReport{}, err
		}
	}
	for t.Rounds < seg.To {
		begins(t.Rounds)
		if err := s.round(ctx, t.client, t); err != nil {
			return tuners.TrialReport{}, err
		}
	}
	if t.Failed = s.Fails != nil && s.Fails(t.Number); t.Failed {
		t.Score = math.NaN()
		return tuners.TrialReport{Trial: t.Number, Round: t.Rounds, Score: t.Score, Failed: true, Reason: "failed on purpose"}, nil
	}
	return tuners.TrialReport{Trial: t.Number, Round: t.Rounds, Score: t.Score, Values: s.values(t)}, nil
}

// measure makes up what sub-networks come to: the larger ones cost more and, up to
// a point of the surface for the others, score better.
func measure(space tuners.Space, t *Trial, points []tuners.Params) []tuners.Measured {
	all := make([]tuners.Measured, len(points))
	for i, p := range points {
		sum, n := 0.0, 0.0
		for _, d := range space.Matching(tuners.ArchPrefix + "*") {
			at := len(d.Choices) - 1
			if v, ok := p[d.Name]; ok {
				at = slices.Index(d.Choices, v)
			}
			sum += float64(at+1) / float64(len(d.Choices))
			n++
		}
		share := sum / max(n, 1)
		all[i] = tuners.Measured{Score: 0.9 - float64(0.4*share) + float64(0.1*share*share) + float64(0.01*float64(t.Number)), FLOPs: 1e6 * share, Params: 1e4 * share}
	}
	return all
}

// Reporting counts the trials that have a score.
func (r *runner) Reporting(_ context.Context, report tuners.TrialReport) error {
	if report.Trial == tuners.NoTrial {
		return nil
	}
	if t := r.in.out.Trials[report.Trial]; !t.reported {
		t.reported = true
		r.in.out.reported++
	}
	return nil
}

// describe writes a decision.
func describe(d tuners.Decision) string {
	switch d.Kind {
	case tuners.Start:
		return fmt.Sprintf("start trial %d to round %d with %s", d.Trial, d.ToRound, d.Params)
	case tuners.Fork:
		return fmt.Sprintf("fork trial %d as trial %d to round %d with %s", d.Source, d.Trial, d.ToRound, d.Params)
	case tuners.Resume:
		return fmt.Sprintf("resume trial %d to round %d", d.Trial, d.ToRound)
	case tuners.Done:
		return fmt.Sprintf("done, best is trial %d", d.Best)
	case tuners.Wait:
		return "wait"
	case tuners.Score:
		return fmt.Sprintf("score trial %d with %v", d.Trial, d.Points)
	case tuners.Local:
		return fmt.Sprintf("train %v by clients themselves, %+v", d.Points, *d.LocalSearch)
	case tuners.Stop, tuners.Release:
	}
	return fmt.Sprintf("%s trial %d", d.Kind, d.Trial)
}

// describePlan writes a plan.
func describePlan(p tuners.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "server %s;", p.Server)
	for i, c := range p.Clients {
		fmt.Fprintf(&b, " %d: %s;", i, c)
	}
	for _, c := range p.Table {
		fmt.Fprintf(&b, " %v: %s;", c.Keys, c.Params)
	}
	return b.String()
}

// Surface is what stands in for federated training: a score, an error from 0 to 1,
// for every point and round.
type Surface interface {
	// Space is where the surface is defined. It is asked about points of larger
	// spaces, too, and does not look at their other names.
	Space() tuners.Space
	// Score is the validation error of a trial with these params after a number of
	// rounds, at least 1.
	Score(p tuners.Params, round int) float64
}

// localClients train by themselves in a study on a surface.
const localClients = 4

// local makes up what clients come to that train by themselves: what the surface has after a
// round, each with an offset of its own, which changes no order.
func local(s Surface, points []tuners.Params, search *tuners.LocalSearch) []tuners.Measured {
	all := make([]tuners.Measured, len(points))
	for i, p := range points {
		all[i].Score = s.Score(p, 1)
	}
	if search.Votes == 0 {
		for i := range all {
			for client := range localClients {
				all[i].Clients = append(all[i].Clients, all[i].Score+float64(0.01*float64(client)))
			}
		}
		return all
	}
	order := list.Made(len(all), func(i int) int { return i })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].Score, all[b].Score) })
	for _, i := range order[:min(search.Votes, len(order))] {
		all[i].Votes = localClients
	}
	for i := range all {
		all[i].Score = math.NaN()
	}
	return all
}

// bowl is the surface of the checks, on a space that every tuner can work on, with few enough
// points for a grid.
type bowl struct{}

// Bowl returns a quadratic bowl over client.epochs, client.lr and client.momentum with its minimum
// at 0.4 of each range.
func Bowl() Surface { return bowl{} }

// Space returns the space of the surface.
func (bowl) Space() tuners.Space {
	return tuners.Space{
		{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 3},
		{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
		{Name: "client.momentum", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Num(0), tuners.Num(0.9)}},
	}
}

// Score falls exponentially from 0.9, to 1/e of what is above its end in 10 rounds. It ends at
// 0.05 + 0.8 h where h is the mean square of the point's distances from the minimum.
func (b bowl) Score(p tuners.Params, round int) float64 {
	sum, at := 0.0, b.Space().Unit(p)
	for _, x := range at {
		sum += (x - 0.4) * (x - 0.4)
	}
	end := 0.05 + 0.8*math.Min(1, sum/float64(len(at)))
	return end + (0.9-end)*math.Exp(-float64(round)/10)
}
