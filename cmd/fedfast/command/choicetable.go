package command

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/tuners"
)

// printChoice prints the model that a study returns, how it was chosen, and the
// errors of it and of those that it was not.
func (a *app) printChoice(c *config.Config, r *study.Result) error {
	if curve := r.Trials[r.Best.Number].Curve; len(curve) > 0 {
		fmt.Fprintf(a.out, "\n%s of trial %d\n", strings.TrimPrefix(config.Models(c.Measures(config.ModeTune)), "the "), r.Best.Number)
		if err := (learned{curve: curve, target: c.Measures(config.ModeTune), patience: r.Patience, measure: r.Measure}).print(a.out); err != nil {
			return err
		}
	}
	if err := printFinalists(a.out, c, r); err != nil {
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

// scoredOn says what the winner's score was taken on.
func scoredOn(r *study.Result) string {
	if len(r.Finalists) == 0 {
		return "lowest score of any cohort; optimistic"
	}
	f := r.Finalists[0]
	return fmt.Sprintf("on the validation samples of %s clients", table.Count(f.Clients))
}

// printFinalists prints the models among which the study chose.
func printFinalists(w io.Writer, c *config.Config, r *study.Result) error {
	if len(r.Finalists) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%d finalists, scored %s", len(r.Finalists), scoredOn(r))
	if c.Score.Epsilon > 0 {
		fmt.Fprintf(w, ", each at an additional privacy cost of score.epsilon = %v", c.Score.Epsilon)
	}
	fmt.Fprintln(w)
	scale := study.ScaleOf(c, r.Measure)
	t := table.New(w, "trial", "round", "finalist by", "one cohort", scale.String(), "")
	for _, f := range r.Finalists {
		as, outcome := "snapshot", ""
		if f.Survivor {
			as = "survivor"
		}
		switch {
		case f.Trial == r.Best.Number && f.Round == r.Best.Round:
			outcome = "winner"
		case f.Trial == r.Luckiest.Number && f.Round == r.Luckiest.Round:
			outcome = "luckiest"
		}
		t.Row(strconv.Itoa(f.Trial), strconv.Itoa(f.Round), as, scale.Text(f.CohortScore), scale.Text(f.Score), outcome)
	}
	return t.Flush()
}

// modelsOf returns the models of a result, one that has several names once.
func modelsOf(r *study.Result) []measured {
	models := []measured{{"winner", r.Best.Errors}}
	places := []string{placeOf(&r.Best)}
	for _, m := range []struct {
		name string
		*study.Chosen
	}{{"survivor", r.Survivor}, {"luckiest", r.Luckiest}} {
		if m.Chosen == nil {
			continue
		}
		if at := slices.Index(places, placeOf(m.Chosen)); at >= 0 {
			models[at].name += ", " + m.name
			continue
		}
		models, places = append(models, measured{m.name, m.Errors}), append(places, placeOf(m.Chosen))
	}
	for i := range models {
		models[i].name += " " + places[i]
	}
	return models
}

// placeOf says where in the study a model was.
func placeOf(m *study.Chosen) string { return fmt.Sprintf("(trial %d, round %d)", m.Number, m.Round) }

// modelFiles names the files of a study's models.
func modelFiles(r *study.Result) string {
	files := []string{workdir.ModelFile}
	for _, m := range workdir.Others(r) {
		files = append(files, m.File)
	}
	return strings.Join(files, ", ")
}
