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
	Name, Doc, Needs, Network string
	Rounds                    int // of a training
	Sets                      []string
}

// boardCells are the tuned board: for each method on each federation a study, runs on other
// splits with the values that it returned, and the same runs with the method's defaults.
func boardCells() []Cell {
	var cells []Cell
	for _, set := range papers().Board.Sets {
		for _, m := range papers().Board.Methods {
			method, err := fl.MethodByName(m)
			if err != nil {
				panic("repro: " + err.Error())
			}
			target, measure := tuners.TargetGlobal, func(r *Returned) *float64 { return r.GlobalTest }
			if method.Personal {
				target, measure = tuners.TargetPersonalized, func(r *Returned) *float64 { return r.PersonalizedTest }
			}
			name := "board/" + set.Name + "/" + m
			run := Training{
				Key: strings.ReplaceAll(name, "/", "-") + "-default", Mode: config.ModeRun, Tuner: "halving", Seeds: boardSeeds, Needs: set.Needs, Shrink: shrinkBoard,
				Board: true, After: 1,
				Sets: append([]string{"select=" + config.SelectFinalists, "method=" + m, "target=" + target, fmt.Sprint("rounds=", set.Rounds), papers().Board.Networks[set.Network]}, set.Sets...),
			}
			tuned, search := run, run
			search.Key, search.Mode, search.Seeds, search.After = strings.TrimSuffix(run.Key, "-default"), config.ModeTune, 1, 0
			search.Sets = append(slices.Clone(run.Sets), "nonfinite=fail",
				fmt.Sprint("budget.trial_rounds=", set.Rounds), fmt.Sprint("budget.rounds=", boardTrainings*set.Rounds))
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
