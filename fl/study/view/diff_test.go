package view_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/methods"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/test/npztest"
)

// flipped is where the method "flipped" changes the lowest bit of a weight that a client
// returns: its round, from 0, its client and the place of the weight; nil is nowhere.
var flipped atomic.Pointer[[3]int]

func init() {
	m := methods.FedAvg()
	local := m.Local
	m.Name, m.Doc = "flipped", "FedAvg on a machine with a fault"
	m.Local = func(l *fl.Local) error {
		err := local(l)
		if f := flipped.Load(); f != nil && l.Round == f[0] && l.Client == f[1] {
			l.Weights[f[2]] = math.Float32frombits(math.Float32bits(l.Weights[f[2]]) ^ 1<<12)
		}
		return err
	}
	if err := fl.Register(m); err != nil {
		panic(err)
	}
}

// compared compares the studies in two directories.
func compared(t *testing.T, a, b string) *view.Diff {
	t.Helper()
	x, y := look(t, a), look(t, b)
	d, err := x.Compare(t.Context(), y, overview(t, x), overview(t, y))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDiffFindsAFlippedBit trains 20 times on a machine that flips a bit of what one client returns
// in one round: the round, the client and the tensor are found.
func TestDiffFindsAFlippedBit(t *testing.T) {
	train := func(digests string, workers int) string {
		dir := filepath.Join(t.TempDir(), "study")
		c := small(t, "method=flipped", "client_tuner.name=none", "rounds=6", "server.lr=1", "digests="+digests)
		if _, err := workdir.Run(t.Context(), dir, c, workdir.Options{Workers: workers}); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	sound := map[string]string{}
	for _, digests := range []string{config.DigestsSome, config.DigestsAll} {
		sound[digests] = train(digests, 1)
		if d := compared(t, sound[digests], train(digests, 3)); !d.Equal() || d.Rounds != 6 {
			t.Fatalf("with another number of workers: %+v", d)
		}
	}
	if d := compared(t, sound[config.DigestsSome], sound[config.DigestsAll]); !d.Equal() || d.Rounds != 6 {
		t.Fatalf("with more digests: %+v", d)
	}
	c := small(t)
	_, model, err := config.Prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var cohorts [][]int
	record, err := store.Look(t.Context(), sound[config.DigestsAll])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = record.Close() }() // it was read only
	if err := record.Each(t.Context(), func(r store.Row) error {
		var round struct{ Clients []int }
		defer func() { cohorts = append(cohorts, round.Clients) }()
		return json.Unmarshal(r.Data, &round)
	}, store.KindRound); err != nil {
		t.Fatal(err)
	}
	type weight struct {
		tensor string
		at     int
	}
	var weights []weight // without padding
	model.EachPlace(func(name string, _ []int, at []int32) {
		for _, i := range at {
			weights = append(weights, weight{name, int(i)})
		}
	})
	draw := rand.New(rand.NewPCG(63, 1))
	for i := range 20 {
		round, weight := draw.IntN(6), weights[draw.IntN(len(weights))]
		place := [3]int{round, cohorts[round][draw.IntN(len(cohorts[round]))], weight.at}
		digests := config.DigestsAll
		if i%4 == 3 {
			digests = config.DigestsSome
		}
		flipped.Store(&place)
		d := compared(t, sound[digests], train(digests, 2))
		flipped.Store(nil)
		s := d.Round
		if d.Equal() || s == nil && digests == config.DigestsAll {
			t.Fatalf("bit %v: no difference", place)
		}
		if digests == config.DigestsSome { // scores tell it later, or the weights at the end
			if s != nil && (s.Round < round+1 || s.Other != 0 && s.Other < round+1) {
				t.Errorf("bit %v of round %d: found in %+v", place, round+1, s)
			}
			continue
		}
		want := []view.Change{{Client: place[1], Tensors: []string{weight.tensor}}}
		if s.Round != round+1 || s.Same != round || s.Other != round+1 || fmt.Sprint(s.Changes) != fmt.Sprint(want) {
			t.Errorf("bit %v of round %d, %s: found in %+v", place, round+1, weight.tensor, s)
		}
	}
	// Training again, on a sound machine, agrees with one of them.
	flipped.Store(&[3]int{2, cohorts[2][0], weights[0].at})
	wrong := train(config.DigestsAll, 2)
	flipped.Store(nil)
	for dir, differs := range map[string]bool{sound[config.DigestsAll]: false, wrong: true} {
		_, err := workdir.Verify(t.Context(), dir, nil, workdir.Options{}, study.Part{Rounds: 3})
		if d, ok := errors.AsType[*study.DifferError](err); ok != differs || ok && d.Round != 3 || !ok && err != nil {
			t.Errorf("%s trained again: %v", dir, err)
		}
	}
}

// TestDiffNamesASingleChange changes 20 times one label or one key: it is named, with the first round
// that shows it and, of a label, the client.
func TestDiffNamesASingleChange(t *testing.T) {
	const n, clients, width = 120, 6, 5
	draw := rand.New(rand.NewPCG(63, 2))
	x, y, owner := make([]float32, n*width), make([]int64, n), make([]int64, n)
	for i := range x {
		x[i] = draw.Float32()
	}
	for i := range y {
		y[i], owner[i] = int64(draw.IntN(3)), int64(i%clients)
	}
	train := func(sets ...string) string {
		dir := t.TempDir()
		path := filepath.Join(dir, "data.npz")
		npztest.Write(t, path, true, npztest.Array{Name: "x", Shape: []int{n, width}, Values: x},
			npztest.Array{Name: "y", Shape: []int{n}, Values: y}, npztest.Array{Name: "client", Shape: []int{n}, Values: owner})
		c, err := config.Load(config.Source{Sets: append([]string{
			"data.name=npz-vectors", fmt.Sprintf("data.path=%q", path), "model=logistic", "method=fedavg", "cohort=3",
			"rounds=6", "client.epochs=3", "digests=all",
		}, sets...)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := workdir.Run(t.Context(), filepath.Join(dir, "study"), c, workdir.Options{Workers: 1}); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "study")
	}
	sound, seen := train(), 0
	keys := []string{
		"client.lr=0.11", "client.momentum=0.01", "client.weight_decay=0.01", "client.batch=6", "client.bias_decay=0.1",
		"client.clip_norm=0.2",
	}
	for range 20 {
		if draw.IntN(2) == 0 {
			set := keys[draw.IntN(len(keys))]
			key, _, _ := strings.Cut(set, "=")
			d := compared(t, sound, train(set))
			c := d.Configuration
			if len(c) != 2 || c[0].Name != key || c[1].Name != "data.path" || d.Round == nil || d.Round.Round != 1 {
				t.Errorf("%s: found in %+v", set, d)
			}
			continue
		}
		at := draw.IntN(n)
		was := y[at]
		y[at] = (was + 1) % 3
		d := compared(t, sound, train())
		y[at] = was
		if len(d.Data) != 1 || d.Data[0].Name != "fingerprint" || d.Equal() {
			t.Errorf("label %d: found in %+v", at, d)
		}
		if d.Round == nil || len(d.Round.Changes) == 0 {
			continue // a test sample
		}
		seen++
		if c := d.Round.Changes; len(c) != 1 || c[0].Client != at%clients || d.Round.Other != d.Round.Round {
			t.Errorf("label %d of client %d: found in %+v", at, at%clients, d.Round)
		}
	}
	if seen < 4 {
		t.Errorf("only %d labels were seen in training", seen)
	}
}
