package repro

import (
	"fmt"
	"strconv"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/tuner/fedtune"
	"github.com/fedfast/fedfast/tuners"
)

// TableOption returns the table that the trials on proxy federations of a study of
// fedtune-hrt with an objective give, as the value of the option `table` of another study; see
// fedtune.TableOf.
func TableOption(options map[string]any, seed uint64, aim tuners.Objective, sides []result.ProxyTrial) (string, error) {
	given, err := tuners.ParamsOf(options)
	if err != nil {
		return "", fmt.Errorf("options.%w", err)
	}
	var tried []fedtune.Tried
	for _, t := range sides {
		tried = append(tried, fedtune.Tried{Environment: t.Environment, Params: t.Params, Table: t.Table, Score: t.Score})
	}
	return fedtune.TableOf(given, seed, aim, tried)
}

// sideTables returns, for each seed that filled one, FedTune's table: for each
// number of samples and heterogeneity index the best trial on proxy federations,
// with its error on proxy samples.
func (r *Report) sideTables() []Table {
	var out []Table
	for _, m := range r.all() {
		if len(m.Sides) > 0 {
			out = append(out, m.sideTable())
		}
	}
	return out
}

func (m *Metrics) sideTable() Table {
	best := result.BestProxies(m.Sides, tuners.Objective{})
	t := Table{
		Title: fmt.Sprintf("the table of %s, seed %d, best of %d trials on proxy federations: error on proxy samples, learning rate, batch, epochs (%s)",
			m.Head.Training, m.Head.Seed, len(m.Sides), variantText(m.Head.Variant)),
		Head: []string{"samples"},
	}
	for _, hi := range best.HIs {
		t.Head = append(t.Head, fmt.Sprintf("HI %v", hi))
	}
	for i, n := range best.Samples {
		line := []string{strconv.Itoa(n)}
		for _, side := range best.Cells[i] {
			line = append(line, sideCell(side))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// sideCell writes a cell: "0.153, lr 0.084, batch 8, 15 epochs".
func sideCell(s *result.ProxyTrial) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f, lr %v, batch %v, %v epochs", *s.Score, s.Params.Float("client.lr", 0), s.Params.Float("client.batch", 0), s.Params.Float("client.epochs", 0))
}
