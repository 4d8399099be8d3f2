package repro

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

const fathomPaper = "FATHOM (2022)"

// fathomRow is a row of FATHOM's Table 1.
type fathomRow struct {
	Name              string
	Sets              []string
	Rounds, Gradients [2][2]float64
}

// enlarged tells a row that differs in its cohort.
func (r fathomRow) enlarged() bool {
	return slices.ContainsFunc(r.Sets, func(set string) bool { return strings.HasPrefix(set, "cohort=") })
}

// fathomSet is what the rows of one set of data share; Key is how the names of its trainings begin.
type fathomSet struct {
	Key, Preset, Needs string
	Sets, Deviates     []string
	Rows, Starts       []fathomRow
}

// overflowMark tells the cells of Stack Overflow from those of FEMNIST.
const overflowMark = "so-"

var fathomMethods = []string{"fathom", "fedavg"}

// fathomTraining is the training of FATHOM, or of FedAvg from the same start, in a
// row.
func fathomTraining(set fathomSet, row fathomRow, method string) *Training {
	t := &Training{
		Key: set.Key + row.Name + "-" + method, Mode: config.ModeTune, Preset: set.Preset, Seeds: 10, Needs: set.Needs, Shrink: shrinkFathom,
		Sets: []string{"tuner.options.clip_logs=false", `init="haiku"`}, AsPaper: []string{"tuner.options.as_paper=true", "client.floor=true"},
		Switches: []string{"as the authors' code, not the paper's text: only what clients get is bounded, the local cosine " +
			"is not multiplied by the learning rate and takes each step's gradient with the change after it, and the number " +
			"of local steps is rounded up"},
		Deviates: slices.Clone(set.Deviates),
	}
	t.Sets = append(t.Sets, set.Sets...)
	t.Sets = append(t.Sets, row.Sets...)
	if method == "fedavg" {
		t.Mode = config.ModeRun
		t.AsPaper, t.Switches = nil, nil
	}
	return t
}

// fathomGoal is the goal of scaled trainings on FEMNIST: what FedAvg reaches in a
// fifth of the rounds on a hundred writers.
const fathomGoal = 0.7

// shrinkFathom scales the most rounds, and the cohort where a row enlarges it. So
// few rounds do not reach the paper's goal.
func shrinkFathom(c *config.Config, scale float64) []string {
	rounds, goal := c.Rounds, c.Eval.Goal
	c.Rounds = shrunk(rounds, scale, c.Eval.Every)
	c.Budget = config.Budget{Rounds: c.Rounds, TrialRounds: c.Rounds}
	notes := []string{fmt.Sprintf("scaled by %v: at most %d rounds instead of %d", scale, c.Rounds, rounds)}
	if c.Data.Name == "leaf-femnist" {
		c.Eval.Goal = fathomGoal
	} else {
		c.Eval.Goal = float64(goal * math.Sqrt(scale))
	}
	notes = append(notes, fmt.Sprintf("scaled by %v: the goal is %.4g %% of test accuracy instead of %.4g %%", scale, 100*c.Eval.Goal, 100*goal))
	if n := c.Cohort; n >= 100 {
		c.Cohort = shrunk(n, scale, 1)
		if c.Eval.EveryClients == n { // the paper measures as many as it trains
			c.Eval.EveryClients = c.Cohort
		}
		notes = append(notes, fmt.Sprintf("scaled by %v: %d clients a round instead of %d", scale, c.Cohort, n))
	}
	return notes
}

func fathomCells() []Cell {
	f, cells := &papers().Fathom, []Cell(nil)
	for _, row := range f.FEMNIST.Rows {
		cells = append(cells, fathomTable1(f.FEMNIST, row, row.Name)...)
	}
	for _, row := range f.StackOverflow.Rows {
		cells = append(cells, fathomTable1(f.StackOverflow, row, overflowMark+row.Name)...)
	}
	cells = append(cells, staticCells(staticName, "abstract", f.FEMNIST, slices.Concat(f.FEMNIST.Rows, f.FEMNIST.Starts))...)
	for _, row := range f.FEMNIST.Starts {
		for _, method := range fathomMethods {
			t := fathomTraining(f.FEMNIST, row, method)
			t.Deviates = append(t.Deviates, "a start that the paper does not have")
			cells = append(cells, Cell{
				Name: "fathom-starts/" + row.Name + "/" + method, Paper: fathomPaper, Where: "no table", Instead: "not published", Unit: "rounds to the goal",
				Training: t, Measure: roundsToGoal,
			})
		}
	}
	return append(cells, staticCells(siteName, "no table", f.StackExchange, f.FEMNIST.Rows)...)
}

// fathomTable1 are the cells of a row of Table 1 and of its panel of Figure 1, under
// a name.
func fathomTable1(set fathomSet, row fathomRow, name string) []Cell {
	var cells []Cell
	for i, method := range fathomMethods {
		t := fathomTraining(set, row, method)
		cells = append(cells,
			Cell{
				Name: "fathom-table1/" + name + "/" + method + "/rounds", Paper: fathomPaper, Where: "Table 1", Unit: "rounds to the goal", Published: fathomNumber(row.Rounds[i]),
				Training: t, Measure: roundsToGoal,
			},
			Cell{
				Name: "fathom-table1/" + name + "/" + method + "/gradients", Paper: fathomPaper, Where: "Table 1", Unit: "thousand local gradients to the goal", Published: fathomNumber(row.Gradients[i]),
				Training: t, Measure: gradientsToGoal,
			},
			Cell{
				Name: "fathom-fig1/" + name + "/" + method, Paper: fathomPaper, Where: "Figure 1", Unit: "% test accuracy where the training ends, at the goal or after all rounds",
				Training: t, Measure: finalAccuracy,
			})
	}
	return cells
}

// roundsToGoal and gradientsToGoal, in thousands, are what a training spends until it
// reaches its goal.
func roundsToGoal(m *Metrics) (float64, bool) {
	return m.reached(func(p result.CurvePoint) float64 { return float64(p.Round) })
}

func gradientsToGoal(m *Metrics) (float64, bool) {
	return m.reached(func(p result.CurvePoint) float64 { return float64(p.Examples) / 1000 })
}

func fathomNumber(n [2]float64) *Published {
	return &Published{Mean: n[0], SD: n[1], Seeds: 10, NA: n[0] == 0}
}

// finalAccuracy is the last measured test accuracy, in percent; NaN for a regression.
func finalAccuracy(m *Metrics) (float64, bool) {
	if len(m.End.Curve) == 0 {
		return math.NaN(), true
	}
	return m.End.accuracy(m.End.Curve[len(m.End.Curve)-1].TestError), true
}

func fathomClaims() []Comparison {
	f, claims := &papers().Fathom, []Comparison(nil)
	both := func(name string) {
		claims = append(claims,
			Comparison{Name: name, Claim: "FATHOM needs fewer rounds than FedAvg from the same start", New: name + "/fathom/rounds", Old: name + "/fedavg/rounds"},
			Comparison{Name: name, Claim: "FATHOM needs fewer local gradients than FedAvg from the same start", New: name + "/fathom/gradients", Old: name + "/fedavg/gradients"})
	}
	for _, row := range f.FEMNIST.Rows {
		both("fathom-table1/" + row.Name)
	}
	for _, row := range f.StackOverflow.Rows {
		both("fathom-table1/" + overflowMark + row.Name)
	}
	for _, row := range f.FEMNIST.Rows {
		if !row.enlarged() {
			both(siteName + "/" + row.Name)
		}
	}
	for _, row := range f.FEMNIST.Starts {
		name := "fathom-starts/" + row.Name
		claims = append(claims, Comparison{Name: name, Claim: "FATHOM needs fewer rounds than FedAvg from the same start", New: name + "/fathom", Old: name + "/fedavg"})
	}
	return claims
}
