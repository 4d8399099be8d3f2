package repro

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

const (
	tunedBoard = "pfllib/tuned"
	// Rounds of a training of the tuned board, of all trials of a study, and the most
	// samples of a client.
	boardRounds, boardBudget, boardSamples = 15, 60, 150
)

// ownSpaces are the hyperparameters of the methods' own that the tuned board searches beside
// client.lr, each as a setting of the space.
var ownSpaces = map[string][]string{
	"fedprox":   {`space."client.mu"={log10=[-4,0]}`},
	"perfedavg": {`space."client.inner_lr"={log10=[-2.5,-0.3]}`},
	"pfedme":    {`space."client.lambda"={log10=[0,1.3]}`, `space."client.inner_lr"={log10=[-2.5,-1]}`},
	"ditto":     {`space."client.lambda"={log10=[-2,0.5]}`},
	"apfl":      {`space."client.alpha"={uniform=[0.1,1]}`},
	"fedamp":    {`space."client.lambda"={log10=[-1,2]}`},
	"fedala":    {`space."client.ala_rate"={log10=[-1,1]}`},
	"fedrep":    {`space."client.head_epochs"={choice=[0.5,1,2]}`},
	"fedbabu":   {`space."client.head_epochs"={choice=[0.5,1,2]}`},
	"scaffold":  {`space."server.lr"={uniform=[0.3,1.5]}`},
	"moon":      {`space."client.mu"={log10=[-1,1]}`},
	"fedntd":    {`space."client.distill"={log10=[-1,0.5]}`},
	"fedlc":     {`space."client.temperature"={log10=[-1,0.5]}`},
}

// boardTraining is a method of the leaderboard, shortened, with the settings that it has there
// or tuned by SHA.
func boardTraining(arm pfllibArm, tuned bool) *Training {
	t := pfllibTraining(pfllibSettings[0], arm)
	target := tuners.TargetGlobal
	if arm.own {
		target = tuners.TargetPersonalized
	}
	t.Key, t.Seeds, t.Shrink = "pfllib-tuned-"+arm.method+"-untuned", 5, shrinkBoard
	sets := []string{
		"data.split=60/15/25", fmt.Sprint("data.max_samples=", boardSamples), "client.lr=0.05", fmt.Sprint("rounds=", boardRounds),
		fmt.Sprint("budget.rounds=", boardRounds), fmt.Sprint("budget.trial_rounds=", boardRounds), fmt.Sprint("eval.every=", boardRounds), "target=" + target,
	}
	if arm.method == "perfedavg" {
		sets = append(sets, "client.inner_lr=0.05")
	}
	if tuned { // a score is of the clients that are left: an arm that drops all but an easy one would win
		t.Key, t.Mode, t.Tuner = "pfllib-tuned-"+arm.method+"-sha", config.ModeTune, "sha"
		t.Sets = slices.DeleteFunc(t.Sets, func(s string) bool {
			return strings.HasPrefix(s, "tuner.options.") || strings.HasPrefix(s, "eval.every_target=")
		})
		sets = override(sets, []string{fmt.Sprint("budget.rounds=", boardBudget), "eval.every=0", "eval.personalized=true", "nonfinite=fail", "tuner.options.eliminations=2", `space."client.lr"={log10=[-2.5,-0.3]}`})
		sets = append(sets, ownSpaces[arm.method]...)
	}
	t.Sets = override(t.Sets, sets)
	t.Deviates = append(t.Deviates, fmt.Sprintf("the leaderboard shortened to %d rounds of at most %d samples a client, of which 15 %% validate, with a learning rate of 0.05 where it is not tuned", boardRounds, boardSamples))
	return t
}

// shrinkBoard scales the rounds.
func shrinkBoard(c *config.Config, scale float64) []string {
	b := &c.Budget
	rounds, all := b.TrialRounds, b.Rounds
	c.Rounds, b.TrialRounds, b.Rounds = shrunk(rounds, scale, 5), shrunk(rounds, scale, 5), shrunk(all, scale, 5)
	if c.Eval.Every > 0 {
		c.Eval.Every = c.Rounds
	}
	return []string{fmt.Sprintf("scaled by %v: %d rounds a training and %d a study, instead of %d and %d", scale, b.TrialRounds, b.Rounds, rounds, all)}
}

// boardCells are the methods of the leaderboard without tuning and with it.
func boardCells() []Cell {
	var cells []Cell
	for _, arm := range pfllibArms {
		if arm.why != "" {
			continue
		}
		target := tuners.TargetGlobal
		if arm.own {
			target = tuners.TargetPersonalized
		}
		cell := Cell{Paper: "beyond the papers", Where: "PFLlib's leaderboard, tuned", Instead: "not published", Unit: "% test error"}
		untuned, tuned := cell, cell
		untuned.Name, untuned.Training, untuned.Measure = tunedBoard+"/"+arm.method+"/untuned", boardTraining(arm, false), func(m *Metrics) (float64, bool) {
			x, ok := lastAccuracy(m)
			return 100 - x, ok
		}
		tuned.Name, tuned.Training, tuned.Measure = tunedBoard+"/"+arm.method+"/sha", boardTraining(arm, true), survivorError(target)
		cells = append(cells, untuned, tuned)
	}
	return cells
}

// orderTable compares the order of the methods without tuning with that of the tuned ones: for
// each variant Kendall's tau of both over the methods that have both, a value for each seed
// that all have. In a seed in which the trial that SHA kept failed, that method is the last.
func (r *Report) orderTable() Table {
	t := Table{
		Title: fmt.Sprintf("the order of the methods without tuning and with it: Kendall's tau (b) of their test errors, with the 90 %% interval over seeds; 1: the same order, 0: none in common. "+
			"The cost is equal among methods and not between the two orders: a study has %d times the rounds of the one training without tuning, and none of its trials has more. "+
			"So the orders may be compared, not what tuning gains at a given cost. A method is the last in seeds in which the trial that SHA kept failed later", boardBudget/boardRounds),
		Head: []string{"methods", "tau", "seeds", "without tuning, the best first", "tuned, the best first", "variant"},
	}
	type both struct{ untuned, tuned *Row }
	var variants []string
	of := map[string]map[string]both{}
	for i := range r.Rows {
		row := &r.Rows[i]
		method, how, ok := strings.Cut(strings.TrimPrefix(row.Name, tunedBoard+"/"), "/")
		if !ok || !strings.HasPrefix(row.Name, tunedBoard+"/") {
			continue
		}
		if of[row.Variant] == nil {
			of[row.Variant] = map[string]both{}
			variants = append(variants, row.Variant)
		}
		b := of[row.Variant][method]
		if how == "sha" {
			b.tuned = row
		} else {
			b.untuned = row
		}
		of[row.Variant][method] = b
	}
	for _, variant := range variants {
		var methods []string
		for _, arm := range pfllibArms {
			if b := of[variant][arm.method]; b.untuned != nil && b.tuned != nil {
				methods = append(methods, arm.method)
			}
		}
		if len(methods) < 2 {
			continue
		}
		row := func(i int, tuned bool) *Row {
			if tuned {
				return of[variant][methods[i]].tuned
			}
			return of[variant][methods[i]].untuned
		}
		var taus []float64
		for seed := range len(row(0, false).Values) {
			var x, y []float64
			for i := range methods {
				x, y = append(x, valueOf(row(i, false), seed)), append(y, valueOf(row(i, true), seed))
			}
			if slices.ContainsFunc(slices.Concat(x, y), math.IsNaN) {
				continue
			}
			if tau := stats.Kendall(x, y); !math.IsNaN(tau) {
				taus = append(taus, tau)
			}
		}
		order := func(tuned bool) string {
			at := list.Made(len(methods), func(i int) int { return i })
			slices.SortStableFunc(at, func(a, b int) int {
				x, y := row(a, tuned).Sample.Mean, row(b, tuned).Sample.Mean
				return index(x > y || math.IsNaN(x)) - index(x < y || math.IsNaN(y))
			})
			var names []string
			for _, i := range at {
				name := fmt.Sprintf("%s %.1f", methods[i], row(i, tuned).Sample.Mean)
				if r := row(i, tuned); r.Sample.N < r.Seeds {
					name += fmt.Sprintf(" (%d of %d seeds)", r.Sample.N, r.Seeds)
				}
				names = append(names, name)
			}
			return strings.Join(names, ", ")
		}
		tau := stats.Of(taus)
		t.Rows = append(t.Rows, []string{strconv.Itoa(len(methods)), withInterval(tau), strconv.Itoa(tau.N), order(false), order(true), variantText(variant)})
	}
	return t
}

// valueOf is the error of a seed in percent: NaN where it was not run, 100 where SHA kept no
// trial to its end.
func valueOf(r *Row, seed int) float64 {
	switch {
	case seed >= len(r.Values) || !r.Reached[seed]:
		return math.NaN()
	case math.IsNaN(r.Values[seed]):
		return 100
	}
	return r.Values[seed]
}
