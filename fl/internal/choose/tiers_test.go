package choose

import (
	"testing"

	"github.com/fedfast/fedfast/fl/fleet"
)

// TestTiersByLoss: tiers are drawn in proportion to their losses, one that has not trained
// as the one with the highest.
func TestTiersByLoss(t *testing.T) {
	seconds := make([]float64, 42)
	for i := range seconds {
		seconds[i] = float64((i * 5) % 42)
	}
	of := NewOrder(seconds)
	c := NewTiers(of, fleet.Sampler{Tiers: 4}, keyed)
	c.Reset(nil)
	size := map[int]int{}
	for client, s := range seconds {
		if size[c.Tier(int32(client))]++; c.Tier(int32(client)) != int(s)*4/42 {
			t.Errorf("client of place %v is in tier %d", s, c.Tier(int32(client)))
		}
	}
	for tier := range 3 {
		c.Learn(1, []Result{{Client: of.clients[c.first[tier]], Samples: 1, Loss: float64(tier + 1)}})
	}
	const trials = 9000
	var times [4]float64
	for n := range uint64(trials) {
		picked := pick(t, c, 4, n)
		for _, client := range picked {
			if len(picked) != 4 || c.Tier(client) != c.Tier(picked[0]) {
				t.Fatalf("picked %v", picked)
			}
		}
		times[c.Tier(picked[0])]++
	}
	for i, want := range []float64{1. / 9, 2. / 9, 3. / 9, 3. / 9} {
		near(t, "share of a tier", times[i]/trials, want, 0.02)
	}
}
