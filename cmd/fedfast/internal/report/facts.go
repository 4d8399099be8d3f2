package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// names are the names of tuners as people write them.
var names = map[string]string{
	"sha": "SHA", "dphype": "DP-Hype", "flora": "FLoRA", "asha": "ASHA", "bohb": "BOHB", "dehb": "DEHB", "fedex": "FedEx",
	"fathom": "FATHOM", "fedhyper": "FedHyper", "fedpop": "FedPop", "hyperband": "Hyperband",
	"random": "random search", "tpe": "TPE", "nsga2": "NSGA-II",
}

func named(tuner string) string { return cmp.Or(names[tuner], tuner) }

// Subtitle says what was trained: "SHA + FedEx · fashion-small · cnn · fedavg · 280 clients · seed 0".
func Subtitle(s *view.Overview) string {
	c := s.Config
	what := "one run"
	if s.Mode == config.ModeTune {
		what = named(c.Tuner.Name)
		if c.ClientTuner.Name != "" && c.ClientTuner.Name != "none" && c.ClientTuner.Name != c.Tuner.Name {
			what += " + " + named(c.ClientTuner.Name)
		}
	}
	parts := []string{what, c.Data.Name, cmp.Or(c.Model.Name, "custom network"), c.Method, fmt.Sprintf("%d clients per round", c.Updates())}
	if e := s.Errors(); e != nil && e.Evaluation != nil && e.Evaluation.GlobalTest.Clients > 1 {
		clients := count(e.Evaluation.GlobalTest.Clients) + " clients"
		if c.Eval.Clients > 0 {
			clients = "evaluated on " + clients
		}
		parts = append(parts, clients)
	}
	return strings.Join(append(parts, "seed "+strconv.FormatUint(c.Seed, 10)), " · ")
}

// About is the Subtitle and what people wrote beside the study and beside all seeds that it belongs to.
func About(s *view.Overview) string {
	text := s.Notes.After(Subtitle(s))
	if seeds := filepath.Dir(s.Dir); workdir.HoldsSeeds(seeds) {
		notes, _ := view.ReadNotes(seeds) // the report goes without
		text = notes.After(text)
	}
	return text
}

// unfinished says how far a study is that is not completed.
func (s *Study) unfinished() string {
	done := s.trained()
	if b := s.Baseline; b != nil {
		done += ", " + b.Stage()
	}
	if s.State == view.Completed {
		return ""
	}
	if s.State == view.Running {
		return fmt.Sprintf("Running in process %d: %s. Recorded until %s.", s.PID, done, stamp(s.Last))
	}
	return fmt.Sprintf("Interrupted after %s. Resume with: fedfast study resume %s", done, oneline.Path(s.Dir))
}

// trained says how much of its budget the study has used.
func (s *Study) trained() string {
	if s.Mode == config.ModeTune && !s.Config.Budget.InRounds() {
		text, b := count(s.Rounds)+" rounds", s.Config.Budget
		if s.Tune != nil {
			text += ", " + count(s.Tune.Spent())
		}
		return fmt.Sprintf("%s of %s %ss", text, count(b.Tuners().Rounds), b.Unit())
	}
	return fmt.Sprintf("%s of %s rounds", count(s.Rounds), count(s.Budget))
}

// again is the command that repeats the study.
func (s *Study) again() string { return "fedfast " + s.Mode + " study.toml --study again" }

// stamp writes a moment.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func count(n int) string { return oneline.Digits(n) }

// facts are what few readers ask for.
func (s *Study) facts() []fact {
	facts := []fact{
		{"name", s.Name},
		{"trained", s.trained()},
		{"training time", s.Worked.Round(100 * time.Millisecond).String()},
		{"started", stamp(s.Started)},
	}
	if s.Mode == config.ModeTune {
		facts = append(facts, fact{"objective", s.objective() + ", " + s.Scale().Direction()})
		facts = append(facts, s.acts()...)
	}
	failed := list.Count(s.Trials, func(t view.Trial) bool { return t.State == view.Failed })
	if failed > 0 {
		facts = append(facts, fact{"failed trials", count(failed)})
	}
	if a := s.Privacy(); a != nil {
		facts = append(facts, fact{"privacy", a.Cost() + "; " + a.Describe()})
	}
	switch {
	case s.Tune != nil:
		facts = append(facts, fact{"weights (SHA-256)", s.Tune.WeightsSHA256})
	case s.Run != nil:
		if t := s.Run.Traffic; t != nil {
			if facts = append(facts, fact{"traffic", t.Sums()}); !t.Plainly() {
				facts = append(facts, fact{"updates", t.Describe()})
			}
		}
		facts = append(facts, fact{"weights (SHA-256)", s.Run.WeightsSHA256})
	}
	return facts
}

// acts are the user's actions.
func (s *Study) acts() []fact {
	var facts []fact
	for _, a := range s.Acts {
		switch {
		case a.Trial < 0:
			facts = append(facts, fact{"stopped by the user", "the study, " + stamp(a.At)})
		case a.Act == result.ActStopTrial:
			facts = append(facts, fact{"stopped by the user", fmt.Sprintf("trial %d after round %d, %s", a.Trial, a.Round, stamp(a.At))})
		}
	}
	return facts
}

// short writes a value, a number with four digits.
func short(v tuners.Value) string {
	if x, ok := v.Float(); ok {
		return result.Number(x)
	}
	if x, ok := v.Text(); ok {
		return x
	}
	return v.String()
}
