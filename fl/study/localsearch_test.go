package study

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/privacy"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// voting is a small study of dphype.
func voting(t *testing.T) Setup {
	t.Helper()
	s := glyphStudy(t, plugins.Builtin()["dphype"])
	s.Config.Method, s.Config.Tuner.Name = "fedavg", "dphype"
	s.Config.Budget = config.Budget{Rounds: 3, TrialRounds: 3}
	s.Config.Tuner.Options = map[string]any{"configs": int64(7), "votes": int64(2), "epochs": 2.0}
	return s
}

// localCalls returns what the tuner asked of clients by themselves, and what was told.
func localCalls(t *testing.T, dir string) (asked tuners.Decision, told tuners.TrialReport) {
	t.Helper()
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	err = v.Each(t.Context(), func(r store.Row) error {
		e, err := result.ReadEntry(r)
		if err == nil && len(e.Decisions) > 0 && e.Decisions[0].Kind == tuners.Local {
			asked = e.Decisions[0]
		}
		if err == nil && r.Kind == store.KindReport {
			call, err := record.Decode[record.Call](r.Kind, r.Data)
			if err != nil {
				return err
			}
			if report := call.Report(); report.Trial == tuners.NoTrial {
				told = report
			}
		}
		return err
	}, store.KindSuggest, store.KindReport)
	if err != nil {
		t.Fatal(err)
	}
	return asked, told
}

// TestVotesAreTheClients trains every client of a study by itself with each configuration, by
// an engine of its own, counts the votes for the lowest errors, and has the winner trained.
func TestVotesAreTheClients(t *testing.T) {
	t.Parallel()
	s, dir := voting(t), filepath.Join(t.TempDir(), "study")
	r := finish(t, s, dir)
	asked, told := localCalls(t, dir)
	e, err := fl.New(fl.Config{
		Model: s.Model, Data: s.Data, Method: mustMethod(t, "fedavg"), Cohort: 1,
		Seed: s.Config.Seed,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	scores := make([][]fl.Score, len(asked.Points)) // by configuration and client
	for i, p := range asked.Points {
		h, err := s.Config.Hyper().With(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		h.Client.Epochs = 2
		for client := range s.Data.Clients {
			if s.Data.Clients[client].Val.Len() == 0 {
				continue
			}
			one := *s.Data
			one.Clients = slices.Clone(s.Data.Clients)
			for other := range one.Clients {
				if other != client {
					one.Clients[other].Val = data.View{}
				}
			}
			alone, err := fl.New(fl.Config{
				Model: s.Model, Data: &one, Method: mustMethod(t, "fedavg"), Cohort: 1,
				Seed: s.Config.Seed,
			})
			if err != nil {
				t.Fatal(err)
			}
			v, err := alone.Validate(t.Context(), e.NewTrial(0).Weights(), fl.EvalConfig{Clients: []fl.ClientParams{h.Client}})
			if err != nil {
				t.Fatal(err)
			}
			alone.Close()
			scores[i] = append(scores[i], v.Score)
		}
	}
	counts := make([]float64, len(scores))
	for client := range scores[0] {
		order := []int{0, 1, 2, 3, 4, 5, 6}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(scores[a][client].Error, scores[b][client].Error), cmp.Compare(scores[a][client].Loss,
				scores[b][client].Loss))
		})
		counts[order[0]]++
		counts[order[1]]++
	}
	for i, m := range told.Measured {
		if m.Votes != counts[i] || !math.IsNaN(m.Score) || m.Clients != nil {
			t.Errorf("configuration %d is told as %+v, and has %v votes", i, m, counts[i])
		}
	}
	if want := asked.Points[slices.Index(counts, slices.Max(counts))]; !r.Best.Params.Equal(want) {
		t.Errorf("%s was trained, and %s has most votes", r.Best.Params, want)
	}
	train, clients := 0, 0
	for i := range s.Data.Clients {
		if c := &s.Data.Clients[i]; c.Val.Len() > 0 {
			train += c.Train.Len()
			clients++
		}
	}
	if want := (result.LocalSearch{
		Points: 7, Clients: clients, Examples: 7 * 2 * train,
		Votes: 2,
	}); r.LocalSearch == nil || *r.LocalSearch != want {
		t.Errorf("the search is told as %+v, want %+v", r.LocalSearch, want)
	}
}

// TestAnInterruptedLocalSearchIsResumed ends a study after some of the configurations: they are
// not trained again, and the result is the result of an undisturbed study.
func TestAnInterruptedLocalSearchIsResumed(t *testing.T) {
	t.Parallel()
	want, err := Tune(t.Context(), voting(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "study")
	for _, after := range []int{2, 5, 0} {
		s := voting(t)
		s.Store, s.Workers = openStore(t, dir), 3
		ctx, stop := context.WithCancel(t.Context())
		o := &sideStopper{after: after, stop: stop}
		s.Observer = o
		r, err := Tune(ctx, s)
		stop()
		if closed := s.Store.Close(); closed != nil {
			t.Fatal(closed)
		}
		switch {
		case after > 0 && !errors.Is(err, context.Canceled):
			t.Fatalf("after %d configurations: %v", after, err)
		case after > 0:
		case err != nil:
			t.Fatal(err)
		case !reflect.DeepEqual(strip(r), strip(want)):
			t.Errorf("interrupted and resumed: %+v, want %+v", r, want)
		}
	}
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	rows := 0
	if err := v.Each(t.Context(), func(store.Row) error { rows++; return nil }, store.KindLocal); err != nil || rows != 7 {
		t.Errorf("7 configurations were trained and recorded %d times, %v", rows, err)
	}
}

// private makes a study private.
func private(s *Setup, share float64) {
	c := &s.Config
	c.Sampling, c.Cohort = "poisson", 4
	c.DP = config.DP{Epsilon: 8, Delta: 1e-3, Clip: 0.5, Accountant: "rdp", SearchShare: share}
}

// TestPrivateVotes compares the noise on votes with its deviation, and the account with that of
// all releases.
func TestPrivateVotes(t *testing.T) {
	t.Parallel()
	exact, dir := voting(t), filepath.Join(t.TempDir(), "exact")
	exact.Store = openStore(t, dir)
	if _, err := Tune(t.Context(), exact); err != nil {
		t.Fatal(err)
	}
	if err := exact.Store.Close(); err != nil {
		t.Fatal(err)
	}
	_, told := localCalls(t, dir)
	s, dir := voting(t), filepath.Join(t.TempDir(), "private")
	private(&s, 0.25)
	r := finish(t, s, dir)
	_, noisy := localCalls(t, dir)
	same := 0
	for i := range noisy.Measured {
		off := noisy.Measured[i].Votes - told.Measured[i].Votes
		if math.Abs(off) > 5*r.LocalSearch.Noise {
			t.Errorf("configuration %d has %v votes, with noise %v", i, told.Measured[i].Votes, noisy.Measured[i].Votes)
		}
		if off == 0 {
			same++
		}
	}
	a := r.Privacy
	if z := r.LocalSearch.Noise / math.Sqrt(2); same > 0 || math.Abs(z/a.Tuning.SearchNoise-1) > 1e-12 {
		t.Errorf("%d counts have no noise; the noise multiplier is %v, that of the account %v", same, z, a.Tuning.SearchNoise)
	}
	clients := float64(len(s.Data.Clients))
	plans := privacy.Plans{
		{Q: 4 / clients, Sigma: a.Noise, Steps: 3},
		{Q: 1, Sigma: a.Tuning.SearchNoise, Steps: 1},
		{Q: 1, Sigma: a.Tuning.FinalistNoise * clients / (math.Sqrt(float64(s.Config.Finalists.Most())) / 2), Steps: 1},
	}
	if want := privacy.ByRDP(plans, 1e-3); math.Abs(a.Epsilon-want) > 1e-9 || a.Epsilon > 8 || a.Epsilon < 7.99 {
		t.Errorf("the study costs %v, its releases %v", a.Epsilon, want)
	}
}

// TestVoteNoise draws the noise on the votes of many seeds: it has the normal distribution with
// the deviation that the account states, by the test of Kolmogorov and Smirnov, and that of one
// seed says nothing of another's.
func TestVoteNoise(t *testing.T) {
	t.Parallel()
	const points, votes, seeds = 50, 5, 200
	all := make([]*record.Local, points)
	for i := range all {
		all[i] = &record.Local{Scores: []record.Real{record.Real(i), record.Real(-i), 0}, Losses: make([]record.Real, 3)}
	}
	s := voting(t)
	private(&s, 0.25)
	var err error
	if _, s.account, err = s.Config.Privacy(s.sizes(), true); err != nil {
		t.Fatal(err)
	}
	d := &driver{setup: &s, objective: s.Config.Aim()}
	exact, deviation := d.votes(all, votes), math.Sqrt(votes)*s.account.Tuning.SearchNoise
	var draws, last []float64
	products := 0.0
	for seed := range uint64(seeds) {
		s.Config.Seed = seed
		var r tuners.TrialReport
		d.tell(&r, &result.LocalSearch{Votes: votes}, all)
		var own []float64
		for i, m := range r.Measured {
			own = append(own, (m.Votes-exact[i])/deviation)
		}
		for i, x := range last {
			products += x * own[i]
		}
		draws, last = append(draws, own...), own
	}
	slices.Sort(draws)
	worst, n := 0.0, float64(len(draws))
	for i, x := range draws {
		p := math.Erfc(-x/math.Sqrt2) / 2
		worst = max(worst, p-float64(i)/n, float64(i+1)/n-p)
	}
	if limit := 1.95 / math.Sqrt(n); worst > limit { // p = 0.001
		t.Errorf("Kolmogorov-Smirnov distance %v of %v draws, want at most %v", worst, n, limit)
	}
	if math.Abs(products) > 5*math.Sqrt(n) {
		t.Errorf("the noise of neighboring seeds has a correlation of %v", products/n)
	}
}

// TestPrivateLocalSearchesAreRefused where the account does not have them, before any client trains.
func TestPrivateLocalSearchesAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(s *Setup){
		"dp.search_share = 0: tuner dphype has clients train by themselves": func(s *Setup) { s.Config.DP.SearchShare = 0 },
		"tuner.options.clients: in a private study all clients take part":   func(s *Setup) { s.Config.Tuner.Options["clients"] = int64(4) },
		`tuner.options.surface: "max" needs the scores of each client, and a private study tells means over clients alone; use "pooled"`: func(s *Setup) {
			s.Tuner, s.Config.Tuner.Name, s.Config.Tuner.Options = plugins.Builtin()["flora"], "flora",
				map[string]any{"surface": "max"}
		},
		`objective = "loss": it has no bound, so noise cannot make what clients`: func(s *Setup) {
			s.Tuner, s.Config.Tuner.Name, s.Config.Tuner.Options = plugins.Builtin()["flora"], "flora", nil
			s.Config.Objective, s.Config.DP.Scores = "loss", "public"
		},
	} {
		s := voting(t)
		private(&s, 0.1)
		change(&s)
		s.Observer = noProgress{t}
		if _, err := Tune(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// noProgress fails a test when anything is trained.
type noProgress struct{ t *testing.T }

func (noProgress) Event(Event) {}

func (noProgress) Evaluated(Evaluated) {}

func (o noProgress) Progress(p Progress) { o.t.Errorf("trained before it was refused: %+v", p) }
