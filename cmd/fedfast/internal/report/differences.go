package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// mostKeys is how many keys have columns in the table of studies.
const mostKeys = 4

// differing are the keys that do not have one value in all groups.
func differing(all []*group) []string {
	keys := map[string]bool{}
	for _, g := range all {
		for _, s := range g.Studies {
			for key := range s.settings {
				keys[key] = true
			}
		}
	}
	maps.DeleteFunc(keys, func(key string, _ bool) bool {
		return key == "name" || key == "seed" || !slices.ContainsFunc(all, func(g *group) bool { return g.setting(key) != all[0].setting(key) })
	})
	return slices.Sorted(maps.Keys(keys))
}

// settle reads the settings of a comparison: of a tuned study those of Anew.
func (s *Study) settle() (err error) {
	c, own := s.Config, []string(nil)
	if s.Tune != nil {
		if c, own, err = Anew(s.Text, s.Tune); err != nil {
			return err
		}
	}
	s.settings, err = config.AllSettings(c)
	for _, key := range own {
		s.settings[key] = "each client's own"
	}
	return err
}

// Anew returns the configuration of a tuned study with the hyperparameters with which its model
// ended, for as many rounds as its trials had at most, and the keys of those that each client has
// of its own.
func Anew(text string, r *result.Result) (c *config.Config, own []string, err error) {
	var sets []string
	for _, key := range r.Best.Params.Keys() {
		if strings.HasPrefix(key, tuners.ArchPrefix) {
			own = append(own, key)
		}
		if _, ok := hyper.FindTunable(key); !ok {
			continue // the tuner's own
		}
		value, err := r.Best.Params[key].MarshalTOML()
		if err != nil {
			return nil, nil, err
		}
		sets = append(sets, key+"="+string(value))
	}
	for _, cell := range r.Best.Table {
		own = append(own, cell.Params.Keys()...)
	}
	for key := range r.Best.StartedFrom {
		if _, ok := r.Best.Params[key]; !ok {
			own = append(own, key)
		}
	}
	if c, err = config.Load(config.Source{Text: text, Sets: sets}); err != nil {
		return nil, nil, err
	}
	if c.Rounds = r.Best.Round; c.Budget.InRounds() {
		c.Rounds = c.Budget.TrialRounds
	}
	return c, own, nil
}

// setting are the values of a key, of tuned studies the winners'.
func (g *group) setting(key string) string {
	var values []string
	for _, s := range g.Studies {
		if v := cmp.Or(s.settings[key], "default"); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return strings.Join(values, ", ")
}

// diff has a row for each key in which groups differ.
func diff(all []*group, keys []string) *Table {
	t := &Table{Title: "Differences of the configurations", Head: []string{"key"}}
	for _, g := range all {
		t.Head = append(t.Head, g.Name)
	}
	for _, key := range keys {
		row := list.Of(all, func(g *group) string { return g.setting(key) })
		t.Rows = append(t.Rows, append([]string{key}, row...))
	}
	return t
}

// settingsTable has the keys of the study that are not at their defaults, nil for none.
func (s *Study) settingsTable() *Table {
	settings, err := config.Settings(s.Config)
	if err != nil || len(settings) == 0 {
		return nil
	}
	t := &Table{Title: "Keys that differ from the defaults", Head: []string{"key", "value"}}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		t.Rows = append(t.Rows, []string{key, settings[key]})
	}
	return t
}

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
func (g *group) seeds() view.Seeds {
	return list.Of(g.Studies, func(s *Study) *view.Overview { return s.Overview })
}

func (g *group) mean(of func(*view.Overview) float64) string { return g.seeds().Mean(of) }
