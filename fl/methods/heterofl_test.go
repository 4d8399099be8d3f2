package methods

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// TestHeteroFLAgainstSlices trains every sub-network of a round on its own, cut out
// of the tensors in their usual layout, and averages those by hand.
func TestHeteroFLAgainstSlices(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	againstSlices(t, heteroFL(), fltest.SmallCNN(t, fed), fed, false, 1)
	againstSlices(t, heteroFL(), smallMobile(t, fed), fed, false, 1)
}

// TestFedRolexAgainstSlices does so for slices that move on with the rounds, round the
// 8 channels, with clients that weigh the same and by their examples.
func TestFedRolexAgainstSlices(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 30)
	againstSlices(t, fedRolex(), fltest.SmallCNN(t, fed), fed, false, 11)
	againstSlices(t, fedRolex(), fltest.SmallCNN(t, fed), fed, true, 3)
	againstSlices(t, fedRolex(), smallMobile(t, fed), fed, false, 3)
}

// smallMobile has what MobileNetV3 has, in layers of 8 channels.
func smallMobile(t *testing.T, fed *data.Federation) *nn.Model {
	t.Helper()
	m, err := nn.NewModel("mobile", nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes,
		nn.Conv2D{Filters: 8, Kernel: 5, Stride: 3}, nn.GroupNorm{Groups: 4}, nn.Activation("hardswish"),
		nn.Residual{Body: []nn.Layer{
			nn.DepthwiseConv2D{Kernel: 3, Pad: 1},
			nn.Activation("hardswish"),
			nn.SqueezeExcitation{Units: 8},
			nn.Conv2D{Filters: 8, Kernel: 1},
			nn.GroupNorm{Groups: 2},
		}},
		nn.AvgPool{}, nn.Dense{Units: fed.Classes})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// slicedWidths are the widths of the clients whose slices are checked.
var slicedWidths = []float64{1, 0.5, 0.25}

// againstSlices compares rounds of a method, whose slices begin with channel 0 in the
// first one and only go on from there in FedRolex.
func againstSlices(t *testing.T, m fl.Method, model *nn.Model, fed *data.Federation, weighted bool, rounds int) {
	t.Helper()
	const steps, lr, cohort = 3, 0.1, 7
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: m, Cohort: cohort, Seed: 4, Widths: slicedWidths})
	tr := e.NewTrial(0)
	c, s := m.Defaults()
	s.Weighted = weighted
	plan := fl.Plan{Server: s, Clients: []fl.ClientParams{fullBatch(c, lr, steps)}}
	for round := range rounds {
		start := model.Export(tr.Weights())
		r := runRounds(t, tr, plan, 1)[0]
		compareSlices(t, model, fed, r, start, model.Export(tr.Weights()), plan)
		if round == rounds-1 {
			smallAreFaster(t, r)
		}
	}
}

// smallAreFaster: small clients work and send less.
func smallAreFaster(t *testing.T, r *fl.RoundResult) {
	t.Helper()
	widths := slicedWidths
	for _, slot := range r.Slots {
		for _, other := range r.Slots {
			if widths[slot.Client%3] < widths[other.Client%3] && slot.Examples <= other.Examples &&
				slot.Seconds >= other.Seconds {
				t.Errorf("client %d of width %v takes %v s, client %d of width %v %v s",
					slot.Client, widths[slot.Client%3], slot.Seconds, other.Client, widths[other.Client%3], other.Seconds)
			}
		}
	}
}

// compareSlices does what a round did by hand.
func compareSlices(t *testing.T, model *nn.Model, fed *data.Federation, r *fl.RoundResult, start,
	end []nn.Tensor, plan fl.Plan,
) {
	t.Helper()
	shift, p := r.Round, plan.Clients[0]
	sum, count, holders := make([][]float64, len(start)), make([][]float64, len(start)), make([][]int, len(start))
	for i, tensor := range start {
		sum[i], count[i], holders[i] = make([]float64, len(tensor.Data)), make([]float64, len(tensor.Data)),
			make([]int, len(tensor.Data))
	}
	last := len(start) - 2 // weight and bias of the output layer
	for _, slot := range r.Slots {
		width := slicedWidths[slot.Client%len(slicedWidths)]
		sub, err := model.Narrow(width)
		if err != nil {
			t.Fatal(err)
		}
		at := sub.NewParams()
		cut := sub.Export(at)
		for i := range cut {
			eachIndex(cut[i].Shape, start[i].Shape, shift, func(small, large int) { cut[i].Data[small] = start[i].Data[large] })
		}
		if err := sub.Import(at, cut); err != nil {
			t.Fatal(err)
		}
		train := fed.Clients[slot.Client].Train
		has := make([]bool, fed.Classes)
		batch := fltest.Batch(t, model, train)
		for _, label := range batch.Labels {
			has[label] = true
		}
		var lacks []int32
		for class, ok := range has {
			if !ok {
				lacks = append(lacks, int32(class))
			}
		}
		ws := sub.NewWorkspace()
		for k := range p.Steps {
			ws.Step(at, batch, nn.TrainOpts{Step: uint32(k), Absent: lacks},
				&nn.Optimizer{SGD: nn.SGD{LR: float32(p.LR)}, Steps: k})
		}
		weight := 1.0
		if plan.Server.Weighted {
			weight = float64(slot.TrainExamples)
		}
		for i, tensor := range sub.Export(at) {
			per := len(start[i].Data) / start[i].Shape[0]
			eachIndex(tensor.Shape, start[i].Shape, shift, func(small, large int) {
				if i >= last && !has[large/per] {
					return
				}
				sum[i][large] += weight * float64(tensor.Data[small])
				count[i][large] += weight
				holders[i][large]++
			})
		}
	}
	held := map[int]bool{}
	for i, tensor := range end {
		for j, got := range tensor.Data {
			want := float64(start[i].Data[j])
			if n := count[i][j]; n > 0 {
				want = sum[i][j] / n
			}
			held[holders[i][j]] = true
			if math.Abs(float64(got)-want) > 1e-5 {
				t.Fatalf("round %d: %s[%d], held by %d: got %v, want %v", r.Round, tensor.Name, j, holders[i][j], got, want)
			}
		}
	}
	if len(held) < 4 || !held[len(r.Slots)] {
		t.Errorf("the numbers of holders are %v; the test wants some of every kind", held)
	}
}

// eachIndex visits the common indices of two tensors by recursion over their
// dimensions. In those in which the smaller one is smaller, 8 channels of equal size are
// passed through from one on.
func eachIndex(small, large []int, shift int, f func(small, large int)) {
	var visit func(d, a, b int)
	visit = func(d, a, b int) {
		if d == len(small) {
			f(a, b)
			return
		}
		for k := range small[d] {
			at := k
			if small[d] < large[d] {
				at = (k + shift*(large[d]/8)) % large[d]
			}
			visit(d+1, a*small[d]+k, b*large[d]+at)
		}
	}
	visit(0, 0, 0)
}

func TestWidthsThatDoNotFit(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	model := fltest.SmallCNN(t, fed)
	if _, err := fl.New(fl.Config{
		Model: model, Data: fed, Method: heteroFL(), Cohort: 2,
		Widths: []float64{0.3},
	}); err == nil || !strings.HasPrefix(err.Error(), "client.widths: 0.3: must be among 1, 0.5") {
		t.Errorf("width 0.3: error %v", err)
	}
	if _, err := fl.New(fl.Config{
		Model: model, Data: fed, Method: FedAvg(), Cohort: 2,
		Widths: []float64{0.5},
	}); err == nil || !strings.Contains(err.Error(), `method "fedavg" does not use them`) {
		t.Errorf("widths for fedavg: error %v", err)
	}
	c, s := heteroFL().Defaults()
	c.Width = 0.3
	if err := heteroFL().CheckParams(c, s); err == nil || !strings.HasPrefix(err.Error(),
		`client.width = 0.3: method "heterofl" needs one of`) {
		t.Errorf("client.width 0.3: error %v", err)
	}
	// A width of the plan holds for all of its slots.
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: heteroFL(), Cohort: 3, Seed: 4})
	c = fullBatch(c, 0.1, 1)
	var seconds []float64
	for _, c.Width = range []float64{1, 0.25} {
		r := runRounds(t, e.NewTrial(0), fl.Plan{Server: s, Clients: []fl.ClientParams{c}}, 1)[0]
		x, _ := r.Probe("seconds_simulated")
		seconds = append(seconds, x)
	}
	if slices.IsSorted(seconds) {
		t.Errorf("rounds of widths 1 and 0.25 take %v s", seconds)
	}
}
