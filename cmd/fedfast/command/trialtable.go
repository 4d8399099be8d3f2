package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// mostTrials is how many trials a table shows unless all are asked for.
const mostTrials = 10

// trialRow is a trial in a table of trials.
type trialRow struct {
	number         int
	state          string
	source, reason string // empty for none
	params         tuners.Params
	values         map[string]float64 // of further objectives and constraints
	study.Place
}

// printTrials prints trials, ten or all of them, with the hyperparameters in which they differ:
// the one whose model r returns first, then those with a score on all clients, then by how far
// they came and of equally far ones the best. r is nil before the end; dir is where the study is.
func printTrials(w io.Writer, c *config.Config, r *study.Result, scale study.Scale, rows []trialRow, all bool, dir string) error {
	params := make([]tuners.Params, len(rows))
	for i := range rows {
		params[i] = rows[i].params
		if r != nil {
			rows[i].Won, rows[i].Final = rows[i].number == r.Best.Number, r.Final(c, rows[i].number)
		}
	}
	slices.SortStableFunc(rows, func(a, b trialRow) int { return a.Compare(b.Place, c.Aim()) })
	keys := study.Varying(params)
	shown := rows
	if !all && len(rows) > mostTrials {
		shown = rows[:mostTrials]
	}
	if slices.ContainsFunc(rows, func(r trialRow) bool { return r.Score != nil }) {
		if err := table.Text(w, fmt.Sprintf("%v at each trial's last rung, on one cohort; %s", scale, scale.Direction())); err != nil {
			return err
		}
	}
	t := trialTable(w, scale, shown, keys, true)
	if !t.Fits() {
		if t = trialTable(w, scale, shown, keys, false); !all {
			t.CutLast()
		}
	}
	if err := t.Flush(); err != nil || len(shown) == len(rows) {
		return err
	}
	states := map[string]int{}
	for _, r := range rows[len(shown):] {
		states[r.state]++
	}
	var counts []string
	for _, state := range slices.Sorted(maps.Keys(states)) {
		counts = append(counts, fmt.Sprintf("%d %s", states[state], state))
	}
	_, err := fmt.Fprintf(w, "+ %s: fedfast study show %s --all\n", strings.Join(counts, ", "), oneline.Path(dir))
	return err
}

// trialTable lays trials out, with a column for each hyperparameter or one for all.
func trialTable(w io.Writer, scale study.Scale, rows []trialRow, keys []string, apart bool) *table.Table {
	optional := []struct {
		name string
		of   func(trialRow) string
	}{
		{"all clients", func(r trialRow) string {
			if r.Final == nil {
				return ""
			}
			return scale.Text(*r.Final)
		}},
		{"source", func(r trialRow) string { return r.source }},
		{"reason", func(r trialRow) string { return r.reason }},
	}
	optional = slices.DeleteFunc(optional, func(o struct {
		name string
		of   func(trialRow) string
	},
	) bool {
		return !slices.ContainsFunc(rows, func(r trialRow) bool { return o.of(r) != "" })
	})
	metrics := map[string]bool{}
	for _, r := range rows {
		for name := range r.values {
			metrics[name] = true
		}
	}
	further := slices.Sorted(maps.Keys(metrics))
	head := append([]string{"trial", "state", "rounds", "last rung"}, further...)
	for _, o := range optional {
		head = append(head, o.name)
	}
	if apart {
		head = append(head, keys...)
	} else {
		head = append(head, "hyperparameters")
	}
	t := table.New(w, head...)
	for _, r := range rows {
		cells := []string{strconv.Itoa(r.number), r.state, strconv.Itoa(r.Rounds), scale.TextOf(r.Score)}
		for _, name := range further {
			text := "-"
			if x, ok := r.values[name]; ok {
				text = fmt.Sprintf("%.4g", x)
			}
			cells = append(cells, text)
		}
		for _, o := range optional {
			cells = append(cells, cmp.Or(o.of(r), "-"))
		}
		var params []string
		for _, key := range keys {
			text := "-"
			if v, ok := r.params[key]; ok {
				text = study.ValueText(v)
			}
			if params = append(params, text); !apart {
				params[len(params)-1] = strings.TrimPrefix(key, "client.") + "=" + text
			}
		}
		if !apart {
			params = []string{strings.Join(params, " ")}
		}
		t.Row(append(cells, params...)...)
	}
	return t
}
