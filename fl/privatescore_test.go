package fl

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
)

// TestPrivateScores compares private scores with their definition: the noise is the noise of its
// deviation, the mean is over the expected clients, and no client moves the sum by more than
// 1/2 whatever it measures.
func TestPrivateScores(t *testing.T) {
	t.Parallel()
	r := &RoundResult{}
	add := func(before, after float64, n int, dropped bool) {
		r.Slots = append(r.Slots, Slot{
			Before: Score{Error: before}, After: Score{Error: after},
			ValExamples: n, Dropped: dropped,
		})
	}
	add(0.25, 0.125, 10, false)
	add(1, 0.5, 1000, false)
	add(0, 0, 0, false)                     // has no validation samples
	add(0.5, 0.5, 3, true)                  // counts as 1
	add(math.NaN(), math.Inf(-1), 1, false) // counts as 1, or 0
	o := ScoreOptions{Noise: 1e-12, Expected: 8}
	if got := r.Score(false, o).Error; math.Abs(got-(0.5+(-0.25+0.5+0.5+0.5)/8)) > 1e-9 {
		t.Errorf("the score before training is %v", got)
	}
	if got := r.Score(true, o).Error; math.Abs(got-(0.5+(-0.375+0+0.5-0.5)/8)) > 1e-9 {
		t.Errorf("the score after training is %v", got)
	}
	r.Slots = nil
	sum, squares := 0.0, 0.0
	const draws = 20000
	for i := range uint64(draws) {
		r.draws = kernels.Key(1, i, purposeScore)
		x := r.Score(true, ScoreOptions{Noise: 3, Expected: 6}).Error - 0.5
		sum += x
		squares += x * x
	}
	if mean, sd := sum/draws, math.Sqrt(squares/draws); math.Abs(mean) > 6*0.5/math.Sqrt(draws) ||
		math.Abs(sd-0.5) > 0.02 {
		t.Errorf("the noise on a score has the mean %v and the deviation %v, want 0 and 0.5", mean, sd)
	}
}

// TestPrivateErrors has the clients of a Poisson cohort draw planned slots by themselves, and
// the errors of slots that planned the same released as one sum.
func TestPrivateErrors(t *testing.T) {
	t.Parallel()
	fed := fltest.OpenGlyphs(t, 20, 60)
	model := fltest.SmallCNN(t, fed)
	for _, poisson := range []bool{false, true} {
		e := newEngine(t, Config{Model: model, Data: fed, Method: average(), Cohort: 10, Poisson: poisson, Seed: 4})
		own := map[int]map[int]bool{}
		for round := range 50 {
			cohort, taken := e.Cohort(1, round), e.PrivateSlots(1, round, 10)
			if len(taken) != len(cohort) {
				t.Fatalf("%d clients take %d slots", len(cohort), len(taken))
			}
			errors := make([]float64, len(cohort))
			group := []int{0, 1, 0, 1, 0, 1, 0, 0, 0, 0}
			want := [2]float64{}
			for i, client := range cohort {
				if own[client] == nil {
					own[client] = map[int]bool{}
				}
				own[client][taken[i]] = true
				errors[i] = float64(client) / 20
				want[group[taken[i]]] += errors[i] - 0.5
			}
			want[0], want[1] = want[0]/7+0.5, want[1]/3+0.5
			for slot, got := range e.PrivateErrors(1, round, group, taken, errors, 1e-12) {
				if math.Abs(got-want[group[slot]]) > 1e-9 {
					t.Fatalf("poisson %v, round %d, slot %d has the error %v, want %v", poisson, round, slot, got, want[group[slot]])
				}
			}
			if !poisson {
				continue
			}
			// The noise of groups is drawn for each.
			noisy := e.PrivateErrors(1, round, group, taken, errors, 1)
			if a, b := (noisy[0]-want[0])*7, (noisy[1]-want[1])*3; math.Abs(a-b) < 1e-9 || a == 0 || b == 0 {
				t.Errorf("round %d: the noise is %v and %v", round, a, b)
			}
		}
		for client, slots := range own {
			if len(slots) < 4 {
				t.Errorf("client %d takes only %d slots", client, len(slots))
			}
		}
	}
}

// TestNoiseIsOfOneSource wants the noise on counts, scores and the errors of groups from the
// generator of the noise on weights, whose words it reads by itself.
func TestNoiseIsOfOneSource(t *testing.T) {
	t.Parallel()
	words := func(key, stream uint64) *rand.ChaCha8 {
		var seed [32]byte
		for i := range uint64(4) {
			binary.LittleEndian.PutUint64(seed[8*i:], kernels.Key(key, stream, i))
		}
		return rand.NewChaCha8(seed)
	}
	// normal is the number that a word stands for where it lies within a layer of the ziggurat.
	normal := func(key, stream uint64) (x float64, within bool) {
		u := uint32(words(key, stream).Uint64())
		edge, next := edges[u%layers], edges[u%layers+1]
		x = float64(int32(u)>>7|1) / (1 << 24) * edge
		return x, math.Abs(x) < next-1e-6
	}
	seen := 0
	same := func(what string, i, key, stream uint64, z float64) {
		t.Helper()
		if want, within := normal(key, stream); within {
			if seen++; math.Abs(z-want) > 1e-5 {
				t.Errorf("%s %d has the noise %v, want %v", what, i, z, want)
			}
		}
	}
	fed := fltest.OpenGlyphs(t, 9, 30)
	e := newEngine(t, Config{
		Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 3, Seed: 4,
		Privacy: &Privacy{Clip: 0.3, Noise: 1, Quantile: 0.5, CountNoise: 5},
	})
	tr := e.NewTrial(2)
	client, server := average().Defaults()
	client.LR = 0.1
	for i := range uint64(12) {
		r := &RoundResult{draws: i}
		same("score", i, i, scoreNoise, (r.Score(false, ScoreOptions{Noise: 2, Expected: 4}).Error-0.5)*2)
		same("finalist", i, i, scoreNoise, (foldValidated(nil, ScoreOptions{Noise: 2, Expected: 4}, i).Error-0.5)*2)
		same("group", i, e.groupKey(int(i), 3, -1), groupNoise, (e.PrivateErrors(int(i), 3, []int{0}, nil, nil, 2)[0]-0.5)/2)
		r.Slots = []Slot{{ValExamples: 1}}
		u := words(i, scoreNoise).Uint64()
		want := -math.Log(1-float64(u>>11)/(1<<53)) / 8
		if u&1 == 1 {
			want = -want
		}
		if got := r.Score(false, ScoreOptions{Uniform: true, Epsilon: 8}).Error; math.Abs(got-want) > 1e-12 {
			t.Errorf("score %d has the Laplace noise %v, want %v", i, got, want)
		}
		key, clip := kernels.Key(4, 2, uint64(tr.Rounds()), purposeNoise), tr.Clip()
		round, err := tr.Round(t.Context(), Plan{Clients: []ClientParams{client}, Server: server})
		if err != nil {
			t.Fatal(err)
		}
		below := 0.0
		for _, s := range round.Slots {
			below += 0.5
			if s.DeltaNorm > clip {
				below--
			}
		}
		share := -math.Log(tr.Clip()/clip)/clipRate + 0.5 // of clients below the norm, by the norm's step
		same("count", i, key, countNoise, ((share-0.5)*3-below)/5)
	}
	if seen < 30 {
		t.Errorf("%d numbers lie within layers", seen)
	}
}
