package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// mostTrials is how many trials a table shows unless all are asked for.
const mostTrials = 10

// printTrials prints the trials of a study, ten or all of them, the best first, with the
// hyperparameters in which they differ.
func printTrials(w io.Writer, o *view.Overview, all bool) error {
	keys := o.Keys()
	if picksPerClient(o.Config) { // these are each client's own
		keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, tuners.ArchPrefix) })
	}
	shown, rest := o.Ranked(), []int(nil)
	if !all && len(shown) > mostTrials {
		shown, rest = shown[:mostTrials], shown[mostTrials:]
	}
	if err := table.Text(w, o.TrialsTitle()...); err != nil {
		return err
	}
	rows := o.TrialTable(shown, keys)
	t := tableOf(w, rows.Head, rows.Rows)
	if first := len(rows.Head) - len(keys); !t.Fits() { // one column for all hyperparameters
		for i, row := range rows.Rows {
			for k, key := range keys {
				row[first+k] = strings.TrimPrefix(key, "client.") + "=" + row[first+k]
			}
			rows.Rows[i] = append(row[:first:first], strings.Join(row[first:], " "))
		}
		if t = tableOf(w, append(rows.Head[:first:first], "hyperparameters"), rows.Rows); !all {
			t.CutLast()
		}
	}
	if err := t.Flush(); err != nil || len(rest) == 0 {
		return err
	}
	states := map[result.State]int{}
	for _, i := range rest {
		states[o.Trials[i].State]++
	}
	var counts []string
	for _, state := range slices.Sorted(maps.Keys(states)) {
		counts = append(counts, fmt.Sprintf("%d %s", states[state], state))
	}
	_, err := fmt.Fprintf(w, "+ %s: fedfast study show %s --all\n", strings.Join(counts, ", "), oneline.Path(o.Dir))
	return err
}
