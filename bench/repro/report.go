package repro

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Row is a cell as it was measured in one variant.
type Row struct {
	Cell
	// Variant is how it was asked for, see Head; empty is the paper's own.
	Variant string
	Scale   float64
	// Values are the values of the seeds, from seed 1 on, NaN where one is missing;
	// Reached says which reached their goal.
	Values  []float64
	Reached []bool
	// Sample sums up the seeds that reached it.
	Sample stats.Sample
	// Last sums up the last survivors.
	Last stats.Sample
	// Seeds is how many there are.
	Seeds int
	// metrics are the metrics of the seeds.
	metrics []*Metrics
}

// Verdict is a comparison as it was measured.
type Verdict struct {
	Comparison
	Variant string
	// Gain is by how much New is better than Old, paired by seed; positive is as
	// claimed.
	Gain stats.Sample
	// AtLeast says that a seed of Old did not reach its goal, so that the gain is
	// larger than that, AtMost that one of New did not, so that it is smaller.
	AtLeast, AtMost bool
	// Ratios are the least and the most that Old is of New, of a claim that has Ratio.
	Ratios [2]float64
	// Published is the paper's gain, NaN where it has no numbers, and PublishedHalf half
	// the width of its 90 % interval, by Welch from the printed standard deviations and
	// numbers of seeds; NaN where the paper has none.
	Published, PublishedHalf float64
	// Needed is how many seeds would show the published gain, in points, with a
	// probability of 80 %; NaN where that cannot be said.
	Needed float64
	// Pairs compares seeds that are single arms.
	Pairs Pairs
}

// Report is what some metrics say.
type Report struct {
	Rows     []Row
	Verdicts []Verdict
	// Deviations are the deviations of all trainings, each with the names of those that it
	// concerns.
	Deviations []Deviation
}

// Deviation is what is not as in the paper.
type Deviation struct {
	Text      string   `json:"text"`
	Trainings []string `json:"trainings"`
}

// Find reads all metrics in some files and below some directories.
func Find(dirs ...string) ([]*Metrics, error) {
	var found []*Metrics
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if path == dir && errors.Is(err, fs.ErrNotExist) {
				return noMetrics(dir)
			}
			if err != nil {
				return err
			}
			if e.IsDir() && exists(filepath.Join(path, "study.db")) {
				return fs.SkipDir // its metrics are another kind
			}
			if e.IsDir() || filepath.Ext(strings.TrimSuffix(path, packed)) != ".jsonl" {
				return nil
			}
			all, err := readAll(path)
			found = append(found, all...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, noMetrics(dirs...)
	}
	return found, nil
}

func noMetrics(dirs ...string) error {
	return fmt.Errorf("no metrics in %s; create them with `fedfast repro NAME`", strings.Join(dirs, ", "))
}

// trainingOf tells trainings of one variant apart from others.
type trainingOf struct{ key, variant string }

// NewReport lays metrics beside the cells that they measure. Metrics of two kinds
// that claim to be one are an error.
func NewReport(cells []Cell, all []*Metrics) (*Report, error) {
	r := &Report{}
	of := map[trainingOf][]*Metrics{}
	for _, m := range all {
		k := trainingOf{m.Head.Training, m.Head.Variant}
		for _, o := range of[k] {
			if err := m.fits(o); err != nil {
				return nil, err
			}
		}
		of[k] = append(of[k], m)
	}
	variants := map[string]bool{}
	for k := range of {
		variants[k.variant] = true
	}
	for _, c := range cells {
		if c.Training == nil {
			continue
		}
		for _, variant := range slices.Sorted(maps.Keys(variants)) {
			if ms := of[trainingOf{c.Training.Key, variant}]; len(ms) > 0 {
				r.Rows = append(r.Rows, rowOf(c, ms))
			}
		}
	}
	if len(r.Rows) == 0 {
		return nil, errors.New("no metrics of these experiments")
	}
	r.judge()
	r.deviations()
	return r, nil
}

// all returns the metrics of the rows, each once, though several cells measure one
// training.
func (r *Report) all() []*Metrics {
	seen := map[*Metrics]bool{}
	var out []*Metrics
	for i := range r.Rows {
		for _, m := range r.Rows[i].metrics {
			if !seen[m] {
				seen[m] = true
				out = append(out, m)
			}
		}
	}
	return out
}

// fits returns an error when two metrics of one training and variant cannot be of
// one experiment, or are the same seed.
func (m *Metrics) fits(o *Metrics) error {
	a, b := &m.Head, &o.Head
	switch {
	case a.Seed == b.Seed && m.End.SHA256 != o.End.SHA256:
		return fmt.Errorf("%s, seed %d: duplicate with different results", a.Training, a.Seed)
	case a.Seed == b.Seed:
		return fmt.Errorf("%s, seed %d: duplicate", a.Training, a.Seed)
	case a.Digest != b.Digest:
		return fmt.Errorf("%s: seeds %d and %d have different settings (%s and %s)", a.Training, a.Seed, b.Seed, a.Digest, b.Digest)
	case a.Data.differ(&b.Data):
		return fmt.Errorf("%s: seeds %d and %d ran on different data: %s; and %s", a.Training, a.Seed, b.Seed, &a.Data, &b.Data)
	}
	return nil
}

// RanOn returns an error unless a federation, opened with the seed, is the
// one that the seed ran on. Metrics of versions that kept no fingerprint are taken
// as they are.
func (m *Metrics) RanOn(fed *data.Federation) error {
	facts := factsOf(fed)
	if d := &m.Head.Data; d.Fingerprint != "" && facts.differ(d) {
		return fmt.Errorf("%s, seed %d: ran on different data: then %s; now %s; restore the data, or choose another --out", m.Head.Training, m.Head.Seed, d, &facts)
	}
	return nil
}

// measure is what the errors of a row's seeds are, see result.Errors.
func (r *Row) measure() string { return r.metrics[0].End.Measure }

func rowOf(c Cell, ms []*Metrics) Row {
	row := Row{Cell: c.measuredBy(ms[0].End.Measure), Variant: ms[0].Head.Variant, Scale: ms[0].Head.Scale, Seeds: len(ms), metrics: ms}
	var reached, last []float64
	for _, m := range ms {
		if c.Survivor != nil {
			if x, _ := c.Survivor(m); !math.IsNaN(x) {
				last = append(last, x)
			}
		}
		for len(row.Values) < m.Head.Seed {
			row.Values, row.Reached = append(row.Values, math.NaN()), append(row.Reached, false)
		}
		x, ok := c.Measure(m)
		row.Values[m.Head.Seed-1], row.Reached[m.Head.Seed-1] = x, ok
	}
	for i, x := range row.Values {
		if row.Reached[i] && !math.IsNaN(x) {
			reached = append(reached, x)
		}
	}
	row.Sample, row.Last = stats.Of(reached), stats.Of(last)
	return row
}

// judge looks at the claims both of whose cells were measured.
func (r *Report) judge() {
	for _, claim := range Comparisons() {
		for i := range r.Rows {
			fresh := &r.Rows[i]
			if fresh.Name != claim.New {
				continue
			}
			for j := range r.Rows {
				if old := &r.Rows[j]; old.Name == claim.Old && old.Variant == fresh.Variant {
					r.Verdicts = append(r.Verdicts, verdictOf(claim, fresh, old))
				}
			}
		}
	}
}

func verdictOf(claim Comparison, fresh, old *Row) Verdict {
	v := Verdict{Comparison: claim, Variant: fresh.Variant, Published: math.NaN(), PublishedHalf: math.NaN(), Needed: math.NaN()}
	sign := 1.0
	if claim.Higher {
		sign = -1
	}
	var gains, ratios []float64
	for i := range min(len(fresh.Values), len(old.Values)) {
		a, b := fresh.Values[i], old.Values[i]
		if math.IsNaN(a) || math.IsNaN(b) {
			continue
		}
		if !fresh.Reached[i] && !old.Reached[i] {
			continue // neither says anything
		}
		gains = append(gains, sign*(b-a))
		ratios = append(ratios, b/a)
		v.AtLeast, v.AtMost = v.AtLeast || !old.Reached[i], v.AtMost || !fresh.Reached[i]
	}
	if claim.Ratio && len(ratios) > 0 {
		v.Ratios = [2]float64{slices.Min(ratios), slices.Max(ratios)}
	}
	v.Gain, v.Pairs = stats.Of(gains), pairsOf(claim.Name, fresh, old)
	if a, b := fresh.Published, old.Published; a != nil && b != nil && !a.NA && !b.NA {
		v.Published, v.PublishedHalf = sign*(b.Mean-a.Mean), a.gainHalf(b)
		if strings.HasPrefix(fresh.Unit, "%") { // counts to a goal grow with the goal, which a smaller scale lowers
			v.Needed = v.Gain.SeedsToTell(v.Published)
		}
	}
	return v
}

// Holds says in words whether the claim holds in what was measured.
func (v *Verdict) Holds() string {
	switch g := v.Gain; {
	case g.N == 0:
		return "cannot be said: no seed reached the goal"
	case g.N == 1:
		return []string{"cannot be said from one seed (it speaks against it)", "cannot be said from one seed (it speaks for it)"}[index(g.Mean > 0)]
	case v.AtLeast && v.AtMost, v.AtMost && g.Mean > 0, v.AtLeast && g.Mean < 0:
		return "cannot be said: not every seed reached the goal"
	}
	said := beyond(v.Gain)
	if v.Gain.Mean > 0 {
		return strings.Replace(said, notShown, "in the mean, not beyond chance", 1)
	}
	return strings.Replace(said, notShown, "not in the mean, but not beyond chance", 1)
}

// Order says whether the published order of both methods is found here; empty when
// the paper has no numbers or nothing was measured.
func (v *Verdict) Order() string {
	if math.IsNaN(v.Published) || v.Gain.N == 0 {
		return ""
	}
	if v.Gain.Mean == 0 {
		return "equal"
	}
	return []string{"other", "same"}[index((v.Published > 0) == (v.Gain.Mean > 0))]
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// deviations gathers the deviations from the papers.
func (r *Report) deviations() {
	byText := map[string]map[string]bool{}
	for i := range r.Rows {
		m := r.Rows[i].metrics[0]
		for _, text := range slices.Concat(m.Head.Deviations, m.dataDeviations(), droppedDeviations(r.Rows[i].metrics)) {
			if byText[text] == nil {
				byText[text] = map[string]bool{}
			}
			byText[text][m.Head.Training] = true
		}
	}
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		r.Deviations = append(r.Deviations, Deviation{text, slices.Sorted(maps.Keys(byText[text]))})
	}
}

// droppedDeviations says how often the seeds of a training left out a client whose
// result was not finite, where the papers' code would have gone on with weights
// that are not.
func droppedDeviations(ms []*Metrics) []string {
	const what = "clients whose results are not finite are left out of a round's average (nonfinite = \"drop\"), where the authors' code would go on with NaN: "
	results, arms, of, untold := 0, 0, 0, 0
	for _, m := range ms {
		switch {
		case !strings.Contains(m.Head.Config, "nonfinite = \""+config.NonfiniteDrop+"\""):
		case m.End.Dropped == nil:
			untold++
		default:
			results += *m.End.Dropped
			of += max(len(m.Trials), 1) // a training without a wrapper has one
			if len(m.Trials) == 0 {
				arms += index(*m.End.Dropped > 0)
			}
			for i := range m.Trials {
				arms += index(m.Trials[i].Dropped != nil && *m.Trials[i].Dropped > 0)
			}
		}
	}
	var notes []string
	if results > 0 {
		notes = append(notes, fmt.Sprintf("%s%s, in %d of %s", what, oneline.Count(results, "result"), arms, oneline.Count(of, "arm")))
		if skipped(ms[0]) {
			notes = append(notes, "FedEx' step leaves out a client whose result is not finite, as it did before 2026-11-25; "+
				"since then it counts as an error of 1, as in the authors' code: arms with such clients are to be run again")
		}
	}
	if untold > 0 {
		notes = append(notes, what+"how often is not recorded")
	}
	return notes
}

// skipped says whether the training has FedEx and its step left out clients that diverged,
// which it did before there was the option.
func skipped(m *Metrics) bool {
	const since = "2026-11-26" // all machines had it by then
	return m.Head.Environment.Started < since && strings.Contains(m.Head.Config, "[client_tuner]\nname = \"fedex\"") && !strings.Contains(m.Head.Config, `"dropped" = "worst"`)
}

// dataDeviations says on what the metrics were measured.
func (m *Metrics) dataDeviations() []string {
	d := &m.Head.Data
	notes := []string{fmt.Sprintf("data: %s, %d clients, %d training, %d validation and %d test samples", d.Name, d.Clients, d.Train, d.Val, d.Test)}
	return append(notes, list.Of(d.Notes, func(n string) string { return "data: " + n })...)
}
