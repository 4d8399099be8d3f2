package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/regular"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/conformance"
	"github.com/fedfast/fedfast/tuners/host"
)

// replayed is the result of tuner check --replay.
type replayed struct {
	Tuner   string  `json:"tuner"`
	Surface string  `json:"surface"`
	Lowest  float64 `json:"lowest"` // score of the surface at the last round that a trial may reach
	Budget  struct {
		Rounds      int `json:"rounds"`
		TrialRounds int `json:"trial_rounds"`
	} `json:"budget"`
	Survivor int     `json:"survivor"` // the tuner's choice, -1 for none
	Found    int     `json:"found"`    // the trial with the best score, -1 for none
	Seconds  float64 `json:"seconds"`
	*conformance.Outcome
}

// runReplay plays one study against a surface and tells what the tuner chose.
func (o *checkOptions) runReplay(ctx context.Context, a *app, ref host.Ref) error {
	played, err := o.study(a)
	if err != nil {
		return usageError{fmt.Errorf("--replay %s: %w", o.replay, err)}
	}
	p, err := host.Launch(ctx, ref, host.Options{CallTimeout: o.suite.Timeout, Logger: a.newLog()})
	if err != nil {
		return err
	}
	defer p.Close()
	about, err := p.Describe(ctx)
	if err != nil {
		return err
	}
	if err := o.accepted(ctx, p, about, &played); err != nil {
		return err
	}
	tuner := tuners.Tuner(p)
	if about.Rounds { // under points of the space, as the client tuner that it is
		played.Clients, played.ClientOptions, tuner = p, o.suite.Options, host.Local(conformance.Points())
	} else {
		played.Options = o.suite.Options
	}
	begin := time.Now()
	out, err := played.Play(ctx, tuner)
	if err != nil {
		return err
	}
	r := replayed{
		Tuner: ref.Name, Surface: o.replay, Survivor: out.Best, Found: out.Lowest(played.Objective), Outcome: out,
		Lowest: played.Surface.Lowest(played.Budget.TrialRounds), Seconds: time.Since(begin).Seconds(),
	}
	r.Budget.Rounds, r.Budget.TrialRounds = played.Budget.Rounds, played.Budget.TrialRounds
	if a.json {
		return a.printJSON(r)
	}
	return a.printReplay(r)
}

// accepted asks the tuner whether it can play the study, and looks for a budget
// that it accepts when none was given.
func (o *checkOptions) accepted(ctx context.Context, p *host.Plugin, about tuners.Description, s *conformance.Study) error {
	space, err := s.Surface.Space().With(about.Adds...)
	if err != nil {
		return err
	}
	budgets := []tuners.Budget{s.Budget}
	if s.Budget.Rounds == 0 {
		budgets = conformance.Budgets()
	}
	var refusal error
	for _, s.Budget = range budgets {
		problems, err := p.Validate(ctx, tuners.ValidateRequest{Space: space, Options: o.suite.Options, Budget: s.Budget, Objective: s.Objective})
		if err != nil {
			return err
		}
		if len(problems) == 0 {
			return nil
		}
		if refusal == nil {
			refusal = fmt.Errorf("tuner %q rejects the study: %s: %s", about.Name, problems[0].Key, problems[0].Message)
		}
	}
	return refusal
}

// study makes the study of the flags; its budget is zero when nothing gives one.
func (o *checkOptions) study(a *app) (conformance.Study, error) {
	s := conformance.Study{Seed: a.seed, Parallel: o.n}
	if slices.Contains(conformance.Surfaces(), o.replay) {
		surface, err := conformance.SurfaceByName(o.replay)
		if err != nil {
			return s, err
		}
		s.Surface = surface
	} else {
		r, err := readSurface(o.replay)
		if err != nil {
			return s, err
		}
		s.Surface, s.Objective = r, r.Objective
		if r.Budget.Rounds > 0 {
			s.Budget = r.Budget
		}
	}
	if o.rounds > 0 {
		s.Budget.Rounds = o.rounds
	}
	if o.trial > 0 {
		s.Budget.TrialRounds = o.trial
	}
	if s.Budget.Rounds == 0 && s.Budget.TrialRounds == 0 && o.n > 0 {
		return s, nil
	}
	if s.Budget.TrialRounds < 1 || s.Budget.Rounds < s.Budget.TrialRounds || o.n < 1 {
		return s, fmt.Errorf("a budget of %d rounds, %d per trial, with %d parallel trials runs nothing", s.Budget.Rounds, s.Budget.TrialRounds, o.n)
	}
	return s, nil
}

// readSurface reads a file, or the directory of a study.
func readSurface(path string) (*conformance.Recorded, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = conformance.SurfaceByName(path)
		return nil, fmt.Errorf("no such file or directory, and %w", err)
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return studySurface(path)
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return conformance.ReadRecorded(f)
}

// studySurface reads the trials of a finished study: their rungs, and the scores of
// their rounds where there are some.
func studySurface(dir string) (*conformance.Recorded, error) {
	c, err := config.Load(config.Source{File: filepath.Join(dir, workdir.ConfigFile)})
	if err != nil {
		return nil, err
	}
	text, err := wholefile.Read(filepath.Join(dir, workdir.ResultFile))
	if err != nil {
		return nil, fmt.Errorf("contains no finished study: %w", err)
	}
	var result result.Result
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, fmt.Errorf("%s: %w", workdir.ResultFile, err)
	}
	var dims []tuners.Dim
	for _, name := range slices.Sorted(maps.Keys(c.Space)) {
		d, err := tuners.ParseDim(name, c.Space[name])
		if err != nil {
			return nil, err
		}
		dims = append(dims, d)
	}
	space, err := tuners.NewSpace(dims...)
	if err != nil {
		return nil, err
	}
	r := conformance.NewRecorded(space)
	r.Budget = tuners.Budget{Rounds: c.Budget.Rounds, TrialRounds: c.Budget.TrialRounds}
	r.Objective.Metric = c.Objective
	for _, t := range result.Trials {
		p := tuners.Params{}
		for _, d := range space {
			p[d.Name] = t.Params[d.Name]
		}
		for _, rung := range t.Rungs {
			if math.IsNaN(rung.Score) || math.IsInf(rung.Score, 0) {
				continue
			}
			if err := r.Add(p, rung.Round, rung.Score); err != nil {
				return nil, fmt.Errorf("%s: trial %d: %w", workdir.ResultFile, t.Number, err)
			}
		}
	}
	if r.Points() == 0 {
		return nil, fmt.Errorf("%s: no trial has a score", workdir.ResultFile)
	}
	return r, nil
}

// brief writes params with few digits.
func brief(p tuners.Params) string {
	var b strings.Builder
	for i, name := range p.Keys() {
		if i > 0 {
			b.WriteByte(' ')
		}
		if x, ok := p[name].Float(); ok {
			fmt.Fprintf(&b, "%s=%.4g", name, x)
		} else {
			fmt.Fprintf(&b, "%s=%s", name, p[name])
		}
	}
	return b.String()
}

// replayRows is how many trials are shown.
const replayRows = 10

// printReplay writes what a tuner chose.
func (a *app) printReplay(r replayed) error {
	ranked := slices.Clone(r.Trials)
	slices.SortStableFunc(ranked, func(x, y *conformance.Trial) int {
		switch {
		case x.Rounds != y.Rounds: // scores of different rounds do not compare
			return y.Rounds - x.Rounds
		case x.Score < y.Score:
			return -1
		case x.Score > y.Score:
			return 1
		}
		return 0
	})
	t := table.New(a.out, "trial", "rounds", "score", "")
	for _, trial := range ranked[:min(len(ranked), replayRows)] {
		note := brief(trial.Params)
		if trial.Number == r.Survivor {
			note += "  <- returned"
		}
		t.Row(strconv.Itoa(trial.Number), strconv.Itoa(trial.Rounds), fmt.Sprintf("%.4f", trial.Score), note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if n := len(ranked) - replayRows; n > 0 {
		if _, err := fmt.Fprintf(a.out, "and %d more\n", n); err != nil {
			return err
		}
	}
	choice := "the tuner returned no trial"
	if r.Survivor >= 0 {
		c := r.Trials[r.Survivor]
		choice = fmt.Sprintf("the tuner returned trial %d: %.4f after %d rounds", c.Number, c.Score, c.Rounds)
	}
	_, err := fmt.Fprintf(a.out, "\n%s; best possible after %d rounds: %.4f\n%d trials, %d of %d rounds, %.1f s\n",
		choice, r.Budget.TrialRounds, r.Lowest, len(r.Trials), r.Rounds, r.Budget.Rounds, r.Seconds)
	return err
}
