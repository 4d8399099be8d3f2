package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/table"
	"github.com/fedfast/fedfast/fl/study"
)

// shades draw an error from the lowest to the highest of a heat map.
var shades = []rune(" ░▒▓█")

// printSides prints the table that a client tuner found on side federations as a
// heat map: for each number of samples and heterogeneity index the best trial,
// its score and, from light to dark, how high that is among all cells.
func printSides(w io.Writer, sides []study.SideTrial) error {
	if len(sides) == 0 {
		return nil
	}
	type cell struct {
		samples int
		hi      float64
	}
	best := map[cell]study.SideTrial{}
	var his []float64
	var samples []int
	lowest, highest := 0.0, 0.0
	for _, t := range sides {
		c := cell{t.Environment.Samples, t.Environment.HI}
		if !slices.Contains(his, c.hi) {
			his = append(his, c.hi)
		}
		if !slices.Contains(samples, c.samples) {
			samples = append(samples, c.samples)
		}
		if b, ok := best[c]; t.Score != nil && (!ok || *t.Score < *b.Score) {
			best[c] = t
		}
	}
	slices.Sort(his)
	slices.Sort(samples)
	first := true
	for _, t := range best {
		if first {
			lowest, highest, first = *t.Score, *t.Score, false
		}
		lowest, highest = min(lowest, *t.Score), max(highest, *t.Score)
	}
	fmt.Fprintf(w, "client tuner: best of %d trials on side federations, by samples a client and heterogeneity index (score %.4f%s to %.4f%s)\n",
		len(sides), lowest, shade(0), highest, shade(1))
	head := []string{"samples"}
	for _, hi := range his {
		head = append(head, fmt.Sprintf("hi %.2g", hi))
	}
	t := table.New(w, head...)
	for _, n := range samples {
		row := []string{table.Count(n)}
		for _, hi := range his {
			row = append(row, mapped(best[cell{n, hi}], lowest, highest))
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
func mapped(t study.SideTrial, lowest, highest float64) string {
	if t.Score == nil {
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
func sideParams(t study.SideTrial) string {
	keys := t.Params.Keys()
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	var parts []string
	for _, key := range keys {
		x, _ := t.Params[key].Float()
		parts = append(parts, fmt.Sprintf("%s %.3g", strings.TrimPrefix(key, "client."), x))
	}
	return strings.Join(parts, " ")
}
