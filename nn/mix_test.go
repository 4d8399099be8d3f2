package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// plainNorm is a group normalization without parameters.
func plainNorm(groups int) refOp { return refOp{op: "groupnorm", groups: groups, noBias: true} }

// mixCases are networks of mixed operations for TestGradient, TestEvaluate and TestHessian.
var mixCases = []imageCase{
	{
		"operations of a cell, mixed by weights that two graphs share",
		Shape{H: 8, W: 7, C: 2},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 3, Same: true},
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{
					MaxPool{Size: 3, Stride: 1, Pad: 1},
					GroupNorm{Groups: 2, NoAffine: true},
				}},
				{From: []int{graphInput}, Layers: []Layer{
					AvgPool{Size: 3, Stride: 1, Pad: 1},
					GroupNorm{Groups: 1, NoAffine: true},
				}},
				{From: []int{graphInput}, Layers: []Layer{
					ReLU{},
					DepthwiseConv2D{Kernel: 3, Dilation: 2, Pad: 2, NoBias: true},
					Conv2D{Filters: 6, Kernel: 1, NoBias: true},
				}},
				{From: []int{0, 1, graphInput, 2}, Join: joinMix, Weights: "a", Zero: true},
				{From: []int{2, 0}, Join: joinMix, Weights: "b", Layers: []Layer{GroupNorm{Groups: 3}}},
				{From: []int{3, 4}, Join: joinConcat},
			}},
			ReLU{},
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{MaxPool{Size: 3, Stride: 2, Pad: 1}}},
				{From: []int{graphInput}, Layers: []Layer{AvgPool{Size: 3, Stride: 2, Pad: 1}}},
				{From: []int{graphInput}, Layers: []Layer{Conv2D{Filters: 12, Kernel: 1, Stride: 2}}},
				{From: []int{graphInput}, Layers: []Layer{Conv2D{Filters: 12, Kernel: 3, Stride: 2, Pad: 1}}},
				{From: []int{2, 0, 1, 3}, Join: joinMix, Weights: "a", Zero: true},
			}},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 1, 1),
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{poolSame(3, 1, 1, 1), plainNorm(2)}},
				{from: []int{-1}, ops: []refOp{{op: "avgpool", size: 3, stride: 1, before: 1, after: 1}, plainNorm(1)}},
				{from: []int{-1}, ops: []refOp{
					relu,
					{op: "depthwise", stride: 1, dilation: 2, before: 2, after: 2, noBias: true},
					plainConv(1, 0, 0),
				}},
				{from: []int{0, 1, -1, 2}, mix: "a", zero: true},
				{from: []int{2, 0}, mix: "b", ops: []refOp{groupNorm(3)}},
				{from: []int{3, 4}, concat: true},
			}},
			relu,
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{poolSame(3, 2, 1, 1)}},
				{from: []int{-1}, ops: []refOp{{op: "avgpool", size: 3, stride: 2, before: 1, after: 1}}},
				{from: []int{-1}, ops: []refOp{conv(2, 0, 0)}},
				{from: []int{-1}, ops: []refOp{conv(2, 1, 1)}},
				{from: []int{2, 0, 1, 3}, mix: "a", zero: true},
			}},
			dense,
		},
	},
	{
		"nodes that are sums of mixes",
		Shape{H: 5, W: 4, C: 2},
		[]Layer{
			Conv2D{Filters: 6, Kernel: 3, Pad: 1},
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{
					ReLU{},
					Conv2D{Filters: 6, Kernel: 1, NoBias: true},
					GroupNorm{Groups: 2, NoAffine: true},
				}},
				{From: []int{graphInput}, Layers: []Layer{
					AvgPool{Size: 3, Stride: 1, Pad: 1},
					GroupNorm{Groups: 1, NoAffine: true},
				}},
				{From: []int{0, graphInput, 1}, Join: joinMix, Weights: "a"},
				{From: []int{graphInput}, Layers: []Layer{
					ReLU{},
					Conv2D{Filters: 6, Kernel: 1, NoBias: true},
					GroupNorm{Groups: 3, NoAffine: true},
				}},
				{From: []int{graphInput}, Layers: []Layer{
					MaxPool{Size: 3, Stride: 1, Pad: 1},
					GroupNorm{Groups: 2, NoAffine: true},
				}},
				{From: []int{3, 4, graphInput}, Join: joinMix, Weights: "b"},
				{From: []int{2, 5}, Join: joinAdd},
				{From: []int{6}, Layers: []Layer{
					ReLU{},
					Conv2D{Filters: 6, Kernel: 1, NoBias: true},
					GroupNorm{Groups: 1, NoAffine: true},
				}},
				{From: []int{6}, Layers: []Layer{AvgPool{Size: 3, Stride: 1, Pad: 1}, GroupNorm{Groups: 2, NoAffine: true}}},
				{From: []int{7, 6, 8}, Join: joinMix, Weights: "a"},
				{From: []int{6, 9}, Join: joinConcat},
			}},
			Dense{Units: 3},
		},
		[]refOp{
			conv(1, 1, 1),
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{relu, plainConv(1, 0, 0), plainNorm(2)}},
				{from: []int{-1}, ops: []refOp{{op: "avgpool", size: 3, stride: 1, before: 1, after: 1}, plainNorm(1)}},
				{from: []int{0, -1, 1}, mix: "a"},
				{from: []int{-1}, ops: []refOp{relu, plainConv(1, 0, 0), plainNorm(3)}},
				{from: []int{-1}, ops: []refOp{poolSame(3, 1, 1, 1), plainNorm(2)}},
				{from: []int{3, 4, -1}, mix: "b"},
				{from: []int{2, 5}},
				{from: []int{6}, ops: []refOp{relu, plainConv(1, 0, 0), plainNorm(1)}},
				{from: []int{6}, ops: []refOp{{op: "avgpool", size: 3, stride: 1, before: 1, after: 1}, plainNorm(2)}},
				{from: []int{7, 6, 8}, mix: "a"},
				{from: []int{6, 9}, concat: true},
			}},
			dense,
		},
	},
	{
		"vectors mixed with the layer before them",
		Shape{H: 4, W: 4, C: 1},
		[]Layer{
			Flatten{},
			Dense{Units: 9},
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{ReLU{}, Dense{Units: 9}}},
				{From: []int{0, graphInput}, Join: joinMix, Weights: "a", Layers: []Layer{Dense{Units: 9}}},
				{From: []int{1, 0}, Join: joinMix, Weights: "a"},
			}},
			Dense{Units: 3},
		},
		[]refOp{
			dense,
			{op: "graph", branches: []refBranch{
				{from: []int{-1}, ops: []refOp{relu, dense}},
				{from: []int{0, -1}, mix: "a", ops: []refOp{dense}},
				{from: []int{1, 0}, mix: "a"},
			}},
			dense,
		},
	},
}

// TestMixSteps wants the bits of a gradient and of steps in whatever chunks the
// batch is worked on, and of a step that updates as it goes back.
func TestMixSteps(t *testing.T) {
	for _, c := range mixCases {
		m := c.model(t)
		w := m.NewParams()
		m.Init(w, 5)
		b := images(m, 5)
		whole, parts := m.newWorkspace(8), m.newWorkspace(2)
		for _, o := range []TrainOpts{{}, {Drawn: true, Key: 1}, {Drawn: true, Key: 2}, {Drawn: true, Key: 3}} {
			w := slices.Clone(w)
			whole.Gradient(w, b, o)
			if image := !strings.Contains(c.name, "vectors"); image {
				parts.Gradient(w, b, o)
				sameBits(t, parts.Grad(), whole.Grad(), c.name)
			}
			stepped := slices.Clone(w)
			opt := &Optimizer{SGD: SGD{LR: 0.1, WeightDecay: 0.01}}
			opt.Step(w, whole.Grad())
			whole.Step(stepped, b, o, &Optimizer{SGD: SGD{LR: 0.1, WeightDecay: 0.01}})
			sameBits(t, stepped, w, c.name)
		}
	}
}

// TestMixingAlone wants the bits of the weights of mixed operations when nothing else
// gets a gradient, and when a step holds them.
func TestMixingAlone(t *testing.T) {
	for _, c := range mixCases {
		m := c.model(t)
		w := m.NewParams()
		m.Init(w, 5)
		b := images(m, 5)
		for _, drawn := range []bool{false, true} {
			all, alone := m.newWorkspace(8), m.newWorkspace(8)
			alone.Gradient(w, b, TrainOpts{Key: 1}) // leaves other numbers behind
			all.Gradient(w, b, TrainOpts{Drawn: drawn})
			alone.Gradient(w, b, TrainOpts{Drawn: drawn, Mixing: true})
			var want []float32
			for _, a := range m.Mixing() {
				want = append(want, all.Grad()[a.Lo:a.Hi]...)
				sameBits(t, alone.Grad()[a.Lo:a.Hi], all.Grad()[a.Lo:a.Hi], c.name)
			}
			held, before := make([]float32, len(want)), slices.Clone(w)
			for _, clip := range []float32{0, 0.1} {
				stepped := slices.Clone(w)
				alone.Step(stepped, b, TrainOpts{Drawn: drawn, Hold: m.Mixing(), Held: held},
					&Optimizer{SGD: SGD{LR: 0.1, ClipNorm: clip}})
				sameBits(t, held, want, c.name)
				for _, a := range m.Mixing() {
					sameBits(t, stepped[a.Lo:a.Hi], before[a.Lo:a.Hi], c.name)
				}
			}
		}
	}
}

// TestDrawn lays the gradient of drawn inputs beside that of mixtures which are all but
// those inputs: for the other parameters the same, for alpha what the formula makes of
// products with the output's gradient. All inputs are drawn as often as their shares
// say.
func TestDrawn(t *testing.T) {
	for _, c := range mixCases {
		m := c.model(t)
		w := m.NewParams()
		m.Init(w, 5)
		b := images(m, 3)
		ws, sharp := m.newWorkspace(8), m.newWorkspace(8)
		spans, counts := m.Mixing(), map[[2]int]int{}
		const draws = 400
		for key := range uint64(draws) {
			o := TrainOpts{Drawn: true, Key: key}
			r := ws.Gradient(w, b, o)
			drawn := map[int]int{} // by the place of alpha
			for _, s := range ws.states {
				g, ok := s.(*graphState)
				if !ok {
					continue
				}
				for _, p := range g.parts {
					if p.mix == nil {
						continue
					}
					if z, ok := drawn[p.mix.at]; ok && z != p.mix.drawn {
						t.Fatalf("%s: weights of one name draw %d and %d", c.name, z, p.mix.drawn)
					}
					drawn[p.mix.at] = p.mix.drawn
				}
			}
			v := slices.Clone(w)
			for k, a := range spans {
				counts[[2]int{k, drawn[a.Lo]}]++
				v[a.Lo+drawn[a.Lo]] = 40
			}
			if key >= 12 {
				continue
			}
			want := sharp.Gradient(v, b, TrainOpts{})
			if math.Abs(r.Loss-want.Loss) > 1e-5*want.Loss {
				t.Errorf("%s: drawn loss %v, want %v", c.name, r.Loss, want.Loss)
			}
			for i, g := range ws.Grad() {
				if alpha := slices.ContainsFunc(spans, func(a Span) bool { return a.Lo <= i && i < a.Hi }); alpha {
					continue
				}
				if d := math.Abs(float64(g - sharp.Grad()[i])); d > 1e-5*(1+math.Abs(float64(g))) {
					t.Fatalf("%s: gradient %d is %v, want %v", c.name, i, g, sharp.Grad()[i])
				}
			}
			for _, a := range spans { // score functions: proportional to 1[k=z]-p, near 1/n each
				g, n := ws.Grad()[a.Lo:a.Hi], 0
				for _, x := range w[a.Lo:a.Hi] {
					if x != 0 {
						n++
					}
				}
				var sum float64
				for _, x := range g {
					sum += float64(x)
				}
				worth := float64(g[drawn[a.Lo]]) / (1 - 1/float64(n))
				if zero := n == 5; zero && drawn[a.Lo] > 0 { // by how much the loss falls as zeros get a share
					const share = 0.01
					less := slices.Clone(v)
					less[a.Lo] = 40 + float32(math.Log(share/(1-share)))
					moved := (want.Loss - sharp.Gradient(less, b, TrainOpts{}).Loss) / share / float64(want.Count)
					if math.Abs(moved-worth) > 0.03*math.Abs(worth)+2e-3 {
						t.Errorf("%s: the drawn input is worth %v, finite differences say %v", c.name, worth, moved)
					}
				}
				if math.Abs(sum) > 1e-5*(1+math.Abs(worth)) {
					t.Errorf("%s: the gradient of alpha adds up to %v", c.name, sum)
				}
				for k := range n {
					if k != drawn[a.Lo] && math.Abs(float64(g[k])+worth/float64(n)) > 0.01*math.Abs(worth)+1e-7 {
						t.Errorf("%s: alpha %d has %v, want %v", c.name, k, g[k], -worth/float64(n))
					}
				}
			}
		}
		for k, a := range spans {
			n := 0
			for _, x := range w[a.Lo:a.Hi] {
				if x != 0 {
					n++
				}
			}
			for z := range n {
				if got, want := float64(counts[[2]int{k, z}]), draws/float64(n); math.Abs(got-want) > 5*math.Sqrt(want) {
					t.Errorf("%s: input %d of mix %d was drawn %v times, want about %v", c.name, z, k, got, want)
				}
			}
		}
	}
}

// TestMixErrors wants one line for each wrong mix.
func TestMixErrors(t *testing.T) {
	mix := func(weights string, zero bool, from ...int) Branch {
		return Branch{From: from, Join: joinMix, Weights: weights, Zero: zero}
	}
	pool := Branch{From: []int{graphInput}, Layers: []Layer{MaxPool{Size: 2}}}
	conv := Branch{From: []int{graphInput}, Layers: []Layer{Conv2D{Filters: 4, Kernel: 1}}}
	for _, c := range []struct {
		branches []Branch
		want     string
	}{
		{[]Branch{conv, mix("", false, 0, graphInput)}, "layer 1 (mix): weights \"\": a mix must name its weights"},
		{[]Branch{conv, {From: []int{0, graphInput}, Join: joinAdd, Zero: true}}, "layer 1 (add): weights \"\": a mix must"},
		{
			[]Branch{pool, mix("a", false, 0, graphInput)},
			"layer 1 (mix): input 1 has 4 x 4 x 4 values, input 2 8 x 8 x 4 values; all must be the same",
		},
		{
			[]Branch{conv, mix("a", false, 0, graphInput), mix("a", true, 0, 1)},
			"layer 1 (mix): the weights \"a\" have 2 alternatives elsewhere and 3 here",
		},
	} {
		_, err := NewModel("test", Shape{H: 8, W: 8, C: 1}, 3, Conv2D{Filters: 4, Kernel: 1}, Graph{Branches: c.branches},
			Dense{Units: 3})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v\nwant %s", err, c.want)
		}
	}
}

// TestMixAtEveryLevel holds that mixes of normalized operations train to the same bits on levels
// that take their shares in one pass and on others, with 8 channels or fewer, up to 16, and more.
func TestMixAtEveryLevel(t *testing.T) {
	for _, c := range []int{6, 12, 18} {
		norm := GroupNorm{Groups: 3, NoAffine: true}
		point := []Layer{ReLU{}, DepthwiseConv2D{Kernel: 3, Same: true}, Conv2D{Filters: c, Kernel: 1, NoBias: true}, norm}
		m, err := NewModel("test", Shape{H: 6, W: 5, C: 2}, 3,
			Conv2D{Filters: c, Kernel: 3, Pad: 1},
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{MaxPool{Size: 3, Stride: 1, Pad: 1}, norm}},
				{From: []int{graphInput}, Layers: point},
				{From: []int{0, graphInput, 1}, Join: joinMix, Weights: "a", Zero: true},
				{From: []int{graphInput}, Layers: point},
				{From: []int{graphInput}, Layers: []Layer{AvgPool{Size: 3, Stride: 1, Pad: 1}, norm}},
				{From: []int{4, 3, graphInput}, Join: joinMix, Weights: "b"}, // not in the order of the branches
				{From: []int{2, 5}, Join: joinAdd},
				{From: []int{6}, Layers: point},
				{From: []int{6, 7}, Join: joinMix, Weights: "c"},
			}},
			Dense{Units: 3})
		if err != nil {
			t.Fatal(err)
		}
		b := images(m, 5)
		var first []float32
		kernelstest.ForEachLevel(t, func(t *testing.T) {
			w := train(m, m.NewWorkspace(), b)
			if first == nil {
				first = w
			}
			sameBits(t, w, first, fmt.Sprintf("%d channels, level %v", c, kernels.Current()))
		})
	}
}

// outside is a layer of a program's own that is bound as a group normalization.
type outside struct{ norm GroupNorm }

func (outside) Kind() string                  { return "outside" }
func (outside) Abilities() Abilities          { return Abilities{} }
func (l outside) Bind(in Flow) (Bound, error) { return l.norm.Bind(in) }

// TestMixOfForeignNorms holds that a layer from elsewhere that is a group normalization trains in a
// mix as that does, though it does not know what it is bound for.
func TestMixOfForeignNorms(t *testing.T) {
	var want []float32
	for _, norm := range []Layer{GroupNorm{Groups: 3}, outside{GroupNorm{Groups: 3}}} {
		m, err := NewModel("test", Shape{H: 6, W: 5, C: 2}, 3,
			Conv2D{Filters: 12, Kernel: 3, Pad: 1},
			Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{Conv2D{Filters: 12, Kernel: 1}, norm}},
				{From: []int{0, graphInput}, Join: joinMix, Weights: "a"},
			}},
			Dense{Units: 3})
		if err != nil {
			t.Fatal(err)
		}
		ws, b := m.NewWorkspace(), images(m, 5)
		kernelstest.ForEachLevel(t, func(t *testing.T) {
			w := train(m, ws, b)
			if want == nil {
				want = w
			}
			sameBits(t, w, want, fmt.Sprintf("%T, level %v", norm, kernels.Current()))
		})
		for _, s := range ws.states {
			g, ok := s.(*graphState)
			if !ok {
				continue
			}
			for _, p := range g.parts {
				if p.norm != nil && p.norm.factors == nil {
					t.Errorf("%T takes its share without the factors of each sample", norm)
				}
			}
		}
	}
}
