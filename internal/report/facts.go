package report

import (
	_ "embed" // the page
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/view"
	"github.com/fedfast/fedfast/tuners"
)

// sentence says how far the study is.
func (s *Study) sentence() string {
	done := fmt.Sprintf("%s of %s rounds", count(s.Rounds), count(s.Budget))
	switch s.State {
	case view.Completed:
		text := []string{"Completed after " + count(s.Rounds) + " rounds."}
		for _, v := range s.Verdict() {
			text = append(text, "Warning: "+v+".")
		}
		return strings.Join(text, " ")
	case view.Running:
		if b := s.Baseline; b != nil {
			done = b.Stage()
		} else {
			done += " so far"
		}
		return fmt.Sprintf("Running in process %d: %s. Recorded until %s.", s.PID, done, stamp(s.Last))
	default:
		if b := s.Baseline; b != nil {
			done += ", " + b.Stage()
		}
		return fmt.Sprintf("Interrupted after %s. Resume with: fedfast study resume %s", done, s.Dir)
	}
}

// stamp writes a moment.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// count writes a number with commas between thousands.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func (s *Study) facts() []fact {
	c := s.Config
	facts := []fact{{"directory", s.Dir}}
	if b := s.Best; b != nil {
		name, text := "best so far (estimate)", fmt.Sprintf("~%s, trial %d, %s", s.Scale().Text(b.Score), b.Trial, b.Basis())
		if b.Returned {
			name, text = "returned model", fmt.Sprintf("%s %s, trial %d after round %d", s.Scale().Text(b.Score), s.Scale(), b.Trial, b.Round)
		}
		facts = append(facts, fact{name, text})
	}
	facts = append(facts, fact{"command", "fedfast " + s.Mode})
	if s.Mode == config.ModeTune {
		tuner := c.Tuner.Name
		if c.ClientTuner.Name != "" && c.ClientTuner.Name != "none" {
			tuner += " with " + c.ClientTuner.Name
		}
		facts = append(facts, fact{"tuner", tuner}, fact{"objective", s.objective() + ", " + s.Scale().Direction()}, fact{"trials", count(len(s.Trials))})
		failed := 0
		for _, t := range s.Trials {
			if t.State == view.Failed {
				failed++
			}
		}
		if failed > 0 {
			facts = append(facts, fact{"failed trials", count(failed)})
		}
		facts = append(facts, s.acts()...)
	}
	model := c.Model.Name
	if model == "" {
		model = "custom network"
	}
	facts = append(facts,
		fact{"method", c.Method}, fact{"data", c.Data.Name}, fact{"model", model}, fact{"clients per round", count(c.Cohort)}, fact{"seed", strconv.FormatUint(c.Seed, 10)},
		fact{"started", stamp(s.Started)}, fact{"worked", s.Worked.Round(100 * time.Millisecond).String()})
	return facts
}

// acts are those of a person.
func (s *Study) acts() []fact {
	var facts []fact
	for _, a := range s.Acts {
		switch {
		case a.Trial < 0:
			facts = append(facts, fact{"stopped by the user", "the study, " + stamp(a.At)})
		case a.Act == study.ActStopTrial:
			facts = append(facts, fact{"stopped by the user", fmt.Sprintf("trial %d after round %d, %s", a.Trial, a.Round, stamp(a.At))})
		}
	}
	return facts
}

// bestParams are the params of the best trial.
func (s *Study) bestParams() []fact {
	best := s.best()
	if best < 0 {
		return nil
	}
	return paramFacts(s.Trials[best].Params)
}

func paramFacts(p tuners.Params) []fact {
	var facts []fact
	for _, key := range p.Keys() {
		facts = append(facts, fact{key, short(p[key])})
	}
	return facts
}

// short writes a value, a number with four digits.
func short(v tuners.Value) string {
	if x, ok := v.Float(); ok {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	if x, ok := v.Text(); ok {
		return x
	}
	return v.String()
}
