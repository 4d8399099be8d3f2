package bohb_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/bohb"
	"github.com/fedfast/fedfast/internal/tuner/hyperband"
	"github.com/fedfast/fedfast/tuners"
)

func TestWithRandomPointsAloneItIsHyperband(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		s := playtest.Over(bohb.Tuner, 3000, 81, tuners.Params{"random": tuners.Num(1)})
		s.Parallel = parallel
		got := s.Play(t)
		s = playtest.Over(hyperband.Tuner, 3000, 81, nil)
		s.Parallel = parallel
		if want := s.Play(t); !slices.Equal(got.Log, want.Log) || got.Best != want.Best {
			t.Errorf("%d in flight: its decisions differ from those of hyperband", parallel)
		}
	}
}

func TestBeatsHyperband(t *testing.T) {
	const seeds = 10
	wins := 0
	var ours, theirs float64
	for seed := range uint64(seeds) {
		var best [2]float64
		for i, tuner := range []tuners.Tuner{bohb.Tuner, hyperband.Tuner} {
			s := playtest.Over(tuner, 3000, 27, nil)
			s.Request.Seed = seed
			r := s.Play(t)
			best[i] = playtest.Bowl(0, r.Params[r.Best], 27)
			if r.Spent != 3000 {
				t.Errorf("spent %d rounds", r.Spent)
			}
		}
		ours, theirs = ours+best[0]/seeds, theirs+best[1]/seeds
		if best[0] < best[1] {
			wins++
		}
	}
	t.Logf("mean best error: bohb %.2g, hyperband %.2g; bohb is better with %d of %d seeds", ours, theirs, wins, seeds)
	if wins < seeds-3 || ours > 0.75*theirs {
		t.Errorf("mean best error %v, hyperband %v; better with %d of %d seeds", ours, theirs, wins, seeds)
	}
}

func TestGoesOnFromItsState(t *testing.T) {
	s := playtest.Over(bohb.Tuner, 600, 27, nil)
	s.Reopened(t, 1, 3)
	s.InAnyOrder(t)
}

func TestMaximizeAndFailures(t *testing.T) {
	s := playtest.Over(bohb.Tuner, 600, 27, nil)
	s.Mirrored(t)
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		options tuners.Params
		want    string
	}{
		{tuners.Params{"random": tuners.Num(1.1)}, "options.random: random must be from 0 to 1, not 1.1"},
		{tuners.Params{"eta": tuners.Num(1)}, "options.eta: eta must be an integer from 2 to 1000, not 1"},
		{tuners.Params{"top": tuners.Num(1)}, "available: eta, brackets, random, candidates"},
	} {
		_, err := bohb.Tuner.Open(t.Context(), playtest.Over(bohb.Tuner, 600, 27, c.options).Request)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if _, err := bohb.Tuner.Open(t.Context(), playtest.Over(bohb.Tuner, 20, 27, nil).Request); err == nil {
		t.Error("a budget that pays for no bracket is accepted")
	}
}
