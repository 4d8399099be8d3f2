package repro

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/figure"
)

// Multiples returns pictures of small multiples, of each set of data and variant: what
// FedEx gains over its settings, and what wrappers gain over the discount of scores.
func (r *Report) Multiples() []*figure.Figure {
	return slices.Concat(r.ablationFigures(), r.discountFigures())
}

// figures are pictures in the order in which they were begun.
type figures []*figure.Figure

// of returns the picture of an experiment in a variant, and begins it.
func (all *figures) of(experiment, variant string, begin func() *figure.Figure) *figure.Figure {
	name := keyOf(experiment)
	if variant != "" {
		name += "-" + odd(variant)
	}
	if at := slices.IndexFunc(*all, func(f *figure.Figure) bool { return f.Name == name }); at >= 0 {
		return (*all)[at]
	}
	f := begin()
	f.Name = name
	*all = append(*all, f)
	return f
}

// addPoint adds a point to the line of a panel, in the order of x. If no panel has the
// title of begun, it adds begun.
func addPoint(panels []figure.Panel, begun figure.Panel, line string, q figure.Point) []figure.Panel {
	at := slices.IndexFunc(panels, func(p figure.Panel) bool { return p.Title == begun.Title })
	if at < 0 {
		at = len(panels)
		panels = append(panels, begun)
	}
	p := &panels[at]
	l := slices.IndexFunc(p.Lines, func(l figure.Line) bool { return l.Name == line })
	if l < 0 {
		l = len(p.Lines)
		p.Lines = append(p.Lines, figure.Line{Name: line})
	}
	points := p.Lines[l].Points
	behind, _ := slices.BinarySearchFunc(points, q.X, func(p figure.Point, x float64) int { return cmp.Compare(p.X, x) })
	p.Lines[l].Points = slices.Insert(points, behind, q)
	return panels
}

// discountFigures have a panel for each target and kind of wrapper, that of the most
// rounds and, among these, of the most arms.
func (r *Report) discountFigures() []*figure.Figure {
	var all figures
	for i := range r.Verdicts {
		p := &r.Verdicts[i].Pairs
		if len(p.Discounted) == 0 {
			continue
		}
		path := strings.Split(p.Name, "/") // fedex-paired/SET/TARGET
		f := all.of(path[0]+"/"+path[1]+"/discount", p.Variant, func() *figure.Figure {
			return &figure.Figure{
				Title: "what discounted scores gain, " + path[1] + " (" + variantText(p.Variant) + ")",
				Note:  "Points of test error where a wrapper ends, less than by the last round's score alone; bars: 90 % interval (jackknife over pairs).",
			}
		})
		most := map[string]Wrapper{}
		for _, o := range p.Discounted {
			if m := most[o.name()]; o.Rounds > m.Rounds || o.Rounds == m.Rounds && o.Arms > m.Arms {
				most[o.name()] = o.Wrapper
			}
		}
		for _, o := range p.Discounted {
			if m := most[o.name()]; o.Rounds != m.Rounds || o.Arms != m.Arms {
				continue
			}
			panel := figure.Panel{
				Title: fmt.Sprintf("%s, %s of %d", path[2], o.name(), o.Arms),
				X:     figure.Axis{Label: "discount", Names: discountNames()}, Y: figure.Axis{Label: "gain, points", Bands: true},
			}
			for _, name := range []string{"without FedEx", "with FedEx"} { // the last round's score alone gains 0
				panel.Lines = append(panel.Lines, figure.Line{Name: name, Points: []figure.Point{{X: 1}}})
			}
			at := float64(2 + slices.Index(discounts, o.Discount))
			f.Panels = addPoint(f.Panels, panel, "without FedEx", figure.Point{X: at, Y: o.AloneLess.Mean, Half: o.AloneLess.Half})
			f.Panels = addPoint(f.Panels, panel, "with FedEx", figure.Point{X: at, Y: o.FreshLess.Mean, Half: o.FreshLess.Half})
		}
	}
	return all
}

// discountNames are the names of discounts beside the last round's score alone.
func discountNames() []string {
	names := []string{"0"}
	for _, d := range discounts {
		names = append(names, fmt.Sprint(d))
	}
	return names
}
