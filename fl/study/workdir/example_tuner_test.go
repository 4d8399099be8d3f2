package workdir_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/tuners"
)

// sprint is a tuner: it draws trials, gives each a third of the rounds of one, and
// runs the best to the end.
type sprint struct{}

var aboutSprint = tuners.Description{
	Name: "sprint", Version: "1", Doc: "Draws trials, runs each for a third of its rounds and the best to the end.",
	Trials:  true,
	Options: []tuners.Option{{Name: "trials", Default: tuners.Num(4), Doc: "trials that are drawn"}},
}

func (sprint) Describe(context.Context) (tuners.Description, error) { return aboutSprint, nil }

func (sprint) Validate(_ context.Context, r tuners.ValidateRequest) ([]tuners.Problem, error) {
	return aboutSprint.CheckOptions(r.Options), nil
}

// Open begins a session, or continues one from its state.
func (sprint) Open(_ context.Context, r tuners.OpenRequest) (tuners.Session, error) {
	s := &sprintSession{req: r, trials: aboutSprint.WithDefaults(r.Options).Int("trials", 0)}
	if r.State != nil {
		return s, json.Unmarshal(r.State, &s.Reports)
	}
	return s, nil
}

// sprintSession knows what was reported, and so what is next.
type sprintSession struct {
	tuners.TrialsOnly
	req     tuners.OpenRequest
	trials  int
	Reports []tuners.TrialReport
}

// State is all that a session opened anew must know.
func (s *sprintSession) State() []byte {
	state, _ := json.Marshal(s.Reports)
	return state
}

func (s *sprintSession) Report(_ context.Context, r tuners.TrialReport) error {
	s.Reports = append(s.Reports, r)
	return nil
}

func (s *sprintSession) Suggest(context.Context, int) ([]tuners.Decision, error) {
	best := 0
	for i, r := range s.Reports {
		if r.Score < s.Reports[best].Score {
			best = i
		}
	}
	switch n := len(s.Reports); {
	case n == 0:
		var starts []tuners.Decision
		for i := range s.trials {
			params := s.req.Space.Sample(tuners.NewDraws(s.req.Seed, i, 0, "sprint"))
			starts = append(starts, tuners.Decision{
				Kind: tuners.Start, Trial: i, Params: params,
				ToRound: s.req.Budget.TrialRounds / 3,
			})
		}
		return starts, nil
	case n == s.trials:
		return []tuners.Decision{{Kind: tuners.Resume, Trial: s.Reports[best].Trial, ToRound: s.req.Budget.TrialRounds}}, nil
	case n > s.trials:
		return []tuners.Decision{{Kind: tuners.Done, Best: s.Reports[n-1].Trial}}, nil
	}
	return []tuners.Decision{{Kind: tuners.Wait}}, nil
}

// A tuner of the program's own, beside the built-in ones or in their place.
func ExampleInProcess() {
	folder, err := os.MkdirTemp("", "study")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Tuner: "sprint", ClientTuner: "none", Sets: []string{
		"model=logistic", "data.clients=8", "data.samples=30", "cohort=3", "budget.rounds=20", "budget.trial_rounds=6",
		"tuner.options.trials=5",
	}})
	if err != nil {
		panic(err)
	}
	r, err := workdir.Tune(context.Background(), filepath.Join(folder, "mine"), c, workdir.Options{
		Launcher: workdir.InProcess(map[string]tuners.Tuner{"sprint": sprint{}}),
	})
	if err != nil {
		panic(err)
	}
	for _, t := range r.Trials {
		fmt.Printf("trial %d ran %d rounds\n", t.Number, t.Rounds)
	}
	// Output:
	// trial 0 ran 2 rounds
	// trial 1 ran 6 rounds
	// trial 2 ran 2 rounds
	// trial 3 ran 2 rounds
	// trial 4 ran 2 rounds
}
