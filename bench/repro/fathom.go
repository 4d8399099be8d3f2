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

// fathomRow is a row of FATHOM's Table 1: the rounds and the local gradients, in
// thousands, to the target, mean and standard deviation, first FATHOM's and then
// FedAvg's; a mean of 0 stands for NA.
type fathomRow struct {
	name      string
	sets      []string
	rounds    [2][2]float64
	gradients [2][2]float64
}

// enlarged tells a row that differs in its cohort.
func (r fathomRow) enlarged() bool {
	return slices.ContainsFunc(r.sets, func(set string) bool { return strings.HasPrefix(set, "cohort=") })
}

// fathomSet is what the rows of one set of data share.
type fathomSet struct {
	key           string // how the names of its trainings begin
	preset, needs string
	sets          []string
	deviates      []string
}

const (
	fathomApart = "a twentieth of each client's training examples is set apart for validation"
	fathomMean  = "the training loss is the mean over tokens, not their sum over 13.3 for each sentence"
)

var (
	onFEMNIST = fathomSet{
		key: "fathom-femnist-", preset: "femnist-fathom", needs: "leaf-femnist",
		deviates: []string{fathomApart, "LEAF's FEMNIST; the paper's is TensorFlow Federated's EMNIST of 3,400 writers"},
	}
	onStackOverflow = fathomSet{key: "fathom-so-", preset: "stackoverflow-fathom", needs: "stackoverflow", deviates: []string{fathomApart, fathomMean}}
	// A small site of Stack Exchange is at hand where Stack Overflow is not.
	onStackExchange = fathomSet{
		key: "fathom-se-", preset: "stackoverflow-fathom", needs: "stackexchange",
		sets: []string{`data.name="stackexchange"`, `data.split="80/10/10"`, "cohort=10", "eval.goal=0.1"},
		deviates: []string{
			"a tenth of each client's examples is set apart for validation and a tenth for the test", fathomMean,
			"beer.stackexchange.com instead of Stack Overflow, 10 clients a round instead of 50, and a goal of 10 % instead of 23",
		},
	}
)

var fathomFEMNIST = []fathomRow{
	{"base", nil, [2][2]float64{{739, 24}, {1098, 15}}, [2][2]float64{{1500, 36}, {2200, 64}}},
	{"lr0.05", []string{"client.lr=0.05"}, [2][2]float64{{905, 21}, {1574, 19}}, [2][2]float64{{1700, 28}, {3100, 28}}},
	{"batch4", []string{"client.batch=4"}, [2][2]float64{{708, 17}, {885, 41}}, [2][2]float64{{1200, 28}, {1700, 88}}},
	{"batch256", []string{"client.batch=256"}, [2][2]float64{{736, 20}, {}}, [2][2]float64{{2000, 44}, {}}},
	{"clients100", []string{"cohort=100"}, [2][2]float64{{777, 16}, {1436, 18}}, [2][2]float64{{22000, 270}, {28000, 0.39}}},
	{"clients200", []string{"cohort=200"}, [2][2]float64{{790, 16}, {1481, 33}}, [2][2]float64{{57000, 1000}, {59000, 1300}}},
}

var fathomStackOverflow = []fathomRow{
	{"base", nil, [2][2]float64{{562, 12}, {971, 11}}, [2][2]float64{{85000, 1200}, {124000, 1300}}},
	{"lr0.05", []string{"client.lr=0.05"}, [2][2]float64{{871, 7}, {}}, [2][2]float64{{138000, 3200}, {}}},
	{"batch4", []string{"client.batch=4"}, [2][2]float64{{758, 43}, {580, 18}}, [2][2]float64{{93000, 2800}, {74000, 2500}}},
	{"batch256", []string{"client.batch=256"}, [2][2]float64{{801, 28}, {}}, [2][2]float64{{174000, 18000}, {}}},
	{"clients25", []string{"cohort=25", "eval.every_clients=25"}, [2][2]float64{{970, 49}, {1283, 33}}, [2][2]float64{{63000, 2700}, {82000, 3800}}},
	{"clients200", []string{"cohort=200", "eval.every_clients=200"}, [2][2]float64{{396, 17}, {684, 26}}, [2][2]float64{{280000, 45000}, {350000, 13000}}},
}

// fathomStarts are further starts on FEMNIST, which the paper does not have: larger and
// smaller rates and batches, and more epochs.
var fathomStarts = []fathomRow{
	{name: "lr0.01", sets: []string{"client.lr=0.01"}},
	{name: "lr0.3", sets: []string{"client.lr=0.3"}},
	{name: "batch64", sets: []string{"client.batch=64"}},
	{name: "epochs3", sets: []string{"client.epochs=3"}},
	{name: "epochs5-batch4", sets: []string{"client.epochs=5", "client.batch=4"}},
	{name: "lr0.01-batch256", sets: []string{"client.lr=0.01", "client.batch=256"}},
}

// overflowMark tells the cells of Stack Overflow from those of FEMNIST.
const overflowMark = "so-"

var fathomMethods = []string{"fathom", "fedavg"}

// fathomTraining is the training of FATHOM, or of FedAvg from the same start, in a
// row.
func fathomTraining(set fathomSet, row fathomRow, method string) *Training {
	t := &Training{
		Key: set.key + row.name + "-" + method, Mode: config.ModeTune, Preset: set.preset, Seeds: 10, Needs: set.needs, Shrink: shrinkFathom,
		Sets: []string{"tuner.options.clip_logs=false", `init="haiku"`}, AsPaper: []string{"tuner.options.as_paper=true", "client.floor=true"},
		Switches: []string{"as the authors' code, not the paper's text: only what clients get is bounded, the local cosine " +
			"is not multiplied by the learning rate and takes each step's gradient with the change after it, and the number " +
			"of local steps is rounded up"},
		Deviates: slices.Clone(set.deviates),
	}
	t.Sets = append(t.Sets, set.sets...)
	t.Sets = append(t.Sets, row.sets...)
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
	var cells []Cell
	for _, row := range fathomFEMNIST {
		cells = append(cells, fathomTable1(onFEMNIST, row, row.name)...)
	}
	for _, row := range fathomStackOverflow {
		cells = append(cells, fathomTable1(onStackOverflow, row, overflowMark+row.name)...)
	}
	cells = append(cells, staticCells(staticName, "abstract", onFEMNIST, slices.Concat(fathomFEMNIST, fathomStarts))...)
	for _, row := range fathomStarts {
		for _, method := range fathomMethods {
			t := fathomTraining(onFEMNIST, row, method)
			t.Deviates = append(t.Deviates, "a start that the paper does not have")
			cells = append(cells, Cell{
				Name: "fathom-starts/" + row.name + "/" + method, Paper: fathomPaper, Where: "no table", Instead: "not published", Unit: "rounds to the goal",
				Training: t, Measure: roundsToGoal,
			})
		}
	}
	return append(cells, staticCells(siteName, "no table", onStackExchange, fathomFEMNIST)...)
}

// fathomTable1 are the cells of a row of Table 1 and of its panel of Figure 1, under
// a name.
func fathomTable1(set fathomSet, row fathomRow, name string) []Cell {
	var cells []Cell
	for i, method := range fathomMethods {
		t := fathomTraining(set, row, method)
		cells = append(cells,
			Cell{
				Name: "fathom-table1/" + name + "/" + method + "/rounds", Paper: fathomPaper, Where: "Table 1", Unit: "rounds to the goal", Published: fathomNumber(row.rounds[i]),
				Training: t, Measure: roundsToGoal,
			},
			Cell{
				Name: "fathom-table1/" + name + "/" + method + "/gradients", Paper: fathomPaper, Where: "Table 1", Unit: "thousand local gradients to the goal", Published: fathomNumber(row.gradients[i]),
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
	var claims []Comparison
	both := func(name string) {
		claims = append(claims,
			Comparison{Name: name, Claim: "FATHOM needs fewer rounds than FedAvg from the same start", New: name + "/fathom/rounds", Old: name + "/fedavg/rounds"},
			Comparison{Name: name, Claim: "FATHOM needs fewer local gradients than FedAvg from the same start", New: name + "/fathom/gradients", Old: name + "/fedavg/gradients"})
	}
	for _, row := range fathomFEMNIST {
		both("fathom-table1/" + row.name)
	}
	for _, row := range fathomStackOverflow {
		both("fathom-table1/" + overflowMark + row.name)
	}
	for _, row := range fathomFEMNIST {
		if !row.enlarged() {
			both(siteName + "/" + row.name)
		}
	}
	for _, row := range fathomStarts {
		name := "fathom-starts/" + row.name
		claims = append(claims, Comparison{Name: name, Claim: "FATHOM needs fewer rounds than FedAvg from the same start", New: name + "/fathom", Old: name + "/fedavg"})
	}
	return claims
}
