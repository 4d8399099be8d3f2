package command

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
)

// shades draw an error from the lowest to the highest of a heat map.
var shades = []rune(" ░▒▓█")

// printSides prints the table that a client tuner found on proxy federations as a
// heat map: for each number of samples and heterogeneity index the best trial,
// its score and, from light to dark, how high that is among all cells. Cells of a mixed
// proxy federation have one score together.
func printSides(w io.Writer, sides []study.SideTrial) error {
	if len(sides) == 0 {
		return nil
	}
	best := study.BestSides(sides)
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, t := range slices.Concat(best.Cells...) {
		if t != nil {
			lowest, highest = min(lowest, *t.Score), max(highest, *t.Score)
		}
	}
	fmt.Fprintf(w, "client tuner: best of %d trials on proxy federations, by samples per client and heterogeneity index", len(sides))
	mixed := len(sides[0].Table) > 0
	switch {
	case mixed && lowest == highest:
		fmt.Fprintf(w, " (score %.4f of all cells together)", lowest)
	case lowest <= highest:
		fmt.Fprintf(w, " (score %.4f%s to %.4f%s)", lowest, shade(0), highest, shade(1))
	}
	fmt.Fprintln(w)
	head := []string{"samples"}
	for _, hi := range best.HIs {
		head = append(head, fmt.Sprintf("hi %.2g", hi))
	}
	t := table.New(w, head...)
	for i, n := range best.Samples {
		row := []string{table.Count(n)}
		for _, side := range best.Cells[i] {
			if mixed && side != nil {
				row = append(row, sideParams(side))
			} else {
				row = append(row, mapped(side, lowest, highest))
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
func mapped(t *study.SideTrial, lowest, highest float64) string {
	if t == nil {
		return "-"
	}
	share := 0.0
	if highest > lowest {
		share = (*t.Score - lowest) / (highest - lowest)
	}
	return fmt.Sprintf("%s %.4f %s", shade(share), *t.Score, sideParams(t))
}

// shade draws a share in [0, 1].
func shade(share float64) string {
	s := shades[min(int(share*float64(len(shades))), len(shades)-1)]
	return strings.Repeat(string(s), 2)
}

// sideParams writes the params of a side trial without their common prefix.
func sideParams(t *study.SideTrial) string {
	keys := t.Params.Keys()
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	var parts []string
	for _, key := range keys {
		x, _ := t.Params[key].Float()
		parts = append(parts, fmt.Sprintf("%s %.3g", strings.TrimPrefix(key, "client."), x))
	}
	return strings.Join(parts, " ")
}
