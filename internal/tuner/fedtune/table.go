package fedtune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// maxCells bounds a given table: every round's plan carries all of it.
const maxCells = 10_000

// columns are the numbers of a given table's cell, in their order.
var columns = []struct {
	name, want string
	ok         func(float64) bool
}{
	{"HI", "from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 }},
	{"SAMPLES", "from 1 to 1e9", func(x float64) bool { return x >= 1 && x <= 1e9 }},
	{"LR", "greater than 0 and at most 1e6", func(x float64) bool { return x > 0 && x <= 1e6 }},
	{"BATCH", "an integer from 1 to 1e6", func(x float64) bool { return x >= 1 && x == math.Trunc(x) && x <= 1e6 }},
	{"EPOCHS", "greater than 0 and at most 1e4", func(x float64) bool { return x > 0 && x <= 1e4 }},
}

// readTable reads the option table, "HI SAMPLES LR BATCH EPOCHS; ...", in which a
// semicolon may also stand after the last cell. It returns nil for an empty one.
func readTable(r *options.Reader) []tuners.Cell {
	text := strings.TrimSpace(r.Text("table"))
	if text == "" {
		return nil
	}
	var table []tuners.Cell
	for row := range strings.SplitSeq(strings.TrimSuffix(text, ";"), ";") {
		c, err := readCell(row)
		if err == nil && slices.ContainsFunc(table, func(o tuners.Cell) bool {
			return o.Keys[tuners.KeyHI] == c.Keys[tuners.KeyHI] && o.Keys[tuners.KeySamples] == c.Keys[tuners.KeySamples]
		}) {
			err = fmt.Errorf("HI %v and SAMPLES %v repeat those of an earlier cell", c.Keys[tuners.KeyHI], c.Keys[tuners.KeySamples])
		}
		if err == nil && len(table) == maxCells {
			err = fmt.Errorf("table must have at most %d cells", maxCells)
		}
		if err != nil {
			r.Problem("options.table", "table: cell %d, %q: %v", len(table)+1, strings.Join(strings.Fields(row), " "), err)
			return nil
		}
		table = append(table, c)
	}
	return table
}

// readCell reads one cell.
func readCell(row string) (tuners.Cell, error) {
	words := strings.Fields(row)
	if len(words) != len(columns) {
		return tuners.Cell{}, fmt.Errorf("must be 5 numbers, HI SAMPLES LR BATCH EPOCHS, with cells separated by semicolons, not %d", len(words))
	}
	x := make([]float64, len(columns))
	for i, c := range columns {
		var err error
		if x[i], err = strconv.ParseFloat(words[i], 64); err != nil || !c.ok(x[i]) {
			return tuners.Cell{}, fmt.Errorf("%s must be %s, not %s", c.name, c.want, words[i])
		}
	}
	return tuners.Cell{
		Keys:   map[string]float64{tuners.KeyHI: x[0], tuners.KeySamples: x[1]},
		Params: tuners.Params{lr: tuners.Num(x[2]), size: tuners.Num(x[3]), epochs: tuners.Num(x[4])},
	}, nil
}

// Tried is a trial on a proxy federation.
type Tried struct {
	Environment tuners.Environment
	Params      tuners.Params
	Table       []tuners.Cell // of a trial on a mixed proxy federation
	// Score is the score of the study's objective; nil when the trial failed.
	Score *float64
}

// TableOf returns the table that a study with these options, seed and objective looked up
// after the trials that prepared it, in their order, as the option "table" of
// another study: the best trial of each cell, of equal ones the first. Numbers keep
// their bits. It is empty when no trial has a score, and an error when a trial is
// none that these options and this seed make.
func TableOf(given tuners.Params, seed uint64, aim tuners.Objective, trials []Tried) (string, error) {
	p, problems := Tuner.Read(tuners.ValidateRequest{Options: given})
	if err := options.First("fedtune-hrt", problems); err != nil {
		return "", err
	}
	if p.mixed {
		return mixedTable(p, seed, aim, trials)
	}
	cells := map[tuners.Environment]int{}
	for cell := range p.cells() {
		cells[p.environment(seed, cell)] = cell
	}
	best := make([]*Tried, p.cells())
	for i, t := range trials {
		cell, ok := cells[t.Environment]
		if !ok {
			return "", fmt.Errorf("fedtune-hrt: trial %d ran on a proxy federation that does not match these options and seed %d", i, seed)
		}
		if t.Score != nil && (best[cell] == nil || aim.Better(*t.Score, *best[cell].Score)) {
			best[cell] = &trials[i]
		}
	}
	var rows []string
	for cell, t := range best {
		if t != nil { // else clients of such a cell take a neighbour's
			rows = append(rows, p.row(cell, t.Params))
		}
	}
	return strings.Join(rows, "; "), nil
}

// mixedTable is TableOf for trials on a mixed proxy federation: the table of the best one.
func mixedTable(p plan, seed uint64, aim tuners.Objective, trials []Tried) (string, error) {
	var best *Tried
	for i, t := range trials {
		if t.Environment != p.environment(seed, all) || len(t.Table) != p.cells() {
			return "", fmt.Errorf("fedtune-hrt: trial %d ran on a proxy federation that does not match these options and seed %d", i, seed)
		}
		if t.Score != nil && (best == nil || aim.Better(*t.Score, *best.Score)) {
			best = &trials[i]
		}
	}
	if best == nil {
		return "", nil
	}
	var rows []string
	for cell, c := range best.Table {
		rows = append(rows, p.row(cell, c.Params))
	}
	return strings.Join(rows, "; "), nil
}

// row writes a cell as the option "table" has it.
func (p plan) row(cell int, params tuners.Params) string {
	hi, samples := p.keys(cell)
	row := []float64{hi, samples, params.Float(lr, 0), params.Float(size, 0), params.Float(epochs, 0)}
	return strings.Join(list.Of(row, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }), " ")
}
