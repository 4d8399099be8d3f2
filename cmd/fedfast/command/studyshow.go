package command

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/export"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/finite"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// studyShown is what `study show --json` tells besides tables.
type studyShown struct {
	studyEntry
	// Answer says in sentences how good the returned model or the best one so far is, Warnings what is
	// wrong with it, and TrialsNote whose hyperparameters the trials have.
	Answer     []string `json:"answer"`
	Warnings   []string `json:"warnings"`
	TrialsNote string   `json:"trials_note,omitempty"`
	// Next are steps that may follow, with their reasons and commands.
	Next []view.Step `json:"next"`
	// Worst are the clients with the highest test errors.
	Worst []worstClient `json:"worst_clients"`
}

// showStudy prints what a study has done so far, with ten of its trials or all.
func (a *app) showStudy(ctx context.Context, dir string, all bool) error {
	if workdir.HoldsSeeds(dir) {
		return a.showSeeds(ctx, dir, true)
	}
	v, o, err := openStudy(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // it was read only
	entry := entryOf(o)
	clients, said, err := worst(ctx, v, o)
	if err != nil {
		return err
	}
	if a.json {
		return a.printShown(ctx, v, studyShown{studyEntry: entry, Worst: clients})
	}
	a.printNotes(o.Notes)
	if a.verbose {
		t := table.New(a.out)
		t.Row("command", "fedfast "+entry.Command)
		t.Row("started", entry.Started)
		t.Row("sessions", oneline.Digits(len(o.Sessions)))
		t.Row("")
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if err := a.showWorkers(ctx, v); err != nil {
		return err
	}
	if entry.Command == config.ModeTune {
		if err := a.showTrials(&entry, all); err != nil {
			return err
		}
	}
	if err := a.showEnd(ctx, v, &entry); err != nil || len(clients) == 0 {
		return err
	}
	fmt.Fprintln(a.out)
	return table.Text(a.out, said)
}

// printNotes prints notes, if there are any, above what else is shown of a study.
func (a *app) printNotes(n view.Notes) {
	if text := n.Text(); text != "" {
		fmt.Fprintf(a.out, "%s\n\n", text)
	}
}

// worstClient is a client with one of the highest test errors.
type worstClient struct {
	Client       string  `json:"client"`
	Samples      int     `json:"test_samples"`
	Global       float64 `json:"global_test_error"`
	Personalized float64 `json:"personalized_test_error"`
}

// worst returns the clients with the highest test errors that are not 0, and these as text.
func worst(ctx context.Context, v *view.Study, o *view.Overview) (all []worstClient, said string, err error) {
	all = []worstClient{}
	clients, err := v.Clients(ctx, o)
	if err != nil || len(clients) < 2 {
		return all, "", err
	}
	what, _ := result.MeasureName(o.Measure())
	target, texts := "global", []string{}
	for _, c := range view.Worst(clients) {
		if view.Own(c) == 0 {
			break
		}
		if !math.IsNaN(c.Personalized) {
			target = "personalized"
		}
		all = append(all, worstClient{c.Name, c.Samples, c.Global, c.Personalized})
		samples := oneline.Count(c.Samples, "sample")
		texts = append(texts, fmt.Sprintf("%s (%s of %s)", oneline.Name(c.Name), o.ErrorText(view.Own(c)), samples))
	}
	return all, fmt.Sprintf("worst clients by %s test %s: %s", target, what, strings.Join(texts, ", ")), nil
}

// printShown prints the tables of a study as JSON.
func (a *app) printShown(ctx context.Context, v *view.Study, s studyShown) error {
	o := s.about
	s.Answer, s.TrialsNote = o.Answer(), o.StartNote()
	s.Warnings, s.Next = append([]string{}, o.Verdict()...), append([]view.Step{}, o.Next()...)
	text, err := finite.Marshal(s)
	if err != nil {
		return err
	}
	shown := map[string]any{}
	if err := json.Unmarshal(text, &shown); err != nil {
		return err
	}
	for _, name := range []string{"trials", "finalists", "models", "curves", "baseline", "sessions", "workers"} {
		if shown[name], err = export.Rows(ctx, v, name); err != nil {
			return err
		}
	}
	return a.printJSON(shown)
}

// showWorkers prints the workers of a study with a cluster.
func (a *app) showWorkers(ctx context.Context, v *view.Study) error {
	workers, err := v.Table(ctx, "workers")
	if err != nil || len(workers.Rows) == 0 {
		return err
	}
	shown := []string{"worker", "state", "last_trial", "trials", "rounds", "rounds_per_second", "workers", "level", "cpu"}
	t := table.New(a.out, shown...)
	for _, row := range workers.Rows {
		cells := list.Of(shown, func(name string) string { return cell(workers, row, name) })
		t.Row(cells...)
	}
	t.Row("")
	return t.Flush()
}

// showTrials prints the trials so far.
func (a *app) showTrials(entry *studyEntry, all bool) error {
	o := entry.about
	if len(o.Trials) == 0 {
		return nil
	}
	if err := printTrials(a.out, o, all); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.out)
	return err
}

// showEnd prints how a finished study ended, as `tune` and `run` do, and what others have
// come to.
func (a *app) showEnd(ctx context.Context, v *view.Study, entry *studyEntry) error {
	o := entry.about
	switch {
	case o.Tune != nil:
		if a.verbose {
			if err := a.printTuneDetails(o.Config, o.Tune); err != nil {
				return err
			}
		}
		if o.State == view.Completed {
			return a.printTuneBlock(o.Config, o.Tune, entry.Dir)
		}
		b := a.tuneBlock(o.Config, o.Tune, entry.stateText(), "in "+entry.Dir)
		b.next(entry.next()...)
		return b.print()
	case o.Run != nil:
		if err := ofRun(o.Config, o.Run).print(a.out); err != nil {
			return err
		}
		if a.verbose {
			if err := a.printRunDetails(o.Run); err != nil {
				return err
			}
		} else {
			fmt.Fprintln(a.out)
		}
		return a.printRunBlock(o.Config, o.Run, entry.Dir)
	}
	return a.printUnfinished(ctx, v, entry)
}

// next are the commands that may follow on an unfinished study.
func (e *studyEntry) next() []string {
	if dir := oneline.Path(e.Dir); e.State == view.Interrupted {
		return []string{"study resume " + dir, "report " + dir}
	}
	return []string{"ui " + parentOf(e.Dir)}
}

// printUnfinished prints what a study has come to that is at work or was interrupted.
func (a *app) printUnfinished(ctx context.Context, v *view.Study, entry *studyEntry) error {
	c := entry.about.Config
	rounds := c.Rounds
	if entry.Command == config.ModeTune {
		rounds = c.Budget.Rounds
	}
	done := oneline.Digits(entry.Rounds) + " of " + oneline.Digits(rounds)
	if entry.Command == config.ModeTune && !c.Budget.InRounds() {
		done = oneline.Digits(entry.Rounds)
	}
	head := []string{fmt.Sprintf("%s: %s after %s rounds", c.Name, entry.stateText(), done)}
	if entry.Command == config.ModeTune {
		head = append(head, oneline.Count(entry.Trials, "trial"))
	}
	b := newBlock(a.out, append(head, "in "+entry.Dir)...)
	shown := 0
	if best := entry.BestSoFar; best != nil {
		b.Row("best so far", fmt.Sprintf("~%s %v, trial %d, %s", entry.scale.Text(best.Score), entry.scale, best.Trial, best.basis))
		shown = best.Trial
	}
	var curve []result.CurvePoint
	for i := range entry.about.Trials {
		t := &entry.about.Trials[i]
		if t.Number != shown {
			continue
		}
		rounds, err := v.Curve(ctx, t, 0, 0)
		if err != nil {
			return err
		}
		for _, r := range rounds {
			if !math.IsNaN(r.TestError) {
				curve = append(curve, result.CurvePoint{Round: r.Round, TestError: r.TestError})
			}
		}
		if entry.BestSoFar != nil {
			b.rungs(c, entry.scale, len(t.Rungs), func(i int) (int, float64) { return t.Rungs[i].Round, t.Rungs[i].Score })
		}
	}
	b.curve(learned{Ending: view.Ending{Curve: curve, Measure: entry.about.Measure()}, target: c.Measures(entry.Command)})
	b.next(entry.next()...)
	return b.print()
}

// cell writes a value of a row for people.
func cell(t *store.Table, row []any, column string) string {
	switch x := row[slices.Index(t.Columns, column)].(type) {
	case float64:
		return fmt.Sprintf("%.4g", x)
	case nil:
		return "-"
	default:
		return fmt.Sprint(x)
	}
}
