package estimate

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	_ "github.com/fedfast/fedfast/internal/test/glyphs"
	"github.com/fedfast/fedfast/plugins"
)

// setup prepares a study on 12 glyph clients.
func setup(t *testing.T, tuner, client string, change func(*config.Config)) *study.Setup {
	t.Helper()
	c := config.Default()
	c.Model.Name, c.Cohort, c.Rounds = "logistic", 3, 40
	c.Client.Epochs, c.Client.Batch = 2, 8
	c.Data.Name, c.Data.Clients, c.Data.Samples = "glyphs", 12, 30
	c.Budget = config.Budget{Rounds: 100, TrialRounds: 20}
	c.Eval, c.Select = config.Eval{}, config.SelectPaper
	c.Tuner.Name, c.Tuner.Reference, c.ClientTuner.Name = tuner, false, client
	if change != nil {
		change(&c)
	}
	fed, model, err := config.Prepare(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	s := &study.Setup{Config: c, Data: fed, Model: model, Tuner: plugins.Builtin()[tuner]}
	if client != "" {
		s.ClientTuner = plugins.Builtin()[client]
	}
	return s
}

// even are the counts of clients of 24 training, 3 validation and 3 test examples.
func even(s *study.Setup) Counts {
	return Counts{Clients: 12, Train: 24, Val: 3, Test: 3, Proxy: float64(s.Config.Data.ProxyTest)}
}

func TestCounts(t *testing.T) {
	s := setup(t, "sha", "", func(c *config.Config) { c.Data.Proxy, c.Data.Samples = 150, 60 })
	n, sum := Count(s.Data, &s.Config), 0.0
	for _, c := range s.Data.Clients {
		sum += float64(c.Train.Len() + c.Val.Len() + c.Test.Len())
	}
	if n.Clients != len(s.Data.Clients) || n.Unseen != 0 || !near(float64(n.Clients)*(n.Train+n.Val+n.Test), sum) ||
		n.Val == 0 || n.Test == 0 || n.Proxy != 1000 {
		t.Errorf("%+v; clients have %v examples", n, sum)
	}
	side, err := s.Data.Side(data.Side{
		Clients: slices.Repeat([]data.SideClient{{Samples: 20, HI: 0.9}}, 3), Test: 30,
		Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := Count(side, &s.Config); n != (Counts{Clients: 3, Train: 20, Unseen: 1, UnseenTest: 30, Proxy: 1000}) {
		t.Errorf("a proxy federation: %+v", n)
	}
}

// trained sums the examples without what is evaluated.
func trained(s *study.Setup, p Plan, evaluated float64) (examples float64) {
	for _, w := range p.All() {
		examples += w.Examples
	}
	return examples - Evaluated(s.Model, evaluated)
}

func TestPlans(t *testing.T) {
	table := map[string]any{
		"hi": "0.2, 0.8", "samples": "100, 300", "batches": "4, 16", "epochs": "1, 3", "clients": 2,
		"rounds": 10, "scale": 0.5, "init": 2, "proposals": 3,
	}
	ready := map[string]any{"table": "0.2 100 0.1 4 1; 0.2 200 0.1 4 5"}
	const perRound, ends = 3 * 3, 12 * (3 + 3) // examples that are evaluated: of a scored round, and at an end
	for name, c := range map[string]struct {
		mode, tuner, client string
		change              func(*config.Config)
		text                string
		batch               int
		trained             float64
		evaluated           float64
		tasks               int
	}{
		"run": {
			mode: config.ModeRun, tuner: "sha", text: "40 rounds", batch: 8, trained: 40 * 3 * 2 * 24, evaluated: ends,
			tasks: 3,
		},
		"personalized": {
			mode: config.ModeRun, tuner: "sha", change: func(c *config.Config) { c.Eval.Personalized, c.Eval.Clients = true, 5 },
			text: "40 rounds", batch: 8, trained: (40*3 + 5) * 2 * 24, evaluated: 2 * 5 * 6, tasks: 3,
		},
		"measured on the way": {
			mode: config.ModeRun, tuner: "sha", change: func(c *config.Config) { c.Eval.Every = 9 },
			text: "40 rounds", batch: 8, trained: 40 * 3 * 2 * 24, evaluated: ends + 4*12*3, tasks: 3,
		},
		"tune": {
			mode: config.ModeTune, tuner: "sha", text: "100 rounds", batch: 8, trained: 100 * 3 * 2 * 24,
			evaluated: 100*perRound + 2*ends,
		},
		"finalists": {
			mode: config.ModeTune, tuner: "sha", change: func(c *config.Config) {
				c.Select,
					c.Finalists.Clients = config.SelectFinalists, 7
			},
			text: "100 rounds", batch: 8, trained: (100*3 + 8*7) * 2 * 24, evaluated: 100*perRound + 2*ends + 8*7*3,
		},
		"one finalist and its snapshot": {
			mode: config.ModeTune, tuner: "fedtune-hrt", change: func(c *config.Config) {
				c.Tuner.Options, c.Select, c.Target = ready, config.SelectFinalists, "global"
			},
			text: "20 rounds", batch: 4, trained: 20 * 3 * 24 * 3, evaluated: 20*perRound + 2*ends + 2*12*3, tasks: 3,
		},
		"few trials": {
			mode: config.ModeTune, tuner: "random",
			change: func(c *config.Config) { c.Tuner.Options = map[string]any{"trials": int64(2)} },
			text:   "40 rounds", batch: 8, trained: 40 * 3 * 2 * 24, evaluated: 40*perRound + 2*ends,
		},
		"a space": {
			mode: config.ModeTune, tuner: "random", change: func(c *config.Config) {
				c.Space = map[string]any{
					"client.lr":     map[string]any{"log10": []any{-3.0, 0.0}},
					"client.epochs": map[string]any{"choice": []any{4.0}},
				}
			},
			text: "100 rounds", batch: 8, trained: 100 * 3 * 4 * 24, evaluated: 100*perRound + 2*ends,
		},
		"a table": {
			mode: config.ModeTune, tuner: "fedtune-hrt", change: func(c *config.Config) {
				c.Tuner.Options,
					c.Data.ProxyTest = table, 50
			},
			text: "20 trials on proxy federations and 20 rounds", tasks: 3,
			// 4 cells of 5 trials of 5 rounds of 2 clients of 100 samples for 2
			// epochs, and 20 rounds
			batch: 16, trained: 20*5*2*100*2 + 20*3*24*2,
			evaluated: 20*50 + 20*perRound + 2*ends,
		},
		"a table under a wrapper": {
			mode: config.ModeTune, tuner: "random", client: "fedtune-hrt",
			change: func(c *config.Config) { c.ClientTuner.Options, c.Data.ProxyTest = table, 50 },
			text:   "20 trials on proxy federations and 100 rounds",
			batch:  16, trained: 20*5*2*100*2 + 100*3*24*2,
			evaluated: 20*50 + 100*perRound + 2*ends,
		},
		"a ready table": {
			mode: config.ModeTune, tuner: "fedtune-hrt", change: func(c *config.Config) { c.Tuner.Options = ready },
			text: "20 rounds", batch: 4, trained: 20 * 3 * 24 * 3, evaluated: 20*perRound + 2*ends, tasks: 3,
		},
	} {
		s := setup(t, c.tuner, c.client, c.change)
		p, err := OfCounts(t.Context(), s, c.mode, even(s))
		if err != nil || p.String() != c.text {
			t.Errorf("%s: %q, %v; want %q", name, p, err, c.text)
			continue
		}
		if got := trained(s, p, c.evaluated); !near(got, c.trained) || p.Work.Batch != c.batch {
			t.Errorf("%s: %v examples in batches of %d, want %v of %d", name, got, p.Work.Batch, c.trained, c.batch)
		}
		if p.Work.Tasks != c.tasks {
			t.Errorf("%s: %d clients train at a time, want %d", name, p.Work.Tasks, c.tasks)
		}
	}
}

// TestRest: what comes after the rounds is counted apart from them.
func TestRest(t *testing.T) {
	s := setup(t, "random", "", func(c *config.Config) { c.Select, c.Eval.Every = config.SelectFinalists, 0 })
	p, err := OfCounts(t.Context(), s, config.ModeTune, even(s))
	if err != nil {
		t.Fatal(err)
	}
	p.RandomWork = Work{Examples: 3 * (p.Work.Examples - p.ends)}
	evaluations, random := p.Rest()
	if all := p.Work.Examples + p.FinalWork.Examples; p.ends <= 0 || !near(evaluations, all/(p.Work.Examples-p.ends)-1) ||
		!near(random, 3) {
		t.Errorf("%v and %v times the rounds", evaluations, random)
	}
	s.Config.Tuner.Reference = true
	with, err := OfCounts(t.Context(), s, config.ModeTune, even(s))
	more, _ := with.Rest()
	want := "100 rounds, then 20 rounds of the configured values"
	if err != nil || with.Reference != 20 || with.String() != want || more < evaluations+0.15 || more > evaluations+0.25 {
		t.Errorf("%v, %v times the rounds with the configured values, %v without", with, more, evaluations)
	}
	if a, b := (Plan{}).Rest(); a != 0 || b != 0 {
		t.Errorf("nothing has %v and %v", a, b)
	}
}

func TestPlansOfWrongOptions(t *testing.T) {
	s := setup(t, "fedtune-hrt", "", func(c *config.Config) { c.Tuner.Options = map[string]any{"init": 0} })
	if _, err := Of(t.Context(), s, config.ModeTune); err == nil || !strings.Contains(err.Error(), "options.init") {
		t.Errorf("got %v", err)
	}
}

func TestTheMiddleBatchStandsForASpace(t *testing.T) {
	s := setup(t, "random", "", func(c *config.Config) {
		c.Space = map[string]any{
			"client.batch": map[string]any{"int": []any{int64(1), int64(20)}},
			"client.lr":    map[string]any{"log10": []any{-3.0, 0.0}},
		}
	})
	p, err := OfCounts(t.Context(), s, config.ModeTune, even(s))
	if err != nil {
		t.Fatal(err)
	}
	if sum := trained(s, p, 100*9+2*12*6); p.Work.Batch < 8 || p.Work.Batch > 12 || !near(sum, 100*3*2*24) {
		t.Errorf("%v examples in batches of %d", sum, p.Work.Batch)
	}
}

// TestVisits counts the gradients of methods by hand: 30 examples in batches of 8, with
// products with a Hessian, of two each, and a model's forward passes.
func TestVisits(t *testing.T) {
	m := logistic(t)
	forward := forward(m)
	base := fl.ClientParams{Epochs: 2, Batch: 8, InnerSteps: 3, HeadEpochs: 0.5}
	for name, c := range map[string]struct {
		change func(*fl.ClientParams)
		want   float64
	}{
		"fedavg":    {func(*fl.ClientParams) {}, 60},
		"reptile":   {func(p *fl.ClientParams) { p.Steps = 5 }, 40},
		"fedprox":   {func(p *fl.ClientParams) { p.Epochs = 0.1 }, 8},
		"fedavgm":   {func(p *fl.ClientParams) { p.Steps, p.Batch = 2, 64 }, 60},
		"fedadam":   {func(p *fl.ClientParams) { p.Steps, p.Batch, p.Wrap = 2, 64, true }, 128},
		"ditto":     {func(p *fl.ClientParams) { p.PersonalEpochs = 1 }, 90},
		"fedrep":    {func(*fl.ClientParams) {}, 75},
		"pfedme":    {func(*fl.ClientParams) {}, 180},
		"perfedavg": {func(*fl.ClientParams) {}, 60 + 60 + 2*60},
		"fedntd":    {func(*fl.ClientParams) {}, 60 + forward*60},
		"fedrod":    {func(*fl.ClientParams) {}, 60 + forward*60},
		"moon":      {func(*fl.ClientParams) {}, 60 + 60},
		"maml":      {func(*fl.ClientParams) {}, 24 + 2*24 + 4},
	} {
		p := base
		c.change(&p)
		if got := examples(methodOf(t, name), p, fl.ServerParams{}, m, 30, 4); !near(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	base.FirstOrder = true
	if maml, per := examples(methodOf(t, "maml"), base, fl.ServerParams{}, m, 30, 4), examples(methodOf(t, "perfedavg"),
		base, fl.ServerParams{}, m, 30, 4); maml != 28 || per != 120 {
		t.Errorf("of first order: %v and %v", maml, per)
	}
}

func methodOf(t *testing.T, name string) fl.Method {
	t.Helper()
	m, err := fl.MethodByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSubnetworksTakeLess: sub-networks that a tuner picks take 17.4 of the 47.8 MFLOP
// of the whole in the mean over all of them, and without such a tuner clients train the
// whole.
func TestSubnetworksTakeLess(t *testing.T) {
	for client, want := range map[string]float64{"perfedrlnas": 0.36, "": 1} {
		s := setup(t, "sha", client, func(c *config.Config) { c.Model.Name, c.Method = "mbv3-cifar", "supernet" })
		if client == "" { // FATHOM picks none
			s.Tuner = plugins.Builtin()["fathom"]
		}
		got, err := share(t.Context(), s)
		if err != nil || got < want-0.06 || got > want+0.06 {
			t.Errorf("%q: the share of %.3f, want %v; %v", client, got, want, err)
		}
	}
	s := setup(t, "sha", "", nil)
	if got, err := share(t.Context(), s); err != nil || got != 1 {
		t.Errorf("without choices: %v, %v", got, err)
	}
}
