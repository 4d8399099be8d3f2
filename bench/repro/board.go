package repro

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// Seeds of the board's runs, and how many trainings a study of it may cost.
const boardSeeds, boardTrainings = 5, 7

// boardSet is a federation of the tuned board.
type boardSet struct {
	name, doc, needs string
	rounds           int // of a training
	sets             []string
}

// smallCNN is the network of the board's images.
const smallCNN = `model.layers=[{type="conv",filters=8,kernel=5},{type="relu"},{type="maxpool",size=2},{type="conv",filters=16,kernel=3},` +
	`{type="relu"},{type="maxpool",size=2},{type="flatten"},{type="dense",units=64},{type="relu"},{type="dense"}]`

var boardSets = []boardSet{
	{"heart", "heart disease in four hospitals, one hidden layer of 16", "heart", 60, []string{
		"data.name=csv", "data.label_column=X14", `data.positive="> 0"`, `data.missing=["-9"]`, "data.split=53/13/34", "cohort=4", `model.layers=[{type="dense",units=16},{type="relu"},{type="dense"}]`,
		"data.columns.X3=category", "data.columns.X7=category", "data.columns.X11=category", "data.columns.X13=category",
	}},
	{"fmnist", "Fashion-MNIST, classes of 100 clients by Dirichlet(0.1), 80 samples each, small CNN", "fashion-mnist", 54, []string{
		"data.name=fashion-mnist", "data.split=60/20/20", "data.partition=dirichlet", "data.alpha=0.1", "data.clients=100", "data.samples=80", smallCNN,
	}},
	{"femnist", "101 writers of LEAF's FEMNIST, at most 80 samples each, small CNN", "leaf-femnist", 60, []string{
		"data.name=leaf-femnist", "data.split=60/20/20", "data.max_samples=80", smallCNN,
	}},
	{"qmnist", "200 writers of MNIST, at most 80 samples each, small CNN", "qmnist", 30, []string{
		"data.name=qmnist", "data.split=60/20/20", "data.clients=200", "data.max_samples=80", smallCNN,
	}},
	{"shakespeare", "44 roles, at most 120 characters to predict each, GRU of 64", "shakespeare-roles", 27, []string{
		"data.name=leaf-shakespeare", "data.split=60/20/20", "data.max_samples=120",
		`model.layers=[{type="embedding",size=8},{type="gru",hidden=64,output="last"},{type="dense"}]`,
	}},
}

// boardMethods are the methods of the board; config.BoardSpace has what it searches of each.
var boardMethods = []string{
	"fedavg", "fedprox", "scaffold", "feddyn", "fednova", "fedadam", "fedyogi", "fedavgm", "mimelite", "moon", "fedlc", "qfedavg",
	"ditto", "apfl", "fedrep", "fedper", "fedbabu", "fedala", "fedrod", "ifca", "perfedavg", "pfedme",
}

// boardCells are the tuned board: for each method on each federation a study, runs on other
// splits with the values that it returned, and the same runs with the method's defaults.
func boardCells() []Cell {
	var cells []Cell
	for _, set := range boardSets {
		for _, m := range boardMethods {
			method, err := fl.MethodByName(m)
			if err != nil {
				panic("repro: " + err.Error())
			}
			target, measure := tuners.TargetGlobal, func(r *Returned) *float64 { return r.GlobalTest }
			if method.Personal {
				target, measure = tuners.TargetPersonalized, func(r *Returned) *float64 { return r.PersonalizedTest }
			}
			name := "board/" + set.name + "/" + m
			run := Training{
				Key: strings.ReplaceAll(name, "/", "-") + "-default", Mode: config.ModeRun, Tuner: "halving", Seeds: boardSeeds, Needs: set.needs, Shrink: shrinkBoard,
				Board: true, After: 1,
				Sets: append([]string{"select=" + config.SelectFinalists, "method=" + m, "target=" + target, fmt.Sprint("rounds=", set.rounds)}, set.sets...),
			}
			tuned, search := run, run
			search.Key, search.Mode, search.Seeds, search.After = strings.TrimSuffix(run.Key, "-default"), config.ModeTune, 1, 0
			search.Sets = append(slices.Clone(run.Sets), "nonfinite=fail",
				fmt.Sprint("budget.trial_rounds=", set.rounds), fmt.Sprint("budget.rounds=", boardTrainings*set.rounds))
			search.Sets = append(search.Sets, list.Of(config.BoardSpace(method), config.SpaceSet)...)
			tuned.Key, tuned.Values = search.Key+"-tuned", &search
			percent := func(m *Metrics) (float64, bool) {
				if x := measure(m.End.Best); x != nil {
					return 100 * *x, true
				}
				return math.NaN(), true
			}
			for what, t := range []*Training{&search, &tuned, &run} {
				cells = append(cells, Cell{
					Name: name + "/" + []string{"search", "tuned", "default"}[what], Paper: "beyond the papers", Where: "the tuned board", Instead: "not published",
					Unit: "% test error", Training: t, Measure: percent,
				})
			}
		}
	}
	return cells
}

// shrinkBoard scales the rounds.
func shrinkBoard(c *config.Config, scale float64) []string {
	rounds := c.Rounds
	c.Rounds = shrunk(rounds, scale, 2)
	if c.Budget.TrialRounds > 0 {
		c.Budget.TrialRounds, c.Budget.Rounds = c.Rounds, boardTrainings*c.Rounds
	}
	return []string{fmt.Sprintf("scaled by %v: %d rounds a training instead of %d", scale, c.Rounds, rounds)}
}

// winner is the trial that a study returns.
func (m *Metrics) winner() *TrialLine {
	i := slices.IndexFunc(m.Trials, func(t TrialLine) bool { return m.End.Best != nil && t.Number == m.End.Best.Trial })
	if i < 0 {
		return nil
	}
	return &m.Trials[i]
}

// takeValues gives the job those values that a study has returned; the file's own where these
// were.
func (j *Job) takeValues(m *Metrics) error {
	w := m.winner()
	if w == nil {
		return nil
	}
	text, err := config.Encode(j.Config)
	if err != nil {
		return err
	}
	sets := list.Of(w.Params.Keys(), func(key string) string { return key + "=" + w.Params[key].String() })
	c, err := config.Load(config.Source{Text: string(text), Sets: sets})
	if err == nil {
		j.Config = c
	}
	return err
}

// shorten leaves out of metrics what the board has no use for: trials that were stopped at
// their first rung, and the scores of rounds, but for the winner's.
func (m *Metrics) shorten() {
	m.Trials = slices.DeleteFunc(m.Trials, func(t TrialLine) bool { return len(t.Rungs) < 2 && t.Number != m.End.Best.Trial })
	for i := range m.Trials {
		t := &m.Trials[i]
		t.TrainLoss, t.Seconds, t.Dropped = nil, nil, nil
		if t.Number != m.End.Best.Trial {
			t.Personalized, t.Global = nil, nil
		}
	}
}

// cpuSeconds is what the process has taken of the processor, 0 where the system does not say.
func cpuSeconds() float64 {
	text, err := os.ReadFile("/proc/self/stat")
	_, rest, found := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if err != nil || !found || len(fields) < 13 {
		return 0
	}
	user, err1 := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	if cmp.Or(err1, err2) != nil {
		return 0
	}
	return (user + system) / 100
}
