package privacy_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/privacy"
)

// vectors are epsilons of Google's dp_accounting 0.6.0 for Poisson sampling: by RDP, whose
// bound for orders that are no integers is looser than ours, and by PLD on a grid of 1e-4.
var vectors = []struct {
	q, sigma float64
	steps    int
	delta    float64
	rdp, pld float64
}{
	{1, 1, 1, 1e-5, 4.728507, 4.377178},
	{1, 4, 1, 1e-6, 1.143169, 1.060702},
	{1, 10, 100, 1e-5, 4.728507, 4.377178},
	{1, 20, 1000, 1e-6, 8.846874, 8.306225},
	{.5, 2, 10, 1e-5, 4.366907, 3.958996},
	{.1, 1, 100, 1e-5, 7.903850, 7.046603},
	{.01, .6, 100, 1e-5, 4.831307, 3.815599},
	{.01, 1, 1000, 1e-5, 2.101367, 1.828244},
	{.01, 4, 10000, 1e-5, 1.035490, .946999},
	{.001, 1, 1500, 1e-6, .875810, .221348},
	{256.0 / 60000, 1.1, 14062, 1e-5, 2.596556, 2.381686},
	{1.0 / 34, 1, 1500, 2.9411764705882e-4, 6.697354, 5.968428},
	// Not with -short.
	{.1, .5, 10, 1e-5, 14.418327, 12.261239},
	{.1, 5, 1500, 1e-6, 4.006550, 3.738481},
	{.05, 1, 200, 1e-5, 5.367864, 4.765920},
	{.05, .7, 1500, 1e-6, 37.099003, 33.745498},
	{.02, 1, 500, 1e-5, 3.144284, 2.773451},
	{.01, .8, 1000, 1e-6, 4.293457, 3.706190},
	{.01, 1, 10000, 1e-6, 7.414101, 6.907420},
	{.005, .7, 2000, 1e-6, 4.542698, 3.823600},
	{.001, .5, 1000, 1e-6, 5.329208, 4.235071},
	{.001, .8, 10000, 1e-7, 2.023429, 1.170853},
	{.001, 1, 1000000, 1e-7, 7.734371, 7.306625},
	{.0001, .6, 10000, 1e-8, 2.914690, 1.388455},
	{.0001, 1, 10000, 1e-9, .995048, .072549},
	{1e-5, .5, 100000, 1e-8, 3.483324, 1.492744},
}

func TestPublicAccountants(t *testing.T) {
	for i, v := range vectors {
		t.Run(fmt.Sprint(v.q, v.sigma, v.steps), func(t *testing.T) {
			t.Parallel()
			p := privacy.Plan{Q: v.q, Sigma: v.sigma, Steps: v.steps}
			if got, order := p.RDP(v.delta); got > v.rdp+1e-6 || got < 0.95*v.rdp || order == math.Floor(order) &&
				math.Abs(got-v.rdp) > 1e-6 && order > 2 {
				t.Errorf("RDP gives %.6f at order %v, want %v", got, order, v.rdp)
			}
			if testing.Short() && i >= 12 {
				t.Skip("seconds")
			}
			// Our grid is finer where that of 1e-4 rounds up by more.
			got := p.PLD(v.delta)
			if rough := (privacy.Plans{p}).Rough(v.delta); rough < got-1e-7 || rough > got+1e-2 {
				t.Errorf("the rough PLD gives %.6f, the fine one %.6f", rough, got)
			}
			if got > v.pld+1e-4 || got < v.pld-1e-4 && v.steps < 10_000 || got < v.pld-5e-3 {
				t.Errorf("PLD gives %.6f, want %v", got, v.pld)
			}
		})
	}
}

// TestOneStep compares with the divergences' definitions: a sum over the outputs by brute
// force, and delta in closed form.
func TestOneStep(t *testing.T) {
	t.Parallel()
	const delta = 1e-6
	for _, q := range []float64{1e-5, 0.2, 1} {
		for _, sigma := range []float64{0.3, 0.8, 20} {
			p := privacy.Plan{Q: q, Sigma: sigma, Steps: 1}
			tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
			// The output above which the loss exceeds e, from either neighbor's side.
			deltaAt := func(e float64) float64 {
				removed, added := 0.0, 0.0
				if y := (math.Expm1(e) + q) / q; y > 0 {
					x := sigma*sigma*math.Log(y) + 0.5
					removed = (1-q)*tail(x/sigma) + q*tail((x-1)/sigma) - math.Exp(e)*tail(x/sigma)
				}
				if y := (math.Expm1(-e) + q) / q; y > 0 {
					x := sigma*sigma*math.Log(y) + 0.5
					added = tail(-x/sigma) - math.Exp(e)*((1-q)*tail(-x/sigma)+q*tail(-(x-1)/sigma))
				}
				return max(removed, added)
			}
			got := p.PLD(delta)
			if d := deltaAt(got); d > delta*(1+1e-9) {
				t.Errorf("%+v: PLD gives %v, where delta is %v > %v", p, got, d, delta)
			}
			if less := got - 1e-4; less > 0 && deltaAt(less) <= delta {
				t.Errorf("%+v: PLD gives %v, %v would do", p, got, less)
			}
			if rdp, _ := p.RDP(delta); rdp < got-1e-12 {
				t.Errorf("%+v: RDP gives %v, below PLD's %v", p, rdp, got)
			}
		}
	}
}

// TestMonotone holds for any account: more steps, more clients and less noise cost more.
func TestMonotone(t *testing.T) {
	base := privacy.Plan{Q: 0.02, Sigma: 1.2, Steps: 300}
	more, wider, quieter := base, base, base
	more.Steps, wider.Q, quieter.Sigma = 330, 0.022, 1.1
	for name, account := range accountants {
		e := account(privacy.Plans{base}, 1e-5)
		worse := []privacy.Plan{more, wider, quieter}
		if name == "pld" && testing.Short() {
			worse = worse[:1]
		}
		for _, p := range worse {
			if got := account(privacy.Plans{p}, 1e-5); got <= e {
				t.Errorf("%s: %+v costs %v, %+v %v", name, p, got, base, e)
			}
		}
		if account(privacy.Plans{base}, 1e-4) >= e {
			t.Errorf("%s: a larger delta costs no less epsilon", name)
		}
		base := base
		if base.Steps = 0; account(privacy.Plans{base}, 1e-5) != 0 {
			t.Errorf("%s: no step costs %v", name, account(privacy.Plans{base}, 1e-5))
		}
	}
}

var accountants = map[string]func(privacy.Plans, float64) float64{
	"rdp": privacy.ByRDP,
	"pld": privacy.Plans.PLD,
}

// TestFixedCohorts has dp_accounting's epsilon for cohorts of 100 of 10,000.
func TestFixedCohorts(t *testing.T) {
	p := privacy.Plan{Q: 0.01, Sigma: 4, Steps: 1000, Fixed: true}
	if got, order := p.RDP(1e-5); math.Abs(got-0.638971) > 1e-6 || order != 25 {
		t.Errorf("RDP gives %v at order %v, want 0.638971 at 25", got, order)
	}
	whole, poisson := privacy.Plan{Q: 1, Sigma: 4, Steps: 3, Fixed: true}, privacy.Plan{Q: 1, Sigma: 4, Steps: 3}
	if a, b := accountants["rdp"](privacy.Plans{whole}, 1e-5), accountants["rdp"](privacy.Plans{poisson}, 1e-5); a != b {
		t.Errorf("all clients at a fixed size cost %v, by Poisson sampling %v", a, b)
	}
}

// TestTreeSteps builds the trees: it counts the nodes that end by then and cover a step.
func TestTreeSteps(t *testing.T) {
	t.Parallel()
	for restart := 1; restart <= 40; restart++ {
		for steps := range 3 * restart {
			want := 0
			for left := steps; left > 0; left -= restart {
				most := 0
				for step := range min(left, restart) {
					nodes := 0
					for size := 1; step/size*size+size <= min(left, restart); size *= 2 {
						nodes++
					}
					most = max(most, nodes)
				}
				want += most
			}
			if got := privacy.TreeSteps(steps, restart); got != want {
				t.Errorf("%d steps of trees of %d have a client in %d nodes, want %d", steps, restart, got, want)
			}
		}
	}
}

func TestNoise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		epsilon, delta, q float64
		steps             int
		rdp, pld          float64
	}{
		{2, 1e-6, .001, 1500, .713777, .616146},
		{1, 1e-5, .01, 1000, 1.513122, 1.414631},
		{8, 1e-6, 1.0 / 34, 1500, 1.066239, 1.023200},
	} {
		p := privacy.Plans{{Q: c.q, Sigma: 1, Steps: c.steps}}
		for name, want := range map[string]float64{"rdp": c.rdp, "pld": c.pld} {
			if name == "pld" && testing.Short() && c.steps != 1000 {
				continue
			}
			got, err := p.Noise(c.epsilon, c.delta, name == "pld")
			if err != nil || got > want+2e-5 || got < want-1e-4 {
				t.Errorf("%s: epsilon %v needs %v (%v), want %v", name, c.epsilon, got, err, want)
			}
			if e := accountants[name](p.Scaled(got), c.delta); e > c.epsilon || e < c.epsilon*(1-1e-4) {
				t.Errorf("%s: noise of %v costs %v, not %v", name, got, e, c.epsilon)
			}
		}
	}
	if _, err := (privacy.Plans{{Q: 1, Sigma: 1, Steps: 1e8}}).Noise(1e-3, 1e-9, false); err == nil ||
		!strings.Contains(err.Error(), "out of reach") {
		t.Errorf("an epsilon out of reach gives %v", err)
	}
}

// TestTogether compares plans that are accounted for together with one of all their steps,
// and with bounds that hold for any.
func TestTogether(t *testing.T) {
	t.Parallel()
	const delta = 1e-5
	sampled, whole := privacy.Plan{Q: 0.05, Sigma: 1, Steps: 60}, privacy.Plan{Q: 1, Sigma: 4, Steps: 3}
	more := sampled
	more.Steps = 140
	all := more
	all.Steps = 200
	for name, account := range accountants {
		of := func(ps ...privacy.Plan) float64 { return account(ps, delta) }
		if one, two := of(all), of(sampled, more); math.Abs(one-two) > 1e-6 {
			t.Errorf("%s: 60 and 140 steps cost %v, 200 cost %v", name, two, one)
		}
		// Fewer clients in what all take part in cost less.
		almost := whole
		almost.Q = 0.999999
		together, near := of(sampled, whole), of(sampled, almost)
		if together < near-1e-6 || together > near+1e-3 {
			t.Errorf("%s: a release of all clients costs %v, one of almost all %v", name, together, near)
		}
		if a, b := of(sampled), of(whole); together <= max(a, b) || together >= a+b {
			t.Errorf("%s: %v and %v together cost %v", name, a, b, together)
		}
	}
}

func TestBadPlans(t *testing.T) {
	for _, c := range []struct {
		p    privacy.Plan
		want string
	}{
		{privacy.Plan{Q: 0, Sigma: 1, Steps: 1}, "q = 0"},
		{privacy.Plan{Q: math.NaN(), Sigma: 1, Steps: 1}, "q = NaN"},
		{privacy.Plan{Q: 1.5, Sigma: 1, Steps: 1}, "q = 1.5"},
		{privacy.Plan{Q: 1, Sigma: 0.01, Steps: 1}, "sigma = 0.01"},
		{privacy.Plan{Q: 1, Sigma: 1, Steps: -1}, "steps = -1"},
		{privacy.Plan{Q: 1, Sigma: 1, Steps: 1e9}, "steps = 1000000000"},
	} {
		if err := c.p.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v gives %v, want %q", c.p, err, c.want)
		}
	}
	if privacy.CheckDelta(0) == nil || privacy.CheckDelta(1) == nil || privacy.CheckDelta(1e-9) != nil {
		t.Error("delta must lie above 0 and below 1")
	}
}

// TestBestOf compares with the closed form for a Gaussian, whose divergence at the order a is
// rho a.
func TestBestOf(t *testing.T) {
	t.Parallel()
	const delta = 1e-6
	for _, sigma := range []float64{2, 10} {
		p := privacy.Plans{{Q: 1, Sigma: sigma, Steps: 1}}
		rho := 1 / (2 * sigma * sigma)
		for _, mean := range []float64{2, 10, 1000, 1e9} {
			want := math.Inf(1)
			for a := 1.05; a < 1000; a *= 1.01 {
				whole := rho*(a-1) + math.Log(mean)/(a-1) + 4*math.Sqrt(rho*math.Log(mean)) - rho
				want = min(want, whole+math.Log1p(-1/a)-math.Log(delta*a)/(a-1))
			}
			if got, _ := p.BestOf(mean, delta); got < want-1e-3 || got > want*1.02 { // by a grid of orders
				t.Errorf("sigma %v: the best of %v trials costs %v, want %v", sigma, mean, got, want)
			}
		}
	}
}
