package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
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
	// Confidence is the confidence level of the intervals.
	Confidence float64 `json:"confidence"`
	// Summary sums up the finished studies: "rounds", "seconds" and "best_score", the best and the
	// median test error of random search under each study's target, and the errors of the models
	// "returned" and "last_survivor" under the names that result.json has for them, those without the
	// labels of a mask after the mask's; the measures of the returned ones by names such as global_test_roc_auc.
	Summary map[string]any `json:"summary"`
	// Without compares the returned models with eval.baselines, by means over the seeds.
	Without []result.Comparand `json:"without_federation,omitempty"`
	// Answer and Warnings are what `study show` and pages say of all seeds.
	Answer   []string    `json:"answer"`
	Warnings []string    `json:"warnings"`
	Studies  []seedEntry `json:"studies"`
	// Notes are what people wrote beside them.
	Notes view.Notes `json:"notes,omitzero"`
}

// seedEntry is one seed's study.
type seedEntry struct {
	Seed uint64 `json:"seed"`
	studyEntry
	SurvivorSHA256 string      `json:"survivor_sha256,omitempty"`
	Seconds        *float64    `json:"seconds"`
	Returned       *seedErrors `json:"returned"`
	LastSurvivor   *seedErrors `json:"last_survivor,omitempty"`
	Default        *float64    `json:"default_test_error,omitempty"`
	Gain           *float64    `json:"default_gain,omitempty"`
	RandomBest     *float64    `json:"random_search_best_test_error,omitempty"`
	RandomMedian   *float64    `json:"random_search_median_test_error,omitempty"`
	// Verdict says what is wrong with the returned model, if anything.
	Verdict []string `json:"verdict,omitempty"`
}

// seedErrors are a model's errors without their spread over the clients.
type seedErrors struct {
	result.Rates
	Measure string               `json:"error_measure,omitempty"`
	Masked  []result.MaskedRates `json:"masked,omitempty"`
}

func seedErrorsOf(e *result.Errors) *seedErrors { return &seedErrors{e.Rates, e.Measure, e.Masked} }

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
	shown.Notes, _ = view.ReadNotes(dir) // they are shown without
	for i := range record.Seeds {
		e := seedEntryOf(ctx, dir, c.Seed+uint64(i))
		if e.Returned != nil {
			shown.Completed++
		}
		shown.Studies = append(shown.Studies, e)
	}
	lines := sumUp(shown.Studies)
	finished := shown.overviews()
	ends, warnings := finished.Notes()
	if a.json {
		shown.Summary, shown.Answer, shown.Warnings = summaryOf(lines), []string{}, append([]string{}, warnings...)
		shown.Without = finished.Without()
		if means := finished.Means(view.Targets...); means != "" {
			shown.Answer = append(shown.Answer, view.Sentence(means))
		}
		for _, text := range finished.Federation() {
			shown.Answer = append(shown.Answer, view.Sentence(text))
		}
		shown.Answer = append(shown.Answer, finished.Ended()...)
		return a.printJSON(shown)
	}
	a.printNotes(shown.Notes)
	if shown.Scaled != "" {
		fmt.Fprintf(a.out, "scaled %s\n\n", shown.Scaled)
	}
	if each || a.verbose {
		if err := a.printEachSeed(&shown); err != nil {
			return err
		}
	}
	if a.verbose && shown.Completed > 0 {
		if t := view.MeasureTable(finished.Errors()...); t != nil {
			if err := errors.Join(printTable(a.out, plain(t.Title), t.Head, t.Rows), table.Text(a.out, "")); err != nil {
				return err
			}
		}
	}
	if err := a.printWithout(finished...); err != nil {
		return err
	}
	return a.printSeedsBlock(c, &shown, lines, ends, warnings, each)
}

// seedEntryOf sums up the study of a seed.
func seedEntryOf(ctx context.Context, dir string, seed uint64) seedEntry {
	path := workdir.SeedDir(dir, seed)
	if !store.Exists(path) {
		return seedEntry{Seed: seed, studyEntry: studyEntry{Dir: path, State: notBegun}}
	}
	e := seedEntry{Seed: seed, studyEntry: readEntry(ctx, path, time.Hour)}
	if e.Problem != "" || e.about.Errors() == nil {
		return e
	}
	e.Verdict, e.Returned = e.about.Verdict(), seedErrorsOf(e.about.Errors())
	if r := e.about.Run; r != nil {
		e.Seconds, e.Rounds = &r.Seconds, r.Rounds
		return e
	}
	r := e.about.Tune
	e.Seconds, e.Rounds, e.SurvivorSHA256 = &r.Seconds, r.Rounds, r.SurvivorSHA256
	if r.Survivor != nil {
		e.LastSurvivor = seedErrorsOf(&r.Survivor.Errors)
	}
	if ref := r.Reference; ref != nil {
		e.Default, e.Gain = ref.Test, ref.Gain
	}
	if r.Baseline != nil {
		e.RandomBest, e.RandomMedian = &r.Baseline.BestTest, &r.Baseline.MedianTest
	}
	return e
}

// overviews are the overviews of the finished studies.
func (s *seedsShown) overviews() (all view.Seeds) {
	for _, e := range s.Studies {
		if e.Returned != nil {
			all = append(all, e.about)
		}
	}
	return all
}

// The groups of the lines of a summary.
const (
	ofReturned = "returned"
	ofSurvivor = "last_survivor"
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
		l := lineOf(lines, of, key)
		if l == nil {
			l = &seedLine{of: of, key: key}
			lines = append(lines, l)
		}
		l.values = append(l.values, *x)
	}
	rates := func(of string, e *seedErrors) {
		if e == nil {
			return
		}
		for _, p := range view.Parts {
			add(of, p.Key(), p.Of(&e.Rates))
		}
		for _, m := range e.Masked {
			for _, p := range view.Parts {
				add(of, m.Mask+"."+p.Key(), p.Of(&m.Rates))
			}
		}
	}
	for _, e := range studies {
		if rates(ofReturned, e.Returned); e.Returned == nil || e.about.Errors().Evaluation == nil {
			continue
		}
		for _, p := range view.Parts {
			m := p.Over(e.about.Errors().Evaluation).Measures
			for _, name := range m.Names(false) {
				add(ofReturned, strings.TrimSuffix(p.Key(), "error")+name, m.Values[name].Value)
			}
		}
	}
	for _, e := range studies {
		rates(ofSurvivor, e.LastSurvivor)
	}
	for _, e := range studies {
		if e.Returned == nil {
			continue
		}
		rounds, of := float64(e.Rounds), e.about.Told().Of
		own, best, median := e.about.TestScores()
		add(ofStudy, "default_test_"+of, own)
		add(ofStudy, "random_search_best_test_"+of, best)
		add(ofStudy, "random_search_median_test_"+of, median)
		add(ofStudy, "best_score", e.BestScore)
		add(ofStudy, "default_test_error", e.Default)
		add(ofStudy, "default_gain", e.Gain)
		add(ofStudy, "random_search_best_test_error", e.RandomBest)
		add(ofStudy, "random_search_median_test_error", e.RandomMedian)
		add(ofStudy, "rounds", &rounds)
		add(ofStudy, "seconds", e.Seconds)
	}
	return lines
}

// summaryOf lays lines out for JSON.
func summaryOf(lines []*seedLine) map[string]any {
	returned, survivor := map[string]stats.Sample{}, map[string]stats.Sample{}
	s := map[string]any{ofReturned: returned, "rounds": stats.Of(nil), "seconds": stats.Of(nil)}
	for _, l := range lines {
		switch l.of {
		case ofReturned:
			returned[l.key] = l.sample()
		case ofSurvivor:
			survivor[l.key], s[ofSurvivor] = l.sample(), survivor
		default:
			s[l.key] = l.sample()
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
		row := []string{strconv.FormatUint(e.Seed, 10), e.stateText(), oneline.Digits(e.Rounds)}
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

// printSeedsBlock prints the result of the studies of several seeds.
func (a *app) printSeedsBlock(c *config.Config, s *seedsShown, lines []*seedLine, ends [][2]string, warnings []string, each bool) error {
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
	name, _ := result.MeasureName(s.measure())
	for _, target := range append(targets, "unseen", "unseen adapted") {
		b.seeds(target+" test "+name, lineOf(lines, ofReturned, strings.ReplaceAll(target, " ", "_")+"_test_error"), s)
	}
	if text := view.MeasureText(targets[0], s.overviews().Errors()...); text != "" {
		b.Row("measures", plain(text))
	}
	b.federation(s.overviews()...)
	b.seeds("validation "+s.scale().Metric, lineOf(lines, ofStudy, "best_score"), s)
	told, which := "error", ""
	for _, o := range s.overviews() {
		if t := o.Told(); t.Of != "" {
			told, which = t.Of, ", "+t.Metric
		}
	}
	b.seeds("default"+which, lineOf(lines, ofStudy, "default_test_"+told), s)
	if l := lineOf(lines, ofStudy, "default_gain"); l != nil && len(l.values) > 1 {
		x := l.sample()
		name, share := result.MeasureName(s.measure())
		text := plain(view.Difference(-x.Mean, &x.Half, share))
		if which != "" { // which is not what this compares
			text = name + " " + text
		}
		b.Row("tuned, beside it", text, "paired by seed")
	}
	b.seeds("random search, best"+which, lineOf(lines, ofStudy, "random_search_best_test_"+told), s)
	b.seeds("random search, median"+which, lineOf(lines, ofStudy, "random_search_median_test_"+told), s)
	b.curve(learned{Ending: view.Ending{Curve: s.meanCurve(), Measure: s.measure()}, target: c.Measures(s.Command)})
	for _, e := range slices.Concat(s.overviews().Winners(), ends) {
		b.Row(e[0], e[1])
	}
	b.warnings(warnings)
	dir := oneline.Path(s.Dir)
	var next []string
	if s.Completed < s.Seeds && !running {
		next = append(next, "study resume "+dir)
	}
	if s.Seeds == 2 && s.Completed == 2 { // Student's t of one degree of freedom is three times that of four
		b.Row("advice", "of two seeds the interval of a mean is wide: of five it has about a fifth of the width")
		next = append(next, s.Command+" --seeds 5 --study "+dir)
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
	scale, x := l.scale(s.measure(), s.scale()), l.sample()
	least, most := scale.Text(slices.Min(l.values)), scale.Text(slices.Max(l.values))
	b.Row(label, plain(view.MeanText(scale, x)), fmt.Sprintf("%s, %s to %s", oneline.Count(x.N, "seed"), strings.TrimSuffix(least, " %"), most))
}

// meanCurve is the mean test error by round, where all completed seeds
// have measured it.
func (s *seedsShown) meanCurve() (curve []result.CurvePoint) {
	byRound := map[int][]float64{}
	for _, o := range s.overviews() {
		for _, p := range o.Ending().Curve {
			byRound[p.Round] = append(byRound[p.Round], p.TestError)
		}
	}
	for _, round := range slices.Sorted(maps.Keys(byRound)) {
		if values := byRound[round]; len(values) == s.Completed {
			curve = append(curve, result.CurvePoint{Round: round, TestError: stats.Of(values).Mean})
		}
	}
	return curve
}

// measure says what the errors are, see result.Errors.
func (s *seedsShown) measure() string {
	for _, o := range s.overviews() {
		return o.Measure()
	}
	return ""
}

// scale says how scores are written.
func (s *seedsShown) scale() result.Scale {
	for _, e := range s.Studies {
		if e.scale.Metric != "" {
			return e.scale
		}
	}
	return result.Scale{}
}

// scale says how a measure is written: shares in percent.
func (l *seedLine) scale(measure string, of result.Scale) result.Scale {
	if l.key == "best_score" {
		return result.Scale{Percent: of.Percent}
	}
	_, share := result.MeasureName(measure)
	return result.Scale{Percent: share && (strings.HasSuffix(l.key, "_error") || strings.HasSuffix(l.key, "_gain"))}
}
