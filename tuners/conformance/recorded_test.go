package conformance_test

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/conformance"
	"github.com/fedfast/fedfast/tuners/host"
)

const recorded = `{"space": {"client.lr": {"log10": [-4, 0]}, "client.opt": {"choice": ["sgd", "adam"]}}, "budget": {"rounds": 40, "trial_rounds": 8}}
{"params": {"client.lr": 0.01, "client.opt": "sgd"}, "round": 8, "score": 0.2}
{"params": {"client.lr": 0.01, "client.opt": "sgd"}, "round": 4, "score": 0.4}

{"params": {"client.lr": 1, "client.opt": "adam"}, "round": 8, "score": 0.9}
`

func TestRecordedSurface(t *testing.T) {
	r, err := conformance.ReadRecorded(strings.NewReader(recorded))
	if err != nil {
		t.Fatal(err)
	}
	if r.Points() != 2 || r.Budget != (tuners.Budget{Rounds: 40, TrialRounds: 8}) || r.Lowest(8) != 0.2 {
		t.Errorf("%+v", r)
	}
	near := tuners.Params{"client.lr": tuners.Num(0.02), "client.opt": tuners.Str("sgd")}
	for round, want := range map[int]float64{1: 0.4, 4: 0.4, 5: 0.35, 6: 0.3, 8: 0.2, 20: 0.2} {
		if got := r.Score(near, round); math.Abs(got-want) > 1e-12 {
			t.Errorf("round %d scores %v, want %v", round, got, want)
		}
	}
	if got := r.Score(tuners.Params{"client.lr": tuners.Num(0.5), "client.opt": tuners.Str("adam")}, 3); got != 0.9 {
		t.Errorf("the far point scores %v", got)
	}
}

func TestBadRecordsAreNamed(t *testing.T) {
	first, _, _ := strings.Cut(recorded, "\n")
	for _, c := range []struct{ text, want string }{
		{"", "no score is recorded"},
		{first, "no score is recorded"},
		{"{}", `line 1: the first line must be {"space": {...}}`},
		{`{"space": {"x": {"log9": [1, 2]}}}`, `line 1: x: unknown kind "log9"`},
		{first + "\n{", "line 2: unexpected EOF"},
		{first + "\n" + `{"params": {"client.lr": 2, "client.opt": "sgd"}, "round": 1, "score": 1}`, "line 2: client.lr = 2 is outside"},
		{first + "\n" + `{"params": {"client.lr": 1}, "round": 1, "score": 1}`, "line 2: client.opt is missing"},
		{first + "\n" + `{"params": {"client.lr": 1, "client.opt": "sgd"}, "round": 0, "score": 1}`, "line 2: round 0"},
		{first + "\n" + `{"params": {"client.lr": 1, "client.opt": "sgd"}, "round": 1}`, "line 2: no score"},
		{first + "\n" + `{"parms": {}}`, `line 2: json: unknown field "parms"`},
	} {
		if _, err := conformance.ReadRecorded(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

// TestSurfacesAreWhatTheySay compares the lowest scores with those of many points,
// and checks that every surface is an error.
func TestSurfacesAreWhatTheySay(t *testing.T) {
	for _, name := range conformance.Surfaces() {
		s, err := conformance.SurfaceByName(name)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, round := range []int{1, 9, 27} {
			lowest, found := s.Lowest(round), math.Inf(1)
			for trial := range 3000 {
				score := s.Score(s.Space().Sample(tuners.NewDraws(1, trial, 0, name)), round)
				if !(score > 0 && score < 1) {
					t.Fatalf("%s scores %v", name, score)
				}
				found = min(found, score)
			}
			if found < lowest-1e-3 || found > lowest+0.05 {
				t.Errorf("%s, round %d: the lowest is %v, found %v", name, round, lowest, found)
			}
		}
	}
	if s, err := conformance.SurfaceByName("hill"); err == nil || !strings.Contains(err.Error(), "bowl, branin") {
		t.Errorf("%v, %v", s, err)
	}
	// Early rounds of crossing mislead: what is best after 2 rounds is not after
	// 27.
	s, err := conformance.SurfaceByName("crossing")
	if err != nil {
		t.Fatal(err)
	}
	good := tuners.Params{"client.lr": tuners.Num(math.Pow(10, -2.4)), "client.epochs": tuners.Num(2), "client.momentum": tuners.Num(0)}
	poor := good.Merge(tuners.Params{"client.lr": tuners.Num(1)})
	if !(s.Score(good, 2) > s.Score(poor, 2) && s.Score(good, 27) < s.Score(poor, 27)) {
		t.Error("the curves do not cross")
	}
}

func TestReplayTellsWhatWasChosen(t *testing.T) {
	r, err := conformance.ReadRecorded(strings.NewReader(recorded))
	if err != nil {
		t.Fatal(err)
	}
	out, err := conformance.Study{Surface: r, Budget: r.Budget, Seed: 2}.Play(t.Context(), host.Local(conformance.Points()))
	if err != nil || len(out.Trials) != 5 || out.Rounds != 40 || out.Best != -1 {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := out.Lowest(r.Objective); got < 0 || out.Trials[got].Score != 0.2 {
		t.Errorf("the best trial is %d of %+v", got, out.Trials)
	}
}
