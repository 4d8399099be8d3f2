package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// The studies of the suite accuracy: nine trials of which successive halving keeps
// three and then one, alone and with FedEx in every trial.
const (
	decisionRounds, quickDecisions = 90, 27
	decisionTrialRounds            = 18
	quickTrialRounds               = 9
)

// decision is what one study decided, from one seed in one precision.
type decision struct {
	Rounds    []int   `json:"rounds"` // of every trial
	Survivor  int     `json:"survivor"`
	TestError float64 `json:"test_error"` // of the returned model, of the study's target
	// Theta is FedEx's distribution over configurations in the surviving trial.
	Theta []float64 `json:"theta,omitempty"`
	Used  int       `json:"used"` // rounds of all trials
	Spent float64   `json:"spent"`
}

// Decisions is what the studies of a row came to, and how it differs from that of
// the first precision.
type Decisions struct {
	Seeds     int      `json:"seeds"`
	Trials    int      `json:"trials"` // of each study
	TestError Estimate `json:"test_error"`
	// Of the row beside the first precision's: in how many studies every trial was
	// stopped at the same round, in how many the same trial survived, how many of
	// all trials were stopped at the same round, and by how much theta of the
	// survivors that are the same differs: half the sum of absolute differences, the
	// mean and the most.
	SameRungs     int      `json:"same_rungs"`
	SameSurvivor  int      `json:"same_survivor"`
	SameTrials    int      `json:"same_trials"`
	Theta         Estimate `json:"theta_distance"`
	MostTheta     float64  `json:"most_theta_distance"`
	ErrorDiffers  Estimate `json:"test_error_differs"`
	Compared      bool     `json:"compared"`
	ThetaCompared int      `json:"theta_compared"` // studies
}

// String says it in a cell.
func (d *Decisions) String() string {
	s := fmt.Sprintf("%d studies of %d trials, test error %s", d.Seeds, d.Trials, d.TestError.points())
	if !d.Compared {
		return s
	}
	s += fmt.Sprintf("; the same survivor in %d, %d of %d trials stopped at the same round, error differs by %s", d.SameSurvivor, d.SameTrials, d.Seeds*d.Trials, d.ErrorDiffers.points())
	if d.ThetaCompared > 0 {
		s += fmt.Sprintf(", theta by %.3f (%.3f at most)", d.Theta.Mean, d.MostTheta)
	}
	return s
}

// decisionRows lists the studies, on the data of the methods.
func decisionRows(cfg Config, shared map[uint64]opened) ([]row, error) {
	preset, base, err := accuracyData(cfg)
	if err != nil {
		return nil, err
	}
	rounds, each := decisionRounds, decisionTrialRounds
	if cfg.Quick {
		rounds, each = quickDecisions, quickTrialRounds
	}
	if cfg.Rounds > 0 {
		rounds, each = 5*cfg.Rounds, cfg.Rounds
	}
	base = append(base, "method=reptile", "objective=error",
		`space."client.lr"={log10=[-3,0]}`, `space."client.momentum"={uniform=[0,0.9]}`, `space."client.epochs"={int=[1,3]}`, `space."server.lr"={log10=[-1,0.3]}`,
		fmt.Sprintf("budget.rounds=%d", rounds), fmt.Sprintf("budget.trial_rounds=%d", each), "tuner.name=sha", "tuner.options.eta=3", "tuner.options.eliminations=2")
	var rows []row
	for _, name := range []string{"sha", "fedex"} {
		client := []string{"client_tuner.name=none"}
		if name == "fedex" {
			client = []string{"client_tuner.name=fedex", "client_tuner.options.configs=9"}
		}
		t := training{name: name, preset: preset, sets: slices.Concat(base, client), opened: shared}
		c, err := t.config(nn.FP32, 1)
		if err != nil {
			return nil, err
		}
		t.shape = fmt.Sprintf("data=%s,method=%s,rounds=%d", c.Data.Name, c.Method, rounds)
		rows = append(rows, row{name: t.name, shape: t.shape, run: func(ctx context.Context, _ *meter) ([]Result, error) {
			return t.decide(ctx, cfg)
		}})
	}
	return rows, nil
}

// decide plays the studies of every precision and seed.
func (t *training) decide(ctx context.Context, cfg Config) ([]Result, error) {
	var results []Result
	var first []decision
	for _, p := range cfg.precisions() {
		var all []decision
		for seed := 1; seed <= cfg.seeds(); seed++ {
			d, err := t.play(ctx, cfg, p, seed)
			if err != nil {
				return nil, err
			}
			all = append(all, *d)
		}
		x := Result{Name: t.name, Shape: t.shape, Level: machine().Level, Precision: p.String(), Threads: cfg.workers(), Decisions: decisionsOf(all)}
		for _, d := range all {
			x.Seconds += d.Spent / float64(len(all))
		}
		if first == nil {
			first = all
		} else {
			x.Decisions.pair(first, all)
		}
		results = append(results, x)
	}
	return results, nil
}

// play plays one study, unless that is kept.
func (t *training) play(ctx context.Context, cfg Config, p nn.Precision, seed int) (*decision, error) {
	c, err := t.config(p, seed)
	if err != nil {
		return nil, err
	}
	return kept(cfg.Keep, c, func() (*decision, error) {
		fed, model, err := t.prepare(ctx, c)
		if err != nil {
			return nil, err
		}
		s := study.Setup{Config: *c, Data: fed, Model: model, Workers: cfg.workers(), Tuner: plugins.Builtin()[c.Tuner.Name]}
		states := map[int][]byte{}
		if name := c.ClientTuner.Name; name != "" && name != "none" {
			s.ClientTuner = watched{plugins.Builtin()[c.ClientTuner.Name], states}
		}
		r, err := study.Tune(ctx, s)
		if err != nil {
			return nil, err
		}
		return decisionOf(r, states)
	})
}

// decisionOf reads what a study decided, states being the last ones of the client
// tuner's sessions.
func decisionOf(r *result.Result, states map[int][]byte) (*decision, error) {
	d := &decision{Survivor: -1, Used: r.Rounds, Spent: r.Seconds}
	for _, t := range r.Trials {
		d.Rounds = append(d.Rounds, t.Rounds)
	}
	if r.PersonalizedTest != nil {
		d.TestError = *r.PersonalizedTest
	}
	if r.Survivor == nil {
		return d, nil
	}
	d.Survivor = r.Survivor.Number
	state, ok := states[d.Survivor]
	if !ok {
		return d, nil
	}
	var fedex struct {
		Z []float64 `json:"z"`
	}
	if err := json.Unmarshal(state, &fedex); err != nil {
		return nil, fmt.Errorf("the state of FedEx: %w", err)
	}
	for _, z := range fedex.Z {
		d.Theta = append(d.Theta, math.Exp(z))
	}
	return d, nil
}

// decisionsOf sums up the studies of all seeds.
func decisionsOf(all []decision) *Decisions {
	d := &Decisions{Seeds: len(all), Trials: len(all[0].Rounds)}
	var errs []float64
	for _, x := range all {
		errs = append(errs, x.TestError)
	}
	d.TestError = estimateOf(errs)
	return d
}

// pair fills in how the studies differ from those of the first precision.
func (d *Decisions) pair(first, all []decision) {
	d.Compared = true
	var errs, thetas []float64
	for i, x := range all {
		y := first[i]
		errs = append(errs, x.TestError-y.TestError)
		if slices.Equal(x.Rounds, y.Rounds) {
			d.SameRungs++
		}
		for j := range min(len(x.Rounds), len(y.Rounds)) {
			if x.Rounds[j] == y.Rounds[j] {
				d.SameTrials++
			}
		}
		if x.Survivor != y.Survivor {
			continue
		}
		d.SameSurvivor++
		if len(x.Theta) > 0 && len(x.Theta) == len(y.Theta) {
			distance := 0.0
			for j := range x.Theta {
				distance += math.Abs(x.Theta[j]-y.Theta[j]) / 2
			}
			thetas = append(thetas, distance)
		}
	}
	d.ErrorDiffers = estimateOf(errs)
	if d.ThetaCompared = len(thetas); len(thetas) > 0 {
		d.Theta, d.MostTheta = estimateOf(thetas), slices.Max(thetas)
	}
}

// watched is a client tuner whose sessions' states can be looked at, by trial.
type watched struct {
	tuners.Tuner
	states map[int][]byte
}

// Open opens a session whose state is noted after every round.
func (w watched) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	s, err := w.Tuner.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	about, err := w.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return watchedSession{s, w, req.Trial, about.Probes}, nil
}

type watchedSession struct {
	tuners.Session
	tuner  watched
	trial  int
	probes []string
}

// ObserveRound notes the state that it leaves.
func (s watchedSession) ObserveRound(ctx context.Context, o tuners.Observation) error {
	err := s.Session.ObserveRound(ctx, o)
	s.tuner.states[s.trial] = slices.Clone(s.State())
	return err
}

// Probes are the probes of the session, or all of the tuner.
func (s watchedSession) Probes() []string {
	if p, ok := s.Session.(tuners.Prober); ok {
		return p.Probes()
	}
	return s.probes
}
