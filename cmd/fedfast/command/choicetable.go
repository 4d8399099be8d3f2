package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// printChoice prints the model that a study returns, how it was chosen, and the
// errors of it and of those that it was not.
func (a *app) printChoice(c *config.Config, r *result.Result) error {
	if len(r.Trial(r.Best.Number).Curve) > 0 {
		models := strings.TrimPrefix(config.Models(c.Measures(config.ModeTune)), "the ")
		fmt.Fprintf(a.out, "\n%s of %s\n", models, r.Named(r.Best.Number))
		if err := (learned{Ending: view.OfTune(r), target: c.Measures(config.ModeTune)}).print(a.out); err != nil {
			return err
		}
	}
	if err := printBelow(a.out, view.Ended(c, r).FinalistTable()); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	if err := table.Text(a.out, "winner: "+r.Why(c)); err != nil {
		return err
	}
	t := table.New(a.out)
	for _, key := range r.Best.Params.Keys() {
		t.Row("  "+key, r.Best.Params[key].String())
	}
	if picksPerClient(c) {
		t.Row("  "+tuners.ArchPrefix+"*", "each client's own")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return printErrors(a.out, modelsOf(r)...)
}

// modelsOf returns the models of a result, one that has several names once.
func modelsOf(r *result.Result) []view.Model {
	models := []view.Model{{Name: "winner", Errors: r.Best.Errors}}
	places := []string{placeOf(r, &r.Best)}
	for _, m := range []struct {
		name string
		*result.Chosen
	}{{"survivor", r.Survivor}, {"luckiest", r.Luckiest}} {
		if m.Chosen == nil {
			continue
		}
		if at := slices.Index(places, placeOf(r, m.Chosen)); at >= 0 {
			models[at].Name += ", " + m.name
			continue
		}
		models, places = append(models, view.Model{Name: m.name, Errors: m.Errors}), append(places, placeOf(r, m.Chosen))
	}
	for i := range models {
		models[i].Name += " " + places[i]
	}
	return models
}

// placeOf says where in the study a model was.
func placeOf(r *result.Result, m *result.Chosen) string {
	return fmt.Sprintf("(%s, round %d)", r.Named(m.Number), m.Round)
}

// modelFiles names the files of a study's models.
func modelFiles(r *result.Result) string {
	others := list.Of(workdir.Others(r), func(m workdir.Other) string { return m.File })
	return strings.Join(append([]string{workdir.ModelFile}, others...), ", ")
}

// picksPerClient says whether a built-in client tuner of the study picks the sub-networks
// of clients, so that no client trains the one that a trial drew. A tuner that forks
// gives those that it picks to its trials.
func picksPerClient(c *config.Config) bool {
	name := cmp.Or(c.ClientTuner.Name, c.Tuner.Name)
	t, ok := plugins.Builtin()[name]
	if !ok {
		return false
	}
	about, err := t.Describe(context.Background())
	return err == nil && about.Rounds && !about.Fork && tuners.Matches(tuners.ArchPrefix+"x", about.Controls...)
}
