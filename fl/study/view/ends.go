package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// leastBroken is the best accuracy below which a training has learnt nothing that it could
// lose: guessing halves and doubles by chance.
const leastBroken = 0.1

// stoppedEarly is the label of how a training ended by eval.patience.
const stoppedEarly = "stopped early"

// Ending is how a training went whose model is returned.
type Ending struct {
	Curve    []result.CurvePoint
	Goal     float64 // eval.goal
	Patience int     // eval.patience
	// Returned is the round of the returned model, 0 for the last one of a run.
	Returned int
	Measure  string // see result.Errors
}

// OfRun is the ending of a run.
func OfRun(r *result.RunResult) Ending {
	return Ending{r.Curve, r.Goal, r.Patience, r.Returned, r.Measure}
}

// OfTune is the ending of the trial whose model a study returns.
func OfTune(r *result.Result) Ending {
	e := Ending{Goal: r.Goal, Patience: r.Patience, Returned: r.Best.Round, Measure: r.Measure}
	if t := r.Trial(r.Best.Number); t != nil {
		e.Curve = t.Curve
	}
	return e
}

// Notes say whether the training broke down or ended early, and whether the returned model is not
// the last one: labels and what they say.
func (e Ending) Notes() (notes [][2]string) {
	if len(e.Curve) == 0 {
		return nil
	}
	add := func(label, text string, args ...any) {
		notes = append(notes, [2]string{label, fmt.Sprintf(text, args...)})
	}
	if best, from := result.Broke(e.Curve); from != nil && e.Measure != result.MeasureRMSE && 1-best.TestError >= leastBroken {
		add("diverged", "from round %s on: the test accuracy stays below half of its best, %.1f %% after round %s", oneline.Digits(from.Round), 100*(1-best.TestError), oneline.Digits(best.Round))
	}
	last := e.Curve[len(e.Curve)-1]
	if p := result.Reached(e.Curve, e.Goal); e.Goal > 0 && p == nil {
		add("target", "of %g %% test accuracy not reached in %s rounds and %s samples", 100*e.Goal, oneline.Digits(last.Round), oneline.Digits(last.Examples))
	} else if e.Goal > 0 {
		text := ""
		if p.Clock != nil {
			text = ", in " + Simulated(*p.Clock) + " of simulated time"
		}
		add("target", "of %g %% test accuracy reached after round %s and %s samples%s", 100*e.Goal, oneline.Digits(p.Round), oneline.Digits(p.Examples), text)
	}
	best, ended := result.Stale(e.Curve, e.Patience)
	switch {
	case ended:
		add(stoppedEarly, "at round %s, since the validation error did not improve on %s in %s; the returned model is of round %s",
			oneline.Digits(last.Round), result.ErrorText(e.Measure, *best.ValError), oneline.Count(e.Patience, "evaluation"), oneline.Digits(cmp.Or(e.Returned, best.Round)))
	case best != nil && e.Returned == best.Round && best.Round < last.Round:
		add("returned model", "of round %s, with the lowest validation error: %s", oneline.Digits(e.Returned), result.ErrorText(e.Measure, *best.ValError))
	}
	return notes
}

// Ending is the ending of a finished study.
func (o *Overview) Ending() Ending {
	switch {
	case o.Run != nil:
		return OfRun(o.Run)
	case o.Tune != nil:
		return OfTune(o.Tune)
	}
	return Ending{}
}

// Simulated writes simulated seconds.
func Simulated(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.2gs", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// TrialsTitle says in lines what the scores and the hyperparameters of TrialTable are.
func (o *Overview) TrialsTitle() (lines []string) {
	if slices.ContainsFunc(o.Trials, func(t Trial) bool { return t.Score() != nil }) {
		lines = append(lines, fmt.Sprintf("%v at each trial's last rung, on one cohort; %s", o.Scale(), o.Scale().Direction()))
	}
	if note := o.StartNote(); note != "" {
		lines = append(lines, note)
	}
	return lines
}

// StartNote is the note of a tuning study.
func (o *Overview) StartNote() string {
	if o.Mode == config.ModeRun {
		return ""
	}
	return StartNote(o.Config)
}

// StartNote says in a line whose hyperparameters tables of trials show where a client tuner changes
// them, empty without one.
func StartNote(c *config.Config) string {
	if c.ClientTuner.Name == "" {
		return ""
	}
	return "hyperparameters of trials are what they started from; client tuner " + c.ClientTuner.Name + " changes them in each round"
}

// Sentence makes a sentence of a line.
func Sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
