package repro

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/stats"
)

// fathom-static and fathom-stackexchange ask what FATHOM's abstract claims, that it beats
// FedAvg with optimized static values: of all starts with the base setting's cohort the
// best one of FedAvg is what tuning by these starts would have found.
const (
	staticName = "fathom-static"
	siteName   = "fathom-stackexchange"
	staticBase = "base" // whence FATHOM starts, knowing nothing
)

// staticMeasures are what is spent until the goal.
var staticMeasures = []struct {
	name, unit string
	measure    func(*Metrics) (float64, bool)
}{
	{"rounds", "rounds to the goal", roundsToGoal},
	{"gradients", "thousand local gradients to the goal", gradientsToGoal},
}

// staticCells are what FATHOM and FedAvg spend, by each of staticMeasures, from those of
// the starts that have the base setting's cohort.
func staticCells(experiment, where string, set fathomSet, starts []fathomRow) []Cell {
	var cells []Cell
	for _, row := range starts {
		if row.enlarged() {
			continue
		}
		for _, method := range fathomMethods {
			t := fathomTraining(set, row, method)
			for _, m := range staticMeasures {
				cells = append(cells, Cell{
					Name: experiment + "/" + row.Name + "/" + method + "/" + m.name, Paper: fathomPaper, Where: where, Instead: "not published", Unit: m.unit,
					Training: t, Measure: m.measure,
				})
			}
		}
	}
	return cells
}

// Static compares FATHOM with the best of FedAvg's static settings.
type Static struct {
	Unit, Variant string
	// Seeds is the number of seeds that all of these starts have, Starts the number of
	// FedAvg's.
	Seeds, Starts int
	// Best is the start of FedAvg with the smallest mean, Base FATHOM's from the base
	// setting, Lucky FATHOM's with the smallest mean, among those of which each seed
	// reached the goal.
	Best, Base, Lucky Spent
	// More is by how much Base spends more than Best, paired by seed.
	More stats.Sample
}

// Spent is what the seeds of a start spend until the goal.
type Spent struct {
	Start string
	stats.Sample
	values []float64
}

// static compares what is recorded of each measure and variant of an experiment, on the
// seeds that all starts have.
func (r *Report) static(experiment string) []Static {
	var all []Static
	for _, m := range staticMeasures {
		of, starts := map[string][]*Row{}, map[string]int{}
		for i := range r.Rows {
			row := &r.Rows[i]
			if !strings.HasPrefix(row.Name, experiment+"/") || row.Unit != m.unit || len(row.metrics) == 0 {
				continue
			}
			if strings.Contains(row.Name, "/fedavg/") {
				starts[row.Variant]++
			}
			if row.Sample.N > 0 { // a seed reached the goal
				of[row.Variant] = append(of[row.Variant], row)
			}
		}
		for _, variant := range slices.Sorted(maps.Keys(of)) {
			s := Static{Unit: m.unit, Variant: variant, Seeds: len(of[variant][0].Values), Starts: starts[variant]}
			for _, row := range of[variant] {
				s.Seeds = min(s.Seeds, len(row.Values))
			}
			for _, row := range of[variant] {
				s.add(row)
			}
			if s.Best.N == 0 || s.Base.N == 0 || s.Starts < 2 {
				continue
			}
			var more []float64
			for i, x := range s.Base.values {
				more = append(more, x-s.Best.values[i])
			}
			s.More = stats.Of(more)
			all = append(all, s)
		}
	}
	return all
}

// add looks whether a row is one of those that are compared.
func (s *Static) add(row *Row) {
	if slices.Contains(row.Reached[:s.Seeds], false) || slices.ContainsFunc(row.Values[:s.Seeds], math.IsNaN) {
		return
	}
	path := strings.Split(row.Name, "/")
	spent := Spent{path[1], stats.Of(row.Values[:s.Seeds]), row.Values[:s.Seeds]}
	best := &s.Lucky
	if path[2] == "fedavg" {
		best = &s.Best
	} else if path[1] == staticBase {
		s.Base = spent
	}
	if best.N == 0 || spent.Mean < best.Mean {
		*best = spent
	}
}

// staticTable is a line for each measure.
func (r *Report) staticTable() Table {
	t := Table{
		Title: "FATHOM against FedAvg with the best static setting of these: means over the seeds that all starts have, " +
			"and by how much FATHOM spends more from the base setting, paired by seed, with its 90 % interval",
		Head: []string{
			"measure", "FedAvg, best static setting", "of starts", "FATHOM from the base setting",
			"FATHOM from its best start", "FATHOM from the base setting spends more by", "seeds", "variant",
		},
	}
	mean := func(s Spent) string { return fmt.Sprintf("%s (%s)", plain(s.Mean, s.Mean), s.Start) }
	for _, s := range slices.Concat(r.static(staticName), r.static(siteName)) {
		t.Rows = append(t.Rows, []string{s.Unit, mean(s.Best), strconv.Itoa(s.Starts), mean(s.Base), mean(s.Lucky), withInterval(s.More), strconv.Itoa(s.Seeds), variantText(s.Variant)})
	}
	return t
}
