package repro

import (
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/tuner/perfedrlnas"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// ClientLine tells of a client for which a tuner keeps a policy of its own.
type ClientLine struct {
	Kind   string `json:"kind"` // "client"
	Client int    `json:"client"`
	// Classes counts its training examples of each class.
	Classes []int `json:"classes"`
	// Policy holds, for each choice of the model, how likely each of its options is in
	// the end.
	Policy [][]float64 `json:"policy"`
}

// addClients adds the clients of a study under perfedrlnas, unless all have one policy.
func (m *Metrics) addClients(ctx context.Context, v *store.View, c *config.Config, fed *data.Federation, model *nn.Model) error {
	if c.ClientTuner.Name != "perfedrlnas" || c.ClientTuner.Options["shared"] == true {
		return nil
	}
	options := list.Of(model.Choices(), func(choice nn.Choice) int { return len(choice.Options) })
	var state []byte
	newest := -1
	err := v.EachState(ctx, func(session, _, calls int, data []byte) error {
		if session == 0 && calls > newest {
			state, newest = data, calls
		}
		return nil
	})
	if err != nil {
		return err
	}
	policies, err := perfedrlnas.Policies(state, options)
	if err != nil {
		return err
	}
	for _, p := range policies {
		if p.Client >= uint64(len(fed.Clients)) {
			return fmt.Errorf("policy of client %d, but there are %d clients", p.Client, len(fed.Clients))
		}
		line := ClientLine{Kind: "client", Client: int(p.Client)}
		if line.Classes, err = fed.Clients[p.Client].Train.ClassCounts(fed.Classes); err != nil {
			return err
		}
		for _, chances := range p.Chances {
			for j := range chances {
				chances[j] = rounded(chances[j])
			}
			line.Policy = append(line.Policy, chances)
		}
		m.Clients = append(m.Clients, line)
	}
	return nil
}

// likeness is PerFedRLNAS's Theorem 1 as a number: Spearman's rank correlation, over all
// pairs of clients, of how alike their policies are, by the inner product of their
// probabilities, with how alike their data are, by the Jensen-Shannon divergence of
// their classes; 1 when the more alike data always have the more alike policies.
func likeness(m *Metrics) (float64, bool) {
	var policies, mixes []float64
	for i := range m.Clients {
		for j := range i {
			a, b := &m.Clients[i], &m.Clients[j]
			policies, mixes = append(policies, inner(a.Policy, b.Policy)), append(mixes, -divergence(a.Classes, b.Classes))
		}
	}
	return stats.Spearman(policies, mixes), true
}

// inner is the inner product of two policies.
func inner(a, b [][]float64) float64 {
	sum := 0.0
	for d := range min(len(a), len(b)) {
		for j := range min(len(a[d]), len(b[d])) {
			sum += float64(a[d][j] * b[d][j])
		}
	}
	return sum
}

// divergence is the divergence of Jensen and Shannon between the mixes of two counts, in nats.
func divergence(a, b []int) float64 {
	p, q := shares(a), shares(b)
	sum := 0.0
	for i := range min(len(p), len(q)) {
		middle := (p[i] + q[i]) / 2
		for _, x := range []float64{p[i], q[i]} {
			if x > 0 {
				sum += float64(x * det.Log(x/middle) / 2)
			}
		}
	}
	return sum
}

// shares divides counts by their sum; NaN where that is 0.
func shares(counts []int) []float64 {
	total := list.Sum(counts, func(n int) int { return n })
	out := list.Of(counts, func(n int) float64 { return float64(n) / float64(total) })
	if total == 0 {
		out = []float64{math.NaN()}
	}
	return out
}
