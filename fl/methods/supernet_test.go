package methods

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// picked returns hyperparameters of a client with a sub-network.
func picked(c fl.ClientParams, depth, kernel, width int) fl.ClientParams {
	c.SetPick(map[string]int{"depth": depth, "kernel": kernel, "width": width})
	return c
}

// TestSupernetOfWholeNetworks is FedAvg, to the bit.
func TestSupernetOfWholeNetworks(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	model := fltest.SmallSupernet(t, fed)
	train := func(m fl.Method, plan fl.Plan) string {
		e := newEngine(t, fl.Config{Model: model, Data: fed, Method: m, Cohort: 4, Seed: 2})
		tr := e.NewTrial(0)
		runRounds(t, tr, plan, 3)
		return model.SHA256(tr.Weights())
	}
	plan := defaultPlan(supernet())
	want := train(FedAvg(), plan)
	if got := train(supernet(), plan); got != want {
		t.Errorf("weights %s, FedAvg's are %s", got, want)
	}
	plan.Clients[0] = picked(plan.Clients[0], 1, 5, 8)
	if got := train(supernet(), plan); got != want {
		t.Errorf("weights %s of the pick of everything, FedAvg's are %s", got, want)
	}
}

// TestSupernetMerges compares a round with the mean over what each client trained
// alone, in float64.
func TestSupernetMerges(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	model := fltest.SmallSupernet(t, fed)
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: supernet(), Cohort: 4, Seed: 2})
	places := model.Places()
	plan := defaultPlan(supernet())
	c := plan.Clients[0]
	plan.Clients = []fl.ClientParams{picked(c, 0, 3, 6), picked(c, 1, 3, 8), picked(c, 0, 5, 6), picked(c, 0, 3, 8)}
	for _, holders := range []bool{false, true} {
		plan.Server.Holders, plan.Server.Weighted = holders, !holders
		tr := e.NewTrial(1)
		start := slices.Clone(tr.Weights())
		r := runRounds(t, tr, plan, 1)[0]
		sum, weight := make([]float64, len(start)), make([]float64, len(start))
		all := 0.0
		for slot, s := range r.Slots {
			n := float64(s.TrainExamples)
			if holders {
				n = 1
			}
			all += n
			// Every other slot trains for so little that it does not move: what is
			// left is the change of this one.
			alone := plan
			alone.Server.Holders, alone.Server.Weighted = false, true
			alone.Clients = slices.Clone(plan.Clients)
			for i := range alone.Clients {
				if i != slot {
					alone.Clients[i].LR = 1e-30
				}
			}
			one := e.NewTrial(1)
			share := 0.0
			for _, o := range runRounds(t, one, alone, 1)[0].Slots {
				share += float64(o.TrainExamples)
			}
			sub, err := model.Sub(s.Params.Pick())
			if err != nil {
				t.Fatal(err)
			}
			at, err := places.Of(sub)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range at {
				if i >= 0 {
					sum[i] += n * float64(start[i]-one.Weights()[i]) * share / float64(s.TrainExamples)
					weight[i] += n
				}
			}
		}
		for i, w := range tr.Weights() {
			want := float64(start[i])
			switch {
			case weight[i] == 0:
				if w != start[i] {
					t.Fatalf("holders %v: weight %d, which nobody holds, went from %v to %v", holders, i, start[i], w)
				}
			case holders:
				want -= sum[i] / weight[i]
			default:
				want -= sum[i] / all
			}
			if math.Abs(float64(w)-want) > 2e-6 {
				t.Fatalf("holders %v: weight %d is %v, want %v", holders, i, w, want)
			}
		}
	}
}

// TestSupernetRefuses wants one line that says what is wrong with a sub-network.
func TestSupernetRefuses(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	model := fltest.SmallSupernet(t, fed)
	c, s := supernet().Defaults()
	for _, tt := range []struct {
		m    fl.Method
		arch string
		want string
	}{
		{supernet(), "height=3", `model small has no choice "height"; it has depth, kernel, width`},
		{supernet(), "width=7", "width = 7; it must be among [6 8]"},
		{
			FedAvg(), "width=6",
			`client.arch.width=6: method "fedavg" trains the whole network; leave it out, or use method "supernet"`,
		},
	} {
		e := newEngine(t, fl.Config{Model: model, Data: fed, Method: tt.m, Cohort: 4, Seed: 2})
		c.Arch = tt.arch
		_, err := e.NewTrial(0).Round(t.Context(), fl.Plan{Server: s, Clients: []fl.ClientParams{c}})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %s", tt.arch, err, tt.want)
		}
	}
	if _, err := fl.New(fl.Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: supernet(), Cohort: 4}); err == nil ||
		!strings.Contains(err.Error(), "has no choices") {
		t.Errorf("a network without choices: error %v", err)
	}
}

// TestManySubnetsFitIntoMemory trains sub-networks of mbv3-cifar that nobody trained
// before: what is live on the heap stays where it was after the first ones. With
// FEDFAST_LONG=1 they are 1,000.
func TestManySubnetsFitIntoMemory(t *testing.T) {
	if kernelstest.Small() {
		t.Skip("it trains a network for each of 40 clients")
	}
	fed := fltest.OpenGlyphs(t, 24, 16)
	model, err := models.New("mbv3-cifar", models.Options{Input: nn.Shape{
		H: fed.H, W: fed.W,
		C: fed.C,
	}, Classes: fed.Classes})
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: supernet(), Cohort: 4, Seed: 3, Workers: 1})
	tr := e.NewTrial(0)
	c, s := supernet().Defaults()
	c = fullBatch(c, 0.01, 1)
	r := rand.New(rand.NewPCG(5, 6))
	train := func(rounds int) int64 {
		for range rounds {
			p := fl.Plan{Server: s}
			for range 4 {
				pick := map[string]int{}
				for _, choice := range model.Choices() {
					pick[choice.Name] = choice.Options[r.IntN(len(choice.Options))]
				}
				one := c
				one.SetPick(pick)
				p.Clients = append(p.Clients, one)
			}
			runRounds(t, tr, p, 1)
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	whole := fl.Plan{Server: s, Clients: []fl.ClientParams{c}}
	runRounds(t, tr, whole, 1)
	before := train(0)
	rounds := 10
	if os.Getenv("FEDFAST_LONG") != "" {
		rounds = 250
	}
	after := train(rounds)
	t.Logf("%.1f MB live with the whole network, %.1f MB after %d sub-networks", float64(before)/1e6,
		float64(after)/1e6, 4*rounds)
	if grown := after - before; grown > 20e6 {
		t.Errorf("%d sub-networks made the heap grow by %d bytes, want at most 20 MB", 4*rounds, grown)
	}
	runtime.KeepAlive(e)
}
