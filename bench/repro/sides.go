package repro

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/plugins/fedtune"
	"github.com/fedfast/fedfast/tuners"
)

// TableOption returns the table that the trials on side federations of a study of fedtune-hrt give, as the value of the option `table` of
// another study; see fedtune.TableOf.
func TableOption(options map[string]any, seed uint64, sides []study.SideTrial) (string, error) {
	given, err := tuners.ParamsOf(options)
	if err != nil {
		return "", fmt.Errorf("options.%w", err)
	}
	var tried []fedtune.Tried
	for _, t := range sides {
		tried = append(tried, fedtune.Tried{Environment: t.Environment, Params: t.Params, Score: t.Score})
	}
	return fedtune.TableOf(given, seed, tried)
}

// sideTables returns, for each trial that filled one, FedTune's table: for each number of samples and heterogeneity index the best trial
// on side federations, with its error on proxy samples.
func (r *Report) sideTables() []Table {
	var out []Table
	shown := map[*Metrics]bool{}
	for i := range r.Rows {
		row := &r.Rows[i]
		for _, m := range r.metrics {
			if len(m.Sides) > 0 && !shown[m] && m.Head.Training == row.Training.Key && m.Head.Variant == row.Variant {
				shown[m] = true
				out = append(out, m.sideTable())
			}
		}
	}
	return out
}

func (m *Metrics) sideTable() Table {
	best := map[tuners.Environment]study.SideTrial{}
	var his []float64
	var samples []int
	for _, s := range m.Sides {
		key := tuners.Environment{HI: s.Environment.HI, Samples: s.Environment.Samples}
		if !slices.Contains(his, key.HI) {
			his = append(his, key.HI)
		}
		if !slices.Contains(samples, key.Samples) {
			samples = append(samples, key.Samples)
		}
		if b, ok := best[key]; s.Score != nil && (!ok || *s.Score < *b.Score) {
			best[key] = s
		}
	}
	slices.Sort(his)
	slices.Sort(samples)
	t := Table{
		Title: fmt.Sprintf("the table of %s, trial %d, best of %d trials on side federations: error on proxy samples, learning rate, batch, epochs (%s)",
			m.Head.Training, m.Head.Trial, len(m.Sides), cmp.Or(m.Head.Variant, "as published")),
		Head: []string{"samples"},
	}
	for _, hi := range his {
		t.Head = append(t.Head, fmt.Sprintf("HI %v", hi))
	}
	for _, n := range samples {
		line := []string{strconv.Itoa(n)}
		for _, hi := range his {
			line = append(line, sideCell(best[tuners.Environment{HI: hi, Samples: n}]))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// sideCell writes a cell: "0.153, lr 0.084, batch 8, 15 epochs".
func sideCell(s study.SideTrial) string {
	if s.Score == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f, lr %v, batch %v, %v epochs", *s.Score, s.Params.Float("client.lr", 0), s.Params.Float("client.batch", 0), s.Params.Float("client.epochs", 0))
}
