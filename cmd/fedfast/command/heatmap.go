package command

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// shades draw a score from the best to the worst of a heat map.
var shades = []rune(" ░▒▓█")

// printSides prints the table that a client tuner found on proxy federations as a
// heat map: for each number of samples and heterogeneity index the best trial,
// its score and, from light to dark, how bad that is among all cells. Cells of a mixed
// proxy federation have one score together.
func printSides(w io.Writer, sides []result.ProxyTrial, aim tuners.Objective) error {
	if len(sides) == 0 {
		return nil
	}
	cells := result.BestProxies(sides, aim)
	var scores []float64
	for _, t := range slices.Concat(cells.Cells...) {
		if t != nil {
			scores = append(scores, *t.Score)
		}
	}
	slices.SortFunc(scores, aim.Compare)
	best, worst := math.NaN(), math.NaN()
	if n := len(scores); n > 0 {
		best, worst = scores[0], scores[n-1]
	}
	fmt.Fprintf(w, "client tuner: best of %d trials on proxy federations, by samples per client and heterogeneity index", len(sides))
	mixed := len(sides[0].Table) > 0
	switch {
	case mixed && best == worst:
		fmt.Fprintf(w, " (score %s of all cells together)", result.Number(best))
	case len(scores) > 0:
		fmt.Fprintf(w, " (score %s%s to %s%s)", result.Number(best), shade(0), result.Number(worst), shade(1))
	}
	fmt.Fprintln(w)
	head := []string{"samples"}
	for _, hi := range cells.HIs {
		head = append(head, fmt.Sprintf("hi %.2g", hi))
	}
	t := table.New(w, head...)
	for i, n := range cells.Samples {
		row := []string{oneline.Digits(n)}
		for _, side := range cells.Cells[i] {
			if mixed && side != nil {
				row = append(row, sideParams(side))
			} else {
				row = append(row, mapped(side, best, worst))
			}
		}
		t.Row(row...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// mapped writes one cell of a heat map.
func mapped(t *result.ProxyTrial, best, worst float64) string {
	if t == nil {
		return "-"
	}
	share := 0.0
	if best != worst {
		share = (*t.Score - best) / (worst - best)
	}
	return fmt.Sprintf("%s %s %s", shade(share), result.Number(*t.Score), sideParams(t))
}

// shade draws a share in [0, 1].
func shade(share float64) string {
	s := shades[min(int(share*float64(len(shades))), len(shades)-1)]
	return strings.Repeat(string(s), 2)
}

// sideParams writes the params of a side trial without their common prefix.
func sideParams(t *result.ProxyTrial) string {
	keys := t.Params.Keys()
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	var parts []string
	for _, key := range keys {
		x, _ := t.Params[key].Float()
		parts = append(parts, fmt.Sprintf("%s %.3g", strings.TrimPrefix(key, "client."), x))
	}
	return strings.Join(parts, " ")
}
