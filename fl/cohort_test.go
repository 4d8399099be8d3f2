package fl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/fltest"
)

func TestCohorts(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 20, 30)
	model := fltest.SmallCNN(t, fed)
	for _, replacement := range []bool{false, true} {
		e := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 10, Replacement: replacement, Seed: 3})
		tr := e.NewTrial(1)
		counts := make([]int, len(fed.Clients))
		const rounds = 2000
		repeats := 0
		for tr.round = range rounds {
			c := e.Cohort(tr.number, tr.round)
			for _, client := range c {
				counts[client]++
			}
			sorted := slices.Sorted(slices.Values(c))
			if len(slices.Compact(sorted)) < len(c) {
				repeats++
			}
		}
		if replacement == (repeats == 0) {
			t.Errorf("replacement %v: %d of %d cohorts hold a client twice", replacement, repeats, rounds)
		}
		// Each count has a standard deviation below sqrt(mean).
		mean := 10 * rounds / float64(len(counts))
		for client, n := range counts {
			if math.Abs(float64(n)-mean) > 5*math.Sqrt(mean) {
				t.Errorf("replacement %v: client %d was drawn %d times, expected about %.0f", replacement, client, n, mean)
			}
		}
	}
	if _, err := New(Config{Method: average(), Model: model, Data: fed, Cohort: len(fed.Clients) + 1}); err == nil {
		t.Error("a cohort larger than the federation was drawn without replacement")
	}
}

func TestBatchesDealEveryExampleOncePerPass(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 2, 40)
	view := fed.Clients[0].Train
	n := view.Len()
	for _, wrap := range []bool{false, true} {
		l := &Local{Params: ClientParams{Epochs: 3, Batch: 7, Wrap: wrap}, Train: view, worker: &worker{}, key: 1}
		b := l.Batches(0, l.Params)
		var dealt []int32
		for range l.Params.LocalSteps(n) {
			dealt = append(dealt, b.next()...)
		}
		var orders [][]int32
		for pass := range 3 {
			order := slices.Clone(dealt[pass*n : (pass+1)*n])
			orders = append(orders, order)
			sorted := slices.Sorted(slices.Values(order))
			for i, at := range sorted {
				if int(at) != i {
					t.Fatalf("wrap %v: pass %d deals %v", wrap, pass, order)
				}
			}
		}
		if slices.Equal(orders[0], orders[1]) {
			t.Errorf("wrap %v: two passes have the same order", wrap)
		}
	}
}

func TestBatchesEndWithAPartOfAPass(t *testing.T) {
	view := fltest.OpenGlyphs(t, 2, 40).Clients[0].Train
	n := view.Len()
	p := ClientParams{Epochs: 1.3, Batch: 7}
	l := &Local{Params: p, Train: view, worker: &worker{}, key: 1}
	b := l.Batches(0, l.Params)
	var dealt []int32
	for range p.LocalSteps(n) {
		dealt = append(dealt, b.next()...)
	}
	part := int(math.Ceil(0.3 * float64(n)))
	if len(dealt) != n+part || len(dealt) != p.Examples(n) {
		t.Fatalf("%d examples dealt of %d, want %d; the plan counts %d", len(dealt), n, n+part, p.Examples(n))
	}
	if last := slices.Sorted(slices.Values(dealt[n:])); len(slices.Compact(last)) != part {
		t.Errorf("the part of a pass repeats an example: %v", dealt[n:])
	}
}

func TestLongestFirst(t *testing.T) {
	slots := []Slot{{TrainExamples: 10}, {TrainExamples: 30}, {TrainExamples: 20}, {TrainExamples: 30}}
	for i := range slots {
		slots[i].Params = ClientParams{Epochs: 1, Batch: 5}
	}
	slots[0].Params.Epochs = 4
	work, err := (&Engine{}).work(slots)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := longestFirst(work), []int{0, 1, 3, 2}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestScoreWeighsByExamples(t *testing.T) {
	r := &RoundResult{Slots: []Slot{
		{ValExamples: 10, After: Score{Error: 0.5, Loss: 2}, Before: Score{Error: 1, Loss: 3}},
		{ValExamples: 30, After: Score{Error: 0.1, Loss: 1}, Before: Score{Error: 0.6, Loss: 3}},
		{ValExamples: 0, After: Score{Error: math.NaN(), Loss: math.NaN()}},
	}}
	if got := r.Score(true, ScoreOptions{}); math.Abs(got.Error-0.2) > 1e-15 || math.Abs(got.Loss-1.25) > 1e-15 {
		t.Errorf("personalized score %+v, want error 0.2 and loss 1.25", got)
	}
	if got := r.Score(false, ScoreOptions{}); math.Abs(got.Error-0.7) > 1e-15 {
		t.Errorf("global score %+v, want error 0.7", got)
	}
	if got := (&RoundResult{}).Score(true, ScoreOptions{}); !math.IsNaN(got.Error) {
		t.Errorf("score without examples is %v, want NaN", got.Error)
	}
}

// TestBySize has each client send its number: on the mean over rounds the server then gets the
// clients' mean, weighted by their samples, and in each round the plain mean over the cohort.
func TestBySize(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 5, 150)
	all, want := 0, 0.0
	for i, size := range []int{1, 20, 3, 9, 2} {
		fed.Clients[i].Train = fed.Clients[i].Train.Part(0, size)
		all, want = all+size, want+float64(i*size)
	}
	want /= float64(all)
	server := &told{}
	m := average()
	m.NewServer = func(int) Server { return server }
	m.Local = func(l *Local) error {
		for i := range l.Weights {
			l.Weights[i] = l.Broadcast[i] - float32(l.Client)
		}
		return nil
	}
	const rounds, cohort = 2000, 4
	cfg := Config{Method: m, Model: fltest.SmallCNN(t, fed), Data: fed, Cohort: cohort, Replacement: true, BySize: true}
	tr := newEngine(t, cfg).NewTrial(0)
	runRounds(t, tr, Plan{}, rounds)
	sum, squares := 0.0, 0.0
	for _, x := range server.means {
		if n := float64(x) * cohort; math.Abs(n-math.Round(n)) > 1e-4 {
			t.Fatalf("the server got %v, no mean of %d clients with equal weights", x, cohort)
		}
		sum, squares = sum+float64(x), squares+float64(x)*float64(x)
	}
	mean := sum / rounds
	if deviation := math.Sqrt((squares/rounds - mean*mean) / rounds); math.Abs(mean-want) > 5*deviation {
		t.Errorf("the server got %v on the mean, want %v +- %v", mean, want, deviation)
	}
	cfg.Replacement = false
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), `sampling = "size": a client may be drawn twice`) {
		t.Errorf("without replacement: %v", err)
	}
}

// told is a server that keeps the first value of what it got.
type told struct{ means []float32 }

func (s *told) Step(_ []float32, u *Update, _ ServerParams) { s.means = append(s.means, u.Mean[0]) }

func (s *told) State() [][]float32 { return nil }
