package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
)

// mostOrdered is how many groups order names.
const mostOrdered = 4

// order tells which groups have the lowest test errors of a target, and how they differ from the
// first one, or where seeds do not tell that what errors they have. The errors of all are of one kind.
func order(all []*group, target string) []string {
	scale := all[0].Studies[0].Told()
	type place struct {
		error float64
		text  string
	}
	var places []place
	of := view.TestOf(target)
	for _, g := range all {
		if x := g.seeds().Sample(of).Mean; !math.IsNaN(x) {
			places = append(places, place{x, g.Name + " " + g.mean(of)})
		}
	}
	if len(places) < 2 {
		return nil
	}
	sign, most := 1.0, "Lowest "
	if scale.Maximize {
		sign, most = -1, "Highest "
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(sign*a.error, sign*b.error) })
	var told []string
	common := 0
	for _, d := range differences(all, target) {
		if common = max(common, d.N); d.N > 1 && len(told) < mostOrdered {
			text := d.name + " is " + view.Difference(d.Mean, &d.Half, scale.Percent)
			if d.verdict == untold {
				text += view.Untold
			}
			told = append(told, text)
		}
	}
	ranking, listed := places[0].text, len(told) == 0
	for i, p := range places[1:min(mostOrdered, len(places))] {
		switch {
		case scale.Text(p.error) == scale.Text(places[i].error):
			ranking += ", equal to " + p.text
		case listed:
			ranking += ", " + p.text
		default:
			ranking, listed = ranking+", before "+p.text, true
		}
	}
	ranking = target + " test " + scale.Metric + ": " + ranking
	switch {
	case len(told) > 0:
		return []string{most + ranking + ".", fmt.Sprintf("Against %s, paired by seed (%.0f %% intervals): %s.", all[0].Name, 100*stats.Confidence, strings.Join(told, ", "))}
	case common > 0:
		return []string{view.Sentence(ranking + "; with one seed in common, the difference may be chance; train with --seeds 5")}
	}
	return []string{view.Sentence(ranking + "; without a seed in common, the difference may be chance")}
}

// difference is how the test error of a group differs from that of the first, over the seeds that
// both have.
type difference struct {
	name string
	stats.Sample
	p       float64 // by Student's paired test, for all groups together
	verdict string
}

// untold is the verdict about a difference that may be chance.
const untold = "cannot be told"

// differences compares each group with the first.
func differences(all []*group, target string) (found []difference) {
	of := view.TestOf(target)
	var ps []float64
	for _, g := range all[1:] {
		var values []float64
		for _, s := range g.Studies {
			for _, r := range all[0].Studies {
				if x := of(s.Overview) - of(r.Overview); s.Config.Seed == r.Config.Seed && !math.IsNaN(x) && s.Told() == r.Told() {
					values = append(values, x)
				}
			}
		}
		d := difference{name: g.Name, verdict: untold}
		if d.Sample, d.p = stats.Paired(values); !math.IsNaN(d.p) {
			ps = append(ps, d.p)
		}
		if d.Mean == 0 && !(d.SD > 0) {
			d.verdict = "equal"
		}
		if d.N > 0 {
			found = append(found, d)
		}
	}
	ps = stats.Holm(ps)
	for i := range found {
		d := &found[i]
		if math.IsNaN(d.p) {
			continue
		}
		d.p, ps = ps[0], ps[1:]
		switch {
		case d.verdict == "equal" || d.p >= 1-stats.Confidence:
		case d.Mean < 0:
			d.verdict = "lower"
		default:
			d.verdict = "higher"
		}
	}
	return found
}

// trivial is a predictor that looks at no input, with its test error under a target.
type trivial struct {
	name, target, group string
	error               float64
}

// trivials are the trivial predictors of groups, with the group's name where they differ.
func trivials(all []*group, targets ...string) (found []trivial) {
	for _, target := range targets {
		var own []trivial
		for _, g := range all {
			t := trivial{target: target, group: g.Name}
			t.error = g.seeds().Sample(func(s *view.Overview) (x float64) {
				if e := s.Errors(); e != nil {
					t.name, x = e.Trivial.Of(target)
					return x
				}
				return math.NaN()
			}).Mean
			write := g.Studies[0].ErrorText
			if !math.IsNaN(t.error) && !slices.ContainsFunc(own, func(o trivial) bool { return write(o.error) == write(t.error) }) {
				own = append(own, t)
			}
		}
		for i := range own {
			if own[i].name = "always " + own[i].name; len(own) > 1 {
				own[i].name += " (" + own[i].group + ")"
			}
		}
		found = append(found, own...)
	}
	return found
}

// notes say how the trainings of a group ended early and what is wrong with its models, with its
// name where there are others.
func (g *group) notes(others bool) (all []string) {
	prefix := ""
	if others {
		prefix = g.Name + ": "
	}
	_, warnings := g.seeds().Notes()
	all = append(all, list.Of(g.seeds().Ended(), func(text string) string { return prefix + text })...)
	all = append(all, list.Of(warnings, func(text string) string { return "Warning: " + prefix + text + "." })...)
	return all
}
