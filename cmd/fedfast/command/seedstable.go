package command

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/view"
	"github.com/fedfast/fedfast/tuners"
)

// seedsShown is what commands on several seeds print with --json.
type seedsShown struct {
	Dir string `json:"dir"`
	// Command is "tune" or "run".
	Command string `json:"command"`
	// Seeds is how many there are, Completed how many of their studies are.
	Seeds     int    `json:"seeds"`
	Completed int    `json:"completed"`
	Scaled    string `json:"scaled,omitempty"`
	// Confidence is that of the intervals.
	Confidence float64     `json:"confidence"`
	Summary    seedSummary `json:"summary"`
	Studies    []seedEntry `json:"studies"`
}

// seedSummary sums up the finished studies. Its errors are under the names that
// result.json has for them, those without the labels of a mask behind the mask's.
type seedSummary struct {
	Returned     map[string]stats.Sample `json:"returned"`
	LastSurvivor map[string]stats.Sample `json:"last_survivor,omitempty"`
	BestScore    *stats.Sample           `json:"best_score,omitempty"`
	// RandomBest and RandomMedian are of the test errors that random search reached
	// under each study's target.
	RandomBest   *stats.Sample `json:"random_search_best_test_error,omitempty"`
	RandomMedian *stats.Sample `json:"random_search_median_test_error,omitempty"`
	Rounds       stats.Sample  `json:"rounds"`
	Seconds      stats.Sample  `json:"seconds"`
}

// seedEntry is one seed's study.
type seedEntry struct {
	Seed uint64 `json:"seed"`
	studyEntry
	SurvivorSHA256 string      `json:"survivor_sha256,omitempty"`
	Seconds        *float64    `json:"seconds"`
	Returned       *seedErrors `json:"returned"`
	LastSurvivor   *seedErrors `json:"last_survivor,omitempty"`
	RandomBest     *float64    `json:"random_search_best_test_error,omitempty"`
	RandomMedian   *float64    `json:"random_search_median_test_error,omitempty"`
	// Verdict says what is wrong with the returned model, if anything.
	Verdict []string `json:"verdict,omitempty"`
	curve   []study.CurvePoint
}

// seedErrors are a model's errors without their spread over the clients.
type seedErrors struct {
	study.Rates
	Measure string              `json:"error_measure,omitempty"`
	Masked  []study.MaskedRates `json:"masked,omitempty"`
}

func seedErrorsOf(e *study.Errors) *seedErrors { return &seedErrors{e.Rates, e.Measure, e.Masked} }

// notBegun is the state of a study that waits for those of other seeds.
const notBegun = "not started"

// showSeeds prints what the studies of several seeds have come to so far, with a row for
// each where that is asked for.
func (a *app) showSeeds(ctx context.Context, dir string, each bool) error {
	record, err := workdir.ReadSeeds(dir)
	if err != nil {
		return err
	}
	c, err := config.Load(config.Source{Text: record.Config})
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	shown := seedsShown{Dir: dir, Command: record.Command, Seeds: record.Seeds, Scaled: record.Scaled, Confidence: stats.Confidence}
	for i := range record.Seeds {
		e, err := seedEntryOf(ctx, dir, c.Seed+uint64(i))
		if err != nil {
			return err
		}
		if e.Returned != nil {
			shown.Completed++
		}
		shown.Studies = append(shown.Studies, e)
	}
	lines := sumUp(shown.Studies)
	if a.json {
		shown.Summary = summaryOf(lines)
		return a.printJSON(shown)
	}
	if shown.Scaled != "" {
		fmt.Fprintf(a.out, "scaled %s\n\n", shown.Scaled)
	}
	if each || a.verbose {
		if err := a.printEachSeed(&shown); err != nil {
			return err
		}
	}
	if a.verbose && shown.Completed > 0 {
		if err := a.printSeedLines(&shown, lines); err != nil {
			return err
		}
	}
	return a.printSeedsBlock(c, &shown, lines, each)
}

// seedEntryOf sums up the study of a seed.
func seedEntryOf(ctx context.Context, dir string, seed uint64) (seedEntry, error) {
	path := workdir.SeedDir(dir, seed)
	if !store.Exists(path) {
		return seedEntry{Seed: seed, studyEntry: studyEntry{Dir: path, State: notBegun}}, nil
	}
	e := seedEntry{Seed: seed, studyEntry: entryOf(ctx, path, time.Hour)}
	if e.Problem != "" {
		return e, nil
	}
	v, err := store.Look(ctx, path)
	if err != nil {
		return e, err
	}
	defer func() { _ = v.Close() }() // it was read only
	s, err := study.Read(ctx, v)
	if err != nil {
		return e, err
	}
	switch {
	case s.Run != nil:
		e.Verdict, e.curve = s.Run.Verdict(), s.Run.Curve
		e.Returned, e.Seconds, e.Rounds = seedErrorsOf(&s.Run.Errors), &s.Run.Seconds, s.Run.Rounds
	case s.Tune != nil:
		e.Verdict, e.curve = s.Tune.Errors.Verdict(), s.Tune.Trials[s.Tune.Best.Number].Curve
		e.Returned, e.Seconds, e.Rounds, e.SurvivorSHA256 = seedErrorsOf(&s.Tune.Errors), &s.Tune.Seconds, s.Tune.Rounds, s.Tune.SurvivorSHA256
		if s.Tune.Survivor != nil {
			e.LastSurvivor = seedErrorsOf(&s.Tune.Survivor.Errors)
		}
		if s.Tune.Baseline != nil {
			e.RandomBest, e.RandomMedian = &s.Tune.Baseline.BestTest, &s.Tune.Baseline.MedianTest
		}
	}
	return e, nil
}

// The groups of the lines of a summary.
const (
	ofReturned = "returned"
	ofSurvivor = "survivor"
	ofStudy    = "-"
)

// seedLine is one measure of all finished studies.
type seedLine struct {
	of, key string
	values  []float64
}

func (l *seedLine) sample() stats.Sample { return stats.Of(l.values) }

// sumUp collects the measures of the finished studies, in the order in which they
// are shown.
func sumUp(studies []seedEntry) []*seedLine {
	var lines []*seedLine
	add := func(of, key string, x *float64) {
		if x == nil || math.IsNaN(*x) {
			return
		}
		for _, l := range lines {
			if l.of == of && l.key == key {
				l.values = append(l.values, *x)
				return
			}
		}
		lines = append(lines, &seedLine{of, key, []float64{*x}})
	}
	rates := func(of, mask string, r study.Rates) {
		for _, x := range []struct {
			key  string
			rate *float64
		}{
			{"global_val_error", r.GlobalVal},
			{"global_test_error", r.GlobalTest},
			{"personalized_val_error", r.PersonalizedVal},
			{"personalized_test_error", r.PersonalizedTest},
			{"unseen_test_error", r.UnseenTest},
			{"unseen_adapted_test_error", r.UnseenAdapted},
		} {
			add(of, mask+x.key, x.rate)
		}
	}
	errors := func(of string, pick func(*seedEntry) *seedErrors) {
		for i := range studies {
			if e := pick(&studies[i]); e != nil {
				rates(of, "", e.Rates)
			}
		}
		for i := range studies {
			if e := pick(&studies[i]); e != nil {
				for _, m := range e.Masked {
					rates(of, m.Mask+".", m.Rates)
				}
			}
		}
	}
	numbers := func(key string, pick func(*seedEntry) *float64) {
		for i := range studies {
			if studies[i].Returned != nil {
				add(ofStudy, key, pick(&studies[i]))
			}
		}
	}
	errors(ofReturned, func(e *seedEntry) *seedErrors { return e.Returned })
	errors(ofSurvivor, func(e *seedEntry) *seedErrors { return e.LastSurvivor })
	numbers("best_score", func(e *seedEntry) *float64 { return e.BestScore })
	numbers("random_search_best_test_error", func(e *seedEntry) *float64 { return e.RandomBest })
	numbers("random_search_median_test_error", func(e *seedEntry) *float64 { return e.RandomMedian })
	numbers("rounds", func(e *seedEntry) *float64 { x := float64(e.Rounds); return &x })
	numbers("seconds", func(e *seedEntry) *float64 { return e.Seconds })
	return lines
}

// summaryOf lays lines out for JSON.
func summaryOf(lines []*seedLine) seedSummary {
	s := seedSummary{Returned: map[string]stats.Sample{}, Rounds: stats.Of(nil), Seconds: stats.Of(nil)}
	for _, l := range lines {
		x := l.sample()
		switch {
		case l.of == ofReturned:
			s.Returned[l.key] = x
		case l.of == ofSurvivor:
			if s.LastSurvivor == nil {
				s.LastSurvivor = map[string]stats.Sample{}
			}
			s.LastSurvivor[l.key] = x
		case l.key == "best_score":
			s.BestScore = &x
		case l.key == "random_search_best_test_error":
			s.RandomBest = &x
		case l.key == "random_search_median_test_error":
			s.RandomMedian = &x
		case l.key == "rounds":
			s.Rounds = x
		case l.key == "seconds":
			s.Seconds = x
		}
	}
	return s
}

// printEachSeed prints a row for each study.
func (a *app) printEachSeed(s *seedsShown) error {
	var scored []string
	if s.Command == config.ModeTune {
		scored = []string{s.scale().String()}
	}
	t := table.New(a.out, slices.Concat([]string{"seed", "state", "rounds"}, scored, []string{"global test", "personalized test"})...)
	for _, e := range s.Studies {
		row := []string{strconv.FormatUint(e.Seed, 10), e.stateText(), table.Count(e.Rounds)}
		if scored != nil {
			row = append(row, e.score())
		}
		if e.Returned != nil {
			row = append(row, errorText(e.Returned.Measure, e.Returned.GlobalTest), errorText(e.Returned.Measure, e.Returned.PersonalizedTest))
		}
		t.Row(row...)
	}
	t.Row("")
	return t.Flush()
}

// printSeedLines prints all measures over the seeds.
func (a *app) printSeedLines(s *seedsShown, lines []*seedLine) error {
	returned := "winner"
	if s.Command == config.ModeRun {
		returned = "trained"
	}
	fmt.Fprintf(a.out, "mean over %d of %d seeds with %.0f %% confidence interval (Student's t)\n", s.Completed, s.Seeds, 100*s.Confidence)
	t := table.New(a.out, "model", "measure", "seeds", "mean", "interval", "standard deviation")
	for _, l := range lines {
		of := l.of
		if of == ofReturned {
			of = returned
		}
		t.Row(append([]string{of}, l.cells(s.measure(), s.scale())...)...)
	}
	t.Row("")
	return t.Flush()
}

// printSeedsBlock prints the result of the studies of several seeds.
func (a *app) printSeedsBlock(c *config.Config, s *seedsShown, lines []*seedLine, each bool) error {
	running := slices.ContainsFunc(s.Studies, func(e seedEntry) bool { return e.PID > 0 })
	head := fmt.Sprintf("%s: %d of %d seeds completed", c.Name, s.Completed, s.Seeds)
	if s.Completed > 1 {
		head += fmt.Sprintf(", means with %.0f %% confidence intervals", 100*s.Confidence)
	}
	b := newBlock(a.out, head, "in "+s.Dir)
	targets := []string{"global", "personalized"}
	if c.Judged(s.Command) == tuners.TargetPersonalized {
		slices.Reverse(targets)
	}
	name, _ := study.MeasureName(s.measure())
	for _, target := range append(targets, "unseen", "unseen adapted") {
		b.seeds(target+" test "+name, lineOf(lines, ofReturned, strings.ReplaceAll(target, " ", "_")+"_test_error"), s)
	}
	b.seeds("validation "+s.scale().Metric, lineOf(lines, ofStudy, "best_score"), s)
	b.seeds("random search, best", lineOf(lines, ofStudy, "random_search_best_test_error"), s)
	b.seeds("random search, median", lineOf(lines, ofStudy, "random_search_median_test_error"), s)
	b.curve(learned{curve: s.meanCurve(), measure: s.measure(), target: c.Measures(s.Command)})
	b.warnings(s.verdict(), a.verbose)
	dir := oneline.Path(s.Dir)
	var next []string
	if s.Completed < s.Seeds && !running {
		next = append(next, "study resume "+dir)
	}
	if !each {
		next = append(next, "study show "+dir)
	}
	if s.Completed > 0 {
		next = append(next, "report "+dir)
	}
	b.next(append(next, "ui "+dir)...)
	return b.print()
}

// lineOf finds a measure, nil for none.
func lineOf(lines []*seedLine, of, key string) *seedLine {
	for _, l := range lines {
		if l.of == of && l.key == key {
			return l
		}
	}
	return nil
}

// seeds adds the mean of a measure, and its range over the seeds.
func (b *block) seeds(label string, l *seedLine, s *seedsShown) {
	if l == nil {
		return
	}
	text, unit := l.format(s.measure(), s.scale())
	x := l.sample()
	mean, least, most := text(x.Mean), slices.Min(l.values), slices.Max(l.values)
	if !math.IsNaN(x.Half) {
		mean += " +- " + text(x.Half)
	}
	b.Row(label, mean+unit, fmt.Sprintf("%s, %s to %s%s", counted(x.N, "seed"), text(least), text(most), unit))
}

// verdict says what is wrong with how many of the seeds.
func (s *seedsShown) verdict() []string {
	var verdicts [][]string
	for _, e := range s.Studies {
		if e.Returned != nil {
			verdicts = append(verdicts, e.Verdict)
		}
	}
	return view.Warnings(verdicts, "seed")
}

// meanCurve is the mean test error by round, where all completed seeds
// have measured it.
func (s *seedsShown) meanCurve() (curve []study.CurvePoint) {
	byRound := map[int][]float64{}
	for _, e := range s.Studies {
		for _, p := range e.curve {
			byRound[p.Round] = append(byRound[p.Round], p.TestError)
		}
	}
	for _, round := range slices.Sorted(maps.Keys(byRound)) {
		if values := byRound[round]; len(values) == s.Completed {
			curve = append(curve, study.CurvePoint{Round: round, TestError: stats.Of(values).Mean})
		}
	}
	return curve
}

// measure says what the errors are, see study.Errors.
func (s *seedsShown) measure() string {
	for _, e := range s.Studies {
		if e.Returned != nil {
			return e.Returned.Measure
		}
	}
	return ""
}

// scale says how scores are written.
func (s *seedsShown) scale() study.Scale {
	for _, e := range s.Studies {
		if e.scale.Metric != "" {
			return e.scale
		}
	}
	return study.Scale{}
}

// format says how a measure is written, and in which unit: shares in percent.
func (l *seedLine) format(measure string, scale study.Scale) (text func(float64) string, unit string) {
	percent := func(v float64) string { return strconv.FormatFloat(100*v, 'f', 2, 64) }
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	switch {
	case strings.HasSuffix(l.key, "_error") && measure == study.MeasureRMSE:
		return short, ""
	case strings.HasSuffix(l.key, "_error"), l.key == "best_score" && scale.Percent:
		return percent, " %"
	case l.key == "best_score":
		return short, ""
	}
	return func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }, ""
}

// cells writes a measure.
func (l *seedLine) cells(measure string, scale study.Scale) []string {
	x := l.sample()
	text, unit := l.format(measure, scale)
	name := strings.ReplaceAll(l.key, "_", " ")
	if l.key == "best_score" {
		name = scale.String()
	}
	cells := []string{name, strconv.Itoa(x.N), text(x.Mean) + unit, "-", "-"}
	if !math.IsNaN(x.Half) {
		cells[3], cells[4] = text(x.Mean-x.Half)+" .. "+text(x.Mean+x.Half)+unit, text(x.SD)+unit
	}
	return cells
}
