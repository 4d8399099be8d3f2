package fedtune_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/fedtune"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// small is a table of 2 x 2 cells over 100 x 2 x 2 points.
var small = tuners.Params{
	"hi": tuners.Str("0.2, 0.8"), "samples": tuners.Str("100,1000"), "lr_min": tuners.Num(0.002),
	"lr_max":  tuners.Num(0.2),
	"batches": tuners.Str("4,16"), "epochs": tuners.Str("5,10"), "rounds": tuners.Num(7),
}

func request(options tuners.Params) tuners.OpenRequest {
	return tuners.OpenRequest{
		Options: options, Seed: 9, Trial: tuners.PrepareSession,
		Budget: tuners.Budget{Rounds: 1 << 40, TrialRounds: 10},
	}
}

// cells collects the environments of a study's starts.
type cells map[int]tuners.Environment

// play plays the search against an error that depends on the cell; best is the
// lowest at log10 lr = peak(hi), batch 4, epochs 10.
func play(t *testing.T, options tuners.Params, seed uint64) (playtest.Result, cells, tuners.Session) {
	t.Helper()
	seen := cells{}
	var last tuners.Session
	req := request(options)
	req.Seed = seed
	r := playtest.Study{
		Tuner: fedtune.Tuner, Request: req, Rungs: true,
		Score: func(trial int, p tuners.Params, _ int) float64 { return surface(seen[trial], p) },
		Check: func(s tuners.Session, decisions []tuners.Decision) {
			last = s
			for _, d := range decisions {
				if d.Kind == tuners.Start {
					seen[d.Trial] = *d.Environment
				}
			}
		},
	}.Play(t)
	return r, seen, last
}

// peak is the best log10 learning rate of a cell.
func peak(e tuners.Environment) float64 { return -2 + e.HI }

func surface(e tuners.Environment, p tuners.Params) float64 {
	d := math.Log10(p.Float("client.lr", 0)) - peak(e)
	return 0.1 + 0.2*d*d + 0.01*p.Float("client.batch", 0)/16 + 0.005*(10-p.Float("client.epochs", 0))/5
}

func TestFillsEveryCell(t *testing.T) {
	r, seen, last := play(t, small, 9)
	if len(r.Stages[0]) != 4*5 {
		t.Errorf("%d random points first, want 5 in each of 4 cells", len(r.Stages[0]))
	}
	seeds := map[tuners.Environment]bool{}
	for trial, e := range seen {
		if e.Kind != tuners.Proxy || e.Clients != 5 || e.Cohort != 5 || r.Rounds[trial] != 7 {
			t.Fatalf("trial %d runs in %+v to round %d", trial, e, r.Rounds[trial])
		}
		seeds[e] = true
	}
	if len(seeds) != 4 {
		t.Errorf("%d proxy federations, want one a cell", len(seeds))
	}
	req := request(small)
	req.Trial, req.State = 3, last.State()
	s, err := host.Local(fedtune.Tuner).Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.PlanRound(t.Context(), tuners.PlanRequest{Trial: 3, Slots: 6})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Table) != 4 || len(p.Clients) != 0 {
		t.Fatalf("the plan is %+v, want a table of 4 cells", p)
	}
	for _, cell := range p.Table {
		e := tuners.Environment{HI: cell.Keys["hi"], Samples: int(cell.Keys["samples"])}
		best := math.Inf(1)
		for trial, run := range seen {
			if run.HI == e.HI && run.Samples == e.Samples {
				best = min(best, surface(run, r.Params[trial]))
			}
		}
		got := surface(e, cell.Params)
		if got != best {
			t.Errorf("cell %v holds a point of error %v, the best tried has %v", cell.Keys, got, best)
		}
		if lowest := 0.1 + 0.01*4/16; got > lowest+0.01 {
			t.Errorf("cell %v: error %v after the search, the lowest is %v", cell.Keys, got, lowest)
		}
	}
	if err := s.ObserveRound(t.Context(), tuners.Observation{Trial: 3}); err != nil ||
		string(s.State()) != string(req.State) {
		t.Errorf("an observation changed the table: %v", err)
	}
}

// TestStopsWithoutImprovement counts the proposals of a cell from its scores.
func TestStopsWithoutImprovement(t *testing.T) {
	for _, c := range []struct{ patience, cap int }{{5, 0}, {2, 0}, {5, 3}, {0, 4}} {
		t.Run(fmt.Sprintf("patience %d cap %d", c.patience, c.cap), func(t *testing.T) {
			o := small.Merge(tuners.Params{
				"patience": tuners.Num(float64(c.patience)), "proposals": tuners.Num(float64(c.cap)),
				"hi": tuners.Str("0.5"), "samples": tuners.Str("100"),
			})
			r, seen, _ := play(t, o, 4)
			proposed, since, best := 0, 0, math.Inf(1)
			for trial := range len(seen) {
				score := surface(seen[trial], r.Params[trial])
				if trial >= 5 {
					proposed++
					if since++; c.patience > 0 && since > c.patience || c.cap > 0 && proposed > c.cap {
						t.Fatalf("proposal %d, after %d without improvement", proposed, since-1)
					}
				}
				if score < best {
					best, since = score, 0
				}
			}
			if c.cap > 0 && proposed == c.cap {
				return
			}
			if c.patience == 0 || since != c.patience {
				t.Errorf("it stopped after %d proposals, %d without improvement", proposed, since)
			}
		})
	}
}

func TestBayesBeatsRandom(t *testing.T) {
	regret := map[string]float64{}
	for _, search := range []string{fedtune.Bayes, fedtune.Random} {
		for seed := range uint64(5) {
			r, seen, _ := play(t, small.Merge(tuners.Params{
				"search": tuners.Str(search), "proposals": tuners.Num(6),
				"patience": tuners.Num(0),
			}), seed)
			best := map[tuners.Environment]float64{}
			for trial, e := range seen {
				if x := surface(e, r.Params[trial]); best[e] == 0 || x < best[e] {
					best[e] = x
				}
			}
			for _, x := range best {
				regret[search] += x - 0.1025
			}
		}
	}
	if regret[fedtune.Bayes] >= 0.7*regret[fedtune.Random] {
		t.Errorf("the regrets are %v", regret)
	}
}

func TestPointsAreDifferent(t *testing.T) {
	for _, search := range []string{fedtune.Bayes, fedtune.Random, fedtune.Grid} {
		o := small.Merge(tuners.Params{
			"search": tuners.Str(search), "proposals": tuners.Num(30), "patience": tuners.Num(0),
			"lr_max": tuners.Num(0.01),
		})
		r, seen, _ := play(t, o, 1)
		tried := map[string]bool{}
		for trial, e := range seen {
			key := fmt.Sprint(e.HI, e.Samples, r.Params[trial])
			if tried[key] {
				t.Fatalf("%s: %s is tried twice", search, key)
			}
			tried[key] = true
		}
		if len(tried) != 4*20 { // a cell has 5 x 2 x 2 points, fewer than the cap
			t.Errorf("%s: %d trials, want 80", search, len(tried))
		}
	}
	for _, x := range []float64{0.006, 0.014} { // multiples of a decimal step stay what they look like
		r, _, _ := play(t, small.Merge(tuners.Params{"search": tuners.Str(fedtune.Grid), "lr_max": tuners.Num(0.02)}), 1)
		if !slices.ContainsFunc(r.Ordered(), func(p tuners.Params) bool { return p.Float("client.lr", 0) == x }) {
			t.Errorf("the grid lacks %v", x)
		}
	}
}

func TestGoesOnFromItsState(t *testing.T) {
	study := playtest.Study{
		Tuner: fedtune.Tuner, Request: request(small.Merge(tuners.Params{"proposals": tuners.Num(3)})),
		Score: func(trial int, p tuners.Params, _ int) float64 {
			if trial%7 == 3 {
				return math.NaN()
			}
			return surface(tuners.Environment{HI: 0.3}, p)
		},
	}
	study.Reopened(t, 1, 4)
}

func TestTablesWithGaps(t *testing.T) {
	state := func(text string) error {
		req := request(small)
		req.Trial, req.State = 0, []byte(text)
		_, err := host.Local(fedtune.Tuner).Open(t.Context(), req)
		return err
	}
	for text, want := range map[string]string{
		`{"trials":[{"cell":2,"point":7,"reported":true,"score":0.4}]}`:   "",
		`{"trials":[{"cell":2,"point":7,"reported":true,"failed":true}]}`: "trial 0: table is empty",
		`{"trials":[{"cell":4,"point":7}]}`:                               "does not match these options",
		`{"trials":3}`:                                                    "damaged",
	} {
		if err := state(text); want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got error %v, want %q", text, err, want)
		}
	}
	req := request(small)
	req.Trial = 0
	if _, err := host.Local(fedtune.Tuner).Open(t.Context(), req); err == nil || !strings.Contains(err.Error(),
		"must prepare") {
		t.Errorf("without a state: %v", err)
	}
}

func TestScaleShrinksTheSideFederationsOnly(t *testing.T) {
	r, seen, last := play(t, small.Merge(tuners.Params{"scale": tuners.Num(0.3), "proposals": tuners.Num(1)}), 2)
	for trial, e := range seen {
		if e.Samples != 30 && e.Samples != 300 || r.Rounds[trial] != 2 {
			t.Fatalf("a proxy federation of %d samples a client for %d rounds", e.Samples, r.Rounds[trial])
		}
	}
	req := request(small)
	req.Trial, req.State = 0, last.State()
	s, err := host.Local(fedtune.Tuner).Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.PlanRound(t.Context(), tuners.PlanRequest{Slots: 1})
	if err != nil || p.Table[0].Keys["samples"] != 100 || p.Table[1].Keys["samples"] != 1000 {
		t.Errorf("the table is %v, %v; want the sizes of the options", p.Table, err)
	}
}

func TestValidateRefuses(t *testing.T) {
	problems, err := fedtune.Tuner.Validate(t.Context(), tuners.ValidateRequest{Options: tuners.Params{
		"hi": tuners.Str("0.2,1.5"), "samples": tuners.Str("10,10"), "batches": tuners.Str("4;8"),
		"search": tuners.Str("luck"), "init": tuners.Num(0), "lr_max": tuners.Num(0.001),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, p := range problems {
		keys = append(keys, p.Key)
	}
	if got := strings.Join(keys,
		" "); got != "options.hi options.samples options.batches options.search options.init options.lr_max" {
		t.Errorf("problems with %s: %v", got, problems)
	}
	problems, _ = fedtune.Tuner.Validate(t.Context(),
		tuners.ValidateRequest{Options: tuners.Params{"lr_step": tuners.Num(1e-6)}})
	if len(problems) != 1 || problems[0].Key != "options.lr_step" {
		t.Errorf("7 million points: %v", problems)
	}
	if problems, _ := fedtune.Tuner.Validate(t.Context(), tuners.ValidateRequest{}); len(problems) != 0 {
		t.Errorf("the defaults: %v", problems)
	}
}
