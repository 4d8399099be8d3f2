package view

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// Step is what may follow a finished study, by a rule.
type Step struct {
	// Why says in a line what the study shows and what to do about it.
	Why string `json:"why"`
	// Sets are the assignments to the study's configuration that do it; empty where the command
	// does something else.
	Sets []string `json:"set,omitempty"`
	// Command does it. It is to be copied into a shell.
	Command string `json:"command"`
}

// The bounds of the rules of Next.
const (
	leastLearned = 5    // trials that learned, for a narrower space
	unlearned    = 0.25 // share of trials that did not learn from which a narrower space pays
	margin       = 0.1  // of a dimension's range, around the trials that learned
	narrower     = 0.75 // of a dimension's range that a narrower one has at most
	border       = 0.05 // of a dimension's range that counts as its end
	widened      = 0.5  // of a dimension's range by which it grows beyond an end
	tail         = 0.25 // share of the rounds, the last ones, over which a curve still falls
	falls        = 0.05 // share of the error that it loses there at least
)

// Next are the steps that may follow a finished study in a directory, the most useful one first.
func (o *Overview) Next() []Step {
	if o.State != Completed {
		return nil
	}
	text, _ := config.Encode(o.Config) // without it no change is valid
	a := &advice{config: o.Config, text: string(text), dir: o.Dir, result: o.Tune}
	switch {
	case o.Tune != nil:
		a.tuned()
	case o.Run != nil:
		a.longer(o.Run.Curve, "", "rounds", o.Run.Rounds)
	}
	return a.steps
}

// Sets are the assignments of all steps, in the order in which they are made.
func Sets(steps []Step) (all []string) {
	return slices.Concat(list.Of(steps, func(s Step) []string { return s.Sets })...)
}

// advice makes the steps.
type advice struct {
	config    *config.Config
	text, dir string
	result    *result.Result
	space     tuners.Space // with what the steps so far have changed
	steps     []Step
}

// valid says that the study's configuration with assignments is one.
func (a *advice) valid(sets []string) bool {
	c, err := config.Load(config.Source{Text: a.text, Sets: sets})
	return err == nil && c.CheckSpace() == nil
}

// set adds a step that changes the configuration, if that may be so.
func (a *advice) set(why string, sets ...string) {
	if len(sets) == 0 || !a.valid(append(Sets(a.steps), sets...)) {
		return
	}
	words := []string{"fedfast", "tune", oneline.Path(filepath.Join(a.dir, "config.toml"))}
	if a.result == nil {
		words[1] = "run"
	}
	for _, s := range sets {
		words = append(words, "--set", oneline.Path(s))
	}
	a.steps = append(a.steps, Step{why, sets, strings.Join(words, " ")})
}

// tuned are the steps after a study of trials.
func (a *advice) tuned() {
	var err error
	if a.space, err = tuners.ParseSpace(a.config.Space); err != nil {
		return // it was loaded with this space
	}
	if b := a.config.Budget; len(a.result.Trials) == 1 && a.config.Tuner.Name == "halving" && b.InRounds() {
		a.set("budget.rounds paid for one trial, so that nothing was compared: give the tuner more rounds",
			"budget.rounds="+strconv.Itoa(leastLearned*b.Rounds))
	}
	a.wider()
	a.narrower()
	best := &a.result.Best
	if t := a.result.Trial(best.Number); a.config.Budget.InRounds() && t != nil {
		b := a.config.Budget
		curve, rounds := t.Curve, "budget.rounds="+strconv.Itoa(2*b.Rounds)
		a.longer(curve, rounds, "budget.trial_rounds", b.TrialRounds)
	}
	a.untuned()
	a.compared()
}

// assign writes a dimension as an assignment to the configuration, its ends with two digits of
// its range and never inside of what they were.
func assign(d tuners.Dim) string {
	lo, hi := d.Lo, d.Hi
	if d.Step != 0 {
		return "space." + d.Name + "=" + strings.TrimPrefix(d.String(), strconv.Quote(d.Name)+" = ")
	}
	if !d.Whole() && hi > lo {
		step := math.Pow(10, math.Floor(math.Log10(hi-lo))-1)
		lo, hi = math.Floor(lo/step+1e-6)*step, math.Ceil(hi/step-1e-6)*step
	}
	end := func(x float64) string { return strconv.FormatFloat(x+0, 'g', 4, 64) } // no -0
	return fmt.Sprintf("space.%s={%s=[%s, %s]}", d.Name, d.Kind, end(lo), end(hi))
}

// scaled says whether a dimension has ends that can move.
func scaled(d tuners.Dim) bool { return d.Kind != tuners.Choice && d.When == nil && d.Hi > d.Lo }

// wider moves the ends of dimensions at which the winner is.
func (a *advice) wider() {
	for i, d := range a.space {
		v, ok := a.result.Best.Params[d.Name]
		free := d // whose scale is not clipped
		free.Lo, free.Hi = math.Inf(-1), math.Inf(1)
		wide, x := d.Hi-d.Lo, free.Scale(v)
		if !ok || !scaled(d) || math.IsInf(x, 0) {
			continue
		}
		at, by := (x-d.Lo)/wide, widened*wide
		if d.Whole() {
			by = math.Ceil(by)
		}
		end := "upper"
		switch {
		case at >= 1-border:
			d.Hi = max(d.Hi, x) + by
		case at <= border && d.Name != "client.weight_decay": // less than hardly any is no other
			end = "lower"
			d.Lo = min(d.Lo, x) - by
		default:
			continue
		}
		where := "at the " + end + " end of"
		if at < 0 || at > 1 { // as the configured values may be
			where = "outside of the range of"
		}
		set := assign(d)
		if a.valid([]string{set}) {
			a.space[i] = d
			a.set(fmt.Sprintf("the winner is %s %s (%s): widen its range", where, d.Name, result.ValueText(v)), set)
		}
	}
}

// narrower shrinks dimensions to where trials learned, if many did not.
func (a *advice) narrower() {
	var learned []tuners.Params
	for i := range a.result.Trials {
		if a.result.Learned(a.config, i) {
			learned = append(learned, a.result.Trials[i].Params)
		}
	}
	all := len(a.result.Trials)
	if lost := all - len(learned); len(learned) < leastLearned || float64(lost) < unlearned*float64(all) {
		return
	}
	var sets, names []string
	for _, d := range a.space {
		if !scaled(d) {
			continue
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, p := range append(slices.Clone(learned), a.result.Best.Params) {
			if v, ok := p[d.Name]; ok {
				lo, hi = min(lo, d.Scale(v)), max(hi, d.Scale(v))
			}
		}
		wide := d.Hi - d.Lo
		lo, hi = max(d.Lo, lo-margin*wide), min(d.Hi, hi+margin*wide)
		if d.Whole() {
			lo, hi = math.Floor(lo), math.Ceil(hi)
		}
		if hi-lo <= narrower*wide {
			d.Lo, d.Hi = lo, hi
			sets, names = append(sets, assign(d)), append(names, d.Name)
		}
	}
	a.set(fmt.Sprintf("%d of %s did not learn: search only where they did, in %s",
		all-len(learned), oneline.Count(all, "trial"), strings.Join(names, ", ")), sets...)
}

// longer doubles the rounds of a curve that still falls at its end, and with them what more must
// be set, if anything.
func (a *advice) longer(curve []result.CurvePoint, more, key string, rounds int) {
	if len(curve) < 4 || curve[len(curve)-1].Round < rounds*9/10 {
		return
	}
	last := curve[len(curve)-1]
	before := curve[0]
	for _, p := range curve {
		if float64(p.Round) <= (1-tail)*float64(last.Round) {
			before = p
		}
	}
	if !(last.TestError > 0 && last.TestError < (1-falls)*before.TestError) {
		return
	}
	var sets []string
	if more != "" {
		sets = append(sets, more)
	}
	a.set(fmt.Sprintf("the test error still fell by %.0f %% of itself from round %d to %d: train longer",
		100*(1-last.TestError/before.TestError), before.Round, last.Round),
		append(sets, key+"="+strconv.Itoa(2*rounds))...)
}

// untuned adds the method's own hyperparameters that the space lacks.
func (a *advice) untuned() {
	m, err := fl.MethodByName(a.config.Method)
	plain, plainErr := fl.MethodByName("fedavg")
	if err != nil || plainErr != nil {
		return
	}
	has := func(uses []hyper.Use, key string) bool {
		return slices.ContainsFunc(uses, func(u hyper.Use) bool { return u.Key == key })
	}
	base := a.config.Hyper()
	for _, u := range m.Uses {
		p, ok := hyper.FindTunable(u.Key)
		if _, in := a.space.Dim(u.Key); !ok || in || has(plain.Uses, u.Key) || p.Truth() || p.Text() {
			continue
		}
		x := p.Get(&base)
		if off := p.Optional && x == p.Default; off || !(x > 0) || x == math.Trunc(x) && x > 1 {
			continue // or it is a number of things
		}
		at := math.Log10(x)
		d := tuners.Dim{Name: u.Key, Kind: tuners.Log10, Lo: math.Floor(at - 1), Hi: min(0, math.Ceil(at+1))}
		a.set(fmt.Sprintf("%s has %s, which was not tuned: add it to the space", m.Name, u.Key), assign(d))
	}
}

// compared asks for random search, or for seeds where its difference cannot be told.
func (a *advice) compared() {
	dir := oneline.Path(a.dir)
	seeds := func(from, flag string) {
		a.steps = append(a.steps, Step{
			Why: "the difference from " + from + " may be chance: repeat with five seeds",
			Command: "fedfast tune " + oneline.Path(filepath.Join(a.dir, "config.toml")) +
				" --seeds 5" + flag + " --study " + oneline.Path(a.dir+"-seeds"),
		})
	}
	chance := func(gain, half *float64) bool { return gain != nil && half != nil && math.Abs(*gain) <= *half }
	switch b, r := a.result.Baseline, a.result.Reference; {
	case r != nil && r.Trial != nil && r.Number == a.result.Best.Number:
		if n := a.config.Budget.Rounds; a.config.Budget.InRounds() {
			a.set("no trial was better than the configured values: give the tuner more rounds, or another space",
				"budget.rounds="+strconv.Itoa(2*n))
		}
	case b != nil && chance(b.Gain, b.GainHalf):
		seeds("random search", " --baseline equal")
	case r != nil && chance(r.Gain, r.GainHalf) && r.Number != a.result.Best.Number:
		seeds("the configured values", "")
	case a.config.Tuner.Name != "random" && b == nil:
		a.steps = append(a.steps, Step{
			Why:     "whether the tuner paid is not known: train random search of the same cost",
			Command: "fedfast tune --study " + dir + " --baseline equal",
		})
	}
}
