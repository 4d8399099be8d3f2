package fl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
)

// updates returns the defaults with changes.
func updates(change func(u *Updates)) Updates {
	u := DefaultUpdates()
	change(&u)
	return u
}

// TestUpdatesAreTheSame wants the same bits for any number of workers, in shards where clients
// keep nothing, and from a snapshot in the middle; and other bits than without the keys.
func TestUpdatesAreTheSame(t *testing.T) {
	t.Parallel()
	fed := *fltest.OpenGlyphs(t, 40, 15)
	model := fltest.SmallCNN(t, &fed)
	const rounds = 2
	plan := Plan{Clients: []ClientParams{begun(ClientParams{LR: 0.1, Steps: 1, Batch: 4})}}
	plain := newEngine(t, Config{Model: model, Data: &fed, Method: average(), Cohort: 20, Seed: 3}).NewTrial(2)
	runRounds(t, plain, plan, rounds)
	for name, u := range map[string]Updates{
		"topk, sign": updates(func(u *Updates) { u.Sparsify, u.Quantize, u.Keep = "topk", "sign", 0.1 }),
		"randomk, qsgd": updates(func(u *Updates) {
			u.Sparsify, u.Quantize, u.Keep,
				u.Feedback = "randomk", "qsgd", 0.3, false
		}),
		"gaussian, qsgd":  updates(func(u *Updates) { u.Attack, u.Quantize, u.Bits = "gaussian", "qsgd", 4 }),
		"labels, uniform": updates(func(u *Updates) { u.Attack, u.Quantize, u.Feedback = "label_flip", "uniform", false }),
	} {
		config := func(workers int) Config {
			return Config{Model: model, Data: &fed, Method: average(), Cohort: 20, Seed: 3, Workers: workers, Updates: u}
		}
		one := newEngine(t, config(1))
		first := one.NewTrial(2)
		results := runRounds(t, first, plan, rounds)
		check := func(what string, tr *Trial, others []*RoundResult) {
			t.Helper()
			if !slices.Equal(tr.Weights(), first.Weights()) {
				t.Errorf("%s, %s: other weights", name, what)
			}
			for i, r := range others {
				if a, b := resultText(r), resultText(results[len(results)-len(others)+i]); a != b {
					t.Errorf("%s, %s, round %d: %s, want %s", name, what, i, a, b)
				}
			}
		}
		if slices.Equal(first.Weights(), plain.Weights()) {
			t.Errorf("%s: the weights are those without", name)
		}
		for _, workers := range []int{2, 7} {
			tr := newEngine(t, config(workers)).NewTrial(2)
			check("workers", tr, runRounds(t, tr, plan, rounds))
		}
		half := one.NewTrial(2)
		runRounds(t, half, plan, rounds/2)
		again, err := newEngine(t, config(2)).Restore(written(t, half.Snapshot()))
		if err != nil {
			t.Fatal(err)
		}
		check("resumed", again, runRounds(t, again, plan, rounds/2))
		c := config(1)
		o := &others{engines: []*Engine{one, newEngine(t, config(3))}, parts: 2}
		c.Elsewhere = o
		away := newEngine(t, c).NewTrial(2)
		check("in shards", away, runRounds(t, away, plan, rounds))
		if trained := o.trained.Load() > 0; trained == u.KeepsErrors() {
			t.Errorf("%s: trained in shards is %v", name, trained)
		}
	}
}

// TestFeedbackConserves wants what clients sent and what is left of it to add up to what they
// had to send.
func TestFeedbackConserves(t *testing.T) {
	t.Parallel()
	fed := *fltest.OpenGlyphs(t, 6, 30)
	model, err := fltest.SmallTransformer(t, &fed).WithTrainable([]string{"residual1.*", "dense*"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	places := trainedPlaces(&Config{Model: model})
	if len(places) != model.NumTrainable() {
		t.Fatalf("%d places of %d parameters", len(places), model.NumTrainable())
	}
	for name, u := range map[string]Updates{
		"topk":      updates(func(u *Updates) { u.Sparsify, u.Keep = "topk", 0.05 }),
		"randomk":   updates(func(u *Updates) { u.Sparsify, u.Keep = "randomk", 0.2 }),
		"sign":      updates(func(u *Updates) { u.Quantize = "sign" }),
		"uniform":   updates(func(u *Updates) { u.Quantize, u.Bits = "uniform", 3 }),
		"topk+sign": updates(func(u *Updates) { u.Sparsify, u.Quantize, u.Keep = "topk", "sign", 0.1 }),
		"drive":     updates(func(u *Updates) { u.Quantize = "drive" }),
	} {
		var got []float32
		e := newEngine(t, Config{Model: model, Data: &fed, Method: sending(&got), Cohort: 1, Seed: 4, Updates: u})
		tr := e.NewTrial(0)
		total := make([]float64, len(places)) // to be sent so far, minus what was
		const rounds = 12
		for range rounds {
			client := runRounds(t, tr, Plan{}, 1)[0].Slots[0].Client
			d := sentBy(client, model.Size())
			for i, at := range places {
				total[i] += float64(d[at]) - float64(got[at])
			}
		}
		for _, c := range tr.Snapshot().Clients {
			values, err := c.Values()
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range values {
				total[i] -= float64(x)
			}
		}
		worst := 0.0
		for _, x := range total {
			worst = max(worst, math.Abs(x))
		}
		if worst > 1e-4 {
			t.Errorf("%s: a value of %v is lost", name, worst)
		}
	}
}

// TestBytes compares what clients send with the formulas of the design, and with what a fleet
// knows before they train.
func TestBytes(t *testing.T) {
	t.Parallel()
	fed := *fltest.OpenGlyphs(t, 8, 30)
	model := fltest.SmallCNN(t, &fed)
	n := int64(model.NumParams())
	blocks := func(n int64) int64 { return (n + 2047) / 2048 }
	k := n / 100
	for name, tt := range map[string]struct {
		u    Updates
		want int64 // bits
	}{
		"none":         {DefaultUpdates(), 32 * n},
		"qsgd":         {updates(func(u *Updates) { u.Quantize, u.Bits = "qsgd", 4 }), 4*n + 32*blocks(n)},
		"uniform":      {updates(func(u *Updates) { u.Quantize = "uniform" }), 8*n + 32*blocks(n)},
		"sign":         {updates(func(u *Updates) { u.Quantize = "sign" }), n + 32*blocks(n)},
		"topk":         {updates(func(u *Updates) { u.Sparsify = "topk" }), k * (32 + 15)},
		"topk, map":    {updates(func(u *Updates) { u.Sparsify, u.Keep = "topk", 0.5 }), 32*(n/2) + n},
		"randomk":      {updates(func(u *Updates) { u.Sparsify = "randomk" }), 32*k + 64},
		"topk, qsgd":   {updates(func(u *Updates) { u.Sparsify, u.Quantize = "topk", "qsgd" }), k*15 + 8*k + 32*blocks(k)},
		"sign flip":    {updates(func(u *Updates) { u.Attack = "sign_flip" }), 32 * n},
		"drive":        {updates(func(u *Updates) { u.Quantize = "drive" }), n/2048*2048 + 2048 + 32*blocks(n)},
		"topk, 1 left": {updates(func(u *Updates) { u.Sparsify, u.Keep = "topk", 1e-9 }), 32 + 15},
	} {
		e := newEngine(t, Config{
			Model: model, Data: &fed, Method: average(), Cohort: 4, Seed: 4,
			Updates: tt.u, Fleet: &fleet.Config{},
		})
		tr := e.NewTrial(0)
		r := runRounds(t, tr, Plan{}, 1)[0]
		for _, s := range r.Slots {
			if want := (tt.want + 7) / 8; s.Up != want || s.Down != 4*n {
				t.Errorf("%s: a client sends %d bytes and receives %d, want %d and %d", name, s.Up, s.Down, want, 4*n)
			}
			if _, down, up, err := e.jobWork(s.Client, s.Params, &tr.updates); err != nil || down != s.Down || up != s.Up {
				t.Errorf("%s: its job has %d bytes to receive and %d to send (%v)", name, down, up, err)
			}
		}
		if r.Up != 4*r.Slots[0].Up || r.Down != 16*n {
			t.Errorf("%s: the round has %d and %d bytes", name, r.Up, r.Down)
		}
	}
	if bits := uint(n - 1); bits>>14 != 1 {
		t.Fatalf("%d parameters do not need 15 bits", n)
	}
}

// TestAttackers wants the share of the clients, the same in every round, and the mean with
// their lies.
func TestAttackers(t *testing.T) {
	t.Parallel()
	fed := *fltest.OpenGlyphs(t, 14, 40)
	fed.Clients = fed.Clients[:10]
	model := fltest.SmallCNN(t, &fed)
	for name, factor := range map[string]float64{"sign_flip": -1, "scaled": 10} {
		var got []float32
		e := newEngine(t, Config{
			Model: model, Data: &fed, Method: sending(&got), Cohort: 5, Seed: 4,
			Updates: updates(func(u *Updates) { u.Attack, u.Attackers = name, 0.3 }),
		})
		tr := e.NewTrial(0)
		seen := map[int]bool{}
		for range 12 {
			r := runRounds(t, tr, Plan{}, 1)[0]
			want, weight, attackers := make([]float64, model.Size()), 0.0, 0
			for _, s := range r.Slots {
				by := 1.0
				if s.Attacker {
					by, seen[s.Client] = factor, true
					attackers++
				}
				weight += float64(s.TrainExamples)
				for i, x := range sentBy(s.Client, model.Size()) {
					want[i] += by * float64(s.TrainExamples) * float64(x)
				}
			}
			if r.Attackers != attackers {
				t.Errorf("%d attackers are counted as %d", attackers, r.Attackers)
			}
			for _, at := range e.uplink.places {
				if x := want[at] / weight; math.Abs(float64(got[at])-x) > 1e-5 {
					t.Fatalf("%s: parameter %d moves by %v, want %v", name, at, got[at], x)
				}
			}
		}
		if len(seen) != 3 {
			t.Errorf("%s: %d clients are attackers, want 3", name, len(seen))
		}
	}
}

// TestLabelFlip trains on the labels that attackers see, in every way of reading batches.
func TestLabelFlip(t *testing.T) {
	t.Parallel()
	fed := *fltest.OpenGlyphs(t, 6, 30)
	classes := int32(fed.Classes)
	m := average()
	e := newEngine(t, Config{
		Model: fltest.SmallCNN(t, &fed), Data: &fed, Cohort: 4, Seed: 4, Workers: 1,
		Updates: updates(func(u *Updates) { u.Attack, u.Attackers = "label_flip", 0.5 }),
		Method: func() Method {
			m.Local = func(l *Local) error {
				for _, p := range []ClientParams{l.Params, begun(ClientParams{LR: 0.1, Epochs: 3, Batch: 7})} {
					b := l.Batches(0, p)
					for range p.LocalSteps(l.Train.Len()) {
						batch, err := b.Next()
						if err != nil {
							return err
						}
						true1 := make([]int32, batch.N)
						if err := l.Train.Fill(b.Positions(), make([]float32, len(batch.X)), nil, true1, nil); err != nil {
							return err
						}
						for i, label := range batch.Labels[:batch.N] {
							want := true1[i]
							if l.engine.uplink.attackers[l.Client] {
								want = classes - 1 - want
							}
							if label != want {
								t.Errorf("client %d trains with label %d, want %d", l.Client, label, want)
							}
						}
					}
				}
				return nil
			}
			return m
		}(),
	})
	runRounds(t, e.NewTrial(0), Plan{}, 1)
}

// TestWhatUpdatesRefuse wants errors that name the keys.
func TestWhatUpdatesRefuse(t *testing.T) {
	t.Parallel()
	fed := *fltest.OpenGlyphs(t, 6, 30)
	base := Config{Model: fltest.SmallCNN(t, &fed), Data: &fed, Method: average(), Cohort: 3}
	gathers := average()
	gathers.Name, gathers.Gather = "gathers", func(extra, delta []float32, _ *Local) { kernels.Add(extra, extra, delta) }
	for want, change := range map[string]func(c *Config){
		`update.quantize = "qsdg": unknown name (did you mean "qsgd"?)`:                               func(c *Config) { c.Updates.Quantize = "qsdg" },
		`update.bits = 9: must be an integer in [2, 8]`:                                               func(c *Config) { c.Updates.Quantize, c.Updates.Bits = "qsgd", 9 },
		`update.bits = 4: not used, but with update.quantize = "qsgd", update.quantize = "uniform"`:   func(c *Config) { c.Updates.Bits = 4 },
		`update.keep = 0.1: not used, but with update.sparsify = "topk"`:                              func(c *Config) { c.Updates.Quantize, c.Updates.Keep = "sign", 0.1 },
		`update.feedback = false: not used`:                                                           func(c *Config) { c.Updates.Quantize, c.Updates.Feedback = "qsgd", false },
		`update.attackers = 0.01: none of the 4 clients; raise it`:                                    func(c *Config) { c.Updates.Attack, c.Updates.Attackers = "sign_flip", 0.01 },
		`update.quantize = "qsgd": clients send more than the change of their weights with method = `: func(c *Config) { c.Updates.Quantize, c.Method = "qsgd", gathers },
		`update.sparsify = "topk": clients train sub-networks`: func(c *Config) {
			c.Updates.Sparsify = "topk"
			c.Method.Trains = func(any, int, ClientParams) (*Subnet, error) { return nil, nil }
		},
		`sampling with replacement: update.feedback = true keeps a state for each client`: func(c *Config) { c.Updates.Sparsify, c.Replacement = "topk", true },
	} {
		c := base
		c.Updates = DefaultUpdates()
		change(&c)
		e, err := New(c)
		if err == nil {
			e.Close()
		}
		if !contains(err, want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	// Attacks pass through what clients send besides.
	c := base
	c.Method, c.Updates = gathers, updates(func(u *Updates) { u.Attack = "sign_flip" })
	runRounds(t, newEngine(t, c).NewTrial(0), Plan{Server: hyper.DefaultServer()}, 1)
}

// TestRegisterTransform uses a transform of a program's own, which keeps errors.
func TestRegisterTransform(t *testing.T) {
	own := Transform{
		Name: "third", Stage: StageSparsify, Doc: "sends every third value", Biased: true,
		Shrink: func(w *Wire, _ *Updates) { w.Values = (w.Values + 2) / 3 },
		Apply: func(u *Upload) {
			var places []int32
			for i := 0; i < len(u.Values); i += 3 {
				places = append(places, int32(i))
			}
			u.Keep(places)
		},
	}
	if err := RegisterTransform(own); err != nil {
		t.Fatal(err)
	}
	fed := *fltest.OpenGlyphs(t, 6, 30)
	model := fltest.SmallCNN(t, &fed)
	var got []float32
	e := newEngine(t, Config{
		Model: model, Data: &fed, Method: sending(&got), Cohort: 1,
		Updates: updates(func(u *Updates) { u.Sparsify = "third" }),
	})
	r := runRounds(t, e.NewTrial(0), Plan{}, 1)[0]
	d := sentBy(r.Slots[0].Client, model.Size())
	for i, at := range e.uplink.places {
		if want := d[at] * map[bool]float32{true: 1}[i%3 == 0]; math.Abs(float64(got[at]-want)) > 1e-6 {
			t.Fatalf("value %d arrives as %v, want %v", i, got[at], want)
		}
	}
	if want := 4 * int64((model.NumParams()+2)/3); r.Up != want {
		t.Errorf("it sends %d bytes, want %d", r.Up, want)
	}
	for want, change := range map[string]func(t *Transform){
		"the name is taken":                       func(*Transform) {},
		"unknown Stage 9":                         func(t *Transform) { t.Stage = 9 },
		"a compression needs Apply and Shrink":    func(t *Transform) { t.Shrink = nil },
		"only an attack has Label or Collude":     func(t *Transform) { t.Label = labelFlip.Label },
		"an attack has neither Biased nor Shrink": func(t *Transform) { t.Stage = StageAttack },
		"uses the unknown key update.size":        func(t *Transform) { t.Uses = []string{"update.size"} },
		"Doc must be a line":                      func(t *Transform) { t.Doc = "" },
	} {
		bad := own
		change(&bad)
		if err := RegisterTransform(bad); !contains(err, want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestEveryUpdateGoesThrough sends the updates of attackers and others through every chain of
// registered transforms, and of a program's own that send few values: what arrives is finite,
// and what a client keeps of errors adds up with it. With every aggregator rounds end.
func TestEveryUpdateGoesThrough(t *testing.T) {
	few := func(u *Upload) {
		places := []int32{1, 4, int32(len(u.Values)) - 1}
		u.Keep(places)
	}
	if err := RegisterTransform(Transform{
		Name: "few", Stage: StageAttack,
		Doc: "sends three values", Apply: few,
	}); err != nil {
		t.Fatal(err)
	}
	shrink := func(w *Wire, _ *Updates) { w.Values = 3 }
	if err := RegisterTransform(Transform{
		Name: "ends", Stage: StageQuantize, Doc: "sends two values", Biased: true,
		Shrink: shrink, Apply: func(u *Upload) {
			u.Keep([]int32{0, int32(len(u.Values)) - 1})
		},
	}); err != nil {
		t.Fatal(err)
	}
	fed := fltest.OpenGlyphs(t, 10, 20)
	model := fltest.SmallCNN(t, fed)
	c := Config{Model: model, Data: fed, Method: average(), Cohort: 5, Seed: 3}
	engine := func(u Updates, a string) *Engine {
		c.Updates, c.Aggregation = u, aggregation(func(p *Aggregation) {
			if p.Name = a; a == "norm_bound" {
				p.Bound = 0.1
			}
		})
		return newEngine(t, c)
	}
	none := []string{""}
	for _, attack := range slices.Concat(none, TransformNames(StageAttack)) {
		lies, err := transformByName(StageAttack, attack)
		if attack != "" && err != nil {
			t.Fatal(err)
		}
		for _, sparsify := range slices.Concat(none, TransformNames(StageSparsify)) {
			for _, quantize := range slices.Concat(none, TransformNames(StageQuantize)) {
				if lies.Collude != nil && (sparsify != "" || quantize != "") || attack+sparsify+quantize == "" {
					continue
				}
				for _, feedback := range []bool{false, true} {
					u := updates(func(u *Updates) { u.Attack, u.Sparsify, u.Quantize = attack, sparsify, quantize })
					if u.Feedback = feedback || !u.KeepsErrors(); u.Feedback != feedback {
						continue
					}
					if sparsify == "topk" || sparsify == "randomk" {
						u.Keep = 0.1
					}
					if _, err := u.Chain(); err != nil {
						t.Fatal(err)
					}
					e := newUplink(&Config{Model: model, Data: fed, Updates: u, Cohort: 5, Seed: 3},
						func() []int32 { return trainedPlaces(&c) })
					for client := range 5 {
						left, w := make([]float32, e.left()), &worker{}
						for round := range 2 {
							delta := sentBy(client, model.Size())
							before, honest := slices.Clone(left), slices.Clone(delta)
							e.send(w, delta, left, Upload{Client: client, Round: round, Updates: &u, key: uint64(round)})
							arrived := 0
							for i, at := range e.places {
								switch x := float64(delta[at]); {
								case math.IsNaN(x) || math.IsInf(x, 0):
									t.Fatalf("%+v: value %d arrives as %v", u, i, x)
								case x != 0:
									arrived++
								}
								if e.feeds == len(e.chain) && !e.attacks(client) &&
									math.Abs(float64(delta[at]+left[i])-float64(honest[at]+before[i])) > 1e-4 {
									t.Fatalf("%+v: of %v and %v before, %v arrives and %v is left", u, honest[at], before[i], delta[at], left[i])
								}
							}
							if attack == "few" && sparsify+quantize == "" && e.attacks(client) &&
								(arrived != 3 || delta[e.places[4]] != honest[e.places[4]]) {
								t.Fatalf("%d values of an attacker's three arrive", arrived)
							}
						}
					}
				}
			}
		}
		for _, a := range AggregatorNames() {
			u := updates(func(u *Updates) {
				if u.Attack = attack; lies.Collude == nil {
					u.Sparsify, u.Quantize, u.Keep = "topk", "qsgd", 0.1
				}
			})
			if lies.Collude != nil && a == "norm_bound" {
				continue // refused: it holds no updates
			}
			r := runRounds(t, engine(u, a).NewTrial(0),
				Plan{Clients: []ClientParams{begun(ClientParams{LR: 0.1, Steps: 1, Batch: 4})}}, 2)
			if r[1].Dropped > 0 {
				t.Errorf("%s, %s: %d dropped", attack, a, r[1].Dropped)
			}
		}
	}
}

// TestPlannedUpdates: a plan's numbers are the numbers of its round, in what is sent and what the
// server takes, and one that the transforms or the aggregator cannot have is an error.
func TestPlannedUpdates(t *testing.T) {
	t.Parallel()
	fed := fltest.OpenGlyphs(t, 8, 30)
	cfg := Config{
		Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 5, Seed: 3,
		Updates: DefaultUpdates(), Aggregation: DefaultAggregation(),
	}
	cfg.Updates.Quantize, cfg.Aggregation.Name = "qsgd", "trimmed"
	e := newEngine(t, cfg)
	cfg.Updates.Bits, cfg.Aggregation.Trim = 3, 0.4
	other := newEngine(t, cfg)
	plan := Plan{Update: cfg.Updates.Update, Aggregator: cfg.Aggregation.Aggregation}
	a, b := e.NewTrial(1), other.NewTrial(1)
	first, second := runRounds(t, a, plan, 2)[1], runRounds(t, b, Plan{}, 2)[1]
	if first.Up != second.Up || !slices.Equal(a.Weights(), b.Weights()) {
		t.Errorf("a plan's rounds have %d bytes, an engine's %d, or other weights", first.Up, second.Up)
	}
	if third := runRounds(t, a, Plan{}, 1)[0]; third.Up <= first.Up {
		t.Errorf("%d bytes with 3 bits, %d with 8", first.Up, third.Up)
	}
	plan.Update.Bits = 9
	if _, err := a.Round(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "update.bits = 9") {
		t.Errorf("9 bits: %v", err)
	}
	plan.Update.Bits, plan.Aggregator.Wrong = 3, 0.1
	if _, err := a.Round(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "aggregator.wrong") {
		t.Errorf("another aggregator's key: %v", err)
	}
}
