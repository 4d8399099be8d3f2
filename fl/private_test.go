package fl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn/models"
)

// sending is a method whose client i sends a fixed vector of the norm i/4.
func sending(got *[]float32) Method {
	m := average()
	m.Local = func(l *Local) error {
		l.Upload = l.Vector(0)
		copy(l.Upload, sentBy(l.Client, len(l.Upload)))
		return nil
	}
	m.NewServer = func(int) Server { return &recordingServer{got: got} }
	return m
}

func sentBy(client, size int) []float32 {
	d := make([]float32, size)
	s := kernels.NewStream(uint64(client), 0)
	for i := range d {
		d[i] = s.Float32() - 0.5
	}
	kernels.Scale(d, float32(float64(client)/4/kernels.Norm(d)))
	return d
}

type recordingServer struct {
	averageServer
	got *[]float32
}

func (s *recordingServer) Step(w []float32, u *Update, _ ServerParams) {
	*s.got = slices.Clone(u.Mean)
	kernels.Sub(w, w, u.Mean)
}

// TestPrivateSums compares a round's clipped mean with its definition, over the expected
// cohort even where others came.
func TestPrivateSums(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 20, 60)
	model := fltest.SmallCNN(t, fed)
	const clip = 1.3
	var got []float32
	for _, poisson := range []bool{false, true} {
		e := newEngine(t, Config{
			Model: model, Data: fed, Method: sending(&got), Cohort: 6, Poisson: poisson,
			Privacy: &Privacy{Clip: clip},
		})
		tr := e.NewTrial(1)
		for round := range 5 {
			want := make([]float64, model.Size())
			for _, client := range e.Cohort(1, round) {
				factor := min(1, clip/max(1e-9, float64(client)/4)) / 6
				for i, x := range sentBy(client, model.Size()) {
					want[i] += factor * float64(x)
				}
			}
			runRounds(t, tr, Plan{}, 1)
			for i := range want {
				if math.Abs(float64(got[i])-want[i]) > 3e-5*clip/math.Sqrt(float64(len(want))) {
					t.Fatalf("poisson %v, round %d: parameter %d moves by %v, want %v", poisson, round, i, got[i], want[i])
				}
			}
		}
	}
	// No single client moves the sum by more than the bound, to the last bit.
	for seed := range uint64(20) {
		e := newEngine(t, Config{
			Model: model, Data: fed, Method: sending(&got), Cohort: 1, Seed: seed,
			Privacy: &Privacy{Clip: clip},
		})
		runRounds(t, e.NewTrial(1), Plan{}, 1)
		var squares float64
		for _, x := range got {
			squares += float64(x) * float64(x)
		}
		if norm := math.Sqrt(squares); norm > clip {
			t.Errorf("client %d: the sum's norm is %v > %v", e.Cohort(1, 0)[0], norm, clip)
		}
	}
}

// TestNoise draws a million numbers and compares them with the normal distribution by the
// test of Kolmogorov and Smirnov; padding and frozen parameters get none.
func TestNoise(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 60)
	whole := fltest.SmallTransformer(t, fed)
	model, err := whole.WithTrainable([]string{"dense*"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	parameters, frozen := map[int32]bool{}, 0
	whole.EachPlace(func(name string, _ []int, at []int32) {
		for _, i := range at {
			if parameters[i] = strings.HasPrefix(name, "dense"); !parameters[i] {
				frozen++
			}
		}
	})
	noisy := func(m *Config, key uint64) []float32 {
		e := newEngine(t, *m)
		sum := make([]float32, m.Model.Size())
		if err := addNoise(e, sum, noiseOf{key, 2}); err != nil {
			t.Fatal(err)
		}
		return sum
	}
	for i, x := range noisy(&Config{Model: model, Data: fed, Method: average(), Cohort: 1}, 7) {
		if trained := parameters[int32(i)]; trained != (x != 0) {
			t.Fatalf("place %d, trained %v, has the noise %v", i, trained, x)
		}
	}
	if frozen == 0 || len(parameters) == whole.Size() {
		t.Fatal("the model has nothing frozen or no padding")
	}
	var draws []float64
	var last []float32
	cfg := Config{Model: whole, Data: fed, Method: average(), Cohort: 1}
	e := newEngine(t, cfg)
	for round := uint64(0); len(draws) < 1_000_000; round++ {
		sum := make([]float32, whole.Size())
		if err := addNoise(e, sum, noiseOf{kernels.Key(1, 2, round, purposeNoise), 2}); err != nil {
			t.Fatal(err)
		}
		if last != nil {
			if cos := kernels.Dot(sum, last) / kernels.Dot(sum, sum); math.Abs(cos) > 6/math.Sqrt(float64(len(parameters))) {
				t.Errorf("round %d: the noise has the cosine %v with the round's before", round, cos)
			}
		}
		last = sum
		for i := range parameters {
			draws = append(draws, float64(sum[i])/2)
		}
	}
	slices.Sort(draws)
	worst := 0.0
	for i, x := range draws {
		p := math.Erfc(-x/math.Sqrt2) / 2
		n := float64(len(draws))
		worst = max(worst, p-float64(i)/n, float64(i+1)/n-p)
	}
	if limit := 1.95 / math.Sqrt(float64(len(draws))); worst > limit { // p = 0.001
		t.Errorf("Kolmogorov-Smirnov distance %v of %d draws, want at most %v", worst, len(draws), limit)
	}
}

// TestPrivateRoundsAreTheSame has the same bits for any number of workers, for shards that
// other engines train, and after a snapshot: with Poisson sampling and a clipping norm that
// follows a quantile, and with the other mechanisms.
func TestPrivateRoundsAreTheSame(t *testing.T) {
	for name, p := range map[string]Privacy{
		CentralNoise: {Quantile: 0.5, CountNoise: 1}, LocalNoise: {}, TreeNoise: {}, BandedNoise: {Bands: 2}, SampleNoise: {},
	} {
		p.Mechanism, p.Clip, p.Noise = name, 0.1, 0.2
		t.Run(name, func(t *testing.T) { testSamePrivateRounds(t, p) })
	}
}

func testSamePrivateRounds(t *testing.T, p Privacy) {
	fed := *fltest.OpenGlyphs(t, 24, 20)
	model := fltest.SmallCNN(t, &fed)
	config := func(workers int) Config {
		c := Config{
			Model: model, Data: &fed, Method: average(), Cohort: 12, Poisson: true, Seed: 3, Workers: workers, Privacy: &p,
		}
		if p.noises(TreeNoise, BandedNoise) {
			c.Poisson, c.Shuffle, c.Cohort = false, true, 9
		}
		return c
	}
	const rounds = 4
	one := newEngine(t, config(1))
	first := one.NewTrial(2)
	runRounds(t, first, Plan{}, rounds)
	check := func(what string, tr *Trial) {
		t.Helper()
		if !slices.Equal(tr.Weights(), first.Weights()) || tr.Clip() != first.Clip() {
			t.Errorf("%s: other weights, or a clipping norm of %v instead of %v", what, tr.Clip(), first.Clip())
		}
	}
	if p.Quantile > 0 && first.Clip() == 0.1 {
		t.Error("the clipping norm does not move")
	}
	five := newEngine(t, config(5)).NewTrial(2)
	runRounds(t, five, Plan{}, rounds)
	check("5 workers", five)
	c := config(1)
	o := &others{engines: []*Engine{one, newEngine(t, config(3))}, parts: 2}
	c.Elsewhere = o
	away := newEngine(t, c).NewTrial(2)
	runRounds(t, away, Plan{}, rounds)
	check("in shards", away)
	if o.trained.Load() == 0 {
		t.Error("no shard was trained elsewhere")
	}
	half := one.NewTrial(2)
	runRounds(t, half, Plan{}, rounds/2)
	again, err := newEngine(t, config(2)).Restore(written(t, half.Snapshot()))
	if err != nil {
		t.Fatal(err)
	}
	runRounds(t, again, Plan{}, rounds/2)
	check("resumed", again)
	quiet, without := config(1), p
	without.Noise, quiet.Privacy = 0, &without
	other := newEngine(t, quiet).NewTrial(2)
	if runRounds(t, other, Plan{}, rounds); slices.Equal(other.Weights(), first.Weights()) {
		t.Error("the noise moves no weight")
	}
}

// TestClipFollowsQuantile compares the clipping norm with its recursion.
func TestClipFollowsQuantile(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 20, 60)
	var got []float32
	e := newEngine(t, Config{
		Model: fltest.SmallCNN(t, fed), Data: fed, Method: sending(&got), Cohort: 20,
		Privacy: &Privacy{Clip: 0.1, Quantile: 0.3},
	})
	tr := e.NewTrial(1)
	want := 0.1
	for range 100 {
		below := 0
		for client := range 20 {
			if float64(client)/4 <= want+1e-6 {
				below++
			}
		}
		runRounds(t, tr, Plan{}, 1)
		want *= math.Exp(-0.2 * (float64(below)/20 - 0.3))
		if math.Abs(tr.Clip()/want-1) > 1e-4 {
			t.Fatalf("the clipping norm is %v, want %v", tr.Clip(), want)
		}
		want = tr.Clip()
	}
	if want < 1.2 || want > 1.6 { // 6 of the norms 0, 0.25, ... lie below 1.25 to 1.5
		t.Errorf("the clipping norm ends at %v, which is not the quantile", want)
	}
}

func TestPoissonCohorts(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 20, 60)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{Model: model, Data: fed, Method: average(), Cohort: 5, Poisson: true, Seed: 4})
	const rounds = 4000
	var counts [20]int
	var size, squares float64
	for round := range rounds {
		cohort := e.Cohort(1, round)
		for _, client := range cohort {
			counts[client]++
		}
		size += float64(len(cohort))
		squares += float64(len(cohort) * len(cohort))
	}
	size /= rounds
	if v := squares/rounds - size*size; math.Abs(size-5) > 0.2 || math.Abs(v-20*0.25*0.75) > 0.4 {
		t.Errorf("cohorts have a mean of %v and a variance of %v, want 5 and 3.75", size, v)
	}
	for client, n := range counts {
		if math.Abs(float64(n)-rounds/4) > 6*math.Sqrt(rounds*0.25*0.75) {
			t.Errorf("client %d was drawn %d times of %d", client, n, rounds)
		}
	}
	// A round without clients moves nothing, but for noise.
	rare := Config{Model: model, Data: fed, Method: average(), Cohort: 1, Poisson: true}
	for rare.Seed = 0; ; rare.Seed++ {
		if e := newEngine(t, rare); len(e.Cohort(1, 0)) == 0 {
			tr := e.NewTrial(1)
			before := slices.Clone(tr.Weights())
			r := runRounds(t, tr, Plan{Probes: []string{signAgreement, "delta_norm"}}, 1)[0]
			if !slices.Equal(before, tr.Weights()) || len(r.Slots) != 0 || !math.IsNaN(r.TrainLoss) {
				t.Errorf("an empty round moved the weights, or measured %+v", r)
			}
			break
		}
	}
	rare.Privacy = &Privacy{Clip: 1, Noise: 1}
	tr := newEngine(t, rare).NewTrial(1)
	before := slices.Clone(tr.Weights())
	if runRounds(t, tr, Plan{}, 1); slices.Equal(before, tr.Weights()) {
		t.Error("an empty round has no noise")
	}
}

func TestWhatCannotBePrivate(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 60)
	model := fltest.SmallCNN(t, fed)
	base := Config{Model: model, Data: fed, Method: average(), Cohort: 2, Privacy: &Privacy{Clip: 1, Noise: 1}}
	for want, change := range map[string]func(c *Config){
		"dp.clip = 0":          func(c *Config) { c.Privacy = &Privacy{Noise: 1} },
		"dp.noise = -1":        func(c *Config) { c.Privacy = &Privacy{Clip: 1, Noise: -1} },
		`dp.mechanism = "shy"`: func(c *Config) { c.Privacy = &Privacy{Mechanism: "shy", Clip: 1} },
		`"average" look at samples`: func(c *Config) {
			c.Method.Plain, c.Privacy = false,
				&Privacy{Mechanism: SampleNoise, Clip: 1}
		},
		"dp.quantile = 0.5: with": func(c *Config) {
			c.Privacy = &Privacy{
				Mechanism: LocalNoise, Clip: 1,
				Quantile: 0.5,
			}
		},
		`set sampling = "shuffle"`: func(c *Config) { c.Privacy = &Privacy{Mechanism: TreeNoise, Clip: 1} },
		`"banded": a client must`:  func(c *Config) { c.Privacy = &Privacy{Mechanism: BandedNoise, Clip: 1} },
		"dp.bands = 3: must be":    func(c *Config) { c.Privacy = &Privacy{Clip: 1, Bands: 3} },
		"every 4 rounds; lower it": func(c *Config) {
			c.Shuffle, c.Privacy = true,
				&Privacy{Mechanism: BandedNoise, Clip: 1, Bands: 5}
		},
		`"shuffle": a client is`:      func(c *Config) { c.Privacy, c.Shuffle, c.Replacement = nil, true, true },
		`"shuffle": which clients`:    func(c *Config) { c.Privacy, c.Shuffle, c.Fleet = nil, true, &fleet.Config{} },
		"leave Poisson or Shuffle":    func(c *Config) { c.Privacy, c.Shuffle, c.Poisson = nil, true, true },
		"dp.quantile = 1":             func(c *Config) { c.Privacy = &Privacy{Clip: 1, Quantile: 1} },
		`sampling: with replacement`:  func(c *Config) { c.Replacement = true },
		"leave [fleet] out":           func(c *Config) { c.Fleet = &fleet.Config{} },
		`"gathering" send more`:       func(c *Config) { c.Method = gathering(nil) },
		`"poisson": a client is`:      func(c *Config) { c.Privacy, c.Poisson, c.Replacement = nil, true, true },
		`"poisson": rounds on a flee`: func(c *Config) { c.Privacy, c.Poisson, c.Fleet = nil, true, &fleet.Config{} },
	} {
		c := base
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want one line with %q", err, want)
		}
	}
	base.Method.Local = func(l *Local) error { l.Number = 2; return nil }
	if _, err := newEngine(t, base).NewTrial(0).Round(t.Context(), Plan{}); err == nil ||
		!strings.Contains(err.Error(), "send a number besides") {
		t.Errorf("a method that sends a number gives %v", err)
	}
}

// TestGauss compares the ends of the ziggurat and the tail with the normal distribution.
func TestGauss(t *testing.T) {
	t.Parallel()
	if edges[layers] != 0 || math.Abs(float64(edges[layers-1]*(heights[layers]-heights[layers-1]))-area) > 1e-9 {
		t.Errorf("the uppermost layer is %v wide and %v high", edges[layers-1], heights[layers]-heights[layers-1])
	}
	var g Noise
	g.seed(3, 5)
	const n = 3_000_000
	draws := make([]float32, n)
	g.add(draws, 1)
	beyond, squares := 0, 0.0
	for _, d := range draws {
		x := float64(d)
		squares += x * x
		if math.Abs(x) > 3.9 {
			beyond++
		}
	}
	want := n * math.Erfc(3.9/math.Sqrt2)
	if math.Abs(float64(beyond)-want) > 5*math.Sqrt(want) || math.Abs(squares/n-1) > 5*math.Sqrt(2.0/n) {
		t.Errorf("%d of %d draws lie beyond 3.9, want %.0f; their variance is %v", beyond, n, want, squares/n)
	}
}

// BenchmarkPrivateRound compares a round of the CNN of LEAF's FEMNIST with and without
// clipping and noise.
func BenchmarkPrivateRound(b *testing.B) {
	fed := fltest.OpenGlyphs(b, 10, 100)
	model, err := models.New("leaf-femnist-cnn", models.Options{Classes: fed.Classes})
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range []*Privacy{nil, {Clip: 0.5, Noise: 1}, {Mechanism: SampleNoise, Clip: 0.5, Noise: 1}} {
		name := "public"
		if p != nil {
			name = "private" + p.Mechanism
		}
		b.Run(name, func(b *testing.B) {
			e := newEngine(b, Config{Model: model, Data: fed, Method: average(), Cohort: 10, Privacy: p})
			tr := e.NewTrial(0)
			for b.Loop() {
				runRounds(b, tr, Plan{}, 1)
			}
		})
	}
}
