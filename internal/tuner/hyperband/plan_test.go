package hyperband_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/hyperband"
)

func TestBrackets(t *testing.T) {
	for _, c := range []struct {
		m, eta, top int
		want        string
		cost        []int
	}{
		// The first table of Li et al. 2018 has 81 rounds and eta = 3.
		{
			81, 3, 4,
			"[{[81 27 9 3 1] [1 3 9 27 81]} {[34 11 3 1] [3 9 27 81]} {[15 5 1] [9 27 81]} {[8 2] [27 81]} {[5] [81]}]",
			[]int{
				81 + 27*2 + 9*6 + 3*18 + 54, 34*3 + 11*6 + 3*18 + 54, 15*9 + 5*18 + 54, 8*27 + 2*54, 5 * 81,
			},
		},
		{
			200, 3, 3, "[{[27 9 3 1] [7 22 66 200]} {[12 4 1] [22 66 200]} {[6 2] [66 200]} {[4] [200]}]",
			[]int{590, 574, 664, 800},
		},
		{7, 2, 1, "[{[2 1] [3 7]} {[2] [7]}]", []int{10, 14}},
		{10, 3, 0, "[{[1] [10]}]", []int{10}},
	} {
		got := hyperband.Brackets(c.m, c.eta, c.top)
		if s := fmt.Sprint(got); s != c.want {
			t.Errorf("M=%d eta=%d R=%d: %s, want %s", c.m, c.eta, c.top, s, c.want)
		}
		for i, b := range got {
			if b.Cost() != c.cost[i] {
				t.Errorf("M=%d eta=%d R=%d: bracket %v costs %d, want %d", c.m, c.eta, c.top, b, b.Cost(), c.cost[i])
			}
		}
	}
}

func TestSchedule(t *testing.T) {
	pass := hyperband.Brackets(200, 3, 3) // costs 590, 574, 664, 800
	for _, c := range []struct {
		t    int
		want []int // costs
	}{
		{573, nil},
		{574, []int{574}},
		{589, []int{574, 15}},
		{590, []int{590}},
		{2000, []int{590, 574, 664, 172}},
		{2628, []int{590, 574, 664, 800}},
		{4000, []int{590, 574, 664, 800, 590, 574, 200, 8}},
	} {
		var costs []int
		sum := 0
		for _, b := range hyperband.Schedule(c.t, 200, pass) {
			costs = append(costs, b.Cost())
			sum += b.Cost()
		}
		if !slices.Equal(costs, c.want) {
			t.Errorf("T=%d: brackets of %v rounds, want %v", c.t, costs, c.want)
		}
		if c.want != nil && sum != c.t {
			t.Errorf("T=%d: %d rounds are spent", c.t, sum)
		}
	}
}
