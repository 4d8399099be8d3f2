package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/bench/repro"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// printSides prints the table that a client tuner found on proxy federations: for each number of
// samples and heterogeneity index the score and the hyperparameters of the best trial. Cells of a
// mixed proxy federation have one score together.
func printSides(w io.Writer, sides []result.ProxyTrial, aim tuners.Objective) error {
	if len(sides) == 0 {
		return nil
	}
	cells := result.BestProxies(sides, aim)
	his := list.Of(cells.HIs, func(hi float64) string { return fmt.Sprintf("hi %.2g", hi) })
	head := append([]string{"samples"}, his...)
	var rows [][]string
	var scores []float64
	for i, n := range cells.Samples {
		row := []string{oneline.Digits(n)}
		for _, side := range cells.Cells[i] {
			cell := "-"
			if side != nil {
				scores = append(scores, *side.Score)
				params := result.Assigned(side.Params, side.Params.Keys())
				cell = result.Number(*side.Score) + " " + strings.ReplaceAll(params, "client.", "")
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	const by = "by samples per client and heterogeneity index"
	title := fmt.Sprintf("client tuner: best of %d trials on proxy federations, %s", len(sides), by)
	switch slices.SortFunc(scores, aim.Compare); {
	case len(scores) > 0 && len(sides[0].Table) > 0:
		title += fmt.Sprintf(" (score %s of all cells together)", result.Number(scores[0]))
	case len(scores) > 0:
		title += fmt.Sprintf(" (scores %s to %s)", result.Number(scores[0]), result.Number(scores[len(scores)-1]))
	}
	if err := printTable(w, title, head, rows); err != nil {
		return err
	}
	return table.Text(w, "")
}

// fedtuneName is the tuner whose table can be handed to another study.
const fedtuneName = "fedtune-hrt"

// fedtuneOptions returns the options of fedtune-hrt in a configuration and the
// role in which they stand, "tuner" or "client_tuner"; the role is empty when the
// study has another client tuner.
func fedtuneOptions(c *config.Config) (role string, options map[string]any) {
	switch {
	case c.ClientTuner.Name == fedtuneName:
		return "client_tuner", c.ClientTuner.Options
	case c.ClientTuner.Name == "" && c.Tuner.Name == fedtuneName:
		return "tuner", c.Tuner.Options
	}
	return "", nil
}

// printTableOption prints the flag that hands the table of a study of fedtune-hrt
// to another one.
func printTableOption(w io.Writer, c *config.Config, sides []result.ProxyTrial) error {
	role, options := fedtuneOptions(c)
	if role == "" || len(sides) == 0 {
		return nil
	}
	text, err := repro.TableOption(options, c.Seed, c.Aim(), sides)
	if err != nil || text == "" {
		return err
	}
	_, err = fmt.Fprintf(w, "to reuse this table in another study: --set '%s.options.table=\"%s\"'\n\n", role, text)
	return err
}
