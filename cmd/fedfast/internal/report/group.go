package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
)

// group are studies that differ in their seed alone.
type group struct {
	// Name is the directory of the first of them, or that of all seeds. Groups whose studies
	// have names of their own have these.
	Name    string
	Studies []*Study
}

// groups puts studies together that differ in their seed alone. One that has a seed which its
// group has already is the same study again: it begins another group.
func groups(studies []*Study) ([]*group, error) {
	var all []*group
	place := map[string]*group{}
	for _, s := range studies {
		c := *s.Config
		c.Seed = 0
		text, err := config.Encode(&c)
		if err != nil {
			return nil, err
		}
		key := s.Mode + string(text)
		for place[key] != nil && slices.ContainsFunc(place[key].Studies, func(o *Study) bool { return o.Config.Seed == s.Config.Seed }) {
			key += "again"
		}
		if place[key] == nil {
			place[key] = &group{Name: s.Dir}
			all = append(all, place[key])
		}
		place[key].Studies = append(place[key].Studies, s)
	}
	for _, g := range all {
		if len(g.Studies) > 1 {
			g.Name = strings.TrimSuffix(g.Name, fmt.Sprintf("/seed-%d", g.Studies[0].Config.Seed))
		}
	}
	own := map[string]bool{"": true}
	for _, g := range all {
		own[g.Studies[0].Config.Name] = true
	}
	if len(own) == len(all)+1 && len(all) > 1 {
		for _, g := range all {
			g.Name = g.Studies[0].Config.Name
		}
	}
	return all, nil
}

// seeds are the studies' overviews.
func (g *group) seeds() (all view.Seeds) {
	for _, s := range g.Studies {
		all = append(all, s.Overview)
	}
	return all
}

func (g *group) mean(of func(*view.Overview) float64) string { return g.seeds().Mean(of) }
